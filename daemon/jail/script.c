/* SPDX-License-Identifier: MIT */
/* Theory of operation: what costs a script in a copied process is memory, which is copied page by
 * page where it is written to, and an interpreter that ends writes to nearly all that it has: it
 * takes every module that it ever loaded apart, object by object. So the end here leaves alone what
 * was loaded before the script began and is as it was then. All that a script could notice comes as
 * it does from the interpreter itself: threads are awaited, exit functions called, streams flushed,
 * the script's own objects and modules finalized in their order (Py_FinalizeEx() does that); when
 * nothing is left but memory to be freed, the process exits (on_audit()).
 *
 * What is written here follows pymain_run_python(), _PyRun_SimpleFileObject() and
 * handle_system_exit() of Python 3.11. Whatever it does not know goes their way. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "script.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What an interpreter exits with that could not flush its streams. */
#define STATUS_UNFLUSHED 120

/* A module that was loaded before any script, and how its names were then. */
struct loaded {
    PyObject *name, *module;
    uint64_t version;
};

struct status {
    int code;   /* for exit() */
    int signal; /* 0; else what ends the process instead: it was interrupted and did not mind */
};

/* In the jail's process, which is one interpreter's. */
struct script {
    struct loaded *loaded;
    size_t loaded_count;
    PyObject *exit_functions; /* atexit's own function that calls them */
    PyObject *out, *err;
    bool ends; /* nothing is left but to exit with STATUS */
    struct status status;
};

static struct script *script(void)
{
    static struct script the_only_one;
    return &the_only_one;
}

/* --- what is loaded ------------------------------------------------------------------------ */

/* A number that is another one after each change of a name of MODULE; 0: there is none. */
static uint64_t version_of(PyObject *module)
{
#if PY_VERSION_HEX < 0x030C0000
    if (PyModule_CheckExact(module))
        return ((PyDictObject *)PyModule_GetDict(module))->ma_version_tag;
#endif
    (void)module;
    return 0;
}

/* These are the interpreter's own, and the script's. */
static bool is_special(PyObject *name)
{
    static const char *const special[] = {"sys", "builtins", "__main__"};
    for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
        if (PyUnicode_CompareWithASCIIString(name, special[i]) == 0)
            return true;
    return false;
}

static void note_loaded(void)
{
    struct script *s = script();
    PyObject *name, *module;
    for (Py_ssize_t at = 0; PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module);) {
        uint64_t version = version_of(module);
        if (version == 0 || !PyUnicode_Check(name) || is_special(name))
            continue;
        Py_INCREF(name);
        Py_INCREF(module);
        s->loaded[s->loaded_count++] = (struct loaded){name, module, version};
    }
}

/* Whatever takes the modules apart does not find those that are as they were. They stay alive. */
static void hide_loaded(void)
{
    const struct script *s = script();
    PyObject *modules = PyImport_GetModuleDict();
    for (size_t i = 0; i < s->loaded_count; i++) {
        const struct loaded *was = &s->loaded[i];
        if (PyDict_GetItemWithError(modules, was->name) == was->module &&
            version_of(was->module) == was->version)
            (void)PyDict_DelItem(modules, was->name);
        PyErr_Clear();
    }
}

/* --- the end ------------------------------------------------------------------------------- */

_Noreturn static void leave(struct status status)
{
    if (status.signal != 0) {
        (void)PyOS_setsig(status.signal, SIG_DFL);
        (void)raise(status.signal);
    }
    exit(status.code);
}

/* The interpreter tells that it frees its memory, the last thing that it does. */
static int on_audit(const char *event, PyObject *arguments, void *userdata)
{
    const struct script *s = userdata;
    (void)arguments;
    if (s->ends && strcmp(event, "cpython.PyInterpreterState_Clear") == 0)
        leave(s->status);
    return 0;
}

int script_prepare(void)
{
    struct script *s = script();
    PyObject *atexit = PyImport_ImportModule("atexit");
    if (atexit)
        s->exit_functions = PyObject_GetAttrString(atexit, "_run_exitfuncs");
    Py_XDECREF(atexit);
    s->loaded = calloc((size_t)PyDict_Size(PyImport_GetModuleDict()) + 1, sizeof(*s->loaded));
    if (!s->exit_functions || !s->loaded || PySys_AddAuditHook(on_audit, s) < 0) {
        PyErr_Clear();
        return -ENOMEM;
    }
    note_loaded();
    return 0;
}

static void await_threads(void)
{
    PyObject *name = PyUnicode_FromString("threading");
    PyObject *threading = name ? PyImport_GetModule(name) : NULL;
    PyObject *done = threading ? PyObject_CallMethod(threading, "_shutdown", NULL) : NULL;
    if (threading && !done)
        PyErr_WriteUnraisable(threading);
    PyErr_Clear();
    Py_XDECREF(done);
    Py_XDECREF(threading);
    Py_XDECREF(name);
}

static bool is_closed(PyObject *stream)
{
    PyObject *closed = PyObject_GetAttrString(stream, "closed");
    int answer = closed ? PyObject_IsTrue(closed) : -1;
    Py_XDECREF(closed);
    PyErr_Clear();
    return answer > 0;
}

/* False, with an exception set, if it fails. */
static bool flush(PyObject *stream)
{
    PyObject *done =
        is_closed(stream) ? Py_NewRef(Py_None) : PyObject_CallMethod(stream, "flush", NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* Flushes the streams that the script began with; false if one of them cannot be. The interpreter,
 * which does it again, is not to fail, and complain, a second time. */
static bool flush_last(void)
{
    const struct script *s = script();
    bool out = flush(s->out);
    if (!out) {
        PyErr_WriteUnraisable(s->out);
        (void)PySys_SetObject("stdout", Py_None);
    }
    bool err = flush(s->err);
    PyErr_Clear();
    return out && err;
}

_Noreturn static void end(struct status status)
{
    struct script *s = script();
    await_threads();
    Py_XDECREF(PyObject_CallNoArgs(s->exit_functions));
    PyErr_Clear();
    /* What else stands for a stream may count how often it is flushed. */
    if (PySys_GetObject("stdout") == s->out && PySys_GetObject("stderr") == s->err) {
        if (!flush_last())
            status.code = STATUS_UNFLUSHED;
        hide_loaded();
        s->status = status;
        s->ends = true;
    }
    /* What is printed from here on is flushed when these go. */
    Py_CLEAR(s->out);
    Py_CLEAR(s->err);
    if (Py_FinalizeEx() < 0)
        status.code = STATUS_UNFLUSHED;
    leave(status);
}

/* --- the script ---------------------------------------------------------------------------- */

/* Not a directory, an archive or something else that is imported from, nor compiled. */
FILE *script_open(PyObject *path)
{
    struct stat st;
    long magic = PyImport_GetMagicNumber();
    PyObject *importer = PyImport_GetImporter(path), *name = PyUnicode_EncodeFSDefault(path);
    FILE *file = importer == Py_None && name ? fopen(PyBytes_AS_STRING(name), "rbe") : NULL;
    PyErr_Clear();
    Py_XDECREF(importer);
    Py_XDECREF(name);
    unsigned char first[2] = {0, 0};
    if (file && (fstat(fileno(file), &st) < 0 || !S_ISREG(st.st_mode) ||
                 (fread(first, 1, sizeof(first), file) == sizeof(first) &&
                  first[0] == (magic & 0xFF) && first[1] == ((magic >> 8) & 0xFF)))) {
        (void)fclose(file);
        file = NULL;
    }
    if (file)
        rewind(file);
    return file;
}

/* The names that a script finds beside those of every module. */
static int name_script(PyObject *names, PyObject *path)
{
    PyObject *external = PyImport_ImportModule("_frozen_importlib_external"), *loader = NULL;
    if (external)
        loader = PyObject_CallMethod(external, "SourceFileLoader", "sO", "__main__", path);
    int r = loader && PyDict_SetItemString(names, "__file__", path) == 0 &&
                    PyDict_SetItemString(names, "__cached__", Py_None) == 0 &&
                    PyDict_SetItemString(names, "__loader__", loader) == 0
                ? 0
                : -1;
    Py_XDECREF(loader);
    Py_XDECREF(external);
    return r;
}

/* Between the script's end and the telling of its exception, which is kept. */
static void flush_streams(void)
{
    static const char *const streams[] = {"stderr", "stdout"};
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        PyObject *stream = PySys_GetObject(streams[i]);
        PyObject *done = stream ? PyObject_CallMethod(stream, "flush", NULL) : NULL;
        Py_XDECREF(done);
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

static bool fits(PyObject *code, int *ret_status)
{
    int overflow = 0;
    if (code == Py_None)
        *ret_status = 0;
    else if (PyLong_Check(code))
        *ret_status = (int)PyLong_AsLongAndOverflow(code, &overflow);
    else
        return false;
    return overflow == 0;
}

/* Whether the exception that is set is a SystemExit with nothing to be said, which is cleared then.
 */
static bool is_plain_exit(int *ret_status)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(PyExc_SystemExit))
        return false;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *code = value;
    if (value && (PyObject *)Py_TYPE(value) == PyExc_SystemExit)
        code = ((PySystemExitObject *)value)->code;
    bool is_plain = fits(code ? code : Py_None, ret_status);
    PyErr_Restore(type, value, traceback);
    if (is_plain)
        PyErr_Clear();
    return is_plain;
}

/* Runs FILE, which is closed, and returns how the process is to end. Takes PATH. */
static struct status run(FILE *file, PyObject *path, PyObject *names)
{
    PyCompilerFlags flags = {.cf_flags = 0, .cf_feature_version = PY_MINOR_VERSION};
    PyObject *name = PyUnicode_EncodeFSDefault(path);
    Py_DECREF(path);
    struct status status = {0, 0};
    PyObject *value = PyRun_FileExFlags(file, name ? PyBytes_AS_STRING(name) : "", Py_file_input,
                                        names, names, 1, &flags);
    Py_XDECREF(name);
    flush_streams();
    if (!value && is_plain_exit(&status.code))
        return status;
    if (!value) {
        status.code = 1;
        status.signal = PyErr_Occurred() == PyExc_KeyboardInterrupt ? SIGINT : 0;
        PyErr_Print(); /* other forms of SystemExit end here */
    }
    Py_XDECREF(value);
    (void)PyDict_DelItemString(names, "__file__");
    (void)PyDict_DelItemString(names, "__cached__");
    PyErr_Clear();
    return status;
}

void script_run(FILE *file, const struct script_start *start, PyObject *owner)
{
    PyObject *names = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyObject *search = PySys_GetObject("path"), *path = Py_NewRef(start->path);
    script()->out = Py_NewRef(start->out);
    script()->err = Py_NewRef(start->err);
    bool ready =
        search && PyList_Insert(search, 0, start->directory) == 0 && name_script(names, path) == 0;
    Py_DECREF(owner);
    if (!ready) {
        PyErr_Print();
        leave((struct status){.code = 1});
    }
    end(run(file, path, names));
}
