/* SPDX-License-Identifier: MIT */
/* Tests the log entry of a job's end: priority, fields, sentence. */
#include "daemon/observe/joblog.h"
#include "daemon/pool/slot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char task_class[] = "sql-answer";

struct fixture {
    struct job_spec spec;
    struct slot slot;
    struct job job;
    struct record record;
    struct answer answer;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->spec = (struct job_spec){.kind = JOB_RUBRIC, .rubric = {.task_class = task_class}};
    f->slot.index = 3;
    f->job = (struct job){
        .spec = &f->spec,
        .slot = &f->slot,
        .number = 12,
        .client_no = 5,
        .peer = {.pid = 77, .uid = 1000, .gid = 100},
    };
    assert_int_equal(bytes_copy("a1\n", 3, &f->job.id), 0);
    f->answer = (struct answer){
        .is_result = true,
        .passed = true,
        .score = 0.5,
        .limit = LIMIT_NONE,
        .usage = {38, 31, 2, 9437184, 4},
    };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    bytes_deinit(&f->job.id);
    free(f);
    return 0;
}

/* Prints the names and values of all fields as one line. */
static const char *fields_of(const struct record *record)
{
    static char text[RECORD_TEXT_MAX];
    char *to = text;
    *text = '\0';
    for (enum record_field field = 0; field < RECORD_FIELDS; field++) {
        const struct record_value *value = &record->values[field];
        if (value->type == RECORD_ABSENT)
            continue;
        to += sprintf(to, "%s=", record_field_name(field));
        if (value->type == RECORD_TEXT)
            to += sprintf(to, "%s ", record_text(record, field));
        else if (value->type == RECORD_REAL)
            to += sprintf(to, "%g ", value->real);
        else
            to += sprintf(to, "%lld ", (long long)value->number);
    }
    return text;
}

static void assert_record(struct fixture *f, const struct bytes *err, int level,
                          const char *sentence, const char *fields)
{
    joblog_record(&f->job, &f->answer, "d1", err, &f->record);
    assert_string_equal(f->record.sentence, sentence);
    assert_string_equal(fields_of(&f->record), fields);
    assert_int_equal(f->record.level, level);
    assert_int_equal(joblog_level(&f->answer), level);
    assert_int_equal(f->record.message,
                     f->answer.is_result ? LOG_MESSAGE_JOB_VERDICT : LOG_MESSAGE_JOB_ERROR);
}

#define WHO "job 12 (client 5, uid 1000, pid 77, id a1\\n): "
#define JOB "job_id=a1\\n job_no=12 kind=rubric label=sql-answer task_class=sql-answer "
#define USAGE "slot=3 wall_clock_ms=38 cpu_ms=31 cpu_wait_ms=2 max_rss_bytes=9437184 queue_ms=4 "
#define PEER "client_no=5 peer_uid=1000 peer_gid=100 peer_pid=77 isolation_digest=d1 "

static void test_passed(void **state)
{
    struct bytes err = {(char[]){"noise"}, 5};
    assert_record(*state, &err, LOG_INFO, WHO "sql-answer: passed, score 0.5, 38 ms",
                  JOB "verdict=passed score=0.5 " USAGE PEER);
}

/* A verdict is data: a bad one is not a warning. */
static void test_failed(void **state)
{
    struct fixture *f = *state;
    f->answer.passed = false;
    (void)strcpy(f->answer.what, "sql.wrong");
    assert_record(f, NULL, LOG_INFO, WHO "sql-answer: sql.wrong, score 0.5, 38 ms",
                  JOB "verdict=failed score=0.5 failure_mode=sql.wrong " USAGE PEER);
}

static void test_program_failed(void **state)
{
    struct fixture *f = *state;
    struct bytes err = {(char[]){"Traceback\n  why\n"}, 16};
    f->answer.passed = false;
    f->answer.program_failed = true;
    f->answer.score = 0;
    f->answer.limit = LIMIT_WALL_CLOCK;
    f->answer.usage.cpu_wait_ms = -1;
    (void)strcpy(f->answer.what, "rubric.timeout");
    assert_record(f, &err, LOG_INFO,
                  WHO "sql-answer: rubric.timeout after 38 ms; stderr: Traceback   why ",
                  JOB "verdict=failed score=0 failure_mode=rubric.timeout limit=wall_clock slot=3 "
                      "wall_clock_ms=38 cpu_ms=31 max_rss_bytes=9437184 queue_ms=4 " PEER
                      "stderr=Traceback\n  why\n ");
}

/* Only the beginning of a flood is logged. */
static void test_stderr_is_bounded(void **state)
{
    struct fixture *f = *state;
    _cleanup_bytes_ struct bytes err = {.data = malloc(1 << 20), .length = 1 << 20};
    assert_non_null(err.data);
    memset(err.data, 'x', err.length);
    f->answer.passed = false;
    f->answer.program_failed = true;
    (void)strcpy(f->answer.what, "rubric.malformed_output");
    joblog_record(&f->job, &f->answer, "d1", &err, &f->record);
    assert_int_equal(strlen(record_text(&f->record, RECORD_STDERR)), 4095);
    assert_int_equal(strlen(strstr(f->record.sentence, "stderr: ")), 8 + 400);
}

static void test_unscored(void **state)
{
    struct fixture *f = *state;
    f->spec = (struct job_spec){.kind = JOB_SANDBOX, .sandbox = {.program = SANDBOX_GENERATION}};
    f->answer.passed = false;
    f->answer.score = NAN;
    f->job.slot = NULL;
    (void)strcpy(f->answer.what, "no_code");
    assert_record(f, NULL, LOG_INFO, WHO "shell snippet: no score: no_code",
                  "job_id=a1\\n job_no=12 kind=sandbox label=shell snippet verdict=unscored "
                  "failure_mode=no_code wall_clock_ms=38 cpu_ms=31 cpu_wait_ms=2 "
                  "max_rss_bytes=9437184 queue_ms=4 " PEER);
}

static void test_errors(void **state)
{
    static const struct {
        enum error_code code;
        int level;
        const char *name;
    } cases[] = {
        {ERROR_INTERNAL, LOG_ERR, "internal"},
        {ERROR_SANDBOX_FAILED, LOG_WARNING, "sandbox_failed"},
        {ERROR_STARVED, LOG_WARNING, "starved"},
        {ERROR_RUBRIC_NOT_FOUND, LOG_INFO, "rubric_not_found"},
        {ERROR_NOT_PERMITTED, LOG_INFO, "not_permitted"},
        {ERROR_CANCELLED, LOG_INFO, "cancelled"},
        {ERROR_DRAINING, LOG_INFO, "draining"},
        {ERROR_BAD_REQUEST, LOG_INFO, "bad_request"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char sentence[128], fields[256];
        f->answer = (struct answer){.code = cases[i].code, .limit = LIMIT_NONE};
        (void)snprintf(f->answer.what, sizeof(f->answer.what), "%s: why", cases[i].name);
        (void)snprintf(sentence, sizeof(sentence), WHO "sql-answer: %s: why", cases[i].name);
        (void)snprintf(fields, sizeof(fields), JOB "error=%s slot=3 " PEER, cases[i].name);
        assert_record(f, NULL, cases[i].level, sentence, fields);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_passed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_program_failed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stderr_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unscored, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
