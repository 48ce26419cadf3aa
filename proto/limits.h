/* SPDX-License-Identifier: MIT */
#pragma once
/* The limits of a job: their names, units, defaults. One table serves the request decoder, the
 * configuration, the hello message and the isolation digest. */

#include <stdbool.h>
#include <stdint.h>

enum limit {
    LIMIT_WALL_CLOCK, /* milliseconds */
    LIMIT_CPU,        /* milliseconds of CPU time; enforced in whole seconds, rounded up */
    LIMIT_MEMORY,     /* bytes of address space per process */
    LIMIT_OPEN_FILES, /* descriptors per process */
    LIMIT_PROCESSES,  /* processes and threads of the job */
    LIMIT_OUTPUT,     /* bytes written to stdout and stderr together */
    LIMIT_DISK,       /* bytes in one file, and in the working directory where it is bounded */
    LIMIT_COUNT,
    LIMIT_NONE = LIMIT_COUNT, /* no limit was exceeded */
};

struct limits {
    uint64_t of[LIMIT_COUNT];
};

/* Whether a request gives this limit in seconds (and fractions) rather than as a whole number. */
bool limit_is_time(enum limit limit);

/* Name in replies, `limit_exceeded`: "wall_clock", "cpu", "memory", "open_files", ...
 * NULL for LIMIT_NONE. */
const char *limit_name(enum limit limit);

/* Name in requests and in the configuration: "wall_clock", "cpu", "memory_bytes",
 * "max_open_files", ... */
const char *limit_key(enum limit limit);

/* The limit whose key is KEY, or LIMIT_NONE. */
enum limit limit_from_key(const char *key);

/* 120 s, 60 s, 1 GiB, 256, 64, 256 KiB, 64 MiB. */
extern const struct limits limits_sandbox_default;

/* A rubric: 60 s wall clock; CPU time is left to the wall clock (300 s, its
 * ceiling); the rest as for a sandbox job. */
extern const struct limits limits_rubric_default;

/* Code of a model: 3 s wall clock; the rest as for a sandbox job. */
extern const struct limits limits_code_exec_default;

/* How far a request may raise each one unless the configuration says otherwise. */
extern const struct limits limits_ceiling_default;
