/* SPDX-License-Identifier: MIT */
/* Tests what a task class may want to be loaded ahead, and when two jobs can share a template. */
#include "daemon/kinds/rubric_class.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int decode(const char *text, struct rubric_class **ret, struct fault *fault)
{
    json_t *value = json_loads(text, 0, NULL);
    assert_non_null(value);
    int r = rubric_class_decode(value, ret, fault);
    json_decref(value);
    return r;
}

static void test_good(void **state)
{
    static const struct {
        const char *text, *parts;
    } cases[] = {
        {"{}", ""},
        {"{\"modules\":null,\"helpers\":null}", ""},
        {"{\"modules\":[\"numpy\",\"os.path\"]}", "mnumpy mos.path "},
        {"{\"helpers\":[\"_x\",\"a1.b2\"]}", "h_x ha1.b2 "},
        {"{\"helpers\":[\"h\"],\"modules\":[\"m\"]}", "mm hh "},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct rubric_class *class = NULL;
        struct fault fault = FAULT_NULL;
        char text[200] = "";
        assert_int_equal(decode(cases[i].text, &class, &fault), 0);
        for (size_t k = 0; k < class->count; k++) {
            strcat(text, class->parts[k]);
            strcat(text, " ");
        }
        assert_string_equal(text, cases[i].parts);
        rubric_class_free(class);
    }
}

static void test_nothing_is_wanted(void **state)
{
    struct rubric_class *class = NULL;
    struct fault fault = FAULT_NULL;
    (void)state;
    assert_int_equal(rubric_class_decode(NULL, &class, &fault), 0);
    assert_null(class);
    assert_null(rubric_class_free(NULL));
}

static void test_bad(void **state)
{
    static const struct {
        const char *text, *fault;
    } cases[] = {
        {"{\"module\":[]}", "warm.module: unknown field"},
        {"{\"modules\":\"re\"}", "warm.modules: expected an array"},
        {"{\"modules\":[\"re\",7]}", "warm.modules[1]: expected a string"},
        {"{\"modules\":[\"\"]}", "warm.modules[0]: not the name of a module"},
        {"{\"modules\":[\".re\"]}", "warm.modules[0]: not the name of a module"},
        {"{\"modules\":[\"re.\"]}", "warm.modules[0]: not the name of a module"},
        {"{\"modules\":[\"a..b\"]}", "warm.modules[0]: not the name of a module"},
        {"{\"modules\":[\"1a\"]}", "warm.modules[0]: not the name of a module"},
        {"{\"modules\":[\"a.1\"]}", "warm.modules[0]: not the name of a module"},
        {"{\"helpers\":[\"a-b\"]}", "warm.helpers[0]: not the name of a module"},
        {"{\"helpers\":[\"a b\"]}", "warm.helpers[0]: not the name of a module"},
        {"{\"helpers\":[\"../a\"]}", "warm.helpers[0]: not the name of a module"},
        {"{\"helpers\":[\"\\u00e9\"]}", "warm.helpers[0]: not the name of a module"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct rubric_class *class = NULL;
        struct fault fault = FAULT_NULL;
        assert_int_equal(decode(cases[i].text, &class, &fault), -EINVAL);
        assert_null(class);
        if (!strstr(fault.text, cases[i].fault))
            fail_msg("%s: %s", cases[i].text, fault.text);
    }
}

static void test_how_many(void **state)
{
    char text[8192] = "{\"modules\":[";
    (void)state;
    for (int i = 0; i < RUBRIC_CLASS_PARTS_MAX; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\"m%d\"", i ? "," : "",
                       i);
    size_t n = strlen(text);
    struct rubric_class *class = NULL;
    struct fault fault = FAULT_NULL;
    strcat(text, "]}");
    assert_int_equal(decode(text, &class, &fault), 0);
    assert_int_equal(class->count, RUBRIC_CLASS_PARTS_MAX);
    class = rubric_class_free(class);
    strcpy(text + n, "],\"helpers\":[\"one_more\"]}");
    assert_int_equal(decode(text, &class, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "warm.helpers[0]: more than 60 modules and helpers"));
}

/* --- the key ------------------------------------------------------------------------------- */

static const struct rubric_digest first_digest = {.hex = "00", .changed_ns = 1};
#define DIGEST (&first_digest)

static const char *const argv[] = {"/usr/bin/python3", "-s", "-B", "/bench/a/rubric.py", NULL};

static const struct launch usual = {
    .argv = argv,
    .bench = {"/srv/bench", 1, 2},
    .limits = {.of = {[LIMIT_MEMORY] = 1 << 30, [LIMIT_WALL_CLOCK] = 1000}},
};

static void key_of(const char *warm, const struct rubric_digest *digest,
                   const struct launch *launch, char ret[LAUNCH_CLASS_KEY_SIZE])
{
    struct rubric_class *class = NULL;
    struct rubric_class_list list;
    struct fault fault = FAULT_NULL;
    assert_int_equal(decode(warm, &class, &fault), 0);
    rubric_class_list(class, digest, launch, &list);
    assert_ptr_equal(list.parts[0], list.key);
    assert_null(list.parts[1 + class->count]);
    assert_int_equal(strlen(list.key), 64);
    strcpy(ret, list.key);
    rubric_class_free(class);
}

static void assert_same(bool same, const char *warm, const struct rubric_digest *digest,
                        const struct launch *launch)
{
    char first[LAUNCH_CLASS_KEY_SIZE], second[LAUNCH_CLASS_KEY_SIZE];
    key_of("{\"modules\":[\"re\"]}", DIGEST, &usual, first);
    key_of(warm, digest, launch, second);
    assert_int_equal(strcmp(first, second) == 0, same);
}

static void test_key(void **state)
{
    static const char *const other_argv[] = {"/usr/bin/python3", "-s", "-B", "/bench/b/rubric.py",
                                             NULL};
    struct launch launch = usual;
    (void)state;
    assert_same(true, "{\"modules\":[\"re\"]}", DIGEST, &usual);
    assert_same(false, "{\"helpers\":[\"re\"]}", DIGEST, &usual);
    assert_same(false, "{\"modules\":[\"re\",\"os\"]}", DIGEST, &usual);
    const struct rubric_digest other = {.hex = "01", .changed_ns = 1};
    const struct rubric_digest again = {.hex = "00", .changed_ns = 2};
    assert_same(false, "{\"modules\":[\"re\"]}", &other, &usual);
    assert_same(false, "{\"modules\":[\"re\"]}", &again, &usual);
    launch.argv = other_argv;
    assert_same(false, "{\"modules\":[\"re\"]}", DIGEST, &launch);
    launch = usual;
    launch.bench.inode = 3;
    assert_same(false, "{\"modules\":[\"re\"]}", DIGEST, &launch);
    launch = usual;
    launch.bench.path = "/srv/other";
    assert_same(false, "{\"modules\":[\"re\"]}", DIGEST, &launch);
}

/* A template has the limits of its jobs' processes; those that the daemon enforces may differ. */
static void test_key_and_limits(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LIMIT_COUNT; i++) {
        struct launch launch = usual;
        launch.limits.of[i] += 1;
        assert_same(i == LIMIT_WALL_CLOCK || i == LIMIT_OUTPUT, "{\"modules\":[\"re\"]}", DIGEST,
                    &launch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good), cmocka_unit_test(test_nothing_is_wanted),
        cmocka_unit_test(test_bad),  cmocka_unit_test(test_how_many),
        cmocka_unit_test(test_key),  cmocka_unit_test(test_key_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
