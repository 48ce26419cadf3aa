/* SPDX-License-Identifier: MIT */
/* Tests reading what a jail has collected: the jail may have written anything. */
#include "daemon/pool/collected.h"
#include "proto/util.h"
#include "tests/unit/files.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define LEFT (LINK_LEFT_OUT | LINK_LEFT_LARGE)

static void add(int fd, const char *name, uint32_t mode, uint64_t size, const char *content)
{
    struct link_file header = {(uint32_t)strlen(name), mode, size};
    assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
    assert_int_equal(write(fd, name, header.name_length), header.name_length);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

/* Reads the records of FD, which it closes, and returns what ends them. Counts the good ones. */
static int read_all(int fd, size_t *ret_count)
{
    _cleanup_collected_ struct collected collected = COLLECTED_NULL;
    struct collected_file file;
    int r;
    *ret_count = 0;
    assert_int_equal(collected_seal(fd, 1 << 20), 0);
    assert_int_equal(collected_init(&collected, fd), 0);
    while ((r = collected_next(&collected, &file)) == 1)
        (*ret_count)++;
    close_fd(fd);
    return r;
}

static void test_records(void **state)
{
    _cleanup_close_ int fd = collected_new();
    _cleanup_collected_ struct collected collected = COLLECTED_NULL;
    struct collected_file file;
    (void)state;
    add(fd, "a", 0640, 3, "one");
    add(fd, "d/b", LEFT, 7, "");
    add(fd, "...", 0, 0, "");
    assert_int_equal(collected_seal(fd, 3), 0);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(collected_init(&collected, fd), 0);
    assert_int_equal(collected_next(&collected, &file), 1);
    assert_int_equal(file.name_length, 1);
    assert_memory_equal(file.name, "a", 1);
    assert_memory_equal(file.content, "one", 3);
    assert_true(file.mode == 0640 && file.size == 3 && !file.is_left_out);
    assert_int_equal(collected_next(&collected, &file), 1);
    assert_true(file.is_left_out && file.why == LINK_LEFT_LARGE && file.size == 7);
    assert_memory_equal(file.name, "d/b", 3);
    assert_int_equal(collected_next(&collected, &file), 1);
    assert_int_equal(collected_next(&collected, &file), 0);
    assert_int_equal(collected_next(&collected, &file), 0);
}

static void test_no_records(void **state)
{
    size_t count;
    (void)state;
    assert_int_equal(read_all(collected_new(), &count), 0);
    for (int fd = -1; fd <= 0; fd++) {
        _cleanup_collected_ struct collected collected = COLLECTED_NULL;
        struct collected_file file;
        assert_int_equal(collected_init(&collected, fd), 0);
        assert_int_equal(collected_next(&collected, &file), 0);
    }
}

static void test_lies(void **state)
{
    static const struct {
        const char *name;
        uint32_t mode;
        uint64_t size;
    } cases[] = {
        {"", 0, 0},           {"/a", 0, 0},
        {"a/", 0, 0},         {"a//b", 0, 0},
        {".", 0, 0},          {"..", 0, 0},
        {"a/../b", 0, 0},     {"a/..", 0, 0},
        {"./a", 0, 0},        {"a", 01000, 0},
        {"a", 1u << 30, 0},   {"a", 0, 5},
        {"a", 0, UINT64_MAX}, {"a", LINK_LEFT_OUT | LINK_LEFT_COUNT, 0},
        {"a", UINT32_MAX, 0},
    };
    size_t count;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int fd = collected_new();
        add(fd, "good", 0644, 1, "x");
        add(fd, cases[i].name, cases[i].mode, cases[i].size, "");
        assert_int_equal(read_all(fd, &count), -EPROTO);
        assert_int_equal(count, 1);
    }
}

static void test_lengths_of_names(void **state)
{
    static char name[LINK_NAME_MAX + 2];
    size_t count, descriptors = count_descriptors();
    (void)state;
    memset(name, 'a', LINK_NAME_MAX + 1);
    int fd = collected_new();
    add(fd, name, 0, 0, "");
    assert_int_equal(read_all(fd, &count), -EPROTO);
    name[LINK_NAME_MAX] = '\0';
    fd = collected_new();
    add(fd, name, 0, 0, "");
    assert_int_equal(read_all(fd, &count), 0);
    assert_int_equal(count, 1);
    struct link_file header = {3, 0, 0};
    fd = collected_new();
    assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
    assert_int_equal(write(fd, "a\0b", 3), 3);
    assert_int_equal(read_all(fd, &count), -EPROTO);
    assert_int_equal(count_descriptors(), descriptors);
}

/* Cut off anywhere but between two records. */
static void test_truncated(void **state)
{
    const size_t first = sizeof(struct link_file) + 1 + 3, all = 2 * first + 1;
    size_t count;
    (void)state;
    for (size_t n = 0; n <= all; n++) {
        int fd = collected_new();
        add(fd, "a", 0644, 3, "one");
        add(fd, "bc", 0644, 3, "two");
        assert_int_equal(ftruncate(fd, (off_t)n), 0);
        assert_int_equal(read_all(fd, &count), n == 0 || n == first || n == all ? 0 : -EPROTO);
    }
}

static void test_larger_than_it_can_be(void **state)
{
    _cleanup_close_ int fd = collected_new();
    (void)state;
    assert_int_equal(ftruncate(fd, 8 << 20), 0);
    assert_int_equal(collected_seal(fd, 1 << 20), -EPROTO);
}

/* A jail that keeps the memory mapped could change it while it is read. */
static void test_memory_that_is_mapped(void **state)
{
    _cleanup_close_ int fd = collected_new();
    (void)state;
    assert_int_equal(ftruncate(fd, 4096), 0);
    void *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    assert_int_equal(collected_seal(fd, 1 << 20), -EBUSY);
    (void)munmap(mapped, 4096);
}

/* A disk counts pages, files and directories. */
static void test_what_has_room_on_a_disk(void **state)
{
    static const struct {
        unsigned files;
        const char *before, *after; /* the number of each, in their names */
        const char *content;
        uint64_t disk_bytes, beside;
        int fit;
    } cases[] = {
        {0, "", "", "", 0, 0, 1},
        {1, "", "", "x", 4096, 0, 1},
        {1, "", "", "x", 4095, 0, 1}, /* the kernel rounds up, too */
        {2, "", "", "x", 4096, 0, 0},
        {1, "", "", "x", 4096, 1, 0},
        {1, "", "", "x", 8192, 1, 1},
        {250, "", "", "x", 1 << 20, 0, 1},
        {257, "", "", "x", 1 << 20, 0, 0},
        {256, "", "", "", 1, 0, 1},
        {257, "", "", "", 1, 0, 0},
        {255, "d/", "", "", 1, 0, 1},
        {254, "a/b/", "", "", 1, 0, 1},
        {255, "a/b/", "", "", 1, 0, 0},
        {128, "", "/x", "", 1, 0, 1},
        {129, "", "/x", "", 1, 0, 0},
        {257, "", "", "", 300 * 4096, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_close_ int fd = collected_new();
        char name[32];
        add(fd, "too/large", LEFT, 1 << 30, "");
        for (unsigned k = 0; k < cases[i].files; k++) {
            (void)snprintf(name, sizeof(name), "%s%u%s", cases[i].before, k, cases[i].after);
            add(fd, name, 0600, strlen(cases[i].content), cases[i].content);
        }
        assert_int_equal(collected_seal(fd, 1 << 20), 0);
        if (collected_fit(fd, cases[i].disk_bytes, cases[i].beside) != cases[i].fit)
            fail_msg("case %zu", i);
    }
    assert_int_equal(collected_fit(-1, 0, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_no_records),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_lengths_of_names),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_larger_than_it_can_be),
        cmocka_unit_test(test_memory_that_is_mapped),
        cmocka_unit_test(test_what_has_room_on_a_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
