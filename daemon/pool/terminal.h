/* SPDX-License-Identifier: MIT */
#pragma once
/* A job's terminal as its slot has it: our side of a pseudo-terminal, what was typed and the job
 * has not read, and the size of its window. What the job writes is read by a capture.
 *
 * Theory of operation. Each launch gets a pseudo-terminal of its own, which nothing else has used:
 * so neither modes, nor input, nor output pass from one job to the next. The daemon opens both
 * sides without a path (TIOCGPTPEER) and passes the other side to the jail, which makes it the
 * job's controlling terminal. Jobs have no devpts and no /dev/ptmx: they reach this terminal alone,
 * and only its one side. Our side never blocks. It takes input until the kernel's buffer is full;
 * what does not fit waits here, at most TERMINAL_INPUT_MAX bytes of it. Closing our side hangs up
 * the other one, but no job ends by that: its tree is killed as any job's is.
 *
 * May include: base and proto.
 *
 * Invariants: an event exists exactly while the terminal is open; it is added exactly while input
 * waits. It must not move while it is open. */

#include "proto/jobspec.h"

#include <event2/event.h>
#include <stdbool.h>

struct terminal;

/* Called when the kernel has taken N bytes of input. */
typedef void (*terminal_taken)(struct terminal *terminal, size_t n, void *userdata);

struct terminal {
    int fd; /* our side, owned; -1: there is none */
    struct event *writable;
    struct bytes waiting; /* input, from `done` on */
    size_t done;
    terminal_taken taken;
    void *userdata;
};

#define TERMINAL_NULL \
    {                 \
        .fd = -1      \
    }

/* Whether this host has terminals for jobs: 0, or a negative errno. */
int terminal_check(void);

/* Opens a new terminal of SIZE. The caller owns *ret_job_side, which blocks, and *ret_reader, a
 * duplicate of our side to read from. A negative errno on failure. */
int terminal_open(struct terminal *terminal, struct event_base *base, struct terminal_size size,
                  terminal_taken taken, void *userdata, int *ret_job_side, int *ret_reader);

/* Types N bytes. -ENOSPC if more would wait then than may, and nothing is typed; -ENOMEM. May call
 * `taken`. */
int terminal_type(struct terminal *terminal, const char *data, size_t n);

/* Tells the program, by SIGWINCH, that its window has another size. */
void terminal_resize(struct terminal *terminal, struct terminal_size size);

/* Closes our side. */
void terminal_deinit(struct terminal *terminal);
