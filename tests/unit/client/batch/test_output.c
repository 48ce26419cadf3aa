/* SPDX-License-Identifier: MIT */
#include "client/batch/output.h"
#include "place.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static int set_up(void **state)
{
    return set_up_place(state, sizeof(struct place));
}

static void assert_file(const struct place *place, const char *expected)
{
    char text[256] = "";
    FILE *file = fopen(place->path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(text, expected);
}

static int open_as(struct place *place, struct output *output, enum output_mode mode)
{
    place->fault.text[0] = '\0';
    return output_open(output, place->path, mode, NULL, 0, &place->fault);
}

static void test_modes(void **state)
{
    struct place *place = *state;
    struct output output = OUTPUT_NULL;
    assert_int_equal(open_as(place, &output, OUTPUT_NEW), 0);
    assert_int_equal(output_line(&output, "one", 3), 0);
    assert_int_equal(output_flush(&output, 0), 0);
    output_close(&output);
    assert_true(open_as(place, &output, OUTPUT_NEW) < 0);
    assert_non_null(strstr(place->fault.text,
                           "is there already; --resume continues it, --force overwrites it"));
    assert_int_equal(open_as(place, &output, OUTPUT_CONTINUE), 0);
    assert_int_equal(output_line(&output, "two", 3), 0);
    assert_int_equal(output_flush(&output, 0), 0);
    output_close(&output);
    assert_file(place, "one\ntwo\n");
    /* A run without results leaves those of the one before. */
    assert_int_equal(open_as(place, &output, OUTPUT_OVERWRITE), 0);
    assert_int_equal(output_flush(&output, 0), 0);
    output_close(&output);
    assert_file(place, "one\ntwo\n");
    assert_int_equal(open_as(place, &output, OUTPUT_OVERWRITE), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(output_line(&output, "new", 3), 0);
        assert_int_equal(output_flush(&output, 0), 0);
    }
    output_close(&output);
    assert_file(place, "new\nnew\n");
}

static void test_one_writer(void **state)
{
    struct place *place = *state;
    struct output output = OUTPUT_NULL, other = OUTPUT_NULL;
    assert_int_equal(open_as(place, &output, OUTPUT_NEW), 0);
    assert_int_equal(output_line(&output, "kept", 4), 0);
    assert_int_equal(output_flush(&output, 0), 0);
    assert_true(open_as(place, &other, OUTPUT_CONTINUE) < 0);
    assert_non_null(strstr(place->fault.text, "another rubricctl is writing to it"));
    assert_true(open_as(place, &other, OUTPUT_OVERWRITE) < 0);
    assert_file(place, "kept\n");
    output_close(&output);
    assert_int_equal(open_as(place, &output, OUTPUT_CONTINUE), 0);
    output_close(&output);
}

/* A limit on the size of files imitates a full disk: it cuts a write short, too. */
static void limit_size(rlim_t bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_full(void **state)
{
    struct place *place = *state;
    struct output output = OUTPUT_NULL;
    assert_int_equal(open_as(place, &output, OUTPUT_NEW), 0);
    assert_int_equal(output_line(&output, "first", 5), 0);
    assert_int_equal(output_line(&output, "second", 6), 0);
    assert_int_equal(output_line(&output, "third", 5), 0);
    limit_size(16);
    assert_int_equal(output_flush(&output, 0), -EFBIG);
    assert_file(place, "first\nsecond\n");
    assert_int_equal(output_unwritten(&output), 6);
    limit_size(14);
    assert_int_equal(output_flush(&output, 0), -EFBIG);
    limit_size(RLIM_INFINITY);
    assert_int_equal(output_flush(&output, 0), 0);
    assert_file(place, "first\nsecond\nthird\n");
    output_close(&output);
}

static void test_sync_rhythm(void **state)
{
    struct place *place = *state;
    struct output output = OUTPUT_NULL;
    assert_int_equal(open_as(place, &output, OUTPUT_NEW), 0);
    assert_true(output.sync_ms == INT64_MAX);
    for (int64_t now = 5000; now < 5500; now += 100) {
        assert_int_equal(output_line(&output, "x", 1), 0);
        assert_int_equal(output_flush(&output, now), 0);
        assert_int_equal(output.sync_ms, 6000);
        assert_int_equal(output_sync(&output, false, now), 0);
    }
    assert_int_equal(output_sync(&output, false, 6000), 0);
    assert_true(output.sync_ms == INT64_MAX);
    assert_int_equal(output_line(&output, "x", 1), 0);
    assert_int_equal(output_flush(&output, 6100), 0);
    assert_int_equal(output_sync(&output, true, 6100), 0);
    assert_true(output.sync_ms == INT64_MAX);
    output_close(&output);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_place)
    const struct CMUnitTest tests[] = {
        TEST(test_modes),
        TEST(test_one_writer),
        TEST(test_full),
        TEST(test_sync_rhythm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
