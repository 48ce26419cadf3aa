/* SPDX-License-Identifier: MIT */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "unchanged.h"

#include "proto/util.h"

#include <stdint.h>
#include <stdlib.h>

/* Of the one interpreter in this process. */
struct unchanged {
    PyObject **dicts, **others; /* references */
    size_t dict_count, other_count, dict_room, other_room;
    PyObject *seen;          /* while it collects: the addresses of these */
    uint64_t version, *sums; /* of the others */
    bool is_broken;
};

static struct unchanged *unchanged(void)
{
    static struct unchanged the_only_one;
    return &the_only_one;
}

/* --- once ---------------------------------------------------------------------------------- */

static bool append(PyObject ***list, size_t *count, size_t *room, PyObject *object)
{
    if (*count == *room) {
        size_t wanted = MAX(*room * 2, (size_t)4096);
        PyObject **larger = reallocarray(*list, wanted, sizeof(void *));
        if (!larger)
            return false;
        *list = larger;
        *room = wanted;
    }
    (*list)[(*count)++] = Py_NewRef(object);
    return true;
}

static bool is_other(PyObject *object)
{
    return PyList_CheckExact(object) || PyAnySet_CheckExact(object) || PyCell_Check(object) ||
           PyFunction_Check(object);
}

/* Adds OBJECT if it is a container. Returns 0, or -1 if there is no memory. */
static int add(PyObject *object, void *unused)
{
    struct unchanged *u = unchanged();
    bool is_dict = PyDict_Check(object);
    (void)unused;
    if (!is_dict && !is_other(object))
        return 0;
    PyObject *address = PyLong_FromVoidPtr(object);
    int is_known = address ? PySet_Contains(u->seen, address) : -1;
    if (is_known == 0)
        is_known = PySet_Add(u->seen, address) < 0 ||
                           !(is_dict ? append(&u->dicts, &u->dict_count, &u->dict_room, object)
                                     : append(&u->others, &u->other_count, &u->other_room, object))
                       ? -1
                       : 1;
    Py_XDECREF(address);
    return is_known < 0 ? -1 : 0;
}

/* Adds OBJECT, and what the collector does not know because it holds nothing in cycles. */
static bool add_with_parts(PyObject *object)
{
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return add(object, NULL) == 0 && (!traverse || traverse(object, add, NULL) == 0);
}

/* Has an object's attributes be in a dictionary: Python may keep them elsewhere at first. */
static void spread(PyObject *object)
{
    if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT)
        Py_XDECREF(PyObject_GenericGetDict(object, NULL));
    PyErr_Clear();
}

/* Leaves out where Python notes the subclasses of KIND and of those that it derives from: the
 * checker makes classes for each job. */
static bool leave_subclasses_out(PyObject *seen, const PyTypeObject *kind)
{
    bool is_done = true;
    for (Py_ssize_t i = 0; kind->tp_mro && i < PyTuple_GET_SIZE(kind->tp_mro) && is_done; i++) {
        const PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(kind->tp_mro, i);
        PyObject *address = one->tp_subclasses ? PyLong_FromVoidPtr(one->tp_subclasses) : NULL;
        is_done = !one->tp_subclasses || (address && PySet_Add(seen, address) == 0);
        Py_XDECREF(address);
    }
    return is_done;
}

static bool is_class_left_out(PyObject *seen, PyObject *object)
{
    return !PyType_Check(object) || (leave_subclasses_out(seen, (PyTypeObject *)object) &&
                                     leave_subclasses_out(seen, Py_TYPE(object)));
}

bool unchanged_collect(PyObject *objects)
{
    struct unchanged *u = unchanged();
    if (!UNCHANGED_WORKS || !PyList_CheckExact(objects) || u->dicts)
        return false;
    u->seen = PySet_New(NULL);
    bool is_done = u->seen != NULL;
    for (Py_ssize_t i = 0; is_done && i < PyList_GET_SIZE(objects); i++)
        is_done = is_class_left_out(u->seen, PyList_GET_ITEM(objects, i));
    for (Py_ssize_t i = 0; is_done && i < PyList_GET_SIZE(objects); i++) {
        PyObject *object = PyList_GET_ITEM(objects, i);
        spread(object);
        is_done = object == objects || add_with_parts(object);
    }
    Py_CLEAR(u->seen);
    PyErr_Clear();
    u->is_broken = !is_done;
    return is_done;
}

bool unchanged_is_possible(void)
{
    return unchanged()->dicts && !unchanged()->is_broken;
}

/* --- in a fork ----------------------------------------------------------------------------- */

static uint64_t version_of(PyObject *dict)
{
#if UNCHANGED_WORKS
    return ((PyDictObject *)dict)->ma_version_tag;
#else
    (void)dict;
    return UINT64_MAX;
#endif
}

/* Returns what Python has counted up to now, 0 without memory: a new dictionary has it. */
static uint64_t current_version(void)
{
    PyObject *dict = PyDict_New();
    bool is_set = dict && PyDict_SetItem(dict, Py_None, Py_None) == 0;
    uint64_t version = is_set ? version_of(dict) : 0;
    Py_XDECREF(dict);
    return version;
}

static uint64_t mix(uint64_t sum, const void *value)
{
    return (sum ^ (uintptr_t)value) * UINT64_C(0x9E3779B97F4A7C15) + (sum >> 29);
}

/* Attributes that the judge itself looks up are left out: Python makes dictionaries for these. */
static uint64_t sum_up_function(PyObject *object)
{
    const PyFunctionObject *function = (PyFunctionObject *)object;
    const void *parts[] = {function->func_code, function->func_defaults, function->func_kwdefaults,
                           function->func_globals, function->func_closure};
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        sum = mix(sum, parts[i]);
    return mix(sum, object);
}

static uint64_t sum_up(PyObject *object)
{
    uint64_t sum = 0;
    if (PyFunction_Check(object))
        return sum_up_function(object);
    if (PyCell_Check(object))
        return mix(sum, PyCell_GET(object));
    if (PyList_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); i++)
            sum = mix(sum, PyList_GET_ITEM(object, i));
        return mix(sum, object);
    }
    const PySetObject *set = (const PySetObject *)object;
    for (Py_ssize_t i = 0; i <= set->mask; i++)
        sum = mix(sum, set->table[i].key);
    return mix(sum, object);
}

/* Takes OBJECT out of LIST. */
static void leave_out(PyObject **list, size_t *count, const PyObject *object)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i] == object) {
            list[i] = list[--*count];
            return;
        }
}

PyObject *unchanged_begin(PyObject *self, PyObject *excused)
{
    struct unchanged *u = unchanged();
    (void)self;
    PyObject *list = PySequence_Fast(excused, "not a sequence");
    if (!list)
        return NULL;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *object = PySequence_Fast_GET_ITEM(list, i);
        if (PyDict_Check(object))
            leave_out(u->dicts, &u->dict_count, object);
        else
            leave_out(u->others, &u->other_count, object);
    }
    Py_DECREF(list);
    u->version = current_version();
    u->sums = reallocarray(u->sums, u->other_count + 1, sizeof(*u->sums));
    if (u->version == 0 || !u->sums)
        return PyErr_NoMemory();
    for (size_t i = 0; i < u->other_count; i++)
        u->sums[i] = sum_up(u->others[i]);
    Py_RETURN_NONE;
}

PyObject *unchanged_found(PyObject *self, PyObject *unused)
{
    const struct unchanged *u = unchanged();
    PyObject *list = PyList_New(0);
    (void)self;
    (void)unused;
    for (size_t i = 0; list && i < u->dict_count; i++)
        if (version_of(u->dicts[i]) > u->version && PyList_Append(list, u->dicts[i]) < 0)
            Py_CLEAR(list);
    for (size_t i = 0; list && i < u->other_count; i++)
        if (sum_up(u->others[i]) != u->sums[i] && PyList_Append(list, u->others[i]) < 0)
            Py_CLEAR(list);
    return list;
}
