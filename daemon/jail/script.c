/* SPDX-License-Identifier: MIT */
/* Theory of operation. A forked process pays for memory: the kernel copies each page that it writes
 * to. An interpreter that ends writes to nearly all of its pages, because it takes apart every
 * module that it ever loaded, object by object. Hardly any script would notice if it did not.
 *
 * So this file runs the script as the interpreter would, and then ends it step by step: it waits
 * for threads, calls the exit functions and flushes the streams, as the interpreter does. Then it
 * looks through all objects that the script has made. If destroying them would do nothing but free
 * memory, and nobody watches, the process exits at once (leave_only_memory()). Otherwise the
 * interpreter finalizes completely.
 *
 * The code follows pymain_run_python(), _PyRun_SimpleFileObject() and handle_system_exit() of
 * Python 3.11. Whatever it does not recognize takes the interpreter's own way through those
 * functions. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "script.h"

#include "proto/util.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Exit status when the interpreter cannot flush its streams. */
#define STATUS_UNFLUSHED 120

/* Types of the module _io whose objects have nothing left to do once they are closed. */
static const char *const file_types[] = {"TextIOWrapper",  "BufferedReader", "BufferedWriter",
                                         "BufferedRandom", "FileIO",         "BytesIO",
                                         "StringIO"};

struct status {
    int code;   /* for exit() */
    int signal; /* if not 0, the process ends by this signal instead: an interrupt that the script
                   did not catch */
};

/* State of the one interpreter in this process. */
struct script {
    struct {
        PyObject *get_objects, *get_debug, *callbacks,
            *unfreeze; /* functions and values of the module gc */
    } gc;
    PyTypeObject *files[ARRAY_SIZE(file_types)];
    PyCFunction forget; /* called when a class dies that an abstract base class knows */
    PyObject *main;     /* the module; borrowed, only ever compared: never dereference it */
    PyObject *filters,
        *first_filters;       /* of the module warnings: the list, and its first contents */
    PyObject *exit_functions; /* atexit's function that calls the exit functions */
    PyObject *out, *err;
    bool is_audited;      /* an audit hook was added */
    bool must_finalize;   /* what was loaded before the script has last words, too */
    bool has_usual_hooks; /* path hooks are those for archives and directories, and no others */
};

static struct script *script(void)
{
    static struct script the_only_one;
    return &the_only_one;
}

/* --- before any script --------------------------------------------------------------------- */

static int on_audit(const char *event, PyObject *arguments, void *userdata)
{
    struct script *s = userdata;
    (void)arguments;
    s->is_audited |= strcmp(event, "sys.addaudithook") == 0;
    return 0;
}

/* Returns NAME of MODULE: a new reference, or NULL with an exception set. */
static PyObject *attribute_of(const char *module, const char *name)
{
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *attribute = imported ? PyObject_GetAttrString(imported, name) : NULL;
    Py_XDECREF(imported);
    return attribute;
}

/* Finds the callback of the weak references that abstract base classes hold, by taking it from one
 * of them. */
static PyCFunction find_forget(void)
{
    PyObject *dump = attribute_of("_abc", "_get_dump"), *base = attribute_of("io", "RawIOBase");
    PyObject *known = dump && base ? PyObject_CallOneArg(dump, base) : NULL;
    PyObject *registry = known ? PyTuple_GetItem(known, 0) : NULL, *callback = NULL;
    PyObject *references = registry ? PySequence_List(registry) : NULL;
    if (references && PyList_GET_SIZE(references) > 0 &&
        PyWeakref_Check(PyList_GET_ITEM(references, 0)))
        callback = ((PyWeakReference *)PyList_GET_ITEM(references, 0))->wr_callback;
    PyCFunction forget =
        callback && PyCFunction_Check(callback) ? PyCFunction_GetFunction(callback) : NULL;
    PyErr_Clear();
    Py_XDECREF(references);
    Py_XDECREF(known);
    Py_XDECREF(base);
    Py_XDECREF(dump);
    return forget;
}

static bool find_attributes(struct script *s)
{
    bool found = (s->exit_functions = attribute_of("atexit", "_run_exitfuncs")) &&
                 (s->gc.get_objects = attribute_of("gc", "get_objects")) &&
                 (s->gc.get_debug = attribute_of("gc", "get_debug")) &&
                 (s->gc.callbacks = attribute_of("gc", "callbacks")) &&
                 (s->gc.unfreeze = attribute_of("gc", "unfreeze")) &&
                 (s->filters = attribute_of("_warnings", "filters")) &&
                 PyList_CheckExact(s->filters) && (s->first_filters = PyList_AsTuple(s->filters));
    for (size_t i = 0; found && i < ARRAY_SIZE(file_types); i++)
        found = (s->files[i] = (PyTypeObject *)attribute_of("_io", file_types[i]));
    return found;
}

static bool find_usual_hooks(void)
{
    PyObject *hooks = PySys_GetObject("path_hooks"), *first, *second, *module;
    PyObject *of_archives = attribute_of("zipimport", "zipimporter");
    bool are_two = of_archives && hooks && PyList_CheckExact(hooks) && PyList_GET_SIZE(hooks) == 2;
    first = are_two ? PyList_GET_ITEM(hooks, 0) : NULL;
    second = are_two ? PyList_GET_ITEM(hooks, 1) : NULL;
    module = second && PyFunction_Check(second) ? PyFunction_GetModule(second) : NULL;
    bool are_usual = first == of_archives && module && PyUnicode_Check(module) &&
                     PyUnicode_CompareWithASCIIString(module, "_frozen_importlib_external") == 0;
    PyErr_Clear();
    Py_XDECREF(of_archives);
    return are_usual;
}

void script_renew_main(void)
{
    script()->main = PyImport_AddModule("__main__");
}

/* Whether a filter for CATEGORY is one for the warnings that finalization gives. */
static bool is_for_last_words(PyObject *category)
{
    return PyObject_IsSubclass(PyExc_ResourceWarning, category) != 0 ||
           PyObject_IsSubclass(PyExc_RuntimeWarning, category) != 0;
}

/* Whether ITEM, a filter of warnings, was there before any module was loaded, or has the
 * interpreter warn of no more when it is finalized: it hides warnings, or is for others. */
static bool is_harmless(PyObject *item)
{
    PyObject *first = script()->first_filters;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(first); i++)
        if (PyTuple_GET_ITEM(first, i) == item)
            return true;
    if (!PyTuple_CheckExact(item) ||
        PyTuple_GET_SIZE(item) != 5) /* action, message, category ... */
        return false;
    PyObject *action = PyTuple_GET_ITEM(item, 0);
    bool hides = PyUnicode_Check(action) && PyUnicode_CompareWithASCIIString(action, "ignore") == 0;
    return hides || !is_for_last_words(PyTuple_GET_ITEM(item, 2));
}

void script_renew_filters(void)
{
    struct script *s = script();
    bool are_harmless = true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s->filters); i++)
        are_harmless &= is_harmless(PyList_GET_ITEM(s->filters, i));
    PyObject *now = are_harmless ? PyList_AsTuple(s->filters) : NULL;
    if (now)
        Py_SETREF(s->first_filters, now);
    PyErr_Clear();
}

int script_prepare(void)
{
    struct script *s = script();
    if (!find_attributes(s) || PySys_AddAuditHook(on_audit, s) < 0) {
        PyErr_Clear();
        return -ENOMEM;
    }
    script_renew_main();
    s->forget = find_forget();
    s->has_usual_hooks = find_usual_hooks();
    return 0;
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

/* Returns the module NAME, a new reference, if the script or anything before it has imported it;
 * NULL otherwise. */
static PyObject *imported(const char *name)
{
    PyObject *text = PyUnicode_FromString(name);
    PyObject *module = text ? PyImport_GetModule(text) : NULL;
    Py_XDECREF(text);
    return module;
}

static void await_threads(void)
{
    PyObject *threading = imported("threading");
    PyObject *done = threading ? PyObject_CallMethod(threading, "_shutdown", NULL) : NULL;
    if (threading && !done)
        PyErr_WriteUnraisable(threading);
    PyErr_Clear();
    Py_XDECREF(done);
    Py_XDECREF(threading);
}

static bool is_closed(PyObject *stream)
{
    PyObject *closed = PyObject_GetAttrString(stream, "closed");
    int answer = closed ? PyObject_IsTrue(closed) : -1;
    Py_XDECREF(closed);
    PyErr_Clear();
    return answer > 0;
}

/* Returns false with an exception set on failure. */
static bool flush(PyObject *stream)
{
    PyObject *done =
        is_closed(stream) ? Py_NewRef(Py_None) : PyObject_CallMethod(stream, "flush", NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* Flushes the streams that the script started with. Returns false if one cannot be flushed. A
 * failed stdout is replaced by None: the interpreter flushes again and must not fail, and complain,
 * a second time. */
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

/* --- what is left -------------------------------------------------------------------------- */

static bool is_closed_file(PyObject *object)
{
    const struct script *s = script();
    for (size_t i = 0; i < ARRAY_SIZE(file_types); i++)
        if (Py_IS_TYPE(object, s->files[i]))
            return is_closed(object);
    return false;
}

static bool is_quiet_callback(PyObject *callback)
{
    const struct script *s = script();
    return !callback || (s->forget && PyCFunction_Check(callback) &&
                         PyCFunction_GetFunction(callback) == s->forget);
}

/* Whether OBJECT itself may do something when it is destroyed: it is an open file, or its class has
 * a method for that. */
static bool has_last_words(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    return (type->tp_finalize || type->tp_del) && !is_closed_file(object);
}

/* Returns whether destroying OBJECT does nothing but free its memory. */
static bool is_quiet(PyObject *object)
{
    if (has_last_words(object))
        return false;
    return !PyWeakref_Check(object) || is_quiet_callback(((PyWeakReference *)object)->wr_callback);
}

static bool all_are_quiet(PyObject *objects)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects); i++)
        if (!is_quiet(PyList_GET_ITEM(objects, i)))
            return false;
    return true;
}

void script_note_loaded(void)
{
    struct script *s = script();
    PyObject *objects = PyObject_CallNoArgs(s->gc.get_objects);
    s->must_finalize = !objects;
    for (Py_ssize_t i = 0; objects && i < PyList_GET_SIZE(objects) && !s->must_finalize; i++)
        s->must_finalize = has_last_words(PyList_GET_ITEM(objects, i));
    PyErr_Clear();
    Py_XDECREF(objects);
}

/* Returns whether the script observes the garbage collector. */
static bool is_collection_watched(void)
{
    const struct script *s = script();
    PyObject *debug = PyObject_CallNoArgs(s->gc.get_debug);
    bool is_watched = !debug || PyObject_IsTrue(debug) || PyObject_Size(s->gc.callbacks) != 0;
    Py_XDECREF(debug);
    return is_watched;
}

/* Once the module is imported, its own list of filters counts. */
static bool have_warnings_other_filters(void)
{
    PyObject *module = imported("warnings");
    bool have_others =
        module && (!PyModule_CheckExact(module) ||
                   PyDict_GetItemString(PyModule_GetDict(module), "filters") != script()->filters);
    Py_XDECREF(module);
    return have_others;
}

/* Returns whether the script changed the warning filters. With other filters it may have asked for
 * warnings that only finalization gives, for example about a directory that is still being read,
 * which the garbage collector does not know. */
static bool are_warnings_changed(void)
{
    const struct script *s = script();
    if (PyList_GET_SIZE(s->filters) != PyTuple_GET_SIZE(s->first_filters))
        return true;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s->filters); i++)
        if (PyList_GET_ITEM(s->filters, i) != PyTuple_GET_ITEM(s->first_filters, i))
            return true;
    return have_warnings_other_filters();
}

static bool has_other_interpreters(void)
{
    return PyInterpreterState_Next(PyInterpreterState_Head());
}

/* Returns whether finalizing nothing would go unnoticed. OBJECTS are all objects that the script
 * has made. */
static bool leave_only_memory(PyObject *objects)
{
    return !script()->is_audited && !has_other_interpreters() && !is_collection_watched() &&
           !are_warnings_changed() && all_are_quiet(objects);
}

/* Returns whether OBJECTS include everything that the script made. The garbage collector does not
 * list frozen objects; if it lists __main__, which was made after the freeze, only older objects
 * are frozen. */
static bool are_all_of_script(PyObject *objects)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects); i++)
        if (PyList_GET_ITEM(objects, i) == script()->main)
            return true;
    return false;
}

/* Ends the process at once if nothing can tell the difference. ARE_FLUSHED: its streams are
 * flushed. Otherwise unfreezes the garbage collector, as in any interpreter: modules loaded before
 * the script may hold objects of the script. */
static void leave_at_once(struct status status, bool are_flushed)
{
    const struct script *s = script();
    PyObject *objects = PyObject_CallNoArgs(s->gc.get_objects);
    if (objects && are_all_of_script(objects)) {
        if (are_flushed && !s->must_finalize && leave_only_memory(objects))
            leave(status);
        Py_XDECREF(PyObject_CallNoArgs(s->gc.unfreeze));
    }
    Py_XDECREF(objects);
    PyErr_Clear();
}

_Noreturn static void end(struct status status)
{
    struct script *s = script();
    await_threads();
    Py_XDECREF(PyObject_CallNoArgs(s->exit_functions));
    PyErr_Clear();
    /* A stream that the script put in their place may count how often it is flushed. */
    bool are_ours = PySys_GetObject("stdout") == s->out && PySys_GetObject("stderr") == s->err;
    if (are_ours && !flush_last())
        status.code = STATUS_UNFLUSHED;
    leave_at_once(status, are_ours);
    /* These must go now, so that whatever is printed from here on is flushed. */
    Py_CLEAR(s->out);
    Py_CLEAR(s->err);
    if (Py_FinalizeEx() < 0)
        status.code = STATUS_UNFLUSHED;
    leave(status);
}

/* --- the script ---------------------------------------------------------------------------- */

/* Signature near the end of a zip archive. */
#define ARCHIVE_END "PK\5\6"
/* Larger scripts are left to the interpreter's path hooks, which know archives. */
#define TEXT_MAX (32 << 10)

/* Returns whether FILE of SIZE bytes may be an archive; true also if it cannot be read. */
static bool may_be_archive(FILE *file, off_t size)
{
    char text[TEXT_MAX];
    return size > TEXT_MAX || fread(text, 1, (size_t)size, file) != (size_t)size ||
           memmem(text, (size_t)size, ARCHIVE_END, sizeof(ARCHIVE_END) - 1);
}

/* Returns whether modules can be imported from the file PATH. The usual path hooks take longer to
 * find that out than many a script runs; if they are in place, decide here as they would and cache
 * their answer. */
static bool is_imported_from(PyObject *path, FILE *file, off_t size)
{
    PyObject *importer = NULL, *known = PySys_GetObject("path_importer_cache");
    if (script()->has_usual_hooks && known && PyDict_CheckExact(known) &&
        !may_be_archive(file, size))
        return PyDict_SetItem(known, path, Py_None) < 0;
    importer = PyImport_GetImporter(path);
    Py_XDECREF(importer);
    return importer != Py_None;
}

static bool is_compiled(FILE *file)
{
    unsigned char first[2] = {0, 0};
    long magic = PyImport_GetMagicNumber();
    rewind(file);
    return fread(first, 1, sizeof(first), file) == sizeof(first) && first[0] == (magic & 0xFF) &&
           first[1] == ((magic >> 8) & 0xFF);
}

FILE *script_open(PyObject *path)
{
    struct stat st;
    PyObject *name = PyUnicode_EncodeFSDefault(path);
    FILE *file = name ? fopen(PyBytes_AS_STRING(name), "rbe") : NULL;
    if (file && (fstat(fileno(file), &st) < 0 || !S_ISREG(st.st_mode) ||
                 is_imported_from(path, file, st.st_size) || is_compiled(file))) {
        (void)fclose(file);
        file = NULL;
    }
    PyErr_Clear();
    Py_XDECREF(name);
    if (file)
        rewind(file);
    return file;
}

/* Sets the names that a script finds in addition to those of every module. */
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

/* Flushes stderr and stdout after the script has ended and before its exception, which is kept, is
 * printed. */
static void flush_streams(void)
{
    static const char *const streams[] = {"stderr", "stdout"};
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
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

/* Returns whether the current exception is a SystemExit that prints nothing; clears it in that
 * case. */
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

/* Runs and closes FILE. Steals PATH. Returns what PyRun_FileExFlags() does. */
static PyObject *run_file(FILE *file, PyObject *path, PyObject *names)
{
    PyCompilerFlags flags = {.cf_flags = 0, .cf_feature_version = PY_MINOR_VERSION};
    PyObject *name = PyUnicode_EncodeFSDefault(path);
    Py_DECREF(path);
    PyObject *value = PyRun_FileExFlags(file, name ? PyBytes_AS_STRING(name) : "", Py_file_input,
                                        names, names, 1, &flags);
    Py_XDECREF(name);
    return value;
}

/* Returns how the process must end. VALUE, which this steals, is what the script came to: any
 * object, or NULL with an exception set. */
static struct status status_of(PyObject *value, PyObject *names)
{
    struct status status = {0, 0};
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

/* Begins the script PATH, and returns the names of its module. If it is not READY, an exception is
 * set, which ends the process. */
static PyObject *begin(PyObject *path, bool ready)
{
    PyObject *names = PyModule_GetDict(PyImport_AddModule("__main__"));
    assert(!script()->out && !script()->err); /* a fork runs one script */
    script()->out = Py_XNewRef(PySys_GetObject("stdout"));
    script()->err = Py_XNewRef(PySys_GetObject("stderr"));
    if (!ready || name_script(names, path) < 0) {
        PyErr_Print();
        leave((struct status){.code = 1});
    }
    return names;
}

void script_run(FILE *file, PyObject *path, PyObject *directory)
{
    PyObject *search = PySys_GetObject("path");
    bool ready = search && directory && PyList_Insert(search, 0, directory) == 0;
    Py_XDECREF(directory);
    PyObject *names = begin(path, ready);
    end(status_of(run_file(file, path, names), names));
}

void script_run_code(PyObject *code, PyObject *path)
{
    PyObject *names = begin(path, true);
    end(status_of(PyEval_EvalCode(code, names, names), names));
}
