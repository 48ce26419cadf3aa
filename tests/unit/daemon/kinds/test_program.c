/* SPDX-License-Identifier: MIT */
/* Tests the steps of a program: what each is launched with, what follows which end, and the
 * verdict.
 */
#include "daemon/kinds/program.h"
#include "tests/unit/quoted.h"

#include "daemon/base/clock.h"
#include "daemon/pool/collected.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};

struct fixture {
    struct language_list list;
    struct languages *languages;
    struct kind_host host;
    const struct kind_ops *ops;
    struct job_spec spec;
    struct program_tests *tests;
    struct kind_plan plan;
    void *kept;
    int artefact;
    enum error_code code;
    struct fault fault;
};

/* Two languages: one that is compiled, by a program that every host has, and one that is not. */
static void write_language(struct fixture *f, const char *name, const char *text)
{
    struct config_problems problems = CONFIG_PROBLEMS_NULL;
    if (language_read(name, name, text, strlen(text), &f->list, &problems) < 0)
        fail_msg("%s", problems.count > 0 ? problems.item[0].text : "out of memory");
}

/* What a jail has collected: the file `out`, empty and with this mode, or LINK_LEFT_OUT. */
static int make_artefact(uint32_t mode)
{
    const struct link_file header = {.name_length = 3, .mode = mode};
    int fd = collected_new();
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
    assert_int_equal(write(fd, "out", 3), 3);
    assert_int_equal(collected_seal(fd, 0), 0);
    return fd;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    write_language(f, "asis",
                   "[language]\naliases = like\nsource = main.x\npackage = dash\nversion = sh -V\n"
                   "[run]\ncommand = sh {source}\nmemory_message = no room\n"
                   "memory_message = fatal: * of memory*!\ntime_factor = 2\n[hello]\n|x\n");
    write_language(f, "made",
                   "[language]\nsource = main.y\npackage = dash\nversion = sh -V\n"
                   "[compile]\ncommand = sh -c {source}\nartefact = out\nwall_clock = 7s\n"
                   "[run]\ncommand = ./out\naddress_space = no\nstack = unlimited\n[hello]\n|x\n");
    write_language(f, "told",
                   "[language]\nsource = main.z\nversion = sh -V\n[run]\ncommand = sh {source}\n"
                   "memory_message = no room\nmemory_status = 77\n[hello]\n|x\n");
    write_language(f, "mute",
                   "[language]\nsource = main.z\nversion = sh -V\n[run]\ncommand = sh {source}\n"
                   "memory_status = 77\n[hello]\n|x\n");
    const struct languages_host host = {.list = &f->list,
                                        .python = "/usr/bin/python3",
                                        .python_version = "3",
                                        .environment = environment,
                                        .has_view = true,
                                        .bounds_memory = true};
    assert_int_equal(languages_new(&host, &f->languages), 0);
    f->host = (struct kind_host){
        .interpreter = "/usr/bin/python3", .environment = environment, .languages = f->languages};
    f->ops = kind_ops_get(JOB_PROGRAM);
    f->artefact = make_artefact(0755);
    *state = f;
    return 0;
}

static void clear_job(struct fixture *f)
{
    f->ops->free_kept(f->kept);
    free(f->spec.program.tests->test);
    free(f->spec.program.tests);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    clear_job(f);
    languages_free(f->languages);
    language_list_deinit(&f->list);
    close_fd(f->artefact);
    free(f);
    return 0;
}

static struct bytes text(const char *of)
{
    return (struct bytes){.data = (char *)(uintptr_t)of, .length = strlen(of)};
}

/* Plans a job in LANGUAGE with COUNT tests, each of input "in" and output "out". */
static void plan_job(struct fixture *f, const char *language, size_t count)
{
    struct program_spec *spec = &f->spec.program;
    f->spec.kind = JOB_PROGRAM;
    f->spec.limits = spec->defaults = job_kind_get(JOB_PROGRAM)->defaults;
    spec->language = (char *)(uintptr_t)language;
    spec->text = text("code");
    spec->tests = calloc(1, sizeof(*spec->tests));
    assert_non_null(spec->tests);
    spec->tests->count = count;
    spec->tests->test = calloc(count, sizeof(*spec->tests->test));
    assert_non_null(spec->tests->test);
    for (size_t i = 0; i < count; i++)
        spec->tests->test[i] = (struct program_test){.input = text("in"), .output = text("out")};
    if (f->ops->plan(&f->plan, &f->spec, &f->host, &f->code, &f->fault) < 0)
        fail_msg("%s", f->fault.text);
    f->kept = f->plan.kept;
    assert_true(f->plan.more);
}

/* The end of a step: WAIT_STATUS as wait(2) gives it, and what it wrote. */
static struct slot_result ended(const struct fixture *f, int wait_status, const struct bytes *out,
                                const struct bytes *err)
{
    return (struct slot_result){
        .end = SLOT_END_EXITED,
        .wait_status = wait_status,
        .limits = &f->plan.launch.limits,
        .more = true,
        .started_ns = NS_PER_MS,
        .ended_ns = 3 * NS_PER_MS,
        .run_delay_ns = UINT64_MAX,
        .out = out,
        .err = err,
    };
}

static int go_on(struct fixture *f, const struct slot_result *result, bool is_ahead)
{
    struct kind_plan plan = KIND_PLAN_NULL;
    int r = f->ops->next(is_ahead ? NULL : &plan, &f->spec, f->kept, &f->host, result, &f->code,
                         &f->fault);
    if (r > 0 && !is_ahead)
        f->plan = plan;
    return r;
}

/* Ends a step that wrote OUT with exit status CODE. */
static int end(struct fixture *f, int code, const char *out, const char *err)
{
    const struct bytes written = text(out), said = text(err);
    const struct slot_result result = ended(f, code << 8, &written, &said);
    return go_on(f, &result, false);
}

static json_t *judge(struct fixture *f, struct judgement *judgement)
{
    const struct bytes nothing = BYTES_NULL;
    const struct slot_result result = ended(f, 0, &nothing, &nothing);
    struct outcome outcome = OUTCOME_NULL;
    const struct kind_run run = {&f->spec, f->kept, &result, &outcome};
    assert_int_equal(f->ops->judge(&run, judgement), 0);
    outcome_deinit(&outcome);
    return judgement->tests;
}

static void assert_verdict(struct fixture *f, const char *expected, const char *detail)
{
    _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
    (void)judge(f, &judgement);
    const json_t *mode = json_array_get(judgement.score.failure_modes, 0);
    assert_string_equal(judgement.verdict, expected);
    if (detail)
        assert_string_equal(json_string_value(json_object_get(mode, "detail")), detail);
    assert_int_equal(judgement.score.passed, detail == NULL);
}

/* --- launches ----------------------------------------------------------------------------- */

static void test_a_launch_without_a_compiler(void **state)
{
    struct fixture *f = *state;
    plan_job(f, "like", 2);
    const struct launch *launch = &f->plan.launch;
    assert_string_equal(launch->argv[1], "main.x");
    assert_int_equal(launch->file_count, 1);
    assert_string_equal(launch->files[0].name, "main.x");
    assert_string_equal(launch->files[0].content->data, "code");
    assert_string_equal(launch->input->data, "in");
    assert_true(launch->prepared <= 0);
    assert_null(launch->collect);
    assert_false(launch->warm);
    assert_false(launch->any_address_space);
    assert_false(launch->any_stack);
    assert_int_equal(launch->limits.of[LIMIT_WALL_CLOCK], 2 * 10000); /* the factor */
    assert_int_equal(launch->limits.of[LIMIT_CPU], 2 * 60000);
}

static void test_launches_with_a_compiler(void **state)
{
    struct fixture *f = *state;
    plan_job(f, "made", 1);
    assert_string_equal(f->plan.launch.argv[2], "main.y");
    assert_false(f->plan.launch.any_stack); /* that is for the program */
    assert_string_equal(f->plan.launch.collect[0], "out");
    assert_int_equal(f->plan.launch.collect_max, f->spec.limits.of[LIMIT_DISK]);
    assert_int_equal(f->plan.launch.limits.of[LIMIT_WALL_CLOCK], 7000);
    assert_int_equal(f->plan.launch.input->length, 0);
    const struct bytes nothing = BYTES_NULL;
    struct slot_result result = ended(f, 0, &nothing, &nothing);
    result.collected = f->artefact;
    assert_int_equal(go_on(f, &result, false), 1);
    const struct launch *launch = &f->plan.launch;
    assert_string_equal(launch->argv[0], "./out");
    assert_int_equal(launch->file_count, 0); /* nothing but the artefact */
    assert_true(launch->prepared > 0 && launch->prepared != f->artefact);
    assert_true(launch->any_address_space);
    assert_true(launch->any_stack);
    assert_int_equal(launch->limits.of[LIMIT_WALL_CLOCK], 10000);
    assert_int_equal(end(f, 0, "out", ""), 0);
    assert_verdict(f, "pass", NULL);
}

static void test_the_requests_limits_come_first(void **state)
{
    struct fixture *f = *state;
    f->spec.program.compile_limits.of[LIMIT_WALL_CLOCK] = 1234;
    plan_job(f, "made", 1);
    assert_int_equal(f->plan.launch.limits.of[LIMIT_WALL_CLOCK], 1234);
}

/* --- verdicts ----------------------------------------------------------------------------- */

static void test_all_pass(void **state)
{
    struct fixture *f = *state;
    plan_job(f, "asis", 2);
    assert_int_equal(end(f, 0, "out \n\n", ""), 1); /* as `lines` compares */
    assert_int_equal(end(f, 0, "out", ""), 0);
    assert_verdict(f, "pass", NULL);
}

static void test_the_first_failure_ends_it(void **state)
{
    struct fixture *f = *state;
    plan_job(f, "asis", 2);
    assert_int_equal(end(f, 0, "no", "words"), 0);
    _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
    const json_t *tests = judge(f, &judgement);
    assert_int_equal(json_array_size(tests), 1);
    const json_t *test = json_array_get(tests, 0);
    assert_string_equal(json_string_value(json_object_get(test, "verdict")), "wrong_answer");
    assert_string_equal(json_string_value(json_object_get(test, "stderr")), "words");
    const json_t *difference = json_object_get(test, "difference");
    assert_string_equal(json_string_value(json_object_get(difference, "got")), "no");
    assert_string_equal(json_string_value(json_object_get(difference, "expected")), "out");
    assert_true(judgement.score.score == 0);
}

/* Without an output the exit status decides, whatever was written. */
static void test_exit_status_alone(void **state)
{
    struct fixture *f = *state;
    f->spec.program.all = true;
    plan_job(f, "asis", 2);
    for (size_t i = 0; i < 2; i++)
        f->spec.program.tests->test[i].output = (struct bytes)BYTES_NULL;
    assert_int_equal(end(f, 0, "anything", ""), 1);
    assert_int_equal(end(f, 1, "", "words"), 0);
    _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
    const json_t *tests = judge(f, &judgement);
    const json_t *first = json_object_get(json_array_get(tests, 0), "verdict");
    const json_t *second = json_object_get(json_array_get(tests, 1), "verdict");
    assert_string_equal(json_string_value(first), "pass");
    assert_string_equal(json_string_value(second), "runtime_error");
}

static void test_all_run(void **state)
{
    struct fixture *f = *state;
    f->spec.program.all = true;
    plan_job(f, "asis", 3);
    assert_int_equal(end(f, 0, "no", ""), 1);
    assert_int_equal(end(f, 3, "out", ""), 1);
    assert_int_equal(end(f, 0, "out", ""), 0);
    _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
    assert_int_equal(json_array_size(judge(f, &judgement)), 3);
    const json_t *share = json_object_get(judgement.score.breakdown, "tests_passed");
    assert_true(json_number_value(share) > 0.33 && json_number_value(share) < 0.34);
    assert_string_equal(judgement.verdict, "wrong_answer"); /* of the first, not of the last */
}

/* A runtime's own word for it counts, but only if the program failed, and if the word is a whole
 * line: a text of the program's may speak of memory, too. */
static void test_memory(void **state)
{
    static const struct {
        const char *language;
        int status;
        const char *err, *verdict;
    } cases[] = {
        {"asis", 1, "no room", "memory"},
        {"asis", 1, "a\n\nno room \r\nb\n", "memory"},
        {"asis", 0, "no room\n", "pass"},
        {"asis", 1, "there is no room\n", "runtime_error"},
        {"asis", 1, "no room left\n", "runtime_error"},
        {"asis", 1, " no room\n", "runtime_error"},
        {"asis", 1, "no\nroom\n", "runtime_error"},
        {"asis", 1, "no roo", "runtime_error"},
        {"asis", 1, "", "runtime_error"},
        {"asis", 1, "fatal: out of memory!", "memory"},
        {"asis", 1, "fatal:  of memory, of memory at 5!!\n", "memory"},
        {"asis", 1, "fatal: of memory!\n", "runtime_error"},
        {"asis", 1, "fatal: out of memory\n!\n", "runtime_error"},
        {"asis", 1, "not fatal: out of memory!\n", "runtime_error"},
        {"asis", 77, "", "runtime_error"},
        {"told", 77, "x\nno room\n", "memory"},
        {"told", 77, "", "runtime_error"},
        {"told", 1, "no room\n", "runtime_error"},
        {"mute", 77, "", "memory"},
        {"mute", 1, "no room\n", "runtime_error"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        plan_job(f, cases[i].language, 1);
        assert_int_equal(end(f, cases[i].status, "out", cases[i].err), 0);
        _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
        (void)judge(f, &judgement);
        if (strcmp(judgement.verdict, cases[i].verdict) != 0)
            fail_msg("%s, %d, '%s': %s", cases[i].language, cases[i].status, cases[i].err,
                     judgement.verdict);
        if (i + 1 < ARRAY_SIZE(cases))
            clear_job(f);
    }
}

static void test_limits(void **state)
{
    static const struct {
        enum slot_kill killed;
        unsigned evidence;
        const char *verdict, *detail;
    } cases[] = {
        {SLOT_KILL_DEADLINE, 0, "timeout", "test 1 of 1: limit exceeded: wall_clock"},
        {SLOT_KILL_CPU, 0, "timeout", "test 1 of 1: limit exceeded: cpu"},
        {SLOT_KILL_OUTPUT, 0, "output_limit", "test 1 of 1: limit exceeded: output"},
        {SLOT_KILL_NONE, 1u << LIMIT_MEMORY, "memory", "test 1 of 1: limit exceeded: memory"},
        {SLOT_KILL_NONE, 1u << LIMIT_PROCESSES, "runtime_error",
         "test 1 of 1: limit exceeded: processes"},
        {SLOT_KILL_NONE, 0, "runtime_error", "test 1 of 1: signal 9 (SIGKILL)"},
    };
    struct fixture *f = *state;
    const struct bytes nothing = BYTES_NULL;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        plan_job(f, "asis", 1);
        struct slot_result result = ended(f, SIGKILL, &nothing, &nothing);
        result.killed = cases[i].killed;
        result.evidence = cases[i].evidence;
        assert_int_equal(go_on(f, &result, false), 0);
        assert_verdict(f, cases[i].verdict, cases[i].detail);
        if (i + 1 < ARRAY_SIZE(cases))
            clear_job(f);
    }
}

static void test_a_program_that_is_none(void **state)
{
    struct fixture *f = *state;
    const struct bytes nothing = BYTES_NULL;
    plan_job(f, "made", 1);
    assert_false(f->ops->made_program(f->kept));
    struct slot_result result = ended(f, 0, &nothing, &nothing);
    result.collected = f->artefact;
    assert_int_equal(go_on(f, &result, false), 1);
    assert_true(f->ops->made_program(f->kept));
    result = ended(f, 0, &nothing, &nothing);
    result.end = SLOT_END_NOT_STARTED;
    result.error = ENOEXEC;
    assert_int_equal(go_on(f, &result, false), 0);
    assert_verdict(f, "runtime_error",
                   "test 1 of 1: the program cannot be executed: Exec format error");
}

/* --- compilers ---------------------------------------------------------------------------- */

static void test_compile_errors(void **state)
{
    static const struct {
        int wait_status, collect_error;
        enum slot_kill killed;
        const char *said, *detail;
    } cases[] = {
        {1 << 8, 0, SLOT_KILL_NONE, "main.y: no", "compiler: exit status 1: main.y: no"},
        {SIGKILL, 0, SLOT_KILL_DEADLINE, "", "compiler: limit exceeded: wall_clock"},
        {0, 0, SLOT_KILL_NONE, "", "compiler: exit status 0: the compiler made nothing to run"},
        {0, EFBIG, SLOT_KILL_NONE, "",
         "compiler: exit status 0: what the compiler made is larger than disk_bytes of the tests"},
        {0, E2BIG, SLOT_KILL_NONE, "", "compiler: exit status 0: the compiler made too many files"},
        {0, ENAMETOOLONG, SLOT_KILL_NONE, "",
         "compiler: exit status 0: the compiler made a file with too long a name"},
        {0, ECHILD, SLOT_KILL_NONE, "",
         "compiler: exit status 0: the compiler left processes that took too long to end"},
        {SIGKILL, ECHILD, SLOT_KILL_DEADLINE, "", "compiler: limit exceeded: wall_clock"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct bytes said = text(cases[i].said), nothing = BYTES_NULL;
        plan_job(f, "made", 1);
        struct slot_result result = ended(f, cases[i].wait_status, &nothing, &said);
        result.killed = cases[i].killed;
        result.collect_error = cases[i].collect_error;
        assert_int_equal(go_on(f, &result, false), 0);
        assert_verdict(f, "compile_error", cases[i].detail);
        if (i + 1 < ARRAY_SIZE(cases))
            clear_job(f);
    }
}

/* A name that is a link's or not there at all is no program. */
static void test_an_artefact_that_was_left_out(void **state)
{
    struct fixture *f = *state;
    const struct bytes nothing = BYTES_NULL;
    plan_job(f, "made", 1);
    struct slot_result result = ended(f, 0, &nothing, &nothing);
    result.collected = make_artefact(LINK_LEFT_OUT | LINK_LEFT_IRREGULAR);
    assert_int_equal(go_on(f, &result, false), 0);
    assert_verdict(f, "compile_error", "compiler: exit status 0: the compiler made nothing to run");
    close_fd(result.collected);
}

/* A shortage is no verdict. */
static void test_an_artefact_that_could_not_be_taken(void **state)
{
    struct fixture *f = *state;
    const struct bytes nothing = BYTES_NULL;
    plan_job(f, "made", 1);
    struct slot_result result = ended(f, 0, &nothing, &nothing);
    result.collected = f->artefact;
    result.collect_error = ENOMEM;
    assert_true(go_on(f, &result, false) < 0);
    assert_int_equal(f->code, ERROR_INTERNAL);
    assert_string_equal(f->fault.text,
                        "what the compiler made could not be kept: Cannot allocate memory");
}

/* --- ahead -------------------------------------------------------------------------------- */

static void test_ahead(void **state)
{
    struct fixture *f = *state;
    struct kind_plan plan = KIND_PLAN_NULL;
    const struct bytes out = text("out"), nothing = BYTES_NULL;
    plan_job(f, "asis", 2);
    const struct slot_result result = ended(f, 0, &out, &nothing);
    assert_int_equal(f->ops->ahead(&plan, &f->spec, f->kept, &f->host), 1);
    assert_string_equal(plan.launch.input->data, "in");
    assert_int_equal(f->ops->ahead(&plan, &f->spec, f->kept, &f->host), 0); /* no third test */
    assert_int_equal(go_on(f, &result, true), 1);
    assert_int_equal(go_on(f, &result, true), 0);
    assert_verdict(f, "pass", NULL);
}

static void test_nothing_is_ahead_of_a_compiler(void **state)
{
    struct fixture *f = *state;
    struct kind_plan plan = KIND_PLAN_NULL;
    plan_job(f, "made", 2);
    assert_int_equal(f->ops->ahead(&plan, &f->spec, f->kept, &f->host), 0);
}

/* --- checkers ----------------------------------------------------------------------------- */

static void test_a_checker(void **state)
{
    struct fixture *f = *state;
    struct kind_plan plan = KIND_PLAN_NULL;
    struct program_helper checker = {.language = (char *)(uintptr_t) "asis", .code = text("check")};
    f->spec.program.checker = &checker;
    plan_job(f, "asis", 2);
    assert_int_equal(f->ops->ahead(&plan, &f->spec, f->kept, &f->host), 0);
    assert_int_equal(end(f, 0, "written", ""), 1);
    static const char *const names[] = {"main.x", "input", "output", "answer"};
    static const char *const contents[] = {"check", "in", NULL, "out"};
    const struct launch *launch = &f->plan.launch;
    assert_int_equal(launch->file_count, ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_string_equal(launch->files[i].name, names[i]);
        if (contents[i])
            assert_string_equal(launch->files[i].content->data, contents[i]);
    }
    for (size_t i = 1; i < ARRAY_SIZE(names); i++)
        assert_string_equal(launch->argv[i + 1], names[i]);
    assert_int_equal(end(f, 0, "", "fine"), 1);
    /* The program again, which sees nothing of the answer. */
    assert_int_equal(f->plan.launch.file_count, 1);
    assert_string_equal(f->plan.launch.files[0].content->data, "code");
    assert_null(f->plan.launch.argv[2]);
    assert_int_equal(end(f, 0, "written", ""), 1);
    assert_int_equal(end(f, 1, "", "bad line"), 0);
    assert_verdict(f, "wrong_answer", "test 2 of 2: checker: bad line");
}

static void test_a_checker_that_does_not_compile(void **state)
{
    struct fixture *f = *state;
    struct program_helper checker = {.language = (char *)(uintptr_t) "made", .code = text("check")};
    f->spec.program.checker = &checker;
    plan_job(f, "asis", 1);
    assert_string_equal(f->plan.launch.files[0].content->data, "check");
    char words[600], said[700];
    memset(words, 'w', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    (void)snprintf(said, sizeof(said), "job.checker: does not compile: exit status 1: %s", words);
    assert_int_equal(end(f, 1, "", words), 0);
    _cleanup_judgement_ struct judgement judgement = JUDGEMENT_NULL;
    assert_null(judge(f, &judgement));
    assert_int_equal(judgement.broken_code, ERROR_BAD_REQUEST);
    assert_string_equal(judgement.broken, said);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_launch_without_a_compiler),
        TEST(test_launches_with_a_compiler),
        TEST(test_the_requests_limits_come_first),
        TEST(test_all_pass),
        TEST(test_the_first_failure_ends_it),
        TEST(test_all_run),
        TEST(test_exit_status_alone),
        TEST(test_memory),
        TEST(test_limits),
        TEST(test_a_program_that_is_none),
        TEST(test_compile_errors),
        TEST(test_an_artefact_that_was_left_out),
        TEST(test_an_artefact_that_could_not_be_taken),
        TEST(test_ahead),
        TEST(test_nothing_is_ahead_of_a_compiler),
        TEST(test_a_checker),
        TEST(test_a_checker_that_does_not_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
