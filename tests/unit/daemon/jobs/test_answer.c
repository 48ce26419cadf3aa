/* SPDX-License-Identifier: MIT */
/* Tests the message that ends a job: which ends become a result and which an error, and that the
 * message agrees with the facts noted for the log. */
#include "daemon/base/clock.h"
#include "daemon/jobs/answer.h"
#include "daemon/kinds/rubric_files.h"
#include "proto/printer.h"
#include "tests/unit/quoted.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define EXITED(code) ((code) << 8)
#define JOB_NO 4711

/* Returns whether GOT equals WANTED. Objects may have more members than WANTED names. */
static bool contains(const json_t *got, const json_t *wanted) // NOLINT(misc-no-recursion)
{
    if (!json_is_object(wanted) || !json_is_object(got))
        return json_equal(got, wanted);
    json_t *walked = (json_t *)(uintptr_t)wanted;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const json_t *value = json_object_get(got, json_object_iter_key(i));
        if (!value || !contains(value, json_object_iter_value(i)))
            return false;
    }
    return true;
}

/* --- a job and its end -------------------------------------------------------------------- */

struct fixture {
    struct job_spec spec;
    struct job job;
    struct bytes isolation;
    struct bytes out, err;
    struct slot_result result;
};

static void set_id(struct fixture *f, const char *id, size_t n)
{
    bytes_deinit(&f->job.id);
    assert_int_equal(bytes_copy(id, n, &f->job.id), 0);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->spec.kind = JOB_RUBRIC;
    f->spec.limits = job_kind_get(JOB_RUBRIC)->defaults;
    f->job.spec = &f->spec;
    f->job.number = JOB_NO;
    f->job.queued_ns = 10 * NS_PER_S;
    f->job.began_ns = 13 * NS_PER_S;
    set_id(f, "the-id", 6);
    _cleanup_json_ json_t *isolation =
        parse("{'class':'subprocess','layers':['env'],'digest':'d'}");
    assert_int_equal(json_print(isolation, &f->isolation), 0);
    f->result = (struct slot_result){
        .end = SLOT_END_EXITED,
        .started_ns = 13 * NS_PER_S,
        .ended_ns = 13 * NS_PER_S + 41 * NS_PER_MS + 1,
        .cpu_us = 30001,
        .max_rss_bytes = 9000000,
        .run_delay_ns = 2 * NS_PER_MS,
        .out = &f->out,
        .err = &f->err,
    };
    f->job.kept = calloc(1, sizeof(struct rubric_kept));
    assert_non_null(f->job.kept);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    bytes_deinit(&f->job.id);
    bytes_deinit(&f->out);
    bytes_deinit(&f->err);
    rubric_kept_free(f->job.kept);
    bytes_deinit(&f->isolation);
    free(f);
    return 0;
}

static void set_output(struct fixture *f, const char *out, const char *err)
{
    _cleanup_free_ char *json = to_json(out);
    bytes_deinit(&f->out);
    bytes_deinit(&f->err);
    if (*json)
        assert_int_equal(bytes_copy(json, strlen(json), &f->out), 0);
    if (*err)
        assert_int_equal(bytes_copy(err, strlen(err), &f->err), 0);
}

/* Asserts that the payload contains WANTED and returns it as JSON; to be freed. */
static json_t *read_payload(const struct answer *answer, const char *wanted)
{
    json_t *got = NULL, *expected = parse(wanted);
    assert_int_equal(json_read_object(answer->payload.data, answer->payload.length, &got, NULL), 0);
    if (!contains(got, expected))
        fail_msg("got  %s\nwithout %s", answer->payload.data, wanted);
    json_decref(expected);
    return got;
}

/* Asserts that the noted facts agree with the result. */
static void expect_same(const struct answer *answer, const json_t *result)
{
    const json_t *score = json_object_get(result, "score"), *usage;
    assert_non_null(usage = json_object_get(result, "usage"));
    assert_int_equal(answer->passed, json_is_true(json_object_get(score, "passed")));
    assert_true(answer->score == json_number_value(json_object_get(score, "score")));
    int64_t wall_clock = json_integer_value(json_object_get(usage, "wall_clock_ms"));
    assert_int_equal(answer->usage.wall_clock_ms, wall_clock);
    assert_true(wall_clock >= 1);
    assert_int_equal(json_integer_value(json_object_get(score, "wall_clock_ms")), wall_clock);
    /* `interpreter` is present only if an interpreter ran, `deadline` only if it was moved. */
    size_t optional =
        !!json_object_get(result, "interpreter") + !!json_object_get(result, "deadline");
    assert_int_equal(json_object_size(result), 8 + optional);
}

struct result_case {
    enum slot_end end;
    enum slot_kill killed;
    int wait_status;
    const char *out, *err;
    const char *wanted; /* of the result */
    const char *what;
    bool program_failed;
};

static void check_result(struct fixture *f, const struct result_case *c)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    set_output(f, c->out, c->err);
    f->result.end = c->end;
    f->result.killed = c->killed;
    f->result.wait_status = c->wait_status;
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &answer), 0);
    json_t *result = read_payload(&answer, c->wanted);
    json_t *frame =
        read_payload(&answer, "{'type':'result','id':'the-id','job_no':4711,'kind':'rubric',"
                              "'isolation':{'class':'subprocess','layers':['env'],"
                              "'digest':'d'}}");
    assert_true(answer.is_result);
    assert_string_equal(answer.what, c->what);
    assert_int_equal(answer.program_failed, c->program_failed);
    expect_same(&answer, result);
    json_decref(frame);
    json_decref(result);
}

static void check_results(struct fixture *f, const struct result_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_result(f, &cases[i]);
}

/* Asserts an error with CODE and returns it; to be freed. */
static json_t *expect_error(const struct answer *answer, enum error_code code)
{
    char wanted[200];
    (void)snprintf(wanted, sizeof(wanted),
                   "{'type':'error','id':'the-id','job_no':4711,'code':'%s','retriable':%s}",
                   error_code_name(code), error_code_retriable(code) ? "true" : "false");
    json_t *error = read_payload(answer, wanted);
    const char *message = json_string_value(json_object_get(error, "message"));
    assert_non_null(message);
    assert_int_equal(json_object_size(error), 6);
    assert_false(answer->is_result);
    assert_false(answer->passed);
    assert_false(answer->program_failed);
    assert_int_equal(answer->code, code);
    /* The note is "code: message", cut to its buffer. */
    char noted[2000];
    (void)snprintf(noted, sizeof(noted), "%s: %s", error_code_name(code), message);
    assert_true(strlen(answer->what) < ANSWER_WHAT_MAX);
    assert_int_equal(strncmp(answer->what, noted, strlen(answer->what)), 0);
    assert_true(strlen(answer->what) >= MIN(strlen(noted), (size_t)ANSWER_WHAT_MAX - 4));
    return error;
}

static void check_error(struct fixture *f, enum error_code code, const char *message)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &answer), 0);
    json_t *error = expect_error(&answer, code);
    assert_string_equal(json_string_value(json_object_get(error, "message")), message);
    json_decref(error);
}

/* --- results ------------------------------------------------------------------------------ */

#define GOOD "{'passed':true,'score':1}"
#define OUTCOME_OK \
    "'outcome':{'success':true,'exit_code':0,'signal':null,'limit_exceeded':null,'summary':'ok'"

static void test_verdict_of_the_rubric(void **state)
{
    static const struct result_case cases[] = {
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), GOOD, "",
         "{'score':{'passed':true,'score':1,'failure_modes':[]}," OUTCOME_OK ",'stderr':''}}", "",
         false},
        /* On success the daemon discards stderr. */
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), GOOD, "a warning\n",
         "{'score':{'passed':true}," OUTCOME_OK ",'stderr':''}}", "", false},
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), "{'passed':false,'score':0.25}", "x",
         "{'score':{'passed':false,'score':0.25}," OUTCOME_OK ",'stderr':''}}", "not passed",
         false},
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0),
         "{'passed':false,'score':0,'failure_modes':[{'code':'a','severity':'warn'},"
         "{'code':'b','severity':'block'}]}",
         "", "{'score':{'passed':false}," OUTCOME_OK "}}", "a", false},
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0),
         "{'passed':true,'score':1,'failure_modes':[{'code':'a','severity':'warn'}]}", "",
         "{'score':{'passed':true,'failure_modes':[{'code':'a','severity':'warn'}]}}", "", false},
        /* The daemon replaces the rubric's own wall clock. */
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), "{'passed':true,'score':1,'wall_clock_ms':7}",
         "", "{'score':{'wall_clock_ms':42}}", "", false},
    };
    check_results(*state, cases, ARRAY_SIZE(cases));
}

#define MALFORMED(detail)                                                            \
    "'score':{'passed':false,'score':0,'breakdown':{},'cost_usd':0,'failure_modes':" \
    "[{'code':'rubric.malformed_output','severity':'block','detail':'" detail "'}]}"
#define TIMEOUT                                                                      \
    "'score':{'passed':false,'score':0,'breakdown':{},'cost_usd':0,'failure_modes':" \
    "[{'code':'rubric.timeout','severity':'block'}]}"

static void test_verdict_on_the_rubric(void **state)
{
    static const struct result_case cases[] = {
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), "", "why\n",
         "{" MALFORMED("nothing on stdout") "," OUTCOME_OK ",'stderr':'why\\n'}}",
         "rubric.malformed_output", true},
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(3), GOOD, "",
         "{" MALFORMED("exit status 3") ",'outcome':{'success':false,'exit_code':3,'signal':null,"
                                        "'limit_exceeded':null,'stderr':'',"
                                        "'summary':'exit status 3'}}",
         "rubric.malformed_output", true},
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(3), GOOD, "Traceback\n\nwhy\n",
         "{" MALFORMED("Traceback\\n\\nwhy\\n") ",'outcome':{'success':false,'exit_code':3,"
                                                "'stderr':'Traceback\\n\\nwhy\\n',"
                                                "'summary':'Traceback\\nwhy'}}",
         "rubric.malformed_output", true},
        {SLOT_END_EXITED, SLOT_KILL_NONE, SIGSEGV, GOOD, "",
         "{" MALFORMED("signal 11 (SIGSEGV)") ",'outcome':{'success':false,'exit_code':null,"
                                              "'signal':11,'limit_exceeded':null,"
                                              "'summary':'signal 11'}}",
         "rubric.malformed_output", true},
        {SLOT_END_EXITED, SLOT_KILL_OUTPUT, SIGKILL, GOOD, "",
         "{" MALFORMED("limit exceeded: output") ",'outcome':{'success':false,'exit_code':null,"
                                                 "'signal':9,'limit_exceeded':'output',"
                                                 "'summary':'sandbox limit exceeded: output'}}",
         "rubric.malformed_output", true},
        {SLOT_END_EXITED, SLOT_KILL_DEADLINE, SIGKILL, GOOD, "what was written before\n",
         "{" TIMEOUT ",'outcome':{'success':false,'exit_code':null,'signal':9,"
         "'limit_exceeded':'wall_clock','stderr':'what was written before\\n',"
         "'summary':'sandbox limit exceeded: wall_clock'}}",
         "rubric.timeout", true},
    };
    check_results(*state, cases, ARRAY_SIZE(cases));
}

static void test_unknown_key(void **state)
{
    static const struct result_case c = {
        SLOT_END_EXITED,
        SLOT_KILL_NONE,
        EXITED(0),
        "{'passed':true,'score':1,'breakdown':{'b':1}}",
        "why\n",
        "{'score':{'passed':false,'score':0,'failure_modes':[{'code':"
        "'rubric.unknown_breakdown_key','severity':'block','detail':'b'}]}," OUTCOME_OK
        ",'stderr':'why\\n'}}",
        "rubric.unknown_breakdown_key",
        true,
    };
    static const char lists[] = "{\"breakdown_keys\":[\"a\"]}";
    struct fixture *f = *state;
    struct rubric_kept *kept = f->job.kept;
    assert_int_equal(task_class_decode(lists, sizeof(lists) - 1, &kept->task_class, NULL), 0);
    check_result(f, &c);
}

static void test_rubric_digest(void **state)
{
    struct fixture *f = *state;
    struct rubric_kept *kept = f->job.kept;
    _cleanup_answer_ struct answer with = ANSWER_NULL, without = ANSWER_NULL;
    set_output(f, GOOD, "");
    f->result.wait_status = EXITED(0);
    strcpy(kept->digest.hex, "0123");
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &with), 0);
    json_decref(read_payload(&with, "{'rubric_digest':'0123'}"));
    assert_null(strstr(with.payload.data, "no_rubric_digest"));
    kept->digest = (struct rubric_digest){.why = "\xff: it is not there"};
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &without), 0);
    json_decref(read_payload(&without, "{'rubric_digest':null,'no_rubric_digest':"
                                       "'\xEF\xBF\xBD: it is not there'}"));
}

static void test_warm_class(void **state)
{
    static const char class[] = "{\"warm\": {}}";
    struct fixture *f = *state;
    struct rubric_kept *kept = f->job.kept;
    _cleanup_answer_ struct answer of_none = ANSWER_NULL, with = ANSWER_NULL, without = ANSWER_NULL;
    set_output(f, GOOD, "");
    f->result.wait_status = EXITED(0);
    strcpy(f->result.of_class.digest, "0123");
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &of_none), 0);
    assert_null(strstr(of_none.payload.data, "warm_class"));

    assert_int_equal(task_class_decode(class, sizeof(class) - 1, &kept->task_class, NULL), 0);
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &with), 0);
    json_decref(read_payload(&with, "{'warm_class':'0123'}"));
    assert_null(strstr(with.payload.data, "no_warm_class"));
    f->result.of_class = (struct link_loaded){.error = EINVAL, .digest = "0123", .why = "it \xff"};
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &without), 0);
    json_decref(read_payload(&without, "{'warm_class':null,'no_warm_class':'it \xEF\xBF\xBD'}"));
}

/* The daemon killed the job and then lost its jail: the reason of the kill counts. */
static void test_jail_lost_after_a_kill(void **state)
{
    static const struct result_case cases[] = {
        {SLOT_END_JAIL_LOST, SLOT_KILL_DEADLINE, 0, "", "",
         "{" TIMEOUT ",'outcome':{'success':false,'exit_code':null,'signal':9,"
         "'limit_exceeded':'wall_clock'}}",
         "rubric.timeout", true},
        {SLOT_END_JAIL_LOST, SLOT_KILL_DEADLINE, EXITED(0), GOOD, "",
         "{" TIMEOUT ",'outcome':{'success':false,'exit_code':null}}", "rubric.timeout", true},
        {SLOT_END_JAIL_LOST, SLOT_KILL_OUTPUT, 0, GOOD, "",
         "{" MALFORMED("limit exceeded: output") ",'outcome':{'limit_exceeded':'output'}}",
         "rubric.malformed_output", true},
    };
    check_results(*state, cases, ARRAY_SIZE(cases));
}

/* A job that ends by itself gets its verdict even while the daemon drains. */
static void test_result_while_draining(void **state)
{
    static const struct result_case cases[] = {
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), GOOD, "", "{'score':{'passed':true}}", "",
         false},
        {SLOT_END_EXITED, SLOT_KILL_DEADLINE, SIGKILL, "", "", "{" TIMEOUT "}", "rubric.timeout",
         true},
    };
    struct fixture *f = *state;
    f->job.draining = true;
    check_results(f, cases, ARRAY_SIZE(cases));
}

static void test_usage(void **state)
{
    static const char *const known = "{'usage':{'wall_clock_ms':42,'cpu_ms':31,'cpu_wait_ms':2,"
                                     "'max_rss_bytes':9000000,'queue_ms':3000}}";
    static const char *const unknown = "{'usage':{'wall_clock_ms':42,'cpu_ms':31,"
                                       "'cpu_wait_ms':null}}";
    struct result_case c = {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), GOOD, "", known, "", false};
    struct fixture *f = *state;
    check_result(f, &c);
    f->result.run_delay_ns = UINT64_MAX;
    c.wanted = unknown;
    check_result(f, &c);
    f->result.started_ns = 0;
    c.wanted = "{'usage':{'wall_clock_ms':1},'score':{'wall_clock_ms':1}}";
    check_result(f, &c);
}

static void test_moved_deadline(void **state)
{
    static const struct result_case cases[] = {
        {SLOT_END_EXITED, SLOT_KILL_NONE, EXITED(0), GOOD, "",
         "{'score':{'passed':true},'deadline':{'moves':2,'wall_clock_ms':7500}}", "", false},
        {SLOT_END_EXITED, SLOT_KILL_DEADLINE, SIGKILL, "", "",
         "{" TIMEOUT ",'deadline':{'moves':2,'wall_clock_ms':7500}}", "rubric.timeout", true},
    };
    struct fixture *f = *state;
    f->result.deadline_moves = 2;
    f->result.deadline_ms = 7500;
    check_results(f, cases, ARRAY_SIZE(cases));
}

/* A client may choose any bytes as the id. */
static void test_id_comes_back_as_it_was(void **state)
{
    static const struct {
        const char *id;
        size_t n;
    } cases[] = {{"a\0b", 3}, {"\0", 1}, {"\xc3\xa9\xf0\x9f\x98\x80", 6}, {"\"\\\n\x7f", 4}};
    struct fixture *f = *state;
    set_output(f, GOOD, "");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_answer_ struct answer result = ANSWER_NULL, error = ANSWER_NULL;
        set_id(f, cases[i].id, cases[i].n);
        assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &result), 0);
        assert_int_equal(answer_error(&f->job, ERROR_CANCELLED, "x", &error), 0);
        json_t *payloads[] = {read_payload(&result, "{'type':'result'}"),
                              read_payload(&error, "{'type':'error'}")};
        for (size_t j = 0; j < ARRAY_SIZE(payloads); j++) {
            const json_t *id = json_object_get(payloads[j], "id");
            assert_int_equal(json_string_length(id), cases[i].n);
            assert_memory_equal(json_string_value(id), cases[i].id, cases[i].n);
            json_decref(payloads[j]);
        }
    }
}

/* The note is cut; the message is not. */
static void test_long_failure_mode(void **state)
{
    struct fixture *f = *state;
    char code[2001], out[2200];
    memset(code, 'c', sizeof(code) - 1);
    code[sizeof(code) - 1] = '\0';
    (void)snprintf(out, sizeof(out),
                   "{'passed':false,'score':0,'failure_modes':[{'code':'%s','severity':'info'}]}",
                   code);
    set_output(f, out, "");
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &answer), 0);
    assert_int_equal(strlen(answer.what), ANSWER_WHAT_MAX - 1);
    assert_int_equal(strspn(answer.what, "c"), ANSWER_WHAT_MAX - 1);
    json_t *result = read_payload(&answer, "{'type':'result'}");
    const json_t *modes = json_object_get(json_object_get(result, "score"), "failure_modes");
    assert_string_equal(json_string_value(json_object_get(json_array_get(modes, 0), "code")), code);
    json_decref(result);
}

/* --- errors ------------------------------------------------------------------------------- */

static const enum slot_end every_end[] = {SLOT_END_EXITED, SLOT_END_NOT_STARTED,
                                          SLOT_END_JAIL_LOST};

static void test_cancelled(void **state)
{
    struct fixture *f = *state;
    set_output(f, GOOD, "why");
    f->result.killed = SLOT_KILL_CANCELLED;
    f->result.wait_status = SIGKILL;
    for (size_t i = 0; i < ARRAY_SIZE(every_end); i++) {
        f->result.end = every_end[i];
        f->job.draining = false;
        check_error(f, ERROR_CANCELLED, "cancelled while running");
        f->job.draining = true;
        check_error(f, ERROR_DRAINING, "the daemon stops and the grace period is over");
    }
    f->result.end = SLOT_END_EXITED;
    f->result.wait_status = EXITED(0); /* it had already ended when it was cancelled */
    f->job.draining = false;
    check_error(f, ERROR_CANCELLED, "cancelled while running");
}

/* An infrastructure fault is never a score of 0. */
static void test_jail_lost(void **state)
{
    struct fixture *f = *state;
    set_output(f, GOOD, "");
    f->result.end = SLOT_END_JAIL_LOST;
    check_error(f, ERROR_SANDBOX_FAILED,
                "the jail was lost while the job ran; it has been replaced");
    f->job.draining = true; /* but the daemon did not kill it */
    check_error(f, ERROR_SANDBOX_FAILED,
                "the jail was lost while the job ran; it has been replaced");
    f->result.no_jail = "no room";
    f->result.started_ns = 1;
    check_error(
        f, ERROR_SANDBOX_FAILED,
        "the jail was lost while the job ran, and the next one could not be started: no room");
    f->result.started_ns = 0;
    check_error(f, ERROR_SANDBOX_FAILED, "the job's jail could not be started: no room");
}

/* Nor is a result made of a part of what the job wrote, however it ended. */
static void test_lost_output(void **state)
{
    static const int statuses[] = {EXITED(0), EXITED(1), SIGKILL};
    struct fixture *f = *state;
    set_output(f, GOOD, "");
    f->result.lost = "output";
    f->result.lost_error = -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        f->result.wait_status = statuses[i];
        check_error(f, ERROR_INTERNAL,
                    "the job's output could not be read in full: Cannot allocate memory");
    }
    f->result.killed = SLOT_KILL_CANCELLED;
    f->result.started_ns = 1;
    check_error(f, ERROR_CANCELLED, "cancelled while running");
}

/* The job may have met the host's full disk, however it ended, unless the daemon ended it. */
static void test_lacked_room(void **state)
{
    static const int statuses[] = {EXITED(0), EXITED(1), SIGKILL};
    struct fixture *f = *state;
    set_output(f, GOOD, "");
    f->result.lacked_room = true;
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        f->result.wait_status = statuses[i];
        check_error(f, ERROR_INTERNAL,
                    "the host had no room for files while the job ran, whose directory is on a "
                    "full file system");
    }
    static const struct result_case late = {SLOT_END_EXITED, SLOT_KILL_DEADLINE, SIGKILL, "", "",
                                            "{" TIMEOUT "}", "rubric.timeout",   true};
    check_results(f, &late, 1);
}

static void test_starved(void **state)
{
    struct fixture *f = *state;
    set_output(f, GOOD, "why");
    f->result.killed = SLOT_KILL_STARVED;
    f->result.wait_status = SIGKILL;
    f->job.spec->limits.of[LIMIT_WALL_CLOCK] = 4;
    for (size_t i = 0; i < ARRAY_SIZE(every_end); i++) {
        f->result.end = every_end[i];
        check_error(f, ERROR_STARVED,
                    "the host was too busy: of 42 ms the job waited 2 ms for a CPU, with a wall "
                    "clock of 4 ms");
    }
}

static void test_not_started(void **state)
{
    static const int errors[] = {ENOENT, EACCES, ENOMEM, EAGAIN, 0, -1, 12345, INT32_MAX};
    struct fixture *f = *state;
    f->result.end = SLOT_END_NOT_STARTED;
    f->result.started_ns = 0;
    for (enum link_stage stage = 0; stage <= LINK_STAGE_COUNT; stage++) {
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
            char message[200];
            (void)snprintf(message, sizeof(message), "the program could not be started: %s: %s",
                           link_stage_name(stage), strerror(errors[i]));
            f->result.stage = stage;
            f->result.error = errors[i];
            if (stage != LINK_STAGE_ACCESS || errors[i] != EACCES)
                check_error(f, ERROR_SANDBOX_FAILED, message);
        }
    }
}

/* A file that the daemon can read and a job with a uid of its own cannot: the error names it. */
static void test_closed(void **state)
{
    struct fixture *f = *state;
    f->result.end = SLOT_END_NOT_STARTED;
    f->result.stage = LINK_STAGE_ACCESS;
    f->result.error = EACCES;
    f->spec =
        (struct job_spec){.kind = JOB_RUBRIC, .rubric = {.task_class = (char[]){"sql-query"}}};
    check_error(f, ERROR_NOT_PERMITTED,
                "job.task_class: sql-query/rubric.py: closed to jobs, which have a uid of their "
                "own: let others read it, or do without the layer own_uid");
    f->spec = (struct job_spec){.kind = JOB_SANDBOX};
    check_error(f, ERROR_NOT_PERMITTED,
                "job.readable: closed to jobs, which have a uid of their own: let others read it, "
                "or do without the layer own_uid");
}

static void test_errors(void **state)
{
    const struct fixture *f = *state;
    for (enum error_code code = 0; code <= ERROR_INTERNAL; code++) {
        _cleanup_answer_ struct answer answer = ANSWER_NULL;
        assert_int_equal(answer_error(&f->job, code, "what it is", &answer), 0);
        json_t *error = expect_error(&answer, code);
        assert_string_equal(json_string_value(json_object_get(error, "message")), "what it is");
        json_decref(error);
    }
}

/* A message may be any bytes and any length. */
static void test_odd_error_messages(void **state)
{
    const struct fixture *f = *state;
    char message[1500];
    memset(message, 'm', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    const char *const messages[] = {"", "a\xff", "caf\xc3\xa9", "\"\\\n", message};
    const char *const expected[] = {"", "a\xef\xbf\xbd", "caf\xc3\xa9", "\"\\\n", message};
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        _cleanup_answer_ struct answer answer = ANSWER_NULL;
        assert_int_equal(answer_error(&f->job, ERROR_INTERNAL, messages[i], &answer), 0);
        json_t *error = read_payload(&answer, "{'type':'error','code':'internal'}");
        assert_string_equal(json_string_value(json_object_get(error, "message")), expected[i]);
        assert_true(strlen(answer.what) < ANSWER_WHAT_MAX);
        json_decref(error);
    }
}

/* --- the system under test ---------------------------------------------------------------- */

static void check_sut(struct fixture *f, enum sut_status status, const char *wanted,
                      const char *what)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    f->spec.rubric.sut = status;
    assert_int_equal(answer_from_sut(&f->job, &f->isolation, &answer), 0);
    json_t *result = read_payload(&answer, wanted);
    json_t *rest =
        read_payload(&answer, "{'type':'result','id':'the-id','job_no':4711,'kind':'rubric',"
                              "'outcome':{'success':false,'exit_code':null,'signal':null,"
                              "'limit_exceeded':null,'stderr':''},"
                              "'usage':{'wall_clock_ms':1,'cpu_ms':0,'cpu_wait_ms':0,"
                              "'max_rss_bytes':0},'isolation':{'class':'subprocess'}}");
    assert_true(answer.is_result);
    assert_false(answer.program_failed); /* the rubric did not run */
    assert_string_equal(answer.what, what);
    expect_same(&answer, result);
    json_decref(rest);
    json_decref(result);
}

#define SUT(code, detail)                                                            \
    "{'score':{'passed':false,'score':0,'breakdown':{},'cost_usd':0,'failure_modes'" \
    ":[{'code':'" code "','severity':'block'" detail "}]}}"

static void test_sut(void **state)
{
    struct fixture *f = *state;
    static char detail[] = "ValueError";
    check_sut(f, SUT_EXCEPTION, SUT("sut.exception", ""), "sut.exception");
    check_sut(f, SUT_TIMEOUT, SUT("sut.timeout", ""), "sut.timeout");
    f->spec.rubric.sut_detail = (struct bytes){.data = detail, .length = strlen(detail)};
    check_sut(f, SUT_EXCEPTION, SUT("sut.exception", ",'detail':'ValueError'"), "sut.exception");
}

/* --- sandbox jobs ------------------------------------------------------------------------- */

static void check_sandbox(struct fixture *f, const char *wanted, const char *what, bool failed)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &answer), 0);
    json_t *result = read_payload(&answer, wanted);
    assert_true(answer.is_result);
    assert_string_equal(answer.what, what);
    assert_int_equal(answer.program_failed, failed);
    assert_int_equal(answer.passed, !failed);
    assert_true(answer.score == (failed ? 0 : 1));
    assert_int_equal(json_object_size(result), 9);
    json_decref(result);
}

#define SANDBOX "{'kind':'sandbox','isolation':{'digest':'d'},"

static void test_sandbox(void **state)
{
    struct fixture *f = *state;
    f->job.kept = rubric_kept_free(f->job.kept); /* this kind would take it for something else */
    f->spec = (struct job_spec){.kind = JOB_SANDBOX, .limits = job_kind_get(JOB_SANDBOX)->defaults};
    f->result.wait_status = EXITED(0);
    set_output(f, "out\xff", "a warning\n");
    check_sandbox(f,
                  SANDBOX
                  "'score':{'passed':true,'score':1,'failure_modes':[],"
                  "'wall_clock_ms':42},'stdout':'out\xEF\xBF\xBD','outcome':{'success':true,"
                  "'stderr':'a warning\\n','summary':'ok'}}",
                  "", false);
    f->result.wait_status = EXITED(3);
    check_sandbox(f,
                  SANDBOX "'score':{'passed':false,'score':0,'failure_modes':[{'code':"
                          "'sandbox.failed','severity':'block','detail':'a warning'}]},"
                          "'outcome':{'exit_code':3,'stderr':'a warning\\n'}}",
                  "sandbox.failed", true);
    set_output(f, "", "");
    f->result.killed = SLOT_KILL_DEADLINE;
    f->result.wait_status = SIGKILL;
    check_sandbox(f,
                  SANDBOX "'score':{'passed':false,'failure_modes':[{'code':"
                          "'sandbox.limit_exceeded','severity':'block','detail':"
                          "'sandbox limit exceeded: wall_clock'}]},'stdout':'',"
                          "'outcome':{'limit_exceeded':'wall_clock','signal':9}}",
                  "sandbox.limit_exceeded", true);
}

static void test_no_code(void **state)
{
    struct fixture *f = *state;
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    f->spec = (struct job_spec){.kind = JOB_SANDBOX};
    assert_int_equal(answer_no_code(&f->job, &f->isolation, &answer), 0);
    json_t *result = read_payload(
        &answer, "{'type':'result','id':'the-id','job_no':4711,'kind':'sandbox','score':null,"
                 "'reason':'no_code','stdout':'','outcome':{'success':false,'exit_code':null,"
                 "'signal':null,'limit_exceeded':null,'stderr':'','summary':"
                 "'not run: no code was found'},'usage':{'wall_clock_ms':1,'cpu_ms':0,"
                 "'cpu_wait_ms':0,'max_rss_bytes':0,'queue_ms':3000},"
                 "'isolation':{'class':'subprocess','layers':['env'],'digest':'d'}}");
    assert_int_equal(json_object_size(result), 10);
    assert_true(answer.is_result);
    assert_false(answer.passed);
    assert_false(answer.program_failed);
    assert_true(isnan(answer.score));
    assert_string_equal(answer.what, "no_code");
    json_decref(result);
}

/* A program that cannot be executed is the client's mistake if the client has named it. */
static void test_sandbox_not_started(void **state)
{
    struct fixture *f = *state;
    char *argv[] = {(char[]){"/no/such"}, NULL};
    f->spec = (struct job_spec){.kind = JOB_SANDBOX, .sandbox = {.argv = argv}};
    f->result.end = SLOT_END_NOT_STARTED;
    f->result.stage = LINK_STAGE_EXEC;
    f->result.error = ENOENT;
    check_error(f, ERROR_BAD_REQUEST, "job.argv[0]: /no/such: No such file or directory");
    f->result.error = EACCES;
    check_error(f, ERROR_BAD_REQUEST, "job.argv[0]: /no/such: Permission denied");
    f->result.error = ENOMEM;
    check_error(f, ERROR_SANDBOX_FAILED,
                "the program could not be started: executing the program: Cannot allocate memory");
    f->result.error = ENOENT;
    f->result.stage = LINK_STAGE_DIRECTORY;
    check_error(f, ERROR_SANDBOX_FAILED,
                "the program could not be started: making the private directory: No such file or "
                "directory");
    f->result.stage = LINK_STAGE_EXEC;
    f->spec.sandbox = (struct sandbox_spec){.program = SANDBOX_SNIPPET};
    check_error(
        f, ERROR_SANDBOX_FAILED,
        "the program could not be started: executing the program: No such file or directory");
}

/* --- code_exec jobs ----------------------------------------------------------------------- */

#define T "{'passed':true}\n"
#define F "{'passed':false,'detail':'AssertionError'}\n"
#define PASS "{'verdict':'pass','detail':''}\n"
#define FAIL "{'verdict':'assertion_fail','detail':''}\n"
#define CODE_EXEC                                                                               \
    "{'type':'result','id':'the-id','job_no':4711,'kind':'code_exec','isolation':{'digest':'d'" \
    "},'usage':{'wall_clock_ms':42,'queue_ms':3000},"
#define CODE_EXEC_MODE(verdict, detail) \
    "'failure_modes':[{'code':'code_exec." verdict "','severity':'block','detail':'" detail "'}]}"

static void set_code_exec(struct fixture *f, size_t targets)
{
    f->spec = (struct job_spec){
        .kind = JOB_CODE_EXEC,
        .limits = job_kind_get(JOB_SANDBOX)->defaults,
        .code_exec = {.target_count = targets},
    };
}

/* Checks the result. WHAT is the failure mode; "": passed. */
static void check_code_exec(struct fixture *f, const char *wanted, const char *what, double score)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    assert_int_equal(answer_from_slot(&f->job, &f->result, &f->isolation, &answer), 0);
    json_t *result = read_payload(&answer, wanted);
    assert_true(answer.is_result);
    assert_string_equal(answer.what, what);
    assert_int_equal(answer.passed, !*what);
    assert_true(answer.score == score);
    assert_false(answer.program_failed); /* wrong code is no failure of the checker */
    /* Clients do not get the checker's output. */
    assert_null(json_object_get(result, "stdout"));
    assert_null(json_object_get(json_object_get(result, "outcome"), "stdout"));
    assert_string_equal(json_string_value(json_object_get(result, "interpreter")),
                        f->result.warm ? "warm" : "cold");
    f->result.warm = !f->result.warm; /* the next result is the other one */
    assert_int_equal(json_object_size(result), 12);
    json_decref(result);
}

static void test_code_exec_pass(void **state)
{
    struct fixture *f = *state;
    set_code_exec(f, 2);
    set_output(f, T T PASS, "a warning\n");
    check_code_exec(f,
                    CODE_EXEC "'verdict':'pass','mode':'isolated','assertions':[{'passed':true},"
                              "{'passed':true}],'score':{'passed':true,'score':1,"
                              "'failure_modes':[],'wall_clock_ms':42}," OUTCOME_OK ",'stderr':''}}",
                    "", 1);
    f->spec.code_exec.shared = true;
    check_code_exec(f, CODE_EXEC "'verdict':'pass','mode':'shared'}", "", 1);
    /* A test program counts as one assertion. */
    set_code_exec(f, 0);
    set_output(f, T PASS, "");
    check_code_exec(f, CODE_EXEC "'verdict':'pass','assertions':[{'passed':true}]}", "", 1);
    set_output(f, T T PASS, "");
    check_code_exec(f, CODE_EXEC "'verdict':'error'}", "code_exec.error", 0);
}

static void test_code_exec_fail(void **state)
{
    struct fixture *f = *state;
    set_code_exec(f, 4);
    set_output(f, T F T T FAIL, "what it wrote\n");
    check_code_exec(f,
                    CODE_EXEC
                    "'verdict':'assertion_fail','mode':'isolated','assertions':[{'passed':true},"
                    "{'passed':false,'detail':'AssertionError'},{'passed':true},{'passed':true}],"
                    "'score':{'passed':false,'score':0.75," CODE_EXEC_MODE(
                        "assertion_fail",
                        "AssertionError (3 of 4 assertions passed)") ",'outcome':{'success':true,'"
                                                                     "stderr':'what it wrote\\n'}}",
                    "code_exec.assertion_fail", 0.75);
    set_output(f, "{'verdict':'syntax_error','detail':'line 1'}\n", "why\n");
    f->spec.code_exec.shared = true;
    check_code_exec(f,
                    CODE_EXEC
                    "'verdict':'syntax_error','mode':'shared','assertions':[],'score':{"
                    "'passed':false,'score':0," CODE_EXEC_MODE(
                        "syntax_error", "line 1") ",'outcome':{'success':true,'stderr':'why\\n'}}",
                    "code_exec.syntax_error", 0);
}

static void test_code_exec_ended(void **state)
{
    struct fixture *f = *state;
    set_code_exec(f, 2);
    set_output(f, T, "why\n");
    f->result.wait_status = SIGKILL;
    f->result.killed = SLOT_KILL_DEADLINE;
    check_code_exec(
        f,
        CODE_EXEC
        "'verdict':'timeout','assertions':[{'passed':true}],'score':{'passed':false,"
        "'score':0," CODE_EXEC_MODE(
            "timeout", "limit exceeded: wall_clock") ","
                                                     "'outcome':{'limit_exceeded':'wall_clock','"
                                                     "signal':9,'stderr':'why\\n'}}",
        "code_exec.timeout", 0);
    f->result.killed = SLOT_KILL_OUTPUT;
    check_code_exec(
        f,
        CODE_EXEC
        "'verdict':'error','assertions':[{'passed':true}],'score':{'passed':false,"
        "'score':0.5," CODE_EXEC_MODE(
            "error",
            "limit exceeded: output") ","
                                      "'outcome':{'limit_exceeded':'output','stderr':'why\\n'}}",
        "code_exec.error", 0.5);
    f->result.killed = SLOT_KILL_NONE;
    f->result.wait_status = SIGSEGV;
    set_output(f, T T PASS, "");
    check_code_exec(f,
                    CODE_EXEC "'verdict':'error','score':{'passed':false," CODE_EXEC_MODE(
                        "error", "signal 11") ",'outcome':{'signal':11}}",
                    "code_exec.error", 0);
}

/* A broken checker gives no verdict on the code. */
static void test_code_exec_broken(void **state)
{
    struct fixture *f = *state;
    set_code_exec(f, 1);
    set_output(f, "{'broken':'OSError: prctl'}\n", "");
    f->result.wait_status = EXITED(70);
    check_error(f, ERROR_SANDBOX_FAILED, "OSError: prctl");
    assert_true(error_code_retriable(ERROR_SANDBOX_FAILED));
    /* An interpreter that cannot be executed gives none either. */
    f->result.end = SLOT_END_NOT_STARTED;
    f->result.stage = LINK_STAGE_EXEC;
    f->result.error = ENOENT;
    check_error(
        f, ERROR_SANDBOX_FAILED,
        "the program could not be started: executing the program: No such file or directory");
}

#define ON_JOB(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_JOB(test_verdict_of_the_rubric),
        ON_JOB(test_verdict_on_the_rubric),
        ON_JOB(test_unknown_key),
        ON_JOB(test_rubric_digest),
        ON_JOB(test_warm_class),
        ON_JOB(test_jail_lost_after_a_kill),
        ON_JOB(test_result_while_draining),
        ON_JOB(test_usage),
        ON_JOB(test_moved_deadline),
        ON_JOB(test_id_comes_back_as_it_was),
        ON_JOB(test_long_failure_mode),
        ON_JOB(test_cancelled),
        ON_JOB(test_jail_lost),
        ON_JOB(test_lost_output),
        ON_JOB(test_lacked_room),
        ON_JOB(test_starved),
        ON_JOB(test_not_started),
        ON_JOB(test_closed),
        ON_JOB(test_errors),
        ON_JOB(test_odd_error_messages),
        ON_JOB(test_sut),
        ON_JOB(test_sandbox),
        ON_JOB(test_no_code),
        ON_JOB(test_sandbox_not_started),
        ON_JOB(test_code_exec_pass),
        ON_JOB(test_code_exec_fail),
        ON_JOB(test_code_exec_ended),
        ON_JOB(test_code_exec_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
