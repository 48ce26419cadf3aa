/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    const char *key;
} limit_names[LIMIT_COUNT] = {
    [LIMIT_WALL_CLOCK] = {"wall_clock", "wall_clock"},
    [LIMIT_CPU] = {"cpu", "cpu"},
    [LIMIT_MEMORY] = {"memory", "memory_bytes"},
    [LIMIT_OPEN_FILES] = {"open_files", "max_open_files"},
    [LIMIT_PROCESSES] = {"processes", "max_processes"},
    [LIMIT_OUTPUT] = {"output", "output_bytes"},
    [LIMIT_DISK] = {"disk", "disk_bytes"},
};

#define SECONDS UINT64_C(1000)
#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)

const struct limits limits_sandbox_default = {{
    [LIMIT_WALL_CLOCK] = 120 * SECONDS,
    [LIMIT_CPU] = 60 * SECONDS,
    [LIMIT_MEMORY] = 1024 * MIB,
    [LIMIT_OPEN_FILES] = 256,
    [LIMIT_PROCESSES] = 64,
    [LIMIT_OUTPUT] = 256 * KIB,
    [LIMIT_DISK] = 64 * MIB,
}};

const struct limits limits_rubric_default = {{
    [LIMIT_WALL_CLOCK] = 60 * SECONDS,
    [LIMIT_CPU] = 300 * SECONDS,
    [LIMIT_MEMORY] = 1024 * MIB,
    [LIMIT_OPEN_FILES] = 256,
    [LIMIT_PROCESSES] = 64,
    [LIMIT_OUTPUT] = 256 * KIB,
    [LIMIT_DISK] = 64 * MIB,
}};

const struct limits limits_code_exec_default = {{
    [LIMIT_WALL_CLOCK] = 3 * SECONDS,
    [LIMIT_CPU] = 60 * SECONDS,
    [LIMIT_MEMORY] = 1024 * MIB,
    [LIMIT_OPEN_FILES] = 256,
    [LIMIT_PROCESSES] = 64,
    [LIMIT_OUTPUT] = 256 * KIB,
    [LIMIT_DISK] = 64 * MIB,
}};

const struct limits limits_ceiling_default = {{
    [LIMIT_WALL_CLOCK] = 300 * SECONDS,
    [LIMIT_CPU] = 300 * SECONDS,
    [LIMIT_MEMORY] = 4096 * MIB,
    [LIMIT_OPEN_FILES] = 1024,
    [LIMIT_PROCESSES] = 256,
    [LIMIT_OUTPUT] = 4 * MIB,
    [LIMIT_DISK] = 1024 * MIB,
}};

bool limit_is_time(enum limit limit)
{
    return limit == LIMIT_WALL_CLOCK || limit == LIMIT_CPU;
}

const char *limit_name(enum limit limit)
{
    return limit < LIMIT_COUNT ? limit_names[limit].name : NULL;
}

const char *limit_key(enum limit limit)
{
    return limit < LIMIT_COUNT ? limit_names[limit].key : NULL;
}

enum limit limit_from_key(const char *key)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (strcmp(key, limit_names[limit].key) == 0)
            return limit;
    return LIMIT_NONE;
}
