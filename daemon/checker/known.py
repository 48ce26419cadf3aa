# SPDX-License-Identifier: MIT
"""What the texts of a job tell, found once for each text by a judge that stays (stay.py).

Everything here is a pure function of texts, and of names that the candidate has or a prelude has left. A judge is
given the same tests and preludes again for each answer to a task, and often the same answer. What it keeps are texts,
sets and tuples of these, and code objects, which nobody can change (program.kept()); no trees."""

import _ast

import names
import program
import simple
import suite
import unreached


class Texts:
    """The parts of a job by which the functions here find what they have kept."""

    __slots__ = ("prelude", "code", "setup", "test", "targets", "entry_point", "names")

    def __init__(self, *parts):
        self.prelude, self.code, self.setup, self.test, self.targets, self.entry_point, self.names = parts


def _parts_of(job):
    return job.prelude, job.code, job.setup, job.test, tuple(job.targets), job.entry_point, tuple(job.names)


@program.kept
def names_of(text):
    """Returns what a text of the tests looks up and what it binds, as suite.names_of() has it."""
    tree = program.parse(text)
    return suite.names_of(tree) if tree is not None else (frozenset(), frozenset())


@program.kept
def free_names(text):
    """Returns the names that the program TEXT looks up and binds nowhere; none if it is no program."""
    tree = program.parse(text)
    return suite.free_names(tree) if tree is not None else frozenset()


@program.kept
def classes_of(text):
    """Returns the names of the classes that a text of the tests defines, but of those that judge."""
    tree = program.parse(text) if "class" in text else None
    nodes = [node for node in tree.body if isinstance(node, _ast.ClassDef)] if tree else ()
    return frozenset(node.name for node in nodes if not unreached.judges(node))


def compiled(text, name, tree):
    """Returns the code of a text of the tests, and the names that its class bodies look up."""
    code = suite.compile_tests(text, name, tree)
    return code, suite.names_in_classes(code)


@program.kept
def _compiled_as_it_is(text, name):
    return compiled(text, name, program.take(text))


def compiled_tests(text, name, forms):
    """The same, after FORMS (formats.py) have rewritten what they rewrite."""
    if forms.rewrites(text):
        return compiled(text, name, forms.rewritten(program.take(text), text, name))
    return _compiled_as_it_is(text, name)


@program.kept
def compiled_prelude(text):
    """Compiles the text of a program.Prelude."""
    return suite.compile_plain(program.parse(text), "<prelude>")


@program.kept
def names_of_prelude(text):
    """Returns all names in the text of a program.Prelude."""
    return frozenset().union(*suite.names_of(program.parse(text)))


def decide(job, code_names, prelude, prelude_names):
    """Returns what names.decide() does."""
    parts = _decided(_parts_of(job), tuple(code_names), frozenset(prelude_names) if prelude else None)
    decision = names.Decision()
    for name, part in zip(names.Decision.__slots__, parts):
        setattr(decision, name, part)
    return decision


@program.kept
def _decided(parts, code_names, prelude_names):
    job = Texts(*parts)
    prelude = program.Prelude(job.prelude) if prelude_names is not None else None
    decision = names.decide(job, code_names, prelude, prelude_names or ())
    return tuple(getattr(decision, name) for name in names.Decision.__slots__)


def why_not_simple(job, code_text, under_test):
    """Returns what simple.why_not() does."""
    return _why_not_simple(_parts_of(job), code_text, frozenset(under_test))


@program.kept
def _why_not_simple(parts, code_text, under_test):
    tree = program.parse(code_text)
    return simple.why_not(tree, code_text, Texts(*parts), under_test) if tree is not None else "no program"


@program.kept
def composed(prelude, code, asked):
    """Returns the program that prelude and code are together."""
    return program.compose(prelude, code, asked)[0]
