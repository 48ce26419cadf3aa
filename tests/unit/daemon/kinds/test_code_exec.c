/* SPDX-License-Identifier: MIT */
/* Tests what a code_exec job passes to its checker: the input, the code and the command lines. */
#include "daemon/jail/link.h"
#include "daemon/kinds/checker_code.h"
#include "daemon/kinds/code_exec.h"
#include "proto/extraction.h"
#include "proto/request.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PYTHON "/opt/python/bin/python3"

/* The bytes of a literal, including NUL bytes inside. */
#define BYTES(literal)                                                       \
    {                                                                        \
        .data = (char *)(uintptr_t)(literal), .length = sizeof(literal) - 1, \
    }

static const char *const environment[] = {"A=1", NULL};
static const struct kind_host host = {
    .interpreter = PYTHON, .environment = environment, .checker = 77};

static struct job_spec job_of(struct code_exec_spec spec)
{
    return (struct job_spec){.kind = JOB_CODE_EXEC, .code_exec = spec};
}

static void check_input(struct code_exec_spec spec, const char *wanted, size_t n)
{
    _cleanup_code_exec_plan_ struct code_exec_plan plan = CODE_EXEC_PLAN_NULL;
    struct job_spec job = job_of(spec);
    assert_int_equal(code_exec_plan_init(&plan, &job, &host), 0);
    assert_ptr_equal(plan.launch.input, &plan.input);
    if (plan.input.length != n || memcmp(plan.input.data, wanted, n) != 0)
        fail_msg("got %zu bytes\n%.*s\nexpected %zu\n%.*s", plan.input.length,
                 (int)plan.input.length, plan.input.data, n, (int)n, wanted);
}

#define CHECK_INPUT(spec, wanted) check_input(spec, wanted, sizeof(wanted) - 1)

/* --- the input ---------------------------------------------------------------------------- */

static struct bytes one_target[] = {BYTES("assert f() == 1")};
static struct bytes three_targets[] = {BYTES("assert a\n"), BYTES("b"), BYTES("assert\n\nc")};

static void test_code_and_targets(void **state)
{
    (void)state;
    struct code_exec_spec spec = {
        .text = BYTES("def f(): return 1\n"), .targets = one_target, .target_count = 1};
    CHECK_INPUT(spec, "mode 8\nisolatedcode 18\ndef f(): return 1\ntarget 15\nassert f() == 1");
    spec.targets = three_targets;
    spec.target_count = 3;
    CHECK_INPUT(spec, "mode 8\nisolatedcode 18\ndef f(): return 1\ntarget 9\nassert a\n"
                      "target 1\nbtarget 9\nassert\n\nc");
    spec.shared = true;
    CHECK_INPUT(spec, "mode 6\nsharedcode 18\ndef f(): return 1\ntarget 9\nassert a\n"
                      "target 1\nbtarget 9\nassert\n\nc");
}

static void test_program(void **state)
{
    (void)state;
    struct code_exec_spec spec = {
        .text = BYTES("x"),
        .test = BYTES("def check(c):\n pass\n"),
        .entry_point = (char *)(uintptr_t) "f",
    };
    CHECK_INPUT(spec, "mode 8\nisolatedcode 1\nxentry_point 1\nftest 20\ndef check(c):\n pass\n");
    char *names[] = {(char *)(uintptr_t) "f", (char *)(uintptr_t) "gh"};
    spec.names = names;
    spec.name_count = 2;
    CHECK_INPUT(spec, "mode 8\nisolatedcode 1\nxentry_point 1\nfname 1\nfname 2\ngh"
                      "test 20\ndef check(c):\n pass\n");
    spec.name_count = 0;
    spec.prelude = (struct bytes)BYTES("import re\n");
    CHECK_INPUT(spec, "mode 8\nisolatedcode 1\nxprelude 10\nimport re\nentry_point 1\n"
                      "ftest 20\ndef check(c):\n pass\n");
}

/* A transcript is asked for by an empty part, and what it takes of stdout is free. */
static void test_transcript(void **state)
{
    (void)state;
    struct code_exec_spec spec = {
        .text = BYTES("x"), .targets = one_target, .target_count = 1, .transcript = true};
    _cleanup_code_exec_plan_ struct code_exec_plan asked = CODE_EXEC_PLAN_NULL,
                                                   other = CODE_EXEC_PLAN_NULL;
    CHECK_INPUT(spec, "mode 8\nisolatedtranscript 0\ncode 1\nxtarget 15\nassert f() == 1");
    struct job_spec job = job_of(spec);
    assert_int_equal(code_exec_plan_init(&asked, &job, &host), 0);
    assert_int_equal(asked.launch.free_output, CODE_EXEC_TRANSCRIPT_MAX);
    spec.transcript = false;
    spec.is_replay = true;
    spec.replay = (struct bytes)BYTES("a\0b");
    CHECK_INPUT(spec, "mode 8\nisolatedreplay 3\na\0bcode 1\nxtarget 15\nassert f() == 1");
    job = job_of(spec);
    assert_int_equal(code_exec_plan_init(&other, &job, &host), 0);
    assert_int_equal(other.launch.free_output, 0);
}

/* The input has exactly the parts that the job has, in a fixed order. */
static void test_every_combination(void **state)
{
    (void)state;
    enum { PRELUDE = 1, ENTRY_POINT = 2, SETUP = 4, TEST = 8, TARGETS = 16, SHARED = 32, ALL = 64 };
    for (unsigned has = 0; has < ALL; has++) {
        struct code_exec_spec spec = {.text = BYTES("c\n"), .shared = has & SHARED};
        char wanted[400];
        if (has & PRELUDE)
            spec.prelude = (struct bytes)BYTES("p");
        if (has & ENTRY_POINT)
            spec.entry_point = (char *)(uintptr_t) "name";
        if (has & SETUP)
            spec.test_setup = (struct bytes)BYTES("s\n\n");
        if (has & TEST)
            spec.test = (struct bytes)BYTES("t t");
        if (has & TARGETS) {
            spec.targets = three_targets;
            spec.target_count = 2;
        }
        int n = snprintf(wanted, sizeof(wanted), "%scode 2\nc\n%s%s%s%s%s",
                         has & SHARED ? "mode 6\nshared" : "mode 8\nisolated",
                         has & PRELUDE ? "prelude 1\np" : "",
                         has & ENTRY_POINT ? "entry_point 4\nname" : "",
                         has & SETUP ? "setup 3\ns\n\n" : "", has & TEST ? "test 3\nt t" : "",
                         has & TARGETS ? "target 9\nassert a\ntarget 1\nb" : "");
        check_input(spec, wanted, (size_t)n);
    }
}

static void test_generation(void **state)
{
    (void)state;
    struct code_exec_spec spec = {.is_generation = true,
                                  .targets = one_target,
                                  .target_count = 1,
                                  .text = BYTES("Sure:\n```python\n  a = 1\r\n  b\n```\nDone.\n")};
    CHECK_INPUT(spec, "mode 8\nisolatedcode 8\na = 1\nb\nblock 8\na = 1\nb\n"
                      "answer 38\nSure:\n```python\n  a = 1\n  b\n```\nDone.\n"
                      "target 15\nassert f() == 1");
    /* Without a fence the code is the whole text. */
    spec.text = (struct bytes)BYTES("a = 1");
    CHECK_INPUT(spec, "mode 8\nisolatedcode 5\na = 1answer 5\na = 1target 15\nassert f() == 1");
    /* Only fences with a tag of Python count, not those of a shell. */
    spec.text = (struct bytes)BYTES("```sh\nls\n```\n```py3\nx\n```\n");
    CHECK_INPUT(spec, "mode 8\nisolatedcode 2\nx\nblock 3\nls\nblock 2\nx\n"
                      "answer 26\n```sh\nls\n```\n```py3\nx\n```\ntarget 15\nassert f() == 1");
    /* Marks are no part of the answer. */
    spec.text = (struct bytes)BYTES("\xEF\xBB\xBF"
                                    "a = 1\n</s>\n");
    CHECK_INPUT(spec, "mode 8\nisolatedcode 6\na = 1\nanswer 6\na = 1\ntarget 15\nassert f() == 1");
}

/* The checker gets a bounded number of blocks, and none that is empty. */
static void test_many_blocks(void **state)
{
    (void)state;
    enum { GIVEN = EXTRACTION_BLOCKS_MAX + 8 };
    char text[GIVEN * 20] = "", wanted[sizeof(text) * 3];
    for (size_t i = 0; i < GIVEN; i++)
        (void)sprintf(text + strlen(text), "```\n%s```\n", i == 1 ? "" : "  x\n");
    size_t n = (size_t)sprintf(wanted, "mode 8\nisolatedcode 2\nx\n");
    for (size_t i = 0; i < EXTRACTION_BLOCKS_MAX; i++)
        n += (size_t)sprintf(wanted + n, "block 2\nx\n");
    n +=
        (size_t)sprintf(wanted + n, "answer %zu\n%starget 15\nassert f() == 1", strlen(text), text);
    struct code_exec_spec spec = {.is_generation = true,
                                  .targets = one_target,
                                  .target_count = 1,
                                  .text = {.data = text, .length = strlen(text)}};
    check_input(spec, wanted, n);
}

static void test_generation_without_code(void **state)
{
    (void)state;
    struct code_exec_spec spec = {
        .is_generation = true, .targets = one_target, .target_count = 1, .text = BYTES("")};
    CHECK_INPUT(spec, "mode 8\nisolatedcode 0\nanswer 0\ntarget 15\nassert f() == 1");
    spec.text = (struct bytes)BYTES("<think>I wonder\n```python\nx\n```\n");
    CHECK_INPUT(spec, "mode 8\nisolatedcode 0\nanswer 0\ntarget 15\nassert f() == 1");
    spec.text = (struct bytes)BYTES("Look:\n```python\n```\nand\n```\n\n```\n");
    CHECK_INPUT(spec, "mode 8\nisolatedcode 0\nanswer 33\n"
                      "Look:\n```python\n```\nand\n```\n\n```\ntarget 15\nassert f() == 1");
}

/* `code` is passed on unchanged. With a fence in it, what is in there goes with it. */
static void test_code_as_it_is(void **state)
{
    (void)state;
    struct code_exec_spec spec = {
        .targets = one_target, .target_count = 1, .text = BYTES("  <think>``py\r\nx\n``")};
    CHECK_INPUT(spec, "mode 8\nisolatedcode 19\n  <think>``py\r\nx\n``target 15\nassert f() == 1");
    spec.text = (struct bytes)BYTES("x\n~~~py\r\ny\r\n~~~");
    CHECK_INPUT(spec, "mode 8\nisolatedcode 15\nx\n~~~py\r\ny\r\n~~~block 2\ny\n"
                      "answer 13\nx\n~~~py\ny\n~~~target 15\nassert f() == 1");
}

/* Lengths are in bytes, and no byte is special: neither a NUL nor text that looks like a part. */
static void test_odd_bytes(void **state)
{
    (void)state;
    static struct bytes targets[] = {BYTES("a\0b"), BYTES("code 4\nevil"), BYTES("\n")};
    struct code_exec_spec spec = {
        .text = BYTES("\0caf\xc3\xa9\n\0"),
        .prelude = BYTES("\n"),
        .entry_point = (char *)(uintptr_t) "\xc3\xa9t\xc3\xa9",
        .test_setup = BYTES("\0"),
        .test = BYTES("\xf0\x9f\x98\x80"),
        .targets = targets,
        .target_count = ARRAY_SIZE(targets),
    };
    CHECK_INPUT(spec, "mode 8\nisolatedcode 8\n\0caf\xc3\xa9\n\0prelude 1\n\nentry_point 5\n"
                      "\xc3\xa9t\xc3\xa9setup 1\n\0test 4\n\xf0\x9f\x98\x80target 3\na\0b"
                      "target 11\ncode 4\neviltarget 1\n\n");
}

/* A field that is present but empty gives a part without bytes. */
static void test_empty_parts(void **state)
{
    (void)state;
    struct code_exec_spec spec = {
        .text = BYTES(""),
        .prelude = BYTES(""),
        .entry_point = (char *)(uintptr_t) "",
        .test_setup = BYTES(""),
        .test = BYTES(""),
    };
    CHECK_INPUT(spec, "mode 8\nisolatedcode 0\nprelude 0\nentry_point 0\nsetup 0\ntest 0\n");
    spec = (struct code_exec_spec){.text = BYTES_NULL};
    CHECK_INPUT(spec, "mode 8\nisolatedcode 0\n");
}

/* --- the launch --------------------------------------------------------------------------- */

static void test_launch(void **state)
{
    (void)state;
    _cleanup_code_exec_plan_ struct code_exec_plan plan = CODE_EXEC_PLAN_NULL;
    struct job_spec job = job_of((struct code_exec_spec){.text = BYTES("x")});
    job.limits = job_kind_get(JOB_SANDBOX)->defaults;
    assert_int_equal(code_exec_plan_init(&plan, &job, &host), 0);
    static const char *const argv[] = {PYTHON, "-s", "-B", "-c", LINK_PAIR_BOOT, "judge"};
    assert_ptr_equal(plan.launch.argv, plan.argv);
    for (size_t i = 0; i < ARRAY_SIZE(argv); i++)
        assert_string_equal(plan.launch.argv[i], argv[i]);
    assert_null(plan.launch.argv[ARRAY_SIZE(argv)]);
    assert_ptr_equal(plan.launch.envp, environment);
    assert_memory_equal(&plan.launch.limits, &job.limits, sizeof(job.limits));
    /* The checker has no network. */
    assert_false(plan.launch.network);
    assert_null(plan.launch.readable);
    assert_null(plan.launch.bench.path);
}

static void test_candidate(void **state)
{
    (void)state;
    _cleanup_code_exec_plan_ struct code_exec_plan plan = CODE_EXEC_PLAN_NULL;
    struct job_spec job = job_of((struct code_exec_spec){.text = BYTES("x")});
    assert_int_equal(code_exec_plan_init(&plan, &job, &host), 0);
    const struct launch *launch = &plan.launch;
    assert_int_equal(launch->code, host.checker);
    assert_int_equal(launch->file_count, 0); /* the candidate would see them */
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(launch->candidate[i], launch->argv[i]);
    assert_string_equal(launch->candidate[5], "candidate");
    assert_null(launch->candidate[6]);
}

/* Whoever has the code cannot change it. */
static void test_checker(void **state)
{
    (void)state;
    _cleanup_close_ int fd = code_exec_checker();
    assert_true(fd >= 0);
    char *there = malloc(checker_code_length);
    assert_non_null(there);
    assert_int_equal(pread(fd, there, checker_code_length, 0), checker_code_length);
    assert_memory_equal(there, checker_code, checker_code_length);
    free(there);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(lseek(fd, 0, SEEK_END), checker_code_length);
}

/* --- ownership ---------------------------------------------------------------------------- */

static void expect_empty(const struct code_exec_plan *plan)
{
    assert_null(plan->input.data);
    assert_int_equal(plan->input.length, 0);
}

static void test_deinit(void **state)
{
    (void)state;
    struct code_exec_plan plan = CODE_EXEC_PLAN_NULL;
    code_exec_plan_deinit(&plan); /* never filled */
    expect_empty(&plan);
    struct job_spec job = job_of((struct code_exec_spec){.text = BYTES("x")});
    assert_int_equal(code_exec_plan_init(&plan, &job, &host), 0);
    code_exec_plan_deinit(&plan);
    expect_empty(&plan);
    code_exec_plan_deinit(&plan);
    expect_empty(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_and_targets),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_transcript),
        cmocka_unit_test(test_every_combination),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_generation_without_code),
        cmocka_unit_test(test_code_as_it_is),
        cmocka_unit_test(test_odd_bytes),
        cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_candidate),
        cmocka_unit_test(test_checker),
        cmocka_unit_test(test_deinit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
