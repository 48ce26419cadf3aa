/* SPDX-License-Identifier: MIT */
/* Tests that an interpreter in large pages works as before. /proc/self/smaps tells what the kernel
 * does with its memory. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "daemon/jail/large.h"
#include "tests/unit/scenario.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define LARGE ((uintptr_t)2 << 20)
#define MADV_COLLAPSE_ 25
#define HOLES 2000
#define PAGE ((uintptr_t)4096)

/* --- what the kernel says ------------------------------------------------------------------ */

struct mapping {
    uintptr_t from, to;
    char access[8];
    char name[256];
    size_t large_kib; /* part of it in large pages */
};

/* Finds the mapping that contains ADDRESS. Returns false if there is none. */
static bool find_mapping(uintptr_t address, struct mapping *ret)
{
    static const char large[] = "AnonHugePages:";
    char line[512], *rest;
    bool found = false;
    FILE *smaps = fopen("/proc/self/smaps", "re");
    *ret = (struct mapping){.from = 0};
    while (smaps && fgets(line, sizeof(line), smaps)) {
        uintptr_t from = strtoul(line, &rest, 16);
        if (*rest == '-') { /* "FROM-TO ACCESS ..." */
            if (found)
                break;
            *ret = (struct mapping){.from = from, .to = strtoul(rest + 1, &rest, 16)};
            (void)sscanf(rest, "%7s %*s %*s %*s %255s", ret->access, ret->name);
            found = ret->from <= address && address < ret->to;
        } else if (found && strncmp(line, large, sizeof(large) - 1) == 0) {
            ret->large_kib = strtoul(line + sizeof(large) - 1, NULL, 10);
        }
    }
    if (smaps)
        (void)fclose(smaps);
    return found;
}

/* Returns whether this kernel makes large pages of small ones and has as many as are needed here.
 * Does not use the tested code. */
static bool has_large_pages(void)
{
    const size_t n = 16 * LARGE;
    void *reserved =
        mmap(NULL, n + LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED)
        return false;
    char *first = (char *)(((uintptr_t)reserved + LARGE - 1) & ~(LARGE - 1));
    memset(first, 1, n);
    bool has = madvise(first, n, MADV_COLLAPSE_) == 0;
    (void)munmap(reserved, n + LARGE);
    return has;
}

/* --- an interpreter ------------------------------------------------------------------------ */

/* Allocates more than one arena of objects, and more than one large page of objects that are too
 * big for arenas. */
static const char fill[] = "objects = [(str(n), n) for n in range(100000)]\n"
                           "texts = [bytes(1000) + bytes([n & 255]) for n in range(5000)]\n";

static const char use[] =
    "import fractions, json\n"
    "assert objects == [(str(n), n) for n in range(100000)]\n"
    "assert all(len(t) == 1001 and t[1000] == n & 255 for n, t in enumerate(texts))\n"
    "more = [[n] for n in range(200000)]\n"
    "del objects, texts, more\n"
    "assert json.loads(json.dumps({'x': [1.5, None]})) == {'x': [1.5, None]}\n"
    "assert fractions.Fraction(1, 3) + 1 == fractions.Fraction(4, 3)\n";

static uintptr_t address_of(const char *expression)
{
    PyObject *names = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyObject *object = PyRun_String(expression, Py_eval_input, names, names);
    Py_XDECREF(object); /* somebody else holds a reference, too */
    return (uintptr_t)object;
}

static struct large *start(const char *code)
{
    static struct large large;
    large_begin(&large);
    Py_InitializeEx(0);
    if (PyRun_SimpleString(code) != 0)
        exit(1);
    return &large;
}

/* --- scenarios ----------------------------------------------------------------------------- */

static int all_of_it_is_large(void)
{
    struct mapping objects, texts, code;
    if (!has_large_pages())
        SKIP("this kernel makes no large pages");
    struct large *large = start(fill);
    large_end(large);
    large_copy_library((uintptr_t)Py_RunMain);
    CHECK(find_mapping(address_of("objects[50000]"), &objects));
    CHECK(find_mapping(address_of("texts[2500]"), &texts));
    CHECK(find_mapping((uintptr_t)Py_RunMain, &code));
    /* All but perhaps what precedes the first aligned address, and the library's two ends. */
    CHECK_EQUAL(objects.large_kib, (objects.to - objects.from) >> 10);
    CHECK_EQUAL(texts.large_kib, (texts.to - ((texts.from + LARGE - 1) & ~(LARGE - 1))) >> 10);
    CHECK(texts.large_kib >= 4096);
    CHECK(code.large_kib >= 2048 && strcmp(code.name, "") == 0);
    return 0;
}

static int code_cannot_be_written(void)
{
    struct mapping code;
    Py_InitializeEx(0);
    large_copy_library((uintptr_t)Py_RunMain);
    CHECK(find_mapping((uintptr_t)Py_RunMain, &code));
    CHECK(strcmp(code.access, "r-xp") == 0);
    return 0;
}

/* All read-only parts of the library that are contiguous with its code. */
static int library_is_the_same(void)
{
    struct mapping code, before, after;
    Py_InitializeEx(0);
    CHECK(find_mapping((uintptr_t)Py_RunMain, &code));
    CHECK(find_mapping(code.from - 1, &before) && find_mapping(code.to, &after));
    CHECK(strcmp(before.name, code.name) == 0 && strcmp(after.name, code.name) == 0);
    size_t n = after.to - before.from;
    char *copy = malloc(n);
    CHECK(copy);
    memcpy(copy, (void *)before.from, n);
    large_copy_library((uintptr_t)Py_RunMain);
    CHECK(memcmp(copy, (void *)before.from, n) == 0);
    free(copy);
    return 0;
}

static int interpreter_goes_on(void)
{
    struct large *large = start(fill);
    large_end(large);
    large_copy_library((uintptr_t)Py_RunMain);
    CHECK(PyRun_SimpleString(use) == 0);
    CHECK(Py_FinalizeEx() == 0);
    return 0;
}

static int what_was_freed_leaves_no_holes(void)
{
    struct large *large = start("first = [(str(n), n) for n in range(100000)]\n"
                                "last = [(str(n), n) for n in range(10000)]\n"
                                "del first\n");
    large_end(large);
    CHECK(PyRun_SimpleString("assert last == [(str(n), n) for n in range(10000)]\n") == 0);
    CHECK(Py_FinalizeEx() == 0);
    return 0;
}

/* Writes to all objects that were made late; returns whether they are in large pages then. */
static bool late_ones_stay_large(void)
{
    struct mapping objects;
    return PyRun_SimpleString("assert all(text == str(n) for text, n in late)\n") == 0 &&
           find_mapping(address_of("late[50000]"), &objects) && objects.large_kib >= 4096 &&
           objects.large_kib == (objects.to - objects.from) >> 10 && PyRun_SimpleString(use) == 0;
}

static int fork_has_large_pages_of_its_own(void)
{
    int status = 0;
    if (!has_large_pages())
        SKIP("this kernel makes no large pages");
    struct large *large = start(fill);
    large_mark(large);
    CHECK(PyRun_SimpleString("late = [(str(n), n) for n in range(100000)]\n") == 0);
    large_end(large);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        large_renew(large);
        _exit(late_ones_stay_large() ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQUAL(status, 0);
    return 0;
}

/* Allocates COUNT blocks of SIZE and returns in how many pages they begin. */
static size_t spread(size_t size, size_t count)
{
    size_t pages = 0;
    uintptr_t *seen = calloc(count, sizeof(*seen));
    for (size_t i = 0; seen && i < count; i++) {
        uintptr_t page = (uintptr_t)PyObject_Malloc(size) / PAGE;
        size_t at = 0;
        while (at < pages && seen[at] != page)
            at++;
        seen[at] = page;
        pages = MAX(pages, at + 1);
    }
    free(seen);
    return pages;
}

/* Leaves free every second of many blocks of SIZE. */
static void make_holes(size_t size)
{
    static void *blocks[HOLES];
    for (size_t i = 0; i < HOLES; i++)
        blocks[i] = PyObject_Malloc(size);
    for (size_t i = 0; i < HOLES; i += 2)
        PyObject_Free(blocks[i]);
}

static int later_objects_lie_side_by_side(void)
{
    struct large *large = start("");
    for (size_t size = 16; size <= 512; size += 16)
        make_holes(size);
    large_fill(large);
    large_end(large);
    for (size_t size = 16; size <= 512; size += 16)
        CHECK(spread(size, 200) <= 200 * size / PAGE + 3 + (size <= 128 ? 4 : 0));
    CHECK(PyRun_SimpleString(fill) == 0 && PyRun_SimpleString(use) == 0);
    CHECK(Py_FinalizeEx() == 0);
    return 0;
}

static int filling_takes_no_more_than_there_is(void)
{
    struct large *large = start(fill);
    large_fill(large);
    uintptr_t next = large->next;
    large_fill(large);
    CHECK_EQUAL(large->next, next);
    large_end(large);
    CHECK(PyRun_SimpleString(use) == 0);
    CHECK(Py_FinalizeEx() == 0);
    return 0;
}

/* What a fork makes is in a large page from the start, though nobody collapses small ones there. */
static int objects_of_a_fork_are_in_large_pages(void)
{
    int status = 0;
    if (!has_large_pages())
        SKIP("this kernel makes no large pages");
    struct large *large = start(fill);
    large_fill(large);
    large_end(large);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct mapping objects;
        bool made = PyRun_SimpleString("new = [(str(n), n) for n in range(3000)]\n") == 0;
        bool found = made && find_mapping(address_of("new[2000]"), &objects);
        _exit(found && objects.large_kib >= 2048 && PyRun_SimpleString(use) == 0 ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQUAL(status, 0);
    return 0;
}

static int goes_on_without_large_pages(void)
{
    struct mapping objects, code;
    CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
    CHECK(!has_large_pages());
    struct large *large = start("");
    large_fill(large);
    large_mark(large);
    CHECK(PyRun_SimpleString(fill) == 0);
    large_end(large);
    large_copy_library((uintptr_t)Py_RunMain);
    large_renew(large);
    CHECK(find_mapping(address_of("objects[50000]"), &objects));
    CHECK_EQUAL(objects.large_kib, 0);
    CHECK(find_mapping((uintptr_t)Py_RunMain, &code));
    CHECK(strstr(code.name, "libpython"));
    CHECK(PyRun_SimpleString(use) == 0);
    CHECK(Py_FinalizeEx() == 0);
    return 0;
}

/* Allocations beyond the reserved range are placed as usual. */
static int more_than_there_is_room_for(void)
{
    struct large *large = start("objects = [(str(n), n) for n in range(700000)]\n");
    CHECK(large->next == large->end);
    large_end(large);
    CHECK(PyRun_SimpleString("assert objects == [(str(n), n) for n in range(700000)]\n") == 0);
    CHECK(Py_FinalizeEx() == 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(all_of_it_is_large),
        SCENARIO(code_cannot_be_written),
        SCENARIO(library_is_the_same),
        SCENARIO(interpreter_goes_on),
        SCENARIO(what_was_freed_leaves_no_holes),
        SCENARIO(fork_has_large_pages_of_its_own),
        SCENARIO(later_objects_lie_side_by_side),
        SCENARIO(filling_takes_no_more_than_there_is),
        SCENARIO(objects_of_a_fork_are_in_large_pages),
        SCENARIO(goes_on_without_large_pages),
        SCENARIO(more_than_there_is_room_for),
    };
    return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
