/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds out whether what an interpreter had before a job is as it was. Include Python.h first.
 *
 * Theory of operation. Once, in the interpreter that waits, unchanged_collect() makes a list of all
 * dictionaries, lists, sets, cells and functions that there are: the names of modules and classes,
 * the attributes of objects, and whatever these hold. Python counts each change of a dictionary,
 * and a dictionary has the count of its last one. So that none of them has changed since
 * unchanged_begin() takes one look at each. Of the others it compares what they hold: of a function
 * its code, defaults, globals and closure.
 *
 * What it cannot see: what C code keeps outside of such containers. Python that keeps no such count
 * (3.13 and later) has no judges that stay. */

#include <stdbool.h>

#define UNCHANGED_WORKS (PY_VERSION_HEX < 0x030D0000)

/* Remembers the containers among OBJECTS, a list, and those that they hold, for all forks of this
 * process. Returns false, with no exception set, if that is not possible. */
bool unchanged_collect(PyObject *objects);

/* Whether there is anything to compare with. */
bool unchanged_is_possible(void);

/* What Python calls. unchanged_begin() takes a sequence of containers that may change (METH_O):
 * from now on the others are watched. unchanged_found() returns a list of those that are not as
 * they were (METH_NOARGS). */
PyObject *unchanged_begin(PyObject *self, PyObject *excused);
PyObject *unchanged_found(PyObject *self, PyObject *unused);
