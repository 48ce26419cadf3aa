/* SPDX-License-Identifier: MIT */
#pragma once
/* The limits of a job in one table: names, units, bounds and ceilings. It serves the request
 * decoder, the configuration, the hello message and the isolation digest. */

#include <stdbool.h>
#include <stdint.h>

#define LIMIT_SECOND UINT64_C(1000) /* milliseconds */
#define LIMIT_DAY (86400 * LIMIT_SECOND)
#define LIMIT_KIB (UINT64_C(1) << 10)
#define LIMIT_MIB (UINT64_C(1) << 20)
#define LIMIT_GIB (UINT64_C(1) << 30)
#define LIMIT_TIB (UINT64_C(1) << 40)

enum limit_unit {
    LIMIT_TIME,   /* milliseconds; requests and replies give seconds and fractions */
    LIMIT_BYTES,  /* bytes */
    LIMIT_NUMBER, /* a number of things */
};

/* One row per limit: ROW(ID, name in replies, key in requests and in the configuration, unit, least
 * and most that may be configured, how far a request may raise it by default, A, B). A and B are
 * what the user of the table passes on. The wall clock is apart because some kinds have a ceiling
 * of their own for it, whose key comes next.
 *
 *   cpu         CPU time; enforced in whole seconds, rounded up
 *   memory      address space per process
 *   open_files  descriptors per process
 *   processes   processes and threads of the job
 *   output      written to stdout and stderr together
 *   disk        in one file, and in the work directory where it is bounded */
/* clang-format off */
#define LIMIT_ROW_WALL_CLOCK(ROW, A, B)                                                          \
    ROW(WALL_CLOCK, "wall_clock", "wall_clock", TIME, 100, LIMIT_DAY, 300 * LIMIT_SECOND, A, B)
#define LIMIT_ROWS_OTHER(ROW, A, B)                                                              \
    ROW(CPU, "cpu", "cpu", TIME, LIMIT_SECOND, LIMIT_DAY, 300 * LIMIT_SECOND, A, B)              \
    ROW(MEMORY, "memory", "memory_bytes", BYTES, 16 * LIMIT_MIB, 64 * LIMIT_TIB, 4 * LIMIT_GIB, A, B) \
    ROW(OPEN_FILES, "open_files", "max_open_files", NUMBER, 16, 1048576, 1024, A, B)           \
    ROW(PROCESSES, "processes", "max_processes", NUMBER, 1, 1000000, 256, A, B)                \
    ROW(OUTPUT, "output", "output_bytes", BYTES, LIMIT_KIB, LIMIT_GIB, 4 * LIMIT_MIB, A, B)      \
    ROW(DISK, "disk", "disk_bytes", BYTES, 64 * LIMIT_KIB, LIMIT_TIB, LIMIT_GIB, A, B)
#define LIMIT_ROWS(ROW, A, B) LIMIT_ROW_WALL_CLOCK(ROW, A, B) LIMIT_ROWS_OTHER(ROW, A, B)
/* clang-format on */

#define LIMIT_ID_(ID, name, key, unit, low, high, ceiling, A, B) LIMIT_##ID,
enum limit {
    LIMIT_ROWS(LIMIT_ID_, , ) LIMIT_COUNT,
    LIMIT_NONE = LIMIT_COUNT, /* no limit was exceeded */
};
#undef LIMIT_ID_

/* Bytes of a file that a command of a session writes or reads. */
#define SESSION_FILE_BYTES_MAX (100 * LIMIT_MIB)

struct limits {
    uint64_t of[LIMIT_COUNT]; /* in the limit's unit */
};

/* Defaults for a job of any kind, except times: 1 GiB, 256, 64, 256 KiB, 64 MiB. */
#define LIMITS_DEFAULT(wall_clock, cpu)                                                         \
    {                                                                                           \
        {                                                                                       \
            [LIMIT_WALL_CLOCK] = (wall_clock), [LIMIT_CPU] = (cpu), [LIMIT_MEMORY] = LIMIT_GIB, \
            [LIMIT_OPEN_FILES] = 256, [LIMIT_PROCESSES] = 64, [LIMIT_OUTPUT] = 256 * LIMIT_KIB, \
            [LIMIT_DISK] = 64 * LIMIT_MIB,                                                      \
        }                                                                                       \
    }

/* How far a request may raise each limit unless the configuration says otherwise. */
extern const struct limits limits_ceiling_default;

/* Whether requests and replies give this limit in seconds (and fractions). */
bool limit_is_time(enum limit limit);
bool limit_is_in_bytes(enum limit limit);

/* The name in replies, as in `limit_exceeded`; NULL for LIMIT_NONE. */
const char *limit_name(enum limit limit);

/* The name in requests and in the configuration. NULL for LIMIT_NONE. */
const char *limit_key(enum limit limit);

/* The limit whose key is KEY, or LIMIT_NONE. */
enum limit limit_from_key(const char *key);
