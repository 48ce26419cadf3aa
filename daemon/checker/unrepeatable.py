# SPDX-License-Identifier: MIT
"""Finds in the text of tests what another run of theirs would not find the same, and a transcript does not hold: times
of files, addresses, the state of the interpreter and of the machine.

Of modules that lead to such things (STATEFUL) the tests may use what is listed; whatever else they have is taken to
differ. Functions that are dangerous one by one stand in ELSEWHERE and OF_MODULES."""

import _ast
import re

PARSE_ONLY = 0x400  # ast.PyCF_ONLY_AST
# Names in the tests, of attributes or in texts, that lead to what a transcript does not have.
ELSEWHERE = {
    "getrusage": "the use of resources",
    "getmtime": "the times of files",
    "getatime": "the times of files",
    "getctime": "the times of files",
    **{f"st_{name}time{unit}": "the times of files" for name in ("m", "a", "c", "birth") for unit in ("", "_ns")},
    "st_ino": "the numbers of files",
    "st_dev": "the numbers of files",
    "gettarinfo": "the times of files",
    "make_archive": "the times of files",
    "fileno": "the numbers of descriptors",
    "socketpair": "the numbers of descriptors",
    "getloadavg": "the load of the machine",
    "statvfs": "the room on the disk",
    "fstatvfs": "the room on the disk",
    "disk_usage": "the room on the disk",
    "getsid": "the numbers of processes",
    "getpgid": "the numbers of processes",
    "get_ident": "the identity of threads",
    "get_native_id": "the identity of threads",
    "native_id": "the identity of threads",
    "relativeCreated": "the time since the start",
    "setitimer": "a timer of signals",
    "getitimer": "a timer of signals",
    "sigtimedwait": "a timer of signals",
    "getrandom": "random numbers of the kernel",
    "RAND_bytes": "random numbers of OpenSSL",
    "_random": "random numbers that nobody seeds",
    "c_void_p": "addresses in memory",
    "__array_interface__": "addresses in memory",
}
# The same of modules, whose attributes have usual names.
OF_MODULES = {
    ("os", "times"): "the use of the processor",
    ("os", "pipe"): "the numbers of descriptors",
    ("os", "dup"): "the numbers of descriptors",
    ("signal", "alarm"): "a timer of signals",
    ("builtins", "id"): "addresses in memory",
    ("email.utils", "localtime"): "the clock",
    ("zipfile", "main"): "the times of files",
    ("shutil", "copystat"): "the times of files",
    ("asyncio", "as_completed"): "the order of a set of tasks",
}
UNFILLED = frozenset(("empty", "empty_like"))  # of numpy
MADE_UNFILLED = frozenset(("ndarray", "recarray", "chararray"))  # if they are called
# Modules of the machine, of memory, or of random numbers of their own.
CLOSED = {
    **dict.fromkeys(("ctypes", "_ctypes", "cffi"), "addresses in memory"),
    **dict.fromkeys(("tracemalloc", "resource", "psutil"), "the use of resources"),
    **dict.fromkeys(("cryptography", "Crypto", "nacl", "bcrypt", "_random"), "random numbers that nobody seeds"),
    "filecmp": "the times of files",
    "faulthandler": "the state of the interpreter",
    "_thread": "the identity of threads",
    "_testcapi": "the state of the interpreter",
    "_testinternalcapi": "the state of the interpreter",
}
# What tests may use of modules whose other attributes are the state of the interpreter.
STATEFUL = {
    "gc": frozenset("collect enable disable isenabled freeze unfreeze get_threshold set_threshold is_tracked".split()),
    "sys": frozenset("""addaudithook api_version argv audit base_prefix breakpointhook builtin_module_names byteorder copyright
displayhook dont_write_bytecode excepthook exc_info exception executable exit exec_prefix flags float_info float_repr_style
getdefaultencoding getfilesystemencodeerrors getfilesystemencoding getprofile getrecursionlimit getsizeof
getswitchinterval gettrace hash_info hexversion implementation int_info get_int_max_str_digits
set_int_max_str_digits intern maxsize maxunicode meta_path modules orig_argv path path_hooks platform
platlibdir prefix ps1 ps2 pycache_prefix set_asyncgen_hooks get_asyncgen_hooks setprofile setrecursionlimit
setswitchinterval settrace stderr stdin stdlib_module_names stdout thread_info unraisablehook version version_info
warnoptions _getframe __stdin__ __stdout__ __stderr__ __excepthook__ __displayhook__ __name__""".split()),
}  # fmt: skip
# Of these a module of STATEFUL has as many as the interpreter has happened to load.
OF_MODULE_TABLE = frozenset(("get", "pop", "setdefault", "__setitem__", "__getitem__", "__contains__"))
NAMING = frozenset("object setattr getattr delattr hasattr reload dict".split())  # take a module and an attribute's name
# What os.stat() tells of a file that is the same each time.
OF_STAT = frozenset("st_size st_mode st_nlink st_uid st_gid".split())
STATS = frozenset(("stat", "lstat", "fstat"))
OF_THREAD = frozenset("name daemon is_alive isDaemon getName join".split())
THREADS = frozenset(("current_thread", "main_thread", "currentThread"))
# Functions and texts with which SQLite reads the clock, or draws random numbers.
OF_SQLITE_FUNCTIONS = frozenset("""current_time current_date current_timestamp date time datetime julianday unixepoch strftime
timediff random randomblob""".split())
OF_SQLITE = ("current_time", "current_date", "'now'", "random(", "randomblob(", "julianday()", "datetime()")
OF_DATETIME = ("now", "utcnow", "today")
FINDERS = frozenset(("__import__", "import_module"))


def reason_against(trees, text):
    """Returns why tests cannot be replayed, as far as their TREES tell; "" if nothing is known against it.
    TEXT is their text."""
    trees = fresh(text) or trees
    trees = [*trees, *(inner for tree in trees for inner in programs_in(tree))]
    if re.search(r"/proc\b", text):
        return "the tests look into /proc"
    if "sqlite3" in text and any(word in text.lower() for word in OF_SQLITE):
        return "the tests have SQLite look at the clock or draw random numbers"
    for module, name in (("tarfile", "add"), ("zipfile", "write")):
        if module in text and re.search(rf"\.{name}\(", text) and (module != "zipfile" or writes_files(trees)):
            return f"the tests depend on the times of files (`{module}`)"
    if "zipfile" in text and "from_file" in text:
        return "the tests depend on the times of files (`from_file`)"
    if "LogRecord" in text and ("vars(" in text or "__dict__" in text or ".thread" in text):
        return "the tests depend on the identity of threads (`LogRecord`)"
    looked = Look(trees, text)
    return next((f"the tests depend on {what} (`{name}`)" for what, name in looked.found()), "")


def fresh(text):
    """Returns the tree of a text in a list: that of tests that have run is no longer what they have written."""
    try:
        return [compile(text, "<tests>", "exec", PARSE_ONLY, dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def programs_in(tree):
    """Returns the trees of texts in a program that import something: the tests may run them."""
    texts = [node.value for node, _ in parts_of(tree) if isinstance(node, _ast.Constant) and type(node.value) is str]
    return [inner for text in texts if "import" in text for inner in fresh(text.strip())]


def parts_of(tree):
    """Yields the nodes of a tree, each with that above it."""
    stack = [(tree, None)]
    while stack:
        node, above = stack.pop()
        yield node, above
        for field in node._fields:
            value = getattr(node, field, None)
            stack.extend((one, node) for one in (value if type(value) is list else (value,)) if isinstance(one, _ast.AST))


def writes_files(trees):
    """Returns whether write() of some object may be given the name of a file, as that of a ZipFile is: an open file has a
    `with` or an open() of its own."""
    files = set()
    for tree in trees:
        for node, _ in parts_of(tree):
            pairs = [(node.optional_vars, node.context_expr)] if isinstance(node, _ast.withitem) else []
            pairs += [(one, node.value) for one in node.targets] if isinstance(node, _ast.Assign) else []
            for target, value in pairs:
                if isinstance(target, _ast.Name) and name_of(value) in ("ZipFile", "PyZipFile"):
                    files.add(target.id)
    for tree in trees:
        for node, _ in parts_of(tree):
            if isinstance(node, _ast.Call) and name_of(node) == "write" and isinstance(node.func, _ast.Attribute):
                base = node.func.value
                if getattr(base, "id", None) in files or name_of(base) in ("ZipFile", "PyZipFile"):
                    return True
                if isinstance(base, _ast.Attribute):
                    return True
    return False


def name_of(node):
    """Returns the name of the function that an expression calls, or None."""
    function = node.func if isinstance(node, _ast.Call) else None
    return getattr(function, "id", None) or getattr(function, "attr", None)


class Look:
    """TREES are those of tests, TEXT is their text."""

    def __init__(self, trees, text):
        self.trees, self.text = trees, text
        self.modules = {}  # by name in the tests
        self.stats, self.threads = set(), set()  # names that stand for results of os.stat() and for threads
        for tree in trees:
            for node, _ in parts_of(tree):
                self.note(node)

    def note(self, node):
        if isinstance(node, _ast.Import):
            for one in node.names:
                root = one.name if one.asname else one.name.partition(".")[0]
                self.modules[one.asname or root] = root
        elif isinstance(node, _ast.ImportFrom):
            for one in node.names:
                self.modules.setdefault(one.asname or one.name, f"{node.module}.{one.name}")
        elif isinstance(node, _ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], _ast.Name):
            name = name_of(node.value)
            if name in STATS:
                self.stats.add(node.targets[0].id)
            elif name in THREADS:
                self.threads.add(node.targets[0].id)
            elif isinstance(node.value, (_ast.Name, _ast.Call, _ast.Subscript)) and self.module(node.value):
                self.modules[node.targets[0].id] = self.module(node.value)

    def module(self, node):
        """Returns the name of the module that an expression stands for, or of what is imported from one; "" if none."""
        if isinstance(node, _ast.Name):
            return self.modules.get(node.id, "")
        if isinstance(node, _ast.Attribute):
            above = self.module(node.value)
            return f"{above}.{node.attr}" if above else ""
        if isinstance(node, _ast.Call) and name_of(node) in FINDERS and node.args:
            name = getattr(node.args[0], "value", None)
            return name if type(name) is str else ""
        if isinstance(node, _ast.Subscript) and self.module(node.value) == "sys.modules":
            name = getattr(node.slice, "value", None)
            return name if type(name) is str else ""
        return ""

    def found(self):
        """Yields (what, name) for whatever tests find that differs."""
        for find in (self.by_name, self.of_import, self.of_module, self.of_value):
            for tree in self.trees:
                yield from filter(None, (find(node, above) for node, above in parts_of(tree)))

    def by_name(self, node, _above):
        name = next((one for one in (getattr(node, field, None) for field in ("attr", "id", "value")) if type(one) is str), None)
        if name is None:
            return None
        if name in ELSEWHERE and not (isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Store)):
            return ELSEWHERE[name], name
        if name in OF_DATETIME and "datetime" in self.text and not isinstance(node, _ast.Name):
            return "the clock", name
        if "numpy" in self.text and name == "ctypes" and isinstance(node, _ast.Attribute):
            return "addresses in memory", name
        if name == "id" and isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Load):
            return "addresses in memory", name
        if name == "ident" and isinstance(node, _ast.Attribute) and "thread" in self.text:
            return "the identity of threads", name
        return None

    def of_import(self, node, _above):
        if isinstance(node, _ast.Import):
            names = [(one.name, "") for one in node.names]
        elif isinstance(node, _ast.ImportFrom):
            names = [(f"{node.module}", one.name) for one in node.names]
        elif isinstance(node, _ast.Call) and name_of(node) in FINDERS:
            names = [(self.module(node), "")]
        else:
            return None
        for module, name in names:
            found = self.differs(module, name)
            if found:
                return found, module if module in CLOSED else name or module
        return None

    @staticmethod
    def differs(module, name):
        """Returns what an attribute of a module depends on, or of a module if NAME is ""."""
        for root in (module, module.partition(".")[0], f"{module}.{name}"):
            if root in CLOSED:
                return CLOSED[root]
        if name in ELSEWHERE:
            return ELSEWHERE[name]
        if (module, name) in OF_MODULES:
            return OF_MODULES[module, name]
        if module.partition(".")[0] in ("numpy", "np") and name in UNFILLED:
            return "memory that nobody has filled"
        if name and module in STATEFUL and name not in STATEFUL[module] and name != "*":
            return "the state of the interpreter"
        return ""

    def of_module(self, node, above):
        """What a module is asked for."""
        if isinstance(node, _ast.Attribute):
            module = self.module(node.value) or {"np": "numpy"}.get(getattr(node.value, "id", ""), "")
            found = self.differs(module, node.attr) if module else ""
            return (found, node.attr) if found else None
        module = self.module(node)
        if module == "sys.modules" or isinstance(node, _ast.Name) and module in STATEFUL:
            return self.of_bare(node, above, module)
        return None

    @staticmethod
    def of_bare(node, above, module):
        """A module of STATEFUL that is used itself, as `vars(sys)` does."""
        is_read = isinstance(getattr(node, "ctx", None), _ast.Load)
        if not is_read or isinstance(above, _ast.Attribute):
            return None
        texts = [one.value for one in getattr(above, "args", ()) if isinstance(one, _ast.Constant)]
        if name_of(above) in NAMING and all(text in STATEFUL.get(module, texts) for text in texts[:1]):
            return None
        return "the state of the interpreter", module

    def of_value(self, node, above):
        """What a value is asked for that is the same only in part."""
        if self.module(node) == "sys.modules" and isinstance(node, _ast.Attribute) and not is_lookup(node, above):
            return "which modules are loaded", "modules"
        if isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Load):
            kept = OF_STAT if node.id in self.stats else OF_THREAD if node.id in self.threads else None
            if kept is not None and not is_asked(above, kept):
                return ("the times of files", "stat") if kept is OF_STAT else ("the identity of threads", node.id)
        if isinstance(node, _ast.Call):
            name = name_of(node)
            is_kept = isinstance(above, (_ast.Assign, _ast.Expr))
            if name in STATS and not is_kept and not is_asked(above, OF_STAT):
                return "the times of files", name
            if name in THREADS and not is_kept and not is_asked(above, OF_THREAD):
                return "the identity of threads", name
            is_buffer = len(node.args) > 2 or any(one.arg == "buffer" for one in node.keywords)
            if name in MADE_UNFILLED and "numpy" in self.text and not is_buffer:
                return "memory that nobody has filled", name
            if name == "collect" and self.module(node.func) == "gc.collect" and not isinstance(above, _ast.Expr):
                return "the state of the interpreter", "collect"
        if getattr(node, "attr", "") in STATS and isinstance(node.ctx, _ast.Load) and getattr(above, "func", None) is not node:
            if not isinstance(above, _ast.Attribute):
                return "the times of files", node.attr
        if getattr(node, "attr", "") == "__hash__" and isinstance(node.ctx, _ast.Load) and not isinstance(above, _ast.Compare):
            return "a hash that may be an address", "__hash__"
        return None


def is_asked(above, names):
    return isinstance(above, _ast.Attribute) and above.attr in names


def is_lookup(node, above):
    """Returns whether sys.modules is only asked for a module by its name."""
    if isinstance(above, _ast.Compare):
        return any(one is node for one in above.comparators) and all(isinstance(one, (_ast.In, _ast.NotIn)) for one in above.ops)
    if isinstance(above, _ast.Subscript):
        return above.value is node
    return is_asked(above, OF_MODULE_TABLE) or name_of(above) == "dict" and isinstance(above.func, _ast.Attribute)
