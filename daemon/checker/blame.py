# SPDX-License-Identifier: MIT
"""Tells whose import of a missing module failed. If the tests or the prelude import a module that the host does
not have, that says nothing about the code."""

import os
import sys

import conversation
from trusted import is_of_host, load

name_of, arguments_of = ImportError.name.__get__, BaseException.args.__get__  # a class of the code's may have others


class Missing(BaseException):
    """A module is missing that the tests or the prelude import: there is no verdict. No test catches it."""

    def __init__(self, module, by):
        super().__init__(module, by)
        self.module, self.by = module, by


FILES = ("<test>", "<test_setup>", "<target ", "<prelude>")  # of the tests' own code


def _runs_import(frame):
    """Returns whether FRAME runs an import statement."""
    at = frame.f_lasti
    return at >= 0 and frame.f_code.co_code[at] == load("opcode").opmap["IMPORT_NAME"]


def _is_asked_by_import(frame):
    """Returns whether FRAME, which asks a finder, would raise an error for a module that is not found. Others, such as
    importlib.util.find_spec(), answer that there is none."""
    above = frame.f_back
    return frame.f_code.co_name == "_find_spec" and above is not None and above.f_code.co_name == "_find_and_load_unlocked"


def _may_be_of_code(path):
    """Returns whether one of the directories is none of the host's: there may be what the code writes, or has removed."""
    return any(not is_of_host(os.path.join(place, "module")) and os.path.isdir(place or ".") for place in path)


def _strings_of(text):
    """Returns the strings that are in the program TEXT, with the words of each."""
    ast, re = load("ast"), load("re")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is str)
    return [(value, re.findall(r"[\w.]+", value)) for value in found]


class Modules:
    """The last finder of this process. It raises the errors of imports that the tests have made, and knows them again:
    no other error says that the host lacks a module, whatever it claims. TEXT is that of the tests and the prelude."""

    def __init__(self, text):
        self.text, self.known_strings = text, None
        self.messages = {}  # of these errors, by the name of the module; the code can send equal ones, but not the same

    def find_spec(self, name, path=None, target=None):
        asker = sys._getframe(1)
        if not _is_asked_by_import(asker) or not self.is_made_by_tests(asker, name):
            return None
        if self.is_file_of_tests(name) and _may_be_of_code(one for one in (*sys.path, *(path or ())) if type(one) is str):
            return None
        finders = sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else ()
        for finder in finders:  # of a package that the tests have imported
            found = finder.find_spec(name, path, target)
            if found is not None:
                return found
        message = self.messages.setdefault(name, f"No module named {name!r}")
        raise ModuleNotFoundError(message, name=name)

    def is_made_by_tests(self, frame, name):
        """Returns whether the tests import the module NAME, where FRAME runs: by a statement, of theirs or of a module
        that they import by one, or by a name that they have written. What is imported because the code has sent
        something, and what the code's files import, says nothing of the tests."""
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(FILES):
                return _runs_import(frame) or self.is_written(name)
            if frame.f_globals is vars(conversation) or file.startswith("/") and not is_of_host(file):
                return False
            frame = frame.f_back
        return False

    def strings(self):
        if self.known_strings is None:
            self.known_strings = _strings_of(self.text)
        return self.known_strings

    def is_written(self, name):
        """Returns whether the tests have the NAME in a string, as the whole of it or in one that says `import`:
        importlib.import_module() may have it of the code."""
        written = (one for value, words in self.strings() for one in (words if "import" in words else [value]))
        return any(one == name or one.startswith(f"{name}.") for one in written)

    def is_file_of_tests(self, name):
        """Returns whether the tests may mean a file of that name, which they write or have the code write."""
        root = name.partition(".")[0]
        return any(root in word.split(".") for _, words in self.strings() for word in words)

    def guarded(self, step, by):
        """Runs STEP. Raises Missing if it ends because this process lacks a module."""
        try:
            step()
        except ModuleNotFoundError as error:
            name, arguments = name_of(error), arguments_of(error)
            if type(name) is str and arguments and arguments[0] is self.messages.get(name, self):
                raise Missing(name, by) from None
            raise


def watch(text):
    """Returns the finder, which sees all imports of this process from now on."""
    modules = Modules(text)
    sys.meta_path.append(modules)
    return modules


class Lacking:
    """Notes the first module that the tests lack where they run in one process with the code. There the
    place of the import tells them apart: OF_CODE is the name that the code was compiled with."""

    def __init__(self, of_code):
        self.of_code = of_code
        self.module = ""

    def note(self, step, *arguments):
        try:
            step(*arguments)
        except ModuleNotFoundError as error:
            at = error.__traceback__
            while at.tb_next is not None:
                at = at.tb_next
            if at.tb_frame.f_code.co_filename != self.of_code and type(error.name) is str:
                self.module = self.module or error.name
            raise
