/* SPDX-License-Identifier: MIT */
/* Theory of operation. A job must not find out that its modules were there before it. So helpers
 * are loaded as if the script imported them: with its directory at the start of sys.path, its name
 * in sys.argv, and under a finder that gives them the names, files and loaders that they would have
 * then. Their text comes from the daemon, which has read it once, and so is the text whose digest
 * is known.
 *
 * A helper whose loading has another effect than to make a module cannot be loaded once for all. It
 * is refused where that can be seen: it opens another file of the bench (the audit hook of
 * script.c), imports a module that it does not declare, changes sys.path or the state of random
 * numbers, or writes output (the jail sees that). What it makes is part of what a script leaves: if
 * its end does more than free memory, so does the end of each script (script_note_helpers()).
 *
 * The script's own code is compiled here, too, unless that gives a warning, which each job must
 * give again. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "class.h"
#include "class_code.h"
#include "link.h"
#include "script.h"

#include "proto/util.h"

#include <stdio.h>

/* What class.py calls with True before it loads helpers, and with False after. */
static PyObject *watch(PyObject *self, PyObject *begins)
{
    (void)self;
    if (begins == Py_True)
        script_begin_helpers();
    else
        script_end_helpers();
    Py_RETURN_NONE;
}

static PyMethodDef watch_method = {"watch", watch, METH_O, NULL};

static int add_names(PyObject *names)
{
    static const struct {
        const char *name;
        long value;
    } parts[] = {{"MODULE", LINK_CLASS_MODULE}, {"HELPER", LINK_CLASS_HELPER}};
    PyObject *function = PyCFunction_New(&watch_method, NULL);
    int r = function ? PyDict_SetItemString(names, watch_method.ml_name, function) : -1;
    Py_XDECREF(function);
    for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++) {
        PyObject *value = PyLong_FromLong(parts[i].value);
        r = value ? PyDict_SetItemString(names, parts[i].name, value) : -1;
        Py_XDECREF(value);
    }
    return r;
}

static void explain(PyObject *problem, char *why, size_t size)
{
    const char *text = problem && PyUnicode_Check(problem) ? PyUnicode_AsUTF8(problem) : NULL;
    (void)snprintf(why, size, "%s", text ? text : "the interpreter does not load it");
    PyErr_Clear();
}

PyObject *class_load(PyObject *names, PyObject *data, PyObject **ret_code, char *why, size_t size)
{
    PyObject *done = NULL, *function = NULL, *result = NULL, *loaded = NULL;
    if (add_names(names) == 0)
        done = PyRun_String(class_code, Py_file_input, names, names);
    if (done)
        function = PyDict_GetItemString(names, "load_class");
    if (function)
        result = PyObject_CallOneArg(function, data);
    PyErr_Clear();
    if (script_has_opened()) {
        (void)snprintf(why, size, "a helper opens %s", script_has_opened());
    } else if (!result || !PyTuple_CheckExact(result)) {
        explain(result, why, size);
    } else {
        PyObject *code = PyTuple_GET_ITEM(result, 1);
        loaded = Py_NewRef(PyTuple_GET_ITEM(result, 0));
        *ret_code = PyCode_Check(code) ? Py_NewRef(code) : NULL;
    }
    Py_XDECREF(result);
    Py_XDECREF(done);
    return loaded;
}
