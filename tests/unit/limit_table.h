/* SPDX-License-Identifier: MIT */
#pragma once
/* The limits as tests/data/limits.json spells them out, to compare the programs with. Times are in
 * milliseconds here. */

#include "proto/jobkinds.h"
#include "proto/json.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct limit_table {
    struct limit_row {
        const char *key, *name;
        bool is_time;
    } rows[LIMIT_COUNT];
    struct limits least, most, ceilings, defaults[JOB_KIND_COUNT];
};

static inline uint64_t limit_table_value(const json_t *number, bool is_time)
{
    assert_true(json_is_number(number));
    return is_time ? (uint64_t)llround(json_number_value(number) * 1000)
                   : (uint64_t)json_integer_value(number);
}

static inline void limit_table_read_row(struct limit_table *table, size_t i, const json_t *row)
{
    const json_t *value = json_object_get(row, "default");
    bool is_time = strcmp(json_string_value(json_object_get(row, "unit")), "seconds") == 0;
    table->rows[i] = (struct limit_row){
        .key = json_string_value(json_object_get(row, "key")),
        .name = json_string_value(json_object_get(row, "name")),
        .is_time = is_time,
    };
    table->least.of[i] = limit_table_value(json_object_get(row, "least"), is_time);
    table->most.of[i] = limit_table_value(json_object_get(row, "most"), is_time);
    table->ceilings.of[i] = limit_table_value(json_object_get(row, "ceiling"), is_time);
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        const char *name = job_kind_name(kind);
        const json_t *of_kind = json_is_object(value) ? json_object_get(value, name) : value;
        /* Of a kind that the file does not name the shipped configuration tells the defaults, with
         * which a test compares the programs. */
        table->defaults[kind].of[i] =
            of_kind ? limit_table_value(of_kind, is_time) : job_kind_get(kind)->defaults.of[i];
    }
}

/* Returns the table. Fails the test if it has another number of limits than the programs. */
static inline const struct limit_table *limit_table(void)
{
    static struct limit_table table;
    static json_t *rows; /* the table borrows its strings */
    char path[4096];
    if (rows)
        return &table;
    (void)snprintf(path, sizeof(path), "%s", __FILE__);
    strcpy(strrchr(path, '/'), "/../data/limits.json");
    rows = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (json_array_size(rows) != LIMIT_COUNT)
        fail_msg("%s has %zu limits, the programs %d", path, json_array_size(rows), LIMIT_COUNT);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        limit_table_read_row(&table, i, json_array_get(rows, i));
    return &table;
}

static inline void assert_limits(const struct limits *limits, const struct limits *expected)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (limits->of[limit] != expected->of[limit])
            fail_msg("%s is %" PRIu64 ", not %" PRIu64, limit_key(limit), limits->of[limit],
                     expected->of[limit]);
}

static inline void assert_limits_named(const struct limits *limits, const struct limits *rest,
                                       const struct limits *named)
{
    struct limits expected = *rest;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (named->of[limit] > 0)
            expected.of[limit] = named->of[limit];
    assert_limits(limits, &expected);
}

/* Asserts that the limits GOT are those of REST, except the ones that are named: [LIMIT_CPU] =
 * 5000. */
#define assert_limits_except(got, rest, ...) \
    assert_limits_named(got, rest, &(const struct limits){{__VA_ARGS__}})
