/* SPDX-License-Identifier: MIT */
#include "client/batch/resultfile.h"
#include "place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define RUN "\"run\":{\"job_digest\":\"d\"}"
#define RESULT(id, passed)                                                 \
    "{\"type\":\"result\",\"id\":\"" id "\",\"score\":{\"passed\":" passed \
    ",\"cost_usd\":0.5}," RUN "}\n"
#define ERROR(id) "{\"type\":\"error\",\"id\":\"" id "\"," RUN "}\n"
#define GRADED(id, passed) \
    "{\"task_id\":1,\"passed\":" passed ",\"run\":{\"job_digest\":\"d\",\"id\":\"" id "\"}}\n"

struct fixture {
    struct place place;
    char seen[256]; /* "ID+ ID- ID! " */
    double cost_usd;
    off_t end;
};

static int set_up(void **state)
{
    return set_up_place(state, sizeof(struct fixture));
}

static void fill(const struct fixture *f, const char *text, size_t n)
{
    FILE *file = fopen(f->place.path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    (void)fclose(file);
}

static int see(const struct result_line *line, void *arg)
{
    struct fixture *f = arg;
    size_t used = strlen(f->seen);
    (void)snprintf(f->seen + used, sizeof(f->seen) - used, "%s%s ", line->id,
                   !line->answered ? "!"
                   : line->passed  ? "+"
                                   : "-");
    f->cost_usd += line->cost_usd;
    return 0;
}

static int read_all(struct fixture *f, bool last_only)
{
    f->seen[0] = '\0';
    f->place.fault.text[0] = '\0';
    return resultfile_read(f->place.path, last_only, see, f, &f->end, &f->place.fault);
}

#define LINES RESULT("a", "true") RESULT("b", "false") "\n" ERROR("c") RESULT("a", "false")

static void test_lines(void **state)
{
    struct fixture *f = *state;
    fill(f, LINES, strlen(LINES));
    assert_int_equal(read_all(f, false), 0);
    assert_string_equal(f->seen, "a+ b- c! a- ");
    assert_int_equal(f->end, strlen(LINES));
    assert_true(f->cost_usd == 1.5);
    assert_int_equal(read_all(f, true), 0);
    assert_string_equal(f->seen, "b- c! a- ");
}

static void test_graded(void **state)
{
    struct fixture *f = *state;
    static const char lines[] = GRADED("a", "true") GRADED("b", "false") GRADED("c", "null");
    fill(f, lines, strlen(lines));
    assert_int_equal(read_all(f, false), 0);
    assert_string_equal(f->seen, "a+ b- c! ");
}

static void test_attempts_cost(void **state)
{
    struct fixture *f = *state;
    static const char line[] = "{\"type\":\"result\",\"id\":\"a\",\"score\":{\"cost_usd\":1},"
                               "\"run\":{\"job_digest\":\"d\",\"earlier\":[{\"answer\":{"
                               "\"score\":{\"cost_usd\":2}}},{\"answer\":{}}]}}\n";
    fill(f, line, strlen(line));
    assert_int_equal(read_all(f, false), 0);
    assert_true(f->cost_usd == 3);
}

/* A file may end anywhere in a line, and a power cut may leave zeros. */
static void test_torn_at_every_byte(void **state)
{
    struct fixture *f = *state;
    size_t whole = strlen(RESULT("a", "true")), all = strlen(RESULT("a", "true") ERROR("b"));
    for (size_t n = whole; n < all; n++) {
        fill(f, RESULT("a", "true") ERROR("b"), n);
        assert_int_equal(read_all(f, false), 0);
        assert_string_equal(f->seen, "a+ ");
        assert_int_equal(f->end, whole);
    }
    for (size_t n = 1; n < whole; n++) {
        fill(f, RESULT("a", "true"), n);
        assert_int_equal(read_all(f, false), 0);
        assert_int_equal(f->end, 0);
    }
    static const char zeros[] = ERROR("b") "{\"type\":\0\0\0\0\0\n\0\0\0";
    fill(f, zeros, sizeof(zeros) - 1);
    assert_int_equal(read_all(f, false), 0);
    assert_int_equal(f->end, strlen(ERROR("b")));
}

static void test_not_ours(void **state)
{
    struct fixture *f = *state;
    static const char *const wrong[] = {
        RESULT("a", "true") "{}\n" RESULT("b", "true"),
        RESULT("a", "true") "{\"type\":\n" ERROR("b"),
        "{\"id\":\"a\",\"kind\":\"rubric\"}\n{\"id\":\"b\",\"kind\":\"rubric\"}\n",
        "some text\n",
        "some text",
    };
    char expected[256];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        fill(f, wrong[i], strlen(wrong[i]));
        assert_int_equal(read_all(f, false), -EINVAL);
        (void)snprintf(expected, sizeof(expected),
                       "%s:%d: not a line of results as rubricctl writes them", f->place.path,
                       i < 2 ? 2 : 1);
        assert_string_equal(f->place.fault.text, expected);
    }
}

static void test_compact(void **state)
{
    struct fixture *f = *state;
    struct stat before, after;
    fill(f, LINES, strlen(LINES));
    assert_int_equal(chmod(f->place.path, 0640), 0);
    assert_int_equal(stat(f->place.path, &before), 0);
    assert_int_equal(resultfile_compact(f->place.path, &f->place.fault), 0);
    assert_int_equal(stat(f->place.path, &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(after.st_size, strlen(RESULT("b", "false") ERROR("c") RESULT("a", "false")));
    assert_int_equal(read_all(f, false), 0);
    assert_string_equal(f->seen, "b- c! a- ");
}

static void test_compact_fails(void **state)
{
    struct fixture *f = *state;
    char in_the_way[96];
    (void)snprintf(in_the_way, sizeof(in_the_way), "%s.new", f->place.path);
    fill(f, LINES, strlen(LINES));
    assert_int_equal(mkdir(in_the_way, 0700), 0);
    assert_true(resultfile_compact(f->place.path, &f->place.fault) < 0);
    assert_non_null(strstr(f->place.fault.text, in_the_way));
    assert_int_equal(rmdir(in_the_way), 0);
    assert_int_equal(read_all(f, false), 0);
    assert_string_equal(f->seen, "a+ b- c! a- ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_place)
    const struct CMUnitTest tests[] = {
        TEST(test_lines),         TEST(test_graded),
        TEST(test_attempts_cost), TEST(test_torn_at_every_byte),
        TEST(test_not_ours),      TEST(test_compact),
        TEST(test_compact_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
