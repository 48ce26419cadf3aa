/* SPDX-License-Identifier: MIT */
/* Tests the launch that follows from a sandbox job. */
#include "daemon/jobs/job.h"
#include "daemon/kinds/sandbox_plan.h"
#include "tests/unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char *const environment[] = {"PATH=/usr/bin:/bin", "TZ=UTC", "TZX=1", NULL};

struct fixture {
    char top[64]; /* canonical */
    char root[128], other[128];
    const char *allowed[1];
    struct job_spec job;
    struct kind_host host;
    struct sandbox_plan plan;
    enum error_code code;
    struct fault fault;
};

static void make(const struct fixture *f, const char *name, bool directory)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", f->top, name);
    if (directory) {
        assert_int_equal(mkdir(path, 0755), 0);
    } else {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
}

static void make_link(const struct fixture *f, const char *target, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", f->top, name);
    assert_int_equal(symlink(target, path), 0);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char template[] = "/tmp/test_sandbox.XXXXXX";
    assert_non_null(f);
    assert_non_null(mkdtemp(template));
    _cleanup_free_ char *canonical = realpath(template, NULL);
    assert_non_null(canonical);
    (void)snprintf(f->top, sizeof(f->top), "%s", canonical);
    (void)snprintf(f->root, sizeof(f->root), "%s/root", f->top);
    (void)snprintf(f->other, sizeof(f->other), "%s/rooted", f->top);
    make(f, "root", true);
    make(f, "root/file", false);
    make(f, "rooted", true);
    make(f, "rooted/secret", false);
    make_link(f, "root", "link");
    make_link(f, "../rooted/secret", "root/out");
    make_link(f, "file", "root/in");
    f->allowed[0] = f->root;
    f->job = (struct job_spec){.kind = JOB_SANDBOX, .limits = job_kind_get(JOB_SANDBOX)->defaults};
    f->host = (struct kind_host){
        .interpreter = "/opt/python",
        .environment = environment,
        .readable_roots = {.item = f->allowed, .count = 1},
    };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    sandbox_plan_deinit(&f->plan);
    remove_tree(f->top);
    free(f);
    return 0;
}

static int plan(struct fixture *f)
{
    sandbox_plan_deinit(&f->plan);
    f->code = ERROR_DENIED; /* never set by the code under test */
    f->fault = (struct fault)FAULT_NULL;
    return sandbox_plan_init(&f->plan, &f->job, &f->host, &f->code, &f->fault);
}

static void assert_strings(const char *const *got, const char *const *expected)
{
    for (; *expected; got++, expected++) {
        assert_non_null(*got);
        assert_string_equal(*got, *expected);
    }
    assert_null(*got);
}

#define STRINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct bytes text(const char *literal)
{
    return (struct bytes){.data = (char *)(uintptr_t)literal, .length = strlen(literal)};
}

/* --- the program -------------------------------------------------------------------------- */

static void test_argv(void **state)
{
    struct fixture *f = *state;
    char *argv[] = {(char[]){"/bin/echo"}, (char[]){"x"}, NULL};
    f->job.sandbox = (struct sandbox_spec){.argv = argv, .input = text("in")};
    f->job.network = true;
    f->job.limits.of[LIMIT_CPU] = 4711;
    assert_int_equal(plan(f), 0);
    assert_strings(f->plan.launch.argv, STRINGS("/bin/echo", "x"));
    assert_strings(f->plan.launch.envp, environment);
    assert_int_equal(f->plan.launch.file_count, 0);
    assert_null(f->plan.launch.readable);
    assert_true(f->plan.launch.network);
    assert_int_equal(f->plan.launch.limits.of[LIMIT_CPU], 4711);
    assert_string_equal(f->plan.launch.input->data, "in");
    assert_false(f->plan.no_code);
    f->job.network = false;
    assert_int_equal(plan(f), 0);
    assert_false(f->plan.launch.network);
}

static void check_snippet(struct fixture *f, const char *const *argv, const char *name,
                          const char *content)
{
    assert_int_equal(plan(f), 0);
    assert_false(f->plan.no_code);
    assert_strings(f->plan.launch.argv, argv);
    assert_int_equal(f->plan.launch.file_count, 1);
    assert_string_equal(f->plan.launch.files[0].name, name);
    assert_int_equal(f->plan.launch.files[0].mode, 0644);
    assert_string_equal(f->plan.launch.files[0].content->data, content);
}

static void test_snippets(void **state)
{
    struct fixture *f = *state;
    f->job.sandbox = (struct sandbox_spec){
        .program = SANDBOX_SNIPPET, .text = text("exit 3"), .input = text("")};
    check_snippet(f, STRINGS("/bin/sh", ".snippet.sh"), ".snippet.sh", "exit 3");
    f->job.sandbox.runner = SANDBOX_PYTHON;
    check_snippet(f, STRINGS("/opt/python", "-s", "-B", ".snippet.py"), ".snippet.py", "exit 3");
    f->job.sandbox.program = SANDBOX_GENERATION;
    f->job.sandbox.text = text("```sh\nexit 4\n```\n```python\nprint(1)\n```\n");
    check_snippet(f, STRINGS("/opt/python", "-s", "-B", ".snippet.py"), ".snippet.py",
                  "print(1)\n");
    f->job.sandbox.runner = SANDBOX_SHELL; /* each runner takes blocks with its own tags */
    check_snippet(f, STRINGS("/bin/sh", ".snippet.sh"), ".snippet.sh", "exit 4\n");
}

/* Prose is not code: without a fence the text has none. */
static void test_no_code(void **state)
{
    static const char *const texts[] = {"", " \n", "rm -rf is dangerous", "```\n \n```\n"};
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        f->job.sandbox = (struct sandbox_spec){
            .program = SANDBOX_GENERATION, .text = text(texts[i]), .input = text("")};
        assert_int_equal(plan(f), 0);
        assert_true(f->plan.no_code);
        assert_null(f->plan.launch.argv);
        /* A snippet is not searched for fences. */
        f->job.sandbox.program = SANDBOX_SNIPPET;
        assert_int_equal(plan(f), 0);
        assert_false(f->plan.no_code);
    }
}

static void test_files(void **state)
{
    struct fixture *f = *state;
    struct sandbox_file files[] = {
        {.name = (char[]){"a"}, .mode = 0600, .content = text("1")},
        {.name = (char[]){"b/c"}, .mode = 0755, .content = text("22")},
    };
    f->job.sandbox = (struct sandbox_spec){
        .program = SANDBOX_SNIPPET, .text = text("x"), .files = files, .file_count = 2};
    assert_int_equal(plan(f), 0);
    const struct launch *launch = &f->plan.launch;
    assert_int_equal(launch->file_count, 3);
    assert_string_equal(launch->files[0].name, "a");
    assert_int_equal(launch->files[0].mode, 0600);
    assert_string_equal(launch->files[1].name, "b/c");
    assert_int_equal(launch->files[1].mode, 0755);
    assert_ptr_equal(launch->files[1].content, &files[1].content);
    assert_string_equal(launch->files[2].name, ".snippet.sh");
}

/* The job's own variables replace those of all jobs, so every name occurs once. */
static void test_environment(void **state)
{
    struct fixture *f = *state;
    char *argv[] = {(char[]){"/bin/true"}, NULL};
    char *env[] = {(char[]){"TZ=CET"}, (char[]){"HOME=/x"}, NULL};
    f->job.sandbox = (struct sandbox_spec){.argv = argv, .env = env};
    assert_int_equal(plan(f), 0);
    assert_strings(f->plan.launch.envp,
                   STRINGS("PATH=/usr/bin:/bin", "TZX=1", "TZ=CET", "HOME=/x"));
}

/* --- readable ----------------------------------------------------------------------------- */

/* Plans a job that may read the path NAME beneath the fixture's directory. */
static int plan_path(struct fixture *f, const char *name)
{
    char path[256], *readable[] = {path, NULL}, *argv[] = {(char[]){"/bin/true"}, NULL};
    (void)snprintf(path, sizeof(path), "%s/%s", f->top, name);
    f->job.sandbox = (struct sandbox_spec){.argv = argv, .readable = readable};
    return plan(f);
}

static void check_readable(struct fixture *f, const char *name, const char *canonical)
{
    char expected[256];
    (void)snprintf(expected, sizeof(expected), "%s/%s", f->top, canonical);
    if (plan_path(f, name) != 0)
        fail_msg("%s: %s", name, f->fault.text);
    assert_strings(f->plan.launch.readable, STRINGS(expected));
}

static void test_readable(void **state)
{
    struct fixture *f = *state;
    check_readable(f, "root", "root");
    check_readable(f, "root/", "root");
    check_readable(f, "root//file", "root/file");
    check_readable(f, "root/in", "root/file");
    check_readable(f, "link/file", "root/file");
}

static void refuse_readable(struct fixture *f, const char *name, enum error_code code,
                            const char *why)
{
    char expected[512];
    if (plan_path(f, name) >= 0)
        fail_msg("%s is let through", name);
    (void)snprintf(expected, sizeof(expected), "job.readable[0]: %s/%s%s", f->top, name, why);
    assert_string_equal(f->fault.text, expected);
    assert_int_equal(f->code, code);
}

#define NO_ROOT " is under no root that the configuration allows"

static void test_not_readable(void **state)
{
    struct fixture *f = *state;
    refuse_readable(f, "rooted", ERROR_NOT_PERMITTED, NO_ROOT);
    refuse_readable(f, "rooted/secret", ERROR_NOT_PERMITTED, NO_ROOT);
    refuse_readable(f, "root/out", ERROR_NOT_PERMITTED, NO_ROOT);
    refuse_readable(f, "", ERROR_NOT_PERMITTED, NO_ROOT);
    /* Only beneath the roots does the message say that a path does not exist. */
    refuse_readable(f, "root/missing", ERROR_BAD_REQUEST, ": No such file or directory");
    refuse_readable(f, "root/file/x", ERROR_BAD_REQUEST, ": Not a directory");
    refuse_readable(f, "rooted/missing", ERROR_NOT_PERMITTED, NO_ROOT);
    f->host.readable_roots.count = 0;
    refuse_readable(f, "root/file", ERROR_NOT_PERMITTED, NO_ROOT);
}

static void test_second_path(void **state)
{
    struct fixture *f = *state;
    char *readable[] = {f->root, f->other, NULL}, *argv[] = {(char[]){"/bin/true"}, NULL};
    f->job.sandbox = (struct sandbox_spec){.argv = argv, .readable = readable};
    assert_int_equal(plan(f), -EINVAL);
    assert_int_equal(strncmp(f->fault.text, "job.readable[1]: ", 17), 0);
    f->allowed[0] = f->top;
    assert_int_equal(plan(f), 0);
    assert_strings(f->plan.launch.readable, STRINGS(f->root, f->other));
}

/* --- the label ---------------------------------------------------------------------------- */

static void test_labels(void **state)
{
    char label[JOB_LABEL_MAX], path[400], *argv[] = {path, NULL};
    struct job_spec job = {.kind = JOB_SANDBOX};
    (void)state;
    (void)strcpy(path, "/bin/true");
    job.sandbox.argv = argv;
    job_describe(&job, label);
    assert_string_equal(label, "/bin/true");
    /* The label is cut between characters. */
    memset(path, 'p', 254);
    (void)strcpy(path + 254, "\xC3\xA9");
    job_describe(&job, label);
    assert_int_equal(strlen(label), 254);
    job.sandbox = (struct sandbox_spec){.program = SANDBOX_SNIPPET};
    job_describe(&job, label);
    assert_string_equal(label, "shell snippet");
    job.sandbox = (struct sandbox_spec){.program = SANDBOX_GENERATION, .runner = SANDBOX_PYTHON};
    job_describe(&job, label);
    assert_string_equal(label, "python snippet");
    job = (struct job_spec){.kind = JOB_RUBRIC, .rubric = {.task_class = (char[]){"exact"}}};
    job_describe(&job, label);
    assert_string_equal(label, "exact");
    job = (struct job_spec){.kind = JOB_CODE_EXEC};
    job_describe(&job, label);
    assert_string_equal(label, "python code");
    job.code_exec.entry_point = (char[]){"add"};
    job_describe(&job, label);
    assert_string_equal(label, "add");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* The input of the program is dropped; the parts that the answer needs stay. */
static void test_dropped_input(void **state)
{
    struct job job = {.spec = calloc(1, sizeof(*job.spec))};
    struct bytes *all[6];
    (void)state;
    assert_non_null(job.spec);
    struct code_exec_spec *code_exec = &job.spec->code_exec;
    job.spec->kind = JOB_CODE_EXEC;
    code_exec->targets = calloc(2, sizeof(*code_exec->targets));
    assert_non_null(code_exec->targets);
    code_exec->target_count = 2;
    code_exec->entry_point = strdup("add");
    all[0] = &code_exec->text;
    all[1] = &code_exec->test;
    all[2] = &code_exec->prelude;
    all[3] = &code_exec->test_setup;
    all[4] = &code_exec->targets[0];
    all[5] = &code_exec->targets[1];
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        assert_int_equal(bytes_copy("x", 1, all[i]), 0);
    job_drop_input(&job);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        assert_null(all[i]->data);
    assert_int_equal(code_exec->target_count, 2);
    assert_string_equal(code_exec->entry_point, "add");
    assert_int_equal(job_spec_size(job.spec), 2 * sizeof(struct bytes) + 3 + ALLOCATION_OVERHEAD);
    job_spec_free(job.spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_argv),
        TEST(test_snippets),
        TEST(test_no_code),
        TEST(test_files),
        TEST(test_environment),
        TEST(test_readable),
        TEST(test_not_readable),
        TEST(test_second_path),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_dropped_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
