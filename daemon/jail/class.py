# SPDX-License-Identifier: MIT
"""Loads what a task class needs, in its template (class.c). The jail's interpreter has run the prelude of warm.c
in these same names before."""

# ruff: noqa: F821  (names of the prelude, and those that class.c adds)
import sys



def read_class(data):
    modules, helpers, at = [], {}, 0
    while at < len(data):
        n, part, size = (int.from_bytes(data[at + a:at + b], sys.byteorder)
                         for a, b in ((0, 4), (4, 8), (8, 16)))
        name, at = data[at + 16:at + 16 + n].decode(), at + 16 + n + size
        if part == MODULE:
            modules.append(name)
        elif part == HELPER:
            helpers[name] = data[at - size:at]
        else:
            script, source = name, data[at - size:at]
    return modules, helpers, script, source


def load_modules(modules, helpers):
    names = list(modules)
    if any(b'random' in source for source in helpers.values()):
        names.append('random')
    for name in names:
        try:
            __import__(name)
        except BaseException as error:
            return f'module {name}: {type(error).__name__}: {error}'


def random_states():
    found = {}
    if 'random' in sys.modules:
        found['random'] = sys.modules['random'].getstate()
    if 'numpy.random' in sys.modules:
        name, keys, *rest = sys.modules['numpy.random'].get_state()
        found['numpy.random'] = keys.tobytes(), rest
    return found


def make_finder(helpers, directory):
    external = sys.modules['_frozen_importlib_external']
    class Loader(external.SourceFileLoader):
        def get_code(self, name):
            return compile(helpers[name], self.path, 'exec', dont_inherit=True)
    class Finder:
        def find_spec(name, path=None, target=None):
            if name in helpers:
                file = f'{directory}/{name}.py'
                return external.spec_from_file_location(name, file, loader=Loader(name, file))
        def adopt():
            for name in helpers:
                module = sys.modules[name]
                loader = external.SourceFileLoader(name, f'{directory}/{name}.py')
                module.__loader__ = module.__spec__.loader = loader
    return Finder, external.PathFinder


def load_helpers(helpers, directory):
    finder, before = make_finder(helpers, directory)
    sys.meta_path.insert(sys.meta_path.index(before), finder)
    for name in helpers:
        if not sys.modules['posix'].access(f'{directory}/{name}.py', 4):
            return f'helper {name}: jobs cannot read its file'
        try:
            __import__(name)
        except BaseException as error:
            return f'helper {name}: {type(error).__name__}: {error}'
        spec = getattr(sys.modules.get(name), '__spec__', None)
        if getattr(spec, 'origin', None) != f'{directory}/{name}.py':
            return f'helper {name}: a module of that name is loaded'
    finder.adopt()
    sys.meta_path.remove(finder)


def check_helpers(path, streams, states):
    if sys.path != path:
        return 'a helper changes sys.path'
    if (sys.stdin, sys.stdout, sys.stderr) != streams:
        return 'a helper replaces a standard stream'
    now = random_states()
    if 'numpy.random' in now and 'numpy.random' not in states:
        return 'a helper loads numpy: name it among the modules'
    if any(now[name] != state for name, state in states.items()):
        return 'a helper changes the state of random numbers'
    sys.stdout.flush()
    sys.stderr.flush()


def load_class(data):
    modules, helpers, script, source = read_class(data)
    problem = load_modules(modules, helpers)
    if problem:
        return problem
    settle()
    watch(True)
    directory, argv = script.rpartition('/')[0], sys.argv
    sys.argv = [script]
    sys.path.insert(0, directory)
    path, states = list(sys.path), random_states()
    streams = sys.stdin, sys.stdout, sys.stderr
    problem = load_helpers(helpers, directory) or check_helpers(path, streams, states)
    if problem:
        return problem
    sys.argv = argv
    del sys.path[0]
    sys.path_importer_cache.pop(directory, None)
    watch(False)
    top = {name.partition('.')[0] for name in set(sys.modules) - known} - set(helpers)
    return sorted(name.encode() for name in top), compile_script(source, script)


def renew():
    """Called in each job before its script: the module random seeds itself anew in every fork, this one does not.
    A fork that the job makes is none of these."""
    if 'numpy.random' in sys.modules:
        sys.modules['numpy.random'].seed()


def compile_script(source, script):
    import _warnings
    kept = list(_warnings.filters)
    _warnings.filters[:] = [('error', None, Warning, None, 0)]
    _warnings._filters_mutated()
    try:
        return compile(source, script, 'exec', dont_inherit=True)
    except BaseException:
        return None
    finally:
        _warnings.filters[:] = kept
        _warnings._filters_mutated()
