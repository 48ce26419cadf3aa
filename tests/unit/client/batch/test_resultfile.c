/* SPDX-License-Identifier: MIT */
#include "client/batch/resultfile.h"

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

struct place {
    char directory[64];
    char path[80];
    char seen[256]; /* "ID+ ID- ID! " */
    double cost_usd;
    off_t end;
    struct fault fault;
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    (void)strcpy(place->directory, "/tmp/rubricd-resultfile-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    (void)snprintf(place->path, sizeof(place->path), "%s/o", place->directory);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    (void)unlink(place->path);
    assert_int_equal(rmdir(place->directory), 0); /* it left no copy */
    free(place);
    return 0;
}

static void fill(const struct place *place, const char *text, size_t n)
{
    FILE *file = fopen(place->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    (void)fclose(file);
}

static int see(const struct result_line *line, void *arg)
{
    struct place *place = arg;
    size_t used = strlen(place->seen);
    (void)snprintf(place->seen + used, sizeof(place->seen) - used, "%s%s ", line->id,
                   !line->answered ? "!"
                   : line->passed  ? "+"
                                   : "-");
    place->cost_usd += line->cost_usd;
    return 0;
}

static int read_all(struct place *place, bool last_only)
{
    place->seen[0] = '\0';
    place->fault.text[0] = '\0';
    return resultfile_read(place->path, last_only, see, place, &place->end, &place->fault);
}

#define LINES RESULT("a", "true") RESULT("b", "false") "\n" ERROR("c") RESULT("a", "false")

static void test_lines(void **state)
{
    struct place *place = *state;
    fill(place, LINES, strlen(LINES));
    assert_int_equal(read_all(place, false), 0);
    assert_string_equal(place->seen, "a+ b- c! a- ");
    assert_int_equal(place->end, strlen(LINES));
    assert_true(place->cost_usd == 1.5);
    assert_int_equal(read_all(place, true), 0);
    assert_string_equal(place->seen, "b- c! a- ");
}

static void test_graded(void **state)
{
    struct place *place = *state;
    static const char lines[] = GRADED("a", "true") GRADED("b", "false") GRADED("c", "null");
    fill(place, lines, strlen(lines));
    assert_int_equal(read_all(place, false), 0);
    assert_string_equal(place->seen, "a+ b- c! ");
}

static void test_attempts_cost(void **state)
{
    struct place *place = *state;
    static const char line[] = "{\"type\":\"result\",\"id\":\"a\",\"score\":{\"cost_usd\":1},"
                               "\"run\":{\"job_digest\":\"d\",\"earlier\":[{\"answer\":{"
                               "\"score\":{\"cost_usd\":2}}},{\"answer\":{}}]}}\n";
    fill(place, line, strlen(line));
    assert_int_equal(read_all(place, false), 0);
    assert_true(place->cost_usd == 3);
}

/* A file may end anywhere in a line, and a power cut may leave zeros. */
static void test_torn_at_every_byte(void **state)
{
    struct place *place = *state;
    size_t whole = strlen(RESULT("a", "true")), all = strlen(RESULT("a", "true") ERROR("b"));
    for (size_t n = whole; n < all; n++) {
        fill(place, RESULT("a", "true") ERROR("b"), n);
        assert_int_equal(read_all(place, false), 0);
        assert_string_equal(place->seen, "a+ ");
        assert_int_equal(place->end, whole);
    }
    for (size_t n = 1; n < whole; n++) {
        fill(place, RESULT("a", "true"), n);
        assert_int_equal(read_all(place, false), 0);
        assert_int_equal(place->end, 0);
    }
    static const char zeros[] = ERROR("b") "{\"type\":\0\0\0\0\0\n\0\0\0";
    fill(place, zeros, sizeof(zeros) - 1);
    assert_int_equal(read_all(place, false), 0);
    assert_int_equal(place->end, strlen(ERROR("b")));
}

static void test_not_ours(void **state)
{
    struct place *place = *state;
    static const char *const wrong[] = {
        RESULT("a", "true") "{}\n" RESULT("b", "true"),
        RESULT("a", "true") "{\"type\":\n" ERROR("b"),
        "{\"id\":\"a\",\"kind\":\"rubric\"}\n{\"id\":\"b\",\"kind\":\"rubric\"}\n",
        "some text\n",
        "some text",
    };
    char expected[256];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        fill(place, wrong[i], strlen(wrong[i]));
        assert_int_equal(read_all(place, false), -EINVAL);
        (void)snprintf(expected, sizeof(expected),
                       "%s:%d: not a line of results as rubricctl writes them", place->path,
                       i < 2 ? 2 : 1);
        assert_string_equal(place->fault.text, expected);
    }
}

static void test_compact(void **state)
{
    struct place *place = *state;
    struct stat before, after;
    fill(place, LINES, strlen(LINES));
    assert_int_equal(chmod(place->path, 0640), 0);
    assert_int_equal(stat(place->path, &before), 0);
    assert_int_equal(resultfile_compact(place->path, &place->fault), 0);
    assert_int_equal(stat(place->path, &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(after.st_size, strlen(RESULT("b", "false") ERROR("c") RESULT("a", "false")));
    assert_int_equal(read_all(place, false), 0);
    assert_string_equal(place->seen, "b- c! a- ");
}

static void test_compact_fails(void **state)
{
    struct place *place = *state;
    char in_the_way[96];
    (void)snprintf(in_the_way, sizeof(in_the_way), "%s.new", place->path);
    fill(place, LINES, strlen(LINES));
    assert_int_equal(mkdir(in_the_way, 0700), 0);
    assert_true(resultfile_compact(place->path, &place->fault) < 0);
    assert_non_null(strstr(place->fault.text, in_the_way));
    assert_int_equal(rmdir(in_the_way), 0);
    assert_int_equal(read_all(place, false), 0);
    assert_string_equal(place->seen, "a+ b- c! a- ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_lines),         TEST(test_graded),
        TEST(test_attempts_cost), TEST(test_torn_at_every_byte),
        TEST(test_not_ours),      TEST(test_compact),
        TEST(test_compact_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
