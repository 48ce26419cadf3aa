/* SPDX-License-Identifier: MIT */
/* Theory of operation. The seat lies where the code of a pair would lie, which the interpreter has
 * learnt. While the judge waits for another pair, the null device holds the places of the
 * descriptors that come with it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "seat.h"

#include "link.h"
#include "proto/util.h"
#include "unchanged.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SEAT LINK_PAIR_CODE
/* Bytes by which a process may have grown: the usage of a pair counts its largest size. */
#define GROWN_MAX ((uint64_t)8 << 20)
/* For how long a judge waits for another pair. */
#define IDLE_MS 5000

static uint64_t largest_size(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* Of the one judge in this process: its size before its first pair. */
static uint64_t *size_at_first(void)
{
    static uint64_t size;
    return &size;
}

static bool say(enum link_seat what)
{
    const struct link_seat_message message = {.what = what, .max_rss_bytes = largest_size()};
    return link_send_seat(SEAT, &message) == 0;
}

/* Puts the null device in the places of a pair's descriptors. */
static bool close_pair(void)
{
    _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < SEAT; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return false;
    return true;
}

static bool take_places(int fds[LINK_PAIR_CODE])
{
    bool are_taken = true;
    for (int i = 0; i < LINK_PAIR_CODE; i++) {
        int flags = i < LINK_STANDARD_FDS ? 0 : O_CLOEXEC;
        are_taken = dup3(fds[i], i, flags) == i && are_taken;
        fds[i] = close_fd(fds[i]);
    }
    return are_taken;
}

/* Sets the limit of CPU time for a pair that may take MS of it; the kernel counts whole seconds of
 * the process. */
static bool limit_cpu(uint64_t ms)
{
    struct timespec used;
    struct rlimit limit;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0 || getrlimit(RLIMIT_CPU, &limit) < 0)
        return false;
    uint64_t used_ms = (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
    limit.rlim_cur = MIN((rlim_t)((used_ms + ms + 999) / 1000), limit.rlim_max);
    return setrlimit(RLIMIT_CPU, &limit) == 0;
}

/* --- what Python calls ---------------------------------------------------------------------- */

/* Gives up the seat, and with it the right to raise the limit of CPU time. */
static PyObject *leave(PyObject *self, PyObject *unused)
{
    struct rlimit limit;
    (void)self;
    (void)unused;
    (void)close(SEAT);
    if (getrlimit(RLIMIT_CPU, &limit) == 0) {
        limit.rlim_max = MIN(limit.rlim_cur + 1, limit.rlim_max);
        if (setrlimit(RLIMIT_CPU, &limit) == 0)
            Py_RETURN_NONE;
    }
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* Tells that the judge takes the pair that it was handed. */
static PyObject *take(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyBool_FromLong(say(LINK_SEAT_TAKES));
}

/* Lets go of a pair, and tells that it is over. False: this process must end. */
static PyObject *done(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    bool may_stay = largest_size() <= *size_at_first() + GROWN_MAX;
    return PyBool_FromLong(may_stay && close_pair() && say(LINK_SEAT_DONE));
}

/* Waits for the next pair. False: there is none. */
static PyObject *next(PyObject *self, PyObject *unused)
{
    struct link_turn turn;
    int fds[LINK_PAIR_CODE], r;
    (void)self;
    (void)unused;
    /* What it has had of a client's jobs does not stay in memory for longer than that. */
    struct pollfd seat = {.fd = SEAT, .events = POLLIN};
    if (poll(&seat, 1, IDLE_MS) != 1)
        Py_RETURN_FALSE;
    r = link_receive_turn(SEAT, &turn, fds);
    return PyBool_FromLong(r == 1 && take_places(fds) && limit_cpu(turn.cpu_ms));
}

PyObject *seat_open(void)
{
    static PyMethodDef methods[] = {
        {"leave", leave, METH_NOARGS, NULL},      {"take", take, METH_NOARGS, NULL},
        {"done", done, METH_NOARGS, NULL},        {"next", next, METH_NOARGS, NULL},
        {"watch", unchanged_begin, METH_O, NULL}, {"changed", unchanged_found, METH_NOARGS, NULL},
    };
    if (fcntl(SEAT, F_GETFD) < 0 || !unchanged_is_possible())
        return NULL;
    *size_at_first() = largest_size();
    PyObject *seat = PyTuple_New((Py_ssize_t)ARRAY_SIZE(methods));
    for (size_t i = 0; seat && i < ARRAY_SIZE(methods); i++) {
        PyObject *function = PyCFunction_New(&methods[i], NULL);
        if (function)
            PyTuple_SET_ITEM(seat, (Py_ssize_t)i, function);
        else
            Py_CLEAR(seat);
    }
    PyErr_Clear();
    return seat;
}
