# SPDX-License-Identifier: MIT
"""Tells whose import of a missing module failed. If the tests or the prelude import a module that the host does
not have, that says nothing about the code."""

import sys


class Missing(BaseException):
    """A module is missing that the tests or the prelude import: there is no verdict. No test catches it."""

    def __init__(self, module, by):
        super().__init__(module, by)
        self.module, self.by = module, by


FILES = ("<test>", "<test_setup>", "<target ", "<prelude>")  # of the tests' own code


def _is_import(traceback):
    """Returns whether the frame of TRACEBACK runs an import statement."""
    from opcode import opmap

    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == opmap["IMPORT_NAME"]


class Modules:
    """The last finder of this process: it knows the modules that no other one has found. IS_OF_CODE(error)
    tells the exceptions that came from the candidate, TEXT is that of the tests and the prelude."""

    def __init__(self, is_of_code, text):
        self.missing = set()
        self.is_of_code, self.text = is_of_code, text

    def find_spec(self, name, path=None, target=None):
        self.missing.add(name)

    def guarded(self, step, by):
        """Runs STEP. Raises Missing if it ends because this process lacks a module."""
        try:
            step()
        except ModuleNotFoundError as error:
            if error.name in self.missing and not self.is_of_code(error) and self.is_named(error):
                raise Missing(error.name, by) from None
            raise

    def is_named(self, error):
        """Returns whether the tests import by a statement, or name the module: a name that the code has given them
        says nothing of the host."""
        if error.name.partition(".")[0] in self.text:
            return True
        at, last = error.__traceback__, None
        while at is not None:
            if at.tb_frame.f_code.co_filename.startswith(FILES):
                last = at
            at = at.tb_next
        return last is not None and _is_import(last)


def watch(is_of_code, text):
    """Returns the finder, which sees all imports of this process from now on."""
    modules = Modules(is_of_code, text)
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
