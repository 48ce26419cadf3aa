/* SPDX-License-Identifier: MIT */
#pragma once
/* The judge's end of its seat (stay.h). Include Python.h first. */

/* Returns what daemon/checker/stay.py takes for a seat, or NULL, with no exception set, if this
 * process has none. */
PyObject *seat_open(void);
