/* SPDX-License-Identifier: MIT */
/* Tests that what is allocated after pack_memory() lies side by side, though much was free between
 * older objects. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "daemon/jail/pack.h"
#include "tests/unit/scenario.h"

#include <malloc.h>
#include <stdlib.h>

#define HOLES 2000
#define PAGE ((uintptr_t)4096)

/* Leaves free every second of many chunks of SIZE. */
static void make_holes(size_t size)
{
    static void *pieces[HOLES];
    for (size_t i = 0; i < HOLES; i++)
        pieces[i] = malloc(size);
    for (size_t i = 0; i < HOLES; i += 2)
        free(pieces[i]);
}

/* Allocates COUNT chunks of SIZE and returns in how many pages they begin. */
static size_t spread(size_t size, size_t count)
{
    size_t pages = 0;
    uintptr_t *seen = calloc(count, sizeof(*seen));
    for (size_t i = 0; seen && i < count; i++) {
        uintptr_t page = (uintptr_t)malloc(size) / PAGE;
        size_t at = 0;
        while (at < pages && seen[at] != page)
            at++;
        seen[at] = page;
        pages = MAX(pages, at + 1);
    }
    free(seen);
    return pages;
}

static int chunks_lie_side_by_side(void)
{
    Py_InitializeEx(0);
    make_holes(1000);
    pack_memory();
    CHECK(spread(1000, 200) <= 200 * 1024 / PAGE + 3);
    CHECK(spread(600, 200) <= 200 * 624 / PAGE + 3);
    CHECK(Py_FinalizeEx() == 0);
    return 0;
}

static int it_can_be_done_again(void)
{
    Py_InitializeEx(0);
    pack_memory();
    struct mallinfo2 before = mallinfo2();
    pack_memory();
    struct mallinfo2 after = mallinfo2();
    /* There is next to nothing left to take. */
    CHECK(after.uordblks - before.uordblks < (256u << 10));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(chunks_lie_side_by_side),
        SCENARIO(it_can_be_done_again),
    };
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
