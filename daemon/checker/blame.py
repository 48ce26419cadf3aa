# SPDX-License-Identifier: MIT
"""Tells what the tests and the prelude lack from what the code lacks: a module that they import and that
the host does not have says nothing about the code."""

import sys


class Missing(BaseException):
    """A module is missing that the tests or the prelude import: there is no verdict. No test catches it."""

    def __init__(self, module, by):
        super().__init__(module, by)
        self.module, self.by = module, by


class Modules:
    """The last finder of this process: it knows the modules that no other one has found. IS_OF_CODE(error)
    tells the exceptions that came from the candidate."""

    def __init__(self, is_of_code):
        self.missing = set()
        self.is_of_code = is_of_code

    def find_spec(self, name, path=None, target=None):
        self.missing.add(name)

    def guarded(self, step, by):
        """Runs STEP. Raises Missing if it ends because this process lacks a module."""
        try:
            step()
        except ModuleNotFoundError as error:
            if error.name in self.missing and not self.is_of_code(error):
                raise Missing(error.name, by) from None
            raise


def watch(is_of_code):
    """Returns the finder, which sees all imports of this process from now on."""
    modules = Modules(is_of_code)
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
