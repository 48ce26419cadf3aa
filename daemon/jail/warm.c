/* SPDX-License-Identifier: MIT */
/* rubricd-jail-warm: the jail with a Python interpreter waiting in it. A job that is a script runs
 * in a fork of the jail. Starting the interpreter and importing the usual modules costs ten to
 * twenty milliseconds; each jail pays that once instead of once per job, or the zygote, of which
 * jails are copies, once for all of them.
 *
 * Theory of operation. prepare() starts the interpreter as `python3 -s -B SCRIPT` would start, up
 * to the point at which it opens its script; by then it has run nothing but the standard library.
 * For a job, start.c forks the jail and confines the fork. The fork gets its own script, arguments
 * and streams, and continues with the interpreter's own Py_RunMain(), which therefore decides about
 * the path, __main__, uncaught exceptions, exit statuses and the end. Scripts of the common form
 * take the shorter way of script.c.
 *
 * Programs of a pair (link.h) start in modules that learn() has loaded and hidden: no other job can
 * import them, and none pays for loading them.
 *
 * takes() refuses every job that could tell the difference from a fresh start, and the fork
 * executes it instead: a script beside a file that has the name of a module loaded here, other
 * arguments, another environment, or little memory. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail.h"
#include "large.h"
#include "pack.h"
#include "preludes.h"
#include "script.h"

#include "proto/util.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The memory that this interpreter has mapped beyond what a fresh one maps counts towards
 * RLIMIT_AS. A script with a lower limit than this might miss it, so it is executed. */
#define MEMORY_MIN ((rlim_t)256 << 20)

/* Placeholder for the script while the interpreter starts. */
#define NO_SCRIPT "-"

/* State of the one interpreter in this process. */
struct warm {
    char *const *argv;
    char *const *envp;
    size_t argc;
    PyObject *names;  /* the prelude's names */
    PyObject *loaded; /* sorted bytes objects: top-level modules loaded here. A file beside the
                         script that has one of these names would be imported in its place. */
    PyObject *begin;  /* starts a program of a pair; NULL: nothing was learnt */
    bool has_learnt;  /* or tried to */
    char directory[PATH_MAX]; /* in a fork: the directory of its script */
    bool is_pair;             /* in a fork: it runs a program of a pair */
    PyObject *code, *path;    /* in a template: the script of its class */
    const char *name;         /* and of the process that runs it */
    const char *role; /* or the program of a pair that its jobs are; NULL: they are scripts */
    struct large large;
};

static struct warm *warm(void)
{
    static struct warm the_only_one;
    return &the_only_one;
}

/* --- once ---------------------------------------------------------------------------------- */

static int fail(char *why, size_t size, const char *what)
{
    (void)snprintf(why, size, "%s", what);
    return -EINVAL;
}

/* A starting interpreter looks at which signals have handlers. Hide those of the jail from it, and
 * put them back later unless the interpreter installed a handler of its own. */
static void hide_handlers(struct sigaction before[NSIG])
{
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &before[number]) == 0 && before[number].sa_handler != SIG_DFL)
            (void)signal(number, SIG_DFL);
}

static void restore_handlers(const struct sigaction before[NSIG])
{
    struct sigaction now;
    for (int number = 1; number < NSIG; number++)
        if (before[number].sa_handler != SIG_DFL && sigaction(number, NULL, &now) == 0 &&
            now.sa_handler == SIG_DFL)
            (void)sigaction(number, &before[number], NULL);
}

/* Starts the interpreter as `ARGV... SCRIPT` would, with the current environ. */
static int start_interpreter(char *const *argv, size_t argc, char *why, size_t size)
{
    char *arguments[8];
    PyConfig config;
    if (argc + 1 > ARRAY_SIZE(arguments))
        return fail(why, size, "too many options");
    memcpy(arguments, argv, argc * sizeof(*argv));
    arguments[argc] = (char *)(uintptr_t)NO_SCRIPT;
    PyConfig_InitPythonConfig(&config);
    PyStatus status = PyConfig_SetBytesArgv(&config, (Py_ssize_t)argc + 1, arguments);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (!PyStatus_Exception(status))
        return 0;
    return fail(why, size, status.err_msg ? status.err_msg : "the interpreter does not start");
}

static PyObject *list_of(char *const *strings)
{
    PyObject *list = PyList_New(0);
    for (; list && *strings; strings++) {
        PyObject *text = PyUnicode_DecodeFSDefault(*strings);
        if (!text || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* Calls the prelude's FUNCTION. Returns a new reference, or NULL with no exception set. */
static PyObject *call(const char *function, PyObject *argument)
{
    PyObject *callable = PyDict_GetItemString(warm()->names, function);
    PyObject *result = callable ? PyObject_CallFunctionObjArgs(callable, argument, NULL) : NULL;
    PyErr_Clear();
    return result;
}

/* Runs the preludes, which define their functions in NAMES. */
static bool define(PyObject *names)
{
    static const char *const parts[] = {prelude, prelude_of_classes, prelude_of_parts};
    bool is_done = true;
    for (size_t i = 0; i < ARRAY_SIZE(parts) && is_done; i++) {
        PyObject *done = PyRun_String(parts[i], Py_file_input, names, names);
        is_done = done != NULL;
        Py_XDECREF(done);
    }
    return is_done;
}

static int load(char *const *modules, char *why, size_t size)
{
    struct warm *w = warm();
    PyObject *names = PyDict_New(), *list = list_of(modules), *loaded = NULL;
    int r = 0;
    w->names = names;
    if (names && list && define(names))
        loaded = call("load", list);
    if (loaded && PyUnicode_Check(loaded))
        r = fail(why, size, PyUnicode_AsUTF8(loaded));
    else if (!loaded || !PyList_CheckExact(loaded))
        r = fail(why, size, "the interpreter does not load its modules");
    else
        PyObject_GC_UnTrack(loaded); /* made after the freeze: hide it from scripts */
    PyErr_Clear();
    w->loaded = loaded;
    Py_XDECREF(list);
    return r;
}

/* Makes a file without a name. Where the filter is in force and refuses the first way, which takes
 * memory that nothing bounds, another tmpfs has room for an empty one. */
static int make_file(void)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    int file = memfd_create("stdin", MFD_CLOEXEC);
    for (size_t i = 0; i < ARRAY_SIZE(places) && file < 0; i++)
        file = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return file < 0 ? -errno : file;
}

/* Puts the kinds of files that a job has onto 0, 1 and 2: a seekable file at its start, and pipes.
 * All scripts share the stream objects that are then made on these descriptors. */
static int lay_streams(void)
{
    _cleanup_close_ int input = make_file();
    int ends[2];
    if (input < 0)
        return input;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    int r = dup2(input, STDIN_FILENO) < 0 || dup2(ends[1], STDOUT_FILENO) < 0 ||
                    dup2(ends[1], STDERR_FILENO) < 0
                ? -errno
                : 0;
    close_fd(ends[0]);
    close_fd(ends[1]);
    return r;
}

/* Puts those of this process, which begin_streams() has KEPT, in their places. */
static void end_streams(const int kept[LINK_STANDARD_FDS])
{
    for (int i = 0; i < LINK_STANDARD_FDS; i++) {
        if (kept[i] >= 0)
            (void)dup2(kept[i], i);
        else
            (void)close(i);
        close_fd(kept[i]);
    }
}

/* Lays out streams as a job has them, for an interpreter that makes its own of them. To be ended in
 * any case. */
static int begin_streams(int kept[LINK_STANDARD_FDS])
{
    for (int i = 0; i < LINK_STANDARD_FDS; i++)
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, LINK_STANDARD_FDS);
    return lay_streams();
}

static int load_with_streams(char *const *modules, char *why, size_t size)
{
    int kept[LINK_STANDARD_FDS], r = begin_streams(kept);
    r = r == 0 ? load(modules, why, size) : fail(why, size, "there are no streams to be made");
    end_streams(kept);
    return r;
}

/* Compares with the version of the loaded libpython, which may be newer than the headers that this
 * file was compiled with. */
static int check_version(const char *version, char *why, size_t size)
{
    char ours[64];
    const char *text = Py_GetVersion(); /* "3.11.2 (main, ...) [GCC 12.2.0]" */
    (void)snprintf(ours, sizeof(ours), "Python %.*s", (int)strcspn(text, " "), text);
    if (strcmp(version, ours) == 0)
        return 0;
    (void)snprintf(why, size, "it is %s and not %s", ours, version);
    return -ENOEXEC;
}

/* Reads all of FILE. Returns a new reference, or NULL with an exception set. */
static PyObject *read_all(int file)
{
    struct stat st;
    if (fstat(file, &st) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)st.st_size);
    if (data && pread(file, PyBytes_AS_STRING(data), (size_t)st.st_size, 0) != st.st_size)
        Py_CLEAR(data);
    return data;
}

static void learn(int code)
{
    struct warm *w = warm();
    if (w->has_learnt)
        return;
    w->has_learnt = true;
    PyObject *data = read_all(code);
    PyErr_Clear();
    int kept[LINK_STANDARD_FDS];
    if (begin_streams(kept) == 0 && data)
        w->begin = call("learn", data);
    end_streams(kept);
    script_renew_main();
    Py_XDECREF(data);
}

static int prepare(const struct link_setup_lists *lists, const char *version, int code, char *why,
                   size_t size)
{
    struct warm *w = warm();
    assert(!w->argv); /* one interpreter per jail, started once */
    w->argv = lists->argv;
    w->envp = lists->envp;
    while (w->argv[w->argc])
        w->argc++;
    int r = check_version(version, why, size);
    if (r < 0)
        return r;
    struct sigaction handlers[NSIG] = {{.sa_flags = 0}};
    environ = (char **)(uintptr_t)lists->envp;
    large_begin(&w->large);
    hide_handlers(handlers);
    r = start_interpreter(w->argv, w->argc, why, size);
    restore_handlers(handlers);
    if (r == 0)
        r = load_with_streams(lists->modules, why, size);
    if (r == 0)
        r = script_prepare();
    if (r == 0)
        pack_memory();
    if (r == 0 && code >= 0) {
        large_mark(&w->large);
        learn(code);
        pack_memory();
    } else if (r == 0) {
        Py_XDECREF(call("rehearse", NULL));
        script_renew_main();
        pack_memory();
    }
    large_end(&w->large);
    if (r == 0)
        large_copy_library((uintptr_t)Py_RunMain);
    return r;
}

/* --- in a fork ----------------------------------------------------------------------------- */

static bool same(char *const *a, char *const *b)
{
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return !*a && !*b;
}

/* Returns whether NAME, up to its first dot, is the name of a module loaded here. */
static bool is_loaded(const char *name)
{
    size_t n = strcspn(name, "."), from = 0, to = (size_t)PyList_GET_SIZE(warm()->loaded);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const char *other = PyBytes_AS_STRING(PyList_GET_ITEM(warm()->loaded, (Py_ssize_t)middle));
        int order = strncmp(name, other, n);
        if (order == 0 && other[n] == '\0')
            return true;
        if (order > 0)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

/* Returns whether DIRECTORY holds a file that an import would find before a module loaded here;
 * true if the directory cannot be read. */
static bool has_module(const char *directory)
{
    DIR *stream = opendir(directory);
    const struct dirent *entry;
    bool found = !stream;
    while (!found && (entry = readdir(stream)))
        found = is_loaded(entry->d_name);
    if (stream)
        (void)closedir(stream);
    return found;
}

/* Stores the directory of SCRIPT, with symbolic links resolved. Returns false if SCRIPT does not
 * exist. */
static bool find_directory(const char *script, char ret[PATH_MAX])
{
    if (!realpath(script, ret))
        return false;
    char *slash = strrchr(ret, '/');
    slash[slash == ret] = '\0'; /* in the root directory keep the slash */
    return true;
}

static bool has_memory(void)
{
    struct rlimit memory;
    return getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur >= MEMORY_MIN;
}

/* Returns whether ARGS, what follows the options, start a program of a pair. */
static bool is_known_pair(char *const *args)
{
    return warm()->begin && args[0] && strcmp(args[0], "-c") == 0 && args[1] &&
           strcmp(args[1], LINK_PAIR_BOOT) == 0 && args[2] && !args[3];
}

static bool takes(char *const *argv, char *const *envp, bool is_pair)
{
    struct warm *w = warm();
    for (size_t i = 0; i < w->argc; i++)
        if (!argv[i] || strcmp(argv[i], w->argv[i]) != 0)
            return false;
    w->is_pair = is_pair;
    if (is_pair)
        return is_known_pair(argv + w->argc) && same(envp, w->envp) && has_memory();
    if (!argv[w->argc] || *argv[w->argc] == '-' || argv[w->argc + 1] || !same(envp, w->envp))
        return false;
    return has_memory() && find_directory(argv[w->argc], w->directory) && !has_module(w->directory);
}

/* Changes the interpreter's own copy of its start configuration, from which Py_RunMain()
 * continues. */
static bool set_script(const char *path, const char *script)
{
    PyConfig *config =
        (PyConfig *)(uintptr_t)_PyInterpreterState_GetConfig(PyInterpreterState_Get());
    return config->argv.length == 1 &&
           !PyStatus_Exception(PyConfig_SetBytesString(config, &config->run_filename, path)) &&
           !PyStatus_Exception(PyConfig_SetBytesString(config, &config->argv.items[0], script));
}

static bool set_list(const char *name, char *const *strings)
{
    PyObject *list = list_of(strings);
    bool set = list && PySys_SetObject(name, list) == 0;
    Py_XDECREF(list);
    return set;
}

static bool make_path(const char *script, char ret[PATH_MAX])
{
    char directory[PATH_MAX];
    if (*script == '/')
        return snprintf(ret, PATH_MAX, "%s", script) < PATH_MAX;
    return getcwd(directory, sizeof(directory)) &&
           snprintf(ret, PATH_MAX, "%s/%s", directory, script) < PATH_MAX;
}

/* Runs the program of a pair that ROLE names; as any program, it ends the process itself. */
_Noreturn static void run_pair(const char *role)
{
    PyObject *done = PyObject_CallFunction(warm()->begin, "s", role);
    PyErr_Print();
    Py_XDECREF(done);
    _exit(1);
}

/* Puts the script of ARGV where the interpreter has what it was started with. PATH is the script's.
 */
static bool set_start(char *const *argv, const char *path)
{
    struct warm *w = warm();
    return set_list("orig_argv", argv) && set_list("argv", argv + w->argc) &&
           set_script(path, argv[w->argc]);
}

/* What ps(1) shows for a program that is started as ARGV. */
static const char *name_of(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    return slash ? slash + 1 : argv[0];
}

/* An attribute, because clang leaves _Noreturn out of a function's type. */
__attribute__((noreturn)) static void run(char *const *argv)
{
    struct warm *w = warm();
    char path[PATH_MAX];
    if (w->is_pair && strcmp(argv[w->argc + 2], LINK_PAIR_JUDGE) == 0)
        large_renew(&w->large);
    PyOS_AfterFork_Child();
    (void)prctl(PR_SET_NAME, name_of(argv));
    if (w->is_pair)
        run_pair(argv[w->argc + 2]);
    if (!make_path(argv[w->argc], path) || !set_start(argv, path)) {
        (void)fprintf(stderr, "rubricd-jail-warm: out of memory\n");
        _exit(127);
    }
    PyObject *name = PyUnicode_DecodeFSDefault(path);
    FILE *file = name ? script_open(name) : NULL;
    if (file)
        script_run(file, name, PyUnicode_DecodeFSDefault(w->directory));
    Py_XDECREF(name);
    exit(Py_RunMain());
}

/* --- in a template --------------------------------------------------------------------------- */

static void refuse(struct link_loaded *ret, const char *why)
{
    ret->error = EINVAL;
    (void)snprintf(ret->why, sizeof(ret->why), "%s", why ? why : "out of memory");
}

/* Has the prelude load PARTS and the script. Returns a new reference to what it has found, or NULL.
 */
static PyObject *load_parts(char *const *parts)
{
    struct warm *w = warm();
    PyObject *function = PyDict_GetItemString(w->names, "load_class"), *list = list_of(parts);
    PyObject *directory = PyUnicode_DecodeFSDefault(w->directory), *found = NULL;
    if (function && list && directory)
        found = PyObject_CallFunctionObjArgs(function, w->path, directory, list, NULL);
    Py_XDECREF(directory);
    Py_XDECREF(list);
    PyErr_Clear();
    return found;
}

/* Takes over what load_class() has found. Returns whether it has found the digest and the code. */
static bool keep_found(PyObject *found, struct link_loaded *ret)
{
    struct warm *w = warm();
    if (!found || !PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 2 ||
        !PyBytes_Check(PyTuple_GET_ITEM(found, 0)) || !PyCode_Check(PyTuple_GET_ITEM(found, 1)))
        return false;
    (void)snprintf(ret->digest, sizeof(ret->digest), "%s",
                   PyBytes_AsString(PyTuple_GET_ITEM(found, 0)));
    w->code = PyTuple_GET_ITEM(found, 1); /* `found` is never freed */
    return true;
}

/* Whether the script PATH is a file of Python text, which this finds out as script_open() does for
 * a job, and leaves behind what that does. */
static bool is_text(PyObject *path)
{
    FILE *file = path ? script_open(path) : NULL;
    if (file)
        (void)fclose(file);
    return file != NULL;
}

/* Says why nothing was loaded: FOUND, if that is a text. */
static void refuse_found(PyObject *found, struct link_loaded *ret)
{
    const char *why = found && PyUnicode_Check(found) ? PyUnicode_AsUTF8(found) : NULL;
    refuse(ret, found && !why ? "its reason cannot be printed" : why);
}

/* Loads PARTS for programs of a pair, which find them when they import them. */
static void load_of_pair(char *const *argv, char *const *parts, struct link_loaded *ret)
{
    struct warm *w = warm();
    PyObject *function = PyDict_GetItemString(w->names, "load_pair"), *list = list_of(parts);
    w->name = name_of(argv);
    w->role = argv[w->argc + 2];
    PyObject *found =
        function && list ? PyObject_CallFunctionObjArgs(function, w->begin, list, NULL) : NULL;
    Py_XDECREF(list);
    PyErr_Clear();
    if (!found || !PyBytes_Check(found)) {
        refuse_found(found, ret);
        return;
    }
    (void)snprintf(ret->digest, sizeof(ret->digest), "%s", PyBytes_AS_STRING(found));
    Py_XDECREF(call("settle", NULL));
    pack_memory();
}

static void load_of_class(char *const *argv, char *const *envp, char *const *parts, bool is_pair,
                          struct link_loaded *ret)
{
    struct warm *w = warm();
    char path[PATH_MAX];
    PyOS_AfterFork_Child();
    if (!takes(argv, envp, is_pair)) {
        refuse(ret, "its jobs would not run in the interpreter that waits");
        return;
    }
    if (is_pair) {
        load_of_pair(argv, parts, ret);
        return;
    }
    w->name = name_of(argv);
    w->path = make_path(argv[w->argc], path) && set_start(argv, path)
                  ? PyUnicode_DecodeFSDefault(path)
                  : NULL;
    if (!is_text(w->path)) {
        refuse(ret, "the rubric is not a file of Python text");
        return;
    }
    PyObject *found = load_parts(parts);
    if (!keep_found(found, ret)) {
        refuse_found(found, ret);
        return;
    }
    script_renew_filters();
    script_note_loaded();
    Py_XDECREF(call("settle", NULL));
    script_renew_main();
    pack_memory();
}

__attribute__((noreturn)) static void run_of_class(bool is_second)
{
    struct warm *w = warm();
    PyOS_AfterFork_Child();
    (void)prctl(PR_SET_NAME, w->name);
    if (w->role)
        run_pair(is_second ? LINK_PAIR_SECOND : w->role);
    Py_XDECREF(call("renew_seeds", NULL));
    script_run_code(w->code, w->path);
}

int main(int argc, char **argv)
{
    static const struct jail_interpreter python = {
        .prepare = prepare,
        .learn = learn,
        .before_fork = PyOS_BeforeFork,
        .after_fork = PyOS_AfterFork_Parent,
        .takes = takes,
        .run = run,
        .load = load_of_class,
        .run_loaded = run_of_class,
    };
    return jail_main(argc, argv, &python);
}
