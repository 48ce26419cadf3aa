/* SPDX-License-Identifier: MIT */
/* How the commands of sessions are planned, and what their results say. */
#include "daemon/kinds/kind.h"
#include "daemon/kinds/outcome.h"
#include "proto/jobkinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const environment[] = {"PATH=/usr/bin", "LANG=C", NULL};

static void plan(struct kind_plan *plan, const struct job_spec *spec)
{
    const struct kind_host host = {.environment = environment};
    enum error_code code;
    struct fault fault = FAULT_NULL;
    assert_int_equal(kind_ops_get(JOB_SESSION)->plan(plan, spec, &host, &code, &fault), 0);
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

/* Each variable comes once; a command's comes before the session's, and that before every job's. */
static void test_exec(void **state)
{
    char *argv[] = {(char[]){"ls"}, NULL};
    char *common[] = {(char[]){"LANG=de"}, (char[]){"A=1"}, NULL};
    char *env[] = {(char[]){"A=2"}, (char[]){"AB=3"}, NULL};
    struct job_spec spec = {
        .kind = JOB_SESSION,
        .limits = job_kind_get(JOB_SESSION)->defaults,
        .session = {.argv = argv, .common_env = common, .env = env, .cwd = (char[]){"d"}},
    };
    _cleanup_kind_plan_ struct kind_plan p = KIND_PLAN_NULL;
    (void)state;
    plan(&p, &spec);
    assert_int_equal(p.launch.act, LAUNCH_EXEC);
    assert_strings(p.launch.argv, STRINGS("ls"));
    assert_strings(p.launch.envp, STRINGS("PATH=/usr/bin", "LANG=de", "A=2", "AB=3"));
    assert_string_equal(p.launch.cwd, "d");
    assert_int_equal(p.launch.free_output, 0);
    assert_false(p.launch.network || p.launch.warm || p.more);
    assert_string_equal(kind_ops_get(JOB_SESSION)->label(&spec), "ls");
}

static void test_files(void **state)
{
    static const enum launch_act acts[] = {
        [SESSION_WRITE] = LAUNCH_WRITE, [SESSION_READ] = LAUNCH_READ};
    (void)state;
    for (enum session_act act = SESSION_WRITE; act <= SESSION_READ; act++) {
        struct job_spec spec = {
            .kind = JOB_SESSION,
            .session = {.act = act, .path = (char[]){"f"}, .mode = 0600, .append = true},
        };
        _cleanup_kind_plan_ struct kind_plan p = KIND_PLAN_NULL;
        plan(&p, &spec);
        assert_int_equal(p.launch.act, acts[act]);
        assert_strings(p.launch.argv, STRINGS("f"));
        assert_int_equal(p.launch.file_mode, 0600);
        assert_true(p.launch.appends);
        assert_int_equal(p.launch.free_output, act == SESSION_READ ? SESSION_FILE_BYTES_MAX : 0);
        assert_string_equal(kind_ops_get(JOB_SESSION)->label(&spec), "f");
    }
}

/* --- results -------------------------------------------------------------------------------- */

struct expected {
    enum session_act act;
    enum slot_end end;
    int wait_status, error;
    int exit_code;
    const char *errno_name, *summary;
};

static void check(const struct expected *e)
{
    static const struct bytes nothing = BYTES_NULL;
    const struct job_spec spec = {
        .kind = JOB_SESSION,
        .limits = job_kind_get(JOB_SESSION)->defaults,
        .session = {.act = e->act},
    };
    const struct slot_result result = {
        .end = e->end,
        .stage = LINK_STAGE_EXEC,
        .error = e->error,
        .wait_status = e->wait_status,
        .out = &nothing,
        .err = &nothing,
    };
    _cleanup_outcome_ struct outcome outcome = OUTCOME_NULL;
    _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
    assert_int_equal(outcome_from_result(&result, &spec.limits, &outcome), 0);
    const struct kind_run run = {.spec = &spec, .result = &result, .outcome = &outcome};
    assert_int_equal(kind_ops_get(JOB_SESSION)->judge(&run, &judgement), 0);
    assert_string_equal(judgement.reason, "command");
    assert_int_equal(outcome.exit_code, e->exit_code);
    assert_string_equal(outcome.summary, e->summary);
    assert_int_equal(outcome.success, e->exit_code == 0);
    if (e->errno_name)
        assert_string_equal(judgement.errno_name, e->errno_name);
    else
        assert_null(judgement.errno_name);
}

static void test_results(void **state)
{
    static const struct expected cases[] = {
        {SESSION_EXEC, SLOT_END_EXITED, 0, 0, 0, NULL, "ok"},
        {SESSION_EXEC, SLOT_END_EXITED, 2 << 8, 0, 2, NULL, "exit status 2"}, /* ENOENT is 2, too */
        {SESSION_EXEC, SLOT_END_EXITED, 9, 0, -1, NULL, "signal 9"},
        {SESSION_EXEC, SLOT_END_NOT_STARTED, 0, ENOENT, 127, "ENOENT", "No such file or directory"},
        {SESSION_EXEC, SLOT_END_NOT_STARTED, 0, ENOTDIR, 127, "ENOTDIR", "Not a directory"},
        {SESSION_EXEC, SLOT_END_NOT_STARTED, 0, EACCES, 126, "EACCES", "Permission denied"},
        {SESSION_EXEC, SLOT_END_NOT_STARTED, 0, ENOEXEC, 126, "ENOEXEC", "Exec format error"},
        {SESSION_WRITE, SLOT_END_EXITED, ENOSPC << 8, 0, ENOSPC, "ENOSPC",
         "No space left on device"},
        {SESSION_READ, SLOT_END_EXITED, EISDIR << 8, 0, EISDIR, "EISDIR", "Is a directory"},
        {SESSION_READ, SLOT_END_EXITED, 0, 0, 0, NULL, "ok"},
        {SESSION_WRITE, SLOT_END_EXITED, 25, 0, -1, NULL, "sandbox limit exceeded: disk"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
