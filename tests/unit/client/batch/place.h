/* SPDX-License-Identifier: MIT */
#pragma once
/* A directory of a test for one file of results. */

#include "proto/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* The first member of a fixture. */
struct place {
    char directory[64];
    char path[80]; /* of the file; nothing is there yet */
    struct fault fault;
};

/* Allocates a fixture of SIZE bytes and makes the directory of its place. */
static inline int set_up_place(void **state, size_t size)
{
    struct place *place = calloc(1, size);
    assert_non_null(place);
    (void)snprintf(place->directory, sizeof(place->directory), "/tmp/rubricd-place-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    (void)snprintf(place->path, sizeof(place->path), "%s/o", place->directory);
    *state = place;
    return 0;
}

/* Fails the test if the directory has another file than that of the place. */
static inline int tear_down_place(void **state)
{
    struct place *place = *state;
    (void)unlink(place->path);
    assert_int_equal(rmdir(place->directory), 0);
    free(place);
    return 0;
}
