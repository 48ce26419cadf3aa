/* SPDX-License-Identifier: MIT */
#include "proto/printer.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "tests/unit/limit_table.h"
#include "tests/unit/scarce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Compares PAYLOAD from FROM on with EXPECTED, in which ' stands for ", and frees it. */
static void expect_from(struct bytes *payload, size_t from, const char *expected)
{
    char *quoted = strdup(expected);
    struct fault fault = FAULT_NULL;
    json_t *object = NULL;
    assert_non_null(quoted);
    for (char *p = quoted; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    assert_string_equal(payload->data + from, quoted);
    assert_int_equal(payload->length, from + strlen(quoted));
    /* Sent messages obey the rules for received ones. */
    if (json_read_object(payload->data, payload->length, &object, &fault) != 0)
        fail_msg("%s: %s", payload->data, fault.text);
    json_decref(object);
    free(quoted);
    bytes_deinit(payload);
}

static void expect(struct bytes *payload, const char *expected)
{
    expect_from(payload, 0, expected);
}

/* The same for the end of PAYLOAD alone. */
static void expect_end(struct bytes *payload, const char *expected)
{
    assert_true(payload->length > strlen(expected));
    expect_from(payload, payload->length - strlen(expected), expected);
}

#define ID(literal) \
    (&(const struct bytes){.data = (char *)(uintptr_t)(literal), .length = sizeof(literal) - 1})

/* --- the small messages -------------------------------------------------------------------- */

static void test_pong(void **state)
{
    struct bytes payload = BYTES_NULL;
    (void)state;
    assert_int_equal(reply_pong(&payload), 0);
    expect(&payload, "{'type':'pong'}");
}

static void test_bye(void **state)
{
    struct bytes payload = BYTES_NULL;
    (void)state;
    assert_int_equal(reply_bye("draining", "the daemon stops", &payload), 0);
    expect(&payload, "{'type':'bye','reason':'draining','message':'the daemon stops'}");
    assert_int_equal(reply_bye("too_many_clients", "", &payload), 0);
    expect(&payload, "{'type':'bye','reason':'too_many_clients','message':''}");
}

static char *const some_keys[] = {(char *)(uintptr_t) "daemon.slots",
                                  (char *)(uintptr_t) "queue.jobs"};

static void test_reloaded(void **state)
{
    struct bytes payload = BYTES_NULL;
    struct reply_reloaded reloaded = {.generation = UINT64_C(1) << 40, .digest = "ab"};
    (void)state;
    assert_int_equal(reply_reloaded(&reloaded, &payload), 0);
    expect(&payload, "{'type':'reloaded','generation':1099511627776,'changed':[],'restart':[],"
                     "'digest':'ab'}");
    reloaded.changed = some_keys;
    reloaded.changed_count = 2;
    reloaded.restart = some_keys + 1;
    reloaded.restart_count = 1;
    assert_int_equal(reply_reloaded(&reloaded, &payload), 0);
    expect(&payload, "{'type':'reloaded','generation':1099511627776,"
                     "'changed':['daemon.slots','queue.jobs'],'restart':['queue.jobs'],"
                     "'digest':'ab'}");
}

static void test_started(void **state)
{
    struct bytes payload = BYTES_NULL;
    (void)state;
    assert_int_equal(reply_started(ID("a"), 1, 0, &payload), 0);
    expect(&payload, "{'type':'started','id':'a','job_no':1,'slot':0}");
    assert_int_equal(
        reply_started(ID("a\0\xC3\xA9\xF0\x9F\x98\x80\n\\\""), INT64_MAX, 1023, &payload), 0);
    expect(&payload, "{'type':'started','id':'a\\u0000\xC3\xA9\xF0\x9F\x98\x80\\n\\\\\\\"',"
                     "'job_no':9223372036854775807,'slot':1023}");
}

static const struct limits limits_of_a_session = {{
    [LIMIT_WALL_CLOCK] = 1500,
    [LIMIT_CPU] = 1000,
    [LIMIT_MEMORY] = 3,
    [LIMIT_OPEN_FILES] = 4,
    [LIMIT_PROCESSES] = 5,
    [LIMIT_OUTPUT] = 6,
    [LIMIT_DISK] = 7,
}};

static void test_sessions(void **state)
{
    struct bytes payload = BYTES_NULL;
    const struct reply_session opened = {
        .id = ID("a"),
        .number = 2,
        .lease_ms = 60000,
        .idle_ms = 500,
        .limits = &limits_of_a_session,
        .isolation = ID("{}"),
    };
    (void)state;
    assert_int_equal(reply_session_opened(&opened, &payload), 0);
    expect(&payload, "{'type':'session_opened','id':'a','session':2,'lease':60,'idle':0.5,"
                     "'limits':{'wall_clock':1.5,'cpu':1,'memory_bytes':3,'max_open_files':4,"
                     "'max_processes':5,'output_bytes':6,'disk_bytes':7},'isolation':{}}");
    struct reply_session closed = {
        .id = ID("a"), .number = 2, .reason = "closed", .commands = 3, .age_ms = 4};
    assert_int_equal(reply_session_closed(&closed, &payload), 0);
    expect(&payload, "{'type':'session_closed','id':'a','session':2,'reason':'closed',"
                     "'commands':3,'age_ms':4}");
    closed.id = NULL; /* nobody has asked */
    assert_int_equal(reply_session_closed(&closed, &payload), 0);
    expect(&payload, "{'type':'session_closed','session':2,'reason':'closed','commands':3,"
                     "'age_ms':4}");
}

static void test_output(void **state)
{
    struct bytes payload = BYTES_NULL;
    (void)state;
    struct reply_output output = {.id = ID("a"),
                                  .job_no = 5,
                                  .stream = "stderr",
                                  .step = -1,
                                  .data = "\0\xFF\n",
                                  .length = 3};
    assert_int_equal(reply_output(&output, &payload), 0);
    expect(&payload, "{'type':'output','id':'a','job_no':5,'stream':'stderr','base64':'AP8K'}");
    output.step = 0;
    assert_int_equal(reply_output(&output, &payload), 0);
    expect(&payload,
           "{'type':'output','id':'a','job_no':5,'stream':'stderr','step':0,'base64':'AP8K'}");
}

static void test_input_taken(void **state)
{
    struct bytes payload = BYTES_NULL;
    (void)state;
    assert_int_equal(reply_input_taken(ID("a"), 5, 65536, &payload), 0);
    expect(&payload, "{'type':'input_taken','id':'a','job_no':5,'bytes':65536}");
}

static void test_hello(void **state)
{
    json_t *limits = json_pack("{s:i,s:i}", "max_frame", 16777216, "slots", 2);
    json_t *isolation =
        json_pack("{s:s,s:[s],s:s}", "class", "subprocess", "layers", "env", "digest", "00");
    json_t *interpreter = json_pack("{s:s,s:s}", "path", "/usr/bin/python3", "version", "3");
    struct reply_hello hello = {
        .version = "0.1.0", .limits = limits, .isolation = isolation, .interpreter = interpreter};
    struct bytes payload = BYTES_NULL;
    (void)state;
    for (int i = 0; i < 2; i++) { /* the parts are borrowed and can be used again */
        assert_int_equal(reply_hello(&hello, &payload), 0);
        expect(&payload, "{'type':'hello','software':'rubricd','version':'0.1.0','protocol':1,"
                         "'limits':{'max_frame':16777216,'slots':2},"
                         "'isolation':{'class':'subprocess','layers':['env'],'digest':'00'},"
                         "'interpreter':{'path':'/usr/bin/python3','version':'3'},"
                         "'warm_modules':true}");
    }
    assert_int_equal(limits->refcount, 1);
    assert_int_equal(isolation->refcount, 1);
    assert_int_equal(interpreter->refcount, 1);
    json_decref(limits);
    json_decref(isolation);
    json_decref(interpreter);
}

/* --- error --------------------------------------------------------------------------------- */

static void test_error_codes(void **state)
{
    static const struct {
        enum error_code code;
        const char *name;
        bool retriable;
    } codes[] = {
        {ERROR_BAD_REQUEST, "bad_request", false},
        {ERROR_FRAME_TOO_LARGE, "frame_too_large", false},
        {ERROR_DENIED, "denied", false},
        {ERROR_CANCELLED, "cancelled", false},
        {ERROR_DRAINING, "draining", true},
        {ERROR_RUBRIC_NOT_FOUND, "rubric_not_found", false},
        {ERROR_ANOTHER_RUBRIC, "another_rubric", false},
        {ERROR_NOT_PERMITTED, "not_permitted", false},
        {ERROR_MODULE_NOT_FOUND, "module_not_found", false},
        {ERROR_LANGUAGE_NOT_FOUND, "language_not_found", false},
        {ERROR_TESTS_NOT_FOUND, "tests_not_found", true},
        {ERROR_SESSION_ENDED, "session_ended", false},
        {ERROR_SESSION_BUSY, "session_busy", true},
        {ERROR_TOO_MANY_SESSIONS, "too_many_sessions", true},
        {ERROR_SANDBOX_FAILED, "sandbox_failed", true},
        {ERROR_STARVED, "starved", true},
        {ERROR_INTERNAL, "internal", true},
    };
    (void)state;
    assert_int_equal(ARRAY_SIZE(codes), ERROR_INTERNAL + 1);
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        struct bytes payload = BYTES_NULL;
        char expected[200];
        assert_string_equal(error_code_name(codes[i].code), codes[i].name);
        assert_int_equal(error_code_retriable(codes[i].code), codes[i].retriable);
        assert_int_equal(reply_error(ID("a"), 0, codes[i].code, "m", &payload), 0);
        (void)snprintf(expected, sizeof(expected),
                       "{'type':'error','id':'a','code':'%s','message':'m','retriable':%s}",
                       codes[i].name, codes[i].retriable ? "true" : "false");
        expect(&payload, expected);
    }
}

static void test_error_with_and_without(void **state)
{
    struct bytes payload = BYTES_NULL;
    (void)state;
    assert_int_equal(reply_error(NULL, 0, ERROR_BAD_REQUEST, "frame: length 0", &payload), 0);
    expect(&payload, "{'type':'error','code':'bad_request','message':'frame: length 0',"
                     "'retriable':false}");
    assert_int_equal(reply_error(NULL, 17, ERROR_CANCELLED, "m", &payload), 0);
    expect(&payload,
           "{'type':'error','job_no':17,'code':'cancelled','message':'m','retriable':false}");
    assert_int_equal(reply_error(ID("a\0b"), 17, ERROR_CANCELLED, "m", &payload), 0);
    expect(&payload, "{'type':'error','id':'a\\u0000b','job_no':17,'code':'cancelled',"
                     "'message':'m','retriable':false}");
    assert_int_equal(reply_error(ID("\xE2\x82\xAC"), INT64_MAX, ERROR_INTERNAL, "", &payload), 0);
    expect(&payload, "{'type':'error','id':'\xE2\x82\xAC','job_no':9223372036854775807,"
                     "'code':'internal','message':'','retriable':true}");
}

/* A message may quote text of a client or of a job. */
static void test_error_messages(void **state)
{
    static const struct {
        const char *message, *expected;
    } cases[] = {
        {"plain", "plain"},
        {"say \"no\"\\\n\t\x01", "say \\\"no\\\"\\\\\\n\\t\\u0001"},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"\xFF", "\xEF\xBF\xBD"},
        {"a\xC3", "a\xEF\xBF\xBD"},
        {"\xC3(\xED\xA0\x80", "\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\x7F", "\x7F"},
        {"\xE2\x80\xA8", "\xE2\x80\xA8"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bytes payload = BYTES_NULL;
        char expected[200];
        assert_int_equal(reply_error(NULL, 0, ERROR_INTERNAL, cases[i].message, &payload), 0);
        (void)snprintf(expected, sizeof(expected),
                       "{'type':'error','code':'internal','message':'%s','retriable':true}",
                       cases[i].expected);
        expect(&payload, expected);
    }
}

static void test_error_message_of_every_byte(void **state)
{
    char message[256];
    struct bytes payload = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    json_t *object = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof(message); i++)
        message[i] = (char)(i + 1); /* 1 to 255, then the end */
    assert_int_equal(reply_error(ID("a"), 0, ERROR_BAD_REQUEST, message, &payload), 0);
    assert_int_equal(json_read_object(payload.data, payload.length, &object, &fault), 0);
    json_decref(object);
    bytes_deinit(&payload);
}

/* --- result -------------------------------------------------------------------------------- */

struct parts {
    struct bench_score score;
    struct outcome outcome;
    struct usage usage;
    struct bytes isolation;
    json_t *summary;
};

static void set_up(struct parts *parts)
{
    *parts = (struct parts){
        .score = {.passed = true,
                  .score = 1,
                  .breakdown = json_object(),
                  .failure_modes = json_array(),
                  .wall_clock_ms = 41},
        .outcome = {.success = true, .limit = LIMIT_NONE, .summary = strdup("ok")},
        .usage = {.wall_clock_ms = 41,
                  .cpu_ms = 30,
                  .cpu_wait_ms = 2,
                  .max_rss_bytes = 9437184,
                  .queue_ms = 5},
        .summary = json_pack("{s:s}", "class", "subprocess"),
    };
    assert_int_equal(json_print(parts->summary, &parts->isolation), 0);
}

static void tear_down(struct parts *parts)
{
    bench_score_deinit(&parts->score);
    outcome_deinit(&parts->outcome);
    json_decref(parts->summary);
    bytes_deinit(&parts->isolation);
}

static int make(const struct parts *parts, const struct bytes *id, struct bytes *ret)
{
    struct reply_result result = {
        .id = id,
        .job_no = 12,
        .kind = "rubric",
        .score = &parts->score,
        .outcome = &parts->outcome,
        .usage = &parts->usage,
        .isolation = &parts->isolation,
    };
    return reply_result(&result, ret);
}

static void test_result(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL;
    (void)state;
    set_up(&parts);
    for (int i = 0; i < 2; i++) { /* the parts are borrowed and can be used again */
        assert_int_equal(make(&parts, ID("case-1"), &payload), 0);
        expect(&payload,
               "{'type':'result','id':'case-1','job_no':12,'kind':'rubric','score':{"
               "'passed':true,'score':1,'breakdown':{},'failure_modes':[],'cost_usd':0,"
               "'wall_clock_ms':41},'outcome':{'success':true,'exit_code':0,'signal':null,"
               "'limit_exceeded':null,'stderr':'','summary':'ok'},'usage':{'wall_clock_ms':41,"
               "'cpu_ms':30,'cpu_wait_ms':2,'max_rss_bytes':9437184,'queue_ms':5},"
               "'isolation':{'class':'subprocess'}}");
    }
    assert_int_equal(parts.score.breakdown->refcount, 1);
    tear_down(&parts);
}

static void test_result_of_a_failure(void **state)
{
    static const char text[] = "Traceback\0\xC3\xA9\n";
    struct parts parts;
    struct bytes payload = BYTES_NULL;
    (void)state;
    set_up(&parts);
    bench_score_deinit(&parts.score);
    outcome_deinit(&parts.outcome);
    assert_int_equal(
        bench_score_block("rubric.malformed_output", text, sizeof(text) - 1, &parts.score), 0);
    parts.outcome = (struct outcome){
        .exit_code = 3,
        .limit = LIMIT_NONE,
        .stderr_text = malloc(sizeof(text)),
        .stderr_length = sizeof(text) - 1,
        .summary = strdup("Traceback\n\xC3\xA9"),
    };
    memcpy(parts.outcome.stderr_text, text, sizeof(text));
    parts.usage.cpu_wait_ms = -1;
    assert_int_equal(make(&parts, ID("\0"), &payload), 0);
    expect(&payload,
           "{'type':'result','id':'\\u0000','job_no':12,'kind':'rubric','score':{"
           "'passed':false,'score':0,'breakdown':{},'failure_modes':[{"
           "'code':'rubric.malformed_output','severity':'block',"
           "'detail':'Traceback\\u0000\xC3\xA9\\n'}],'cost_usd':0,'wall_clock_ms':1},"
           "'outcome':{'success':false,'exit_code':3,'signal':null,'limit_exceeded':null,"
           "'stderr':'Traceback\\u0000\xC3\xA9\\n','summary':'Traceback\\n\xC3\xA9'},"
           "'usage':{'wall_clock_ms':41,'cpu_ms':30,'cpu_wait_ms':null,'max_rss_bytes':9437184,"
           "'queue_ms':5},'isolation':{'class':'subprocess'}}");
    tear_down(&parts);
}

static void test_result_with_stdout(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL, out = {.data = (char[]){"a\0\xFF\n"}, .length = 4};
    (void)state;
    set_up(&parts);
    struct reply_result result = {
        .id = ID("s"),
        .job_no = 12,
        .kind = "sandbox",
        .reason = "no_code",
        .outcome = &parts.outcome,
        .usage = &parts.usage,
        .isolation = &parts.isolation,
        .stdout_bytes = &out,
    };
    assert_int_equal(reply_result(&result, &payload), 0);
    expect(&payload,
           "{'type':'result','id':'s','job_no':12,'kind':'sandbox','score':null,'outcome':{"
           "'success':true,'exit_code':0,'signal':null,'limit_exceeded':null,'stderr':'',"
           "'summary':'ok'},'usage':{'wall_clock_ms':41,'cpu_ms':30,'cpu_wait_ms':2,"
           "'max_rss_bytes':9437184,'queue_ms':5},'reason':'no_code',"
           "'stdout':'a\\u0000\xEF\xBF\xBD\\n','isolation':{'class':'subprocess'}}");
    tear_down(&parts);
}

static void test_result_with_a_moved_deadline(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL;
    (void)state;
    set_up(&parts);
    struct reply_result result = {
        .id = ID("s"),
        .job_no = 12,
        .kind = "sandbox",
        .reason = "no_code",
        .outcome = &parts.outcome,
        .usage = &parts.usage,
        .deadline = {.moves = 2, .wall_clock_ms = 7500},
        .isolation = &parts.isolation,
    };
    assert_int_equal(reply_result(&result, &payload), 0);
    expect(&payload,
           "{'type':'result','id':'s','job_no':12,'kind':'sandbox','score':null,'outcome':{"
           "'success':true,'exit_code':0,'signal':null,'limit_exceeded':null,'stderr':'',"
           "'summary':'ok'},'usage':{'wall_clock_ms':41,'cpu_ms':30,'cpu_wait_ms':2,"
           "'max_rss_bytes':9437184,'queue_ms':5},'deadline':{'moves':2,'wall_clock_ms':7500},"
           "'reason':'no_code','isolation':{'class':'subprocess'}}");
    tear_down(&parts);
}

/* Members of a single kind of job. `isolation` comes last in every case. */
static void test_result_with_verdict(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL;
    json_t *assertions = json_pack("[{s:b},{s:b,s:s%}]", "passed", 1, "passed", 0, "detail",
                                   "a\0\xC3\xA9", (size_t)4);
    (void)state;
    set_up(&parts);
    assert_non_null(assertions);
    struct reply_result result = {
        .id = ID("c"),
        .job_no = 12,
        .kind = "code_exec",
        .score = &parts.score,
        .outcome = &parts.outcome,
        .usage = &parts.usage,
        .isolation = &parts.isolation,
        .verdict = "assertion_fail",
        .mode = "isolated",
        .assertions = assertions,
    };
    for (int i = 0; i < 2; i++) { /* the assertions are borrowed and can be used again */
        assert_int_equal(reply_result(&result, &payload), 0);
        expect_end(&payload, "'queue_ms':5},'verdict':'assertion_fail','mode':'isolated',"
                             "'assertions':[{'passed':true},{'passed':false,'detail':"
                             "'a\\u0000\xC3\xA9'}],'isolation':{'class':'subprocess'}}");
    }
    assert_int_equal(assertions->refcount, 1);
    json_decref(assertions);
    tear_down(&parts);
}

/* Each optional member is independent of the others. */
static void test_result_with_some(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL, out = {.data = (char[]){"x"}, .length = 1};
    json_t *none = json_array();
    json_t *transcript = json_pack("{s:b,s:s}", "replayable", 1, "data", "eA==");
    (void)state;
    set_up(&parts);
    struct reply_result bare = {
        .id = ID("c"),
        .kind = "code_exec",
        .score = &parts.score,
        .outcome = &parts.outcome,
        .usage = &parts.usage,
        .isolation = &parts.isolation,
    };
    struct reply_result result = bare;
    result.assertions = none;
    assert_int_equal(reply_result(&result, &payload), 0);
    expect_end(&payload, "'queue_ms':5},'assertions':[],'isolation':{'class':'subprocess'}}");
    result = bare;
    result.mode = "shared";
    result.stdout_bytes = &out;
    assert_int_equal(reply_result(&result, &payload), 0);
    expect_end(&payload,
               "'queue_ms':5},'stdout':'x','mode':'shared','isolation':{'class':'subprocess'}}");
    result = bare;
    result.mode = "isolated";
    result.transcript = transcript;
    assert_int_equal(reply_result(&result, &payload), 0);
    expect_end(&payload, "'queue_ms':5},'mode':'isolated','transcript':{'replayable':true,"
                         "'data':'eA=='},'isolation':{'class':'subprocess'}}");
    result = bare;
    result.verdict = "timeout";
    assert_int_equal(reply_result(&result, &payload), 0);
    expect_end(&payload, "'queue_ms':5},'verdict':'timeout','isolation':{'class':'subprocess'}}");
    json_decref(none);
    json_decref(transcript);
    tear_down(&parts);
}

/* The maximum number of assertions with details of maximum length still fits a frame that clients
 * accept. */
static void test_many_assertions(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL;
    char detail[REPLY_ASSERTION_DETAIL_MAX] = {0};
    json_t *assertions = json_array();
    (void)state;
    set_up(&parts);
    for (int i = 0; i < CODE_EXEC_TARGETS_MAX; i++)
        assert_int_equal(
            json_array_append_new(
                assertions, json_pack("{s:b,s:s%}", "passed", 0, "detail", detail, sizeof(detail))),
            0);
    struct reply_result result = {
        .id = ID("c"),
        .kind = "code_exec",
        .score = &parts.score,
        .outcome = &parts.outcome,
        .usage = &parts.usage,
        .isolation = &parts.isolation,
        .assertions = assertions,
    };
    assert_int_equal(reply_result(&result, &payload), 0);
    assert_true(payload.length > (size_t)6 * CODE_EXEC_TARGETS_MAX * REPLY_ASSERTION_DETAIL_MAX);
    assert_true(payload.length < (64u << 20));
    bytes_deinit(&payload);
    json_decref(assertions);
    tear_down(&parts);
}

/* Escaping may turn one byte into six. */
static void test_much_stdout(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL, out = {.length = REPLY_STDOUT_MAX + 1000};
    (void)state;
    set_up(&parts);
    out.data = calloc(1, out.length);
    assert_non_null(out.data);
    struct reply_result result = {
        .id = ID("s"),
        .kind = "sandbox",
        .score = &parts.score,
        .outcome = &parts.outcome,
        .usage = &parts.usage,
        .isolation = &parts.isolation,
        .stdout_bytes = &out,
    };
    assert_int_equal(reply_result(&result, &payload), 0);
    assert_true(payload.length > 6 * REPLY_STDOUT_MAX);
    assert_true(payload.length < 6 * REPLY_STDOUT_MAX + 2000);
    assert_true(payload.length < (64u << 20));
    bytes_deinit(&payload);
    free(out.data);
    tear_down(&parts);
}

static void test_result_of_limits(void **state)
{
    struct parts parts;
    (void)state;
    set_up(&parts);
    parts.outcome.success = false;
    parts.outcome.exit_code = -1;
    parts.outcome.signal = 9;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        struct bytes payload = BYTES_NULL;
        char expected[120];
        parts.outcome.limit = limit;
        assert_int_equal(make(&parts, ID("a"), &payload), 0);
        (void)snprintf(expected, sizeof(expected),
                       "\"success\":false,\"exit_code\":null,\"signal\":9,"
                       "\"limit_exceeded\":\"%s\",",
                       limit_table()->rows[limit].name);
        assert_non_null(strstr(payload.data, expected));
        bytes_deinit(&payload);
    }
    tear_down(&parts);
}

/* An outcome that knows nothing of the process has nulls and no text. */
static void test_result_of_an_empty_outcome(void **state)
{
    struct parts parts;
    struct bytes payload = BYTES_NULL;
    (void)state;
    set_up(&parts);
    outcome_deinit(&parts.outcome);
    assert_int_equal(make(&parts, ID("a"), &payload), 0);
    assert_non_null(strstr(payload.data,
                           "\"outcome\":{\"success\":false,\"exit_code\":null,\"signal\":null,"
                           "\"limit_exceeded\":null,\"stderr\":\"\",\"summary\":\"\"}"));
    bytes_deinit(&payload);
    tear_down(&parts);
}

static void test_result_numbers(void **state)
{
    static const struct {
        double score, cost;
        const char *expected;
    } cases[] = {
        {0, 0, "\"score\":0,\"breakdown\":{},\"failure_modes\":[],\"cost_usd\":0,"},
        {1, 1, "\"score\":1,\"breakdown\":{},\"failure_modes\":[],\"cost_usd\":1,"},
        {0.1, 0.01, "\"score\":0.1,\"breakdown\":{},\"failure_modes\":[],\"cost_usd\":0.01,"},
        {0.5, 2, "\"score\":0.5,\"breakdown\":{},\"failure_modes\":[],\"cost_usd\":2.0,"},
        {NAN, 0, "\"score\":null,\"breakdown\":{},\"failure_modes\":[],\"cost_usd\":0,"},
        {1.0 / 3, 0,
         "\"score\":0.3333333333333333,\"breakdown\":{},\"failure_modes\":[],\"cost_usd\":0,"},
    };
    struct parts parts;
    (void)state;
    set_up(&parts);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bytes payload = BYTES_NULL;
        parts.score.score = cases[i].score;
        parts.score.cost_usd = cases[i].cost;
        assert_int_equal(make(&parts, ID("a"), &payload), 0);
        if (!strstr(payload.data, cases[i].expected))
            fail_msg("%s\nis not in\n%s", cases[i].expected, payload.data);
        bytes_deinit(&payload);
    }
    tear_down(&parts);
}

static void test_outcome_deinit(void **state)
{
    struct outcome outcome = {.success = true, .signal = 9, .summary = strdup("x")};
    (void)state;
    outcome_deinit(&outcome);
    assert_false(outcome.success);
    assert_int_equal(outcome.exit_code, -1);
    assert_int_equal(outcome.limit, LIMIT_NONE);
    assert_null(outcome.summary);
    outcome_deinit(&outcome);
}

/* --- memory runs out ----------------------------------------------------------------------- */

static int step_result(const struct parts *parts, struct bytes *ret)
{
    return make(parts, ID("a"), ret);
}

static int step_code_exec(const struct parts *parts, struct bytes *ret)
{
    static const struct bytes nothing = BYTES_NULL;
    struct reply_result result = {
        .id = ID("a"),
        .job_no = 12,
        .kind = "code_exec",
        .reason = "reason",
        .outcome = &parts->outcome,
        .usage = &parts->usage,
        .isolation = &parts->isolation,
        .stdout_bytes = &nothing,
        .verdict = "pass",
        .mode = "isolated",
        .assertions = parts->score.failure_modes,
    };
    return reply_result(&result, ret);
}

static int step_started(const struct parts *parts, struct bytes *ret)
{
    (void)parts;
    return reply_started(ID("a"), 7, 1, ret);
}

static int step_error(const struct parts *parts, struct bytes *ret)
{
    (void)parts;
    return reply_error(ID("a"), 7, ERROR_INTERNAL, "message", ret);
}

static int step_hello(const struct parts *parts, struct bytes *ret)
{
    struct reply_hello hello = {
        .version = "0.1.0",
        .limits = parts->score.breakdown,
        .isolation = parts->summary,
        .interpreter = parts->summary,
    };
    return reply_hello(&hello, ret);
}

static int step_pong(const struct parts *parts, struct bytes *ret)
{
    (void)parts;
    return reply_pong(ret);
}

static int step_bye(const struct parts *parts, struct bytes *ret)
{
    (void)parts;
    return reply_bye("draining", "message", ret);
}

static int step_reloaded(const struct parts *parts, struct bytes *ret)
{
    const struct reply_reloaded reloaded = {
        .generation = 2,
        .changed = some_keys,
        .changed_count = ARRAY_SIZE(some_keys),
        .restart = some_keys,
        .restart_count = ARRAY_SIZE(some_keys),
        .digest = "ab",
    };
    (void)parts;
    return reply_reloaded(&reloaded, ret);
}

static int step_session(const struct parts *parts, struct bytes *ret)
{
    const struct reply_session opened = {
        .id = ID("a"), .number = 2, .limits = &limits_of_a_session, .isolation = ID("{}")};
    (void)parts;
    return reply_session_opened(&opened, ret);
}

/* If the 1st, 2nd, 3rd, ... allocation fails, the result is -ENOMEM or the whole message, never a
 * part of it. */
static void test_without_memory(void **state)
{
    static int (*const steps[])(const struct parts *, struct bytes *) = {
        step_result, step_code_exec, step_started,  step_error,   step_hello,
        step_pong,   step_bye,       step_reloaded, step_session,
    };
    struct parts parts;
    (void)state;
    set_up(&parts);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct bytes whole = BYTES_NULL, payload = BYTES_NULL;
        int r = steps[i](&parts, &whole);
        assert_int_equal(r, 0);
        allocations_left = -1;
        for (int before = 0; allocations_left < 0; before++) {
            allocations_left = before;
            json_set_alloc_funcs(scarce_malloc, free);
            r = steps[i](&parts, &payload);
            json_set_alloc_funcs(malloc, free);
            if (r == 0 && strcmp(payload.data, whole.data) != 0)
                fail_msg("in want of memory\n%s\nbecame\n%s", whole.data, payload.data);
            assert_int_equal(r, allocations_left < 0 ? -ENOMEM : 0);
            assert_int_equal(payload.data != NULL, r == 0);
            bytes_deinit(&payload);
        }
        bytes_deinit(&whole);
    }
    tear_down(&parts);
}

/* Times are seconds for people, with a fraction only if there is one, and milliseconds where they
 * are hashed. */
static void test_limits_as_json(void **state)
{
    struct limits limits = LIMITS_DEFAULT(1500, 2000);
    (void)state;
    json_t *seconds = limits_json(&limits, LIMITS_IN_SECONDS);
    json_t *hashed = limits_json(&limits, LIMITS_IN_MILLISECONDS);
    assert_int_equal(json_object_size(seconds), LIMIT_COUNT);
    assert_true(json_real_value(json_object_get(seconds, "wall_clock")) == 1.5);
    assert_true(json_is_integer(json_object_get(seconds, "cpu")));
    assert_int_equal(json_integer_value(json_object_get(seconds, "cpu")), 2);
    assert_int_equal(json_integer_value(json_object_get(seconds, "memory_bytes")), LIMIT_GIB);
    assert_int_equal(json_integer_value(json_object_get(hashed, "wall_clock")), 1500);
    assert_int_equal(json_integer_value(json_object_get(hashed, "cpu")), 2000);
    json_decref(seconds);
    json_decref(hashed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pong),
        cmocka_unit_test(test_bye),
        cmocka_unit_test(test_reloaded),
        cmocka_unit_test(test_started),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_input_taken),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_error_codes),
        cmocka_unit_test(test_error_with_and_without),
        cmocka_unit_test(test_error_messages),
        cmocka_unit_test(test_error_message_of_every_byte),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_result_of_a_failure),
        cmocka_unit_test(test_result_with_stdout),
        cmocka_unit_test(test_result_with_a_moved_deadline),
        cmocka_unit_test(test_result_with_verdict),
        cmocka_unit_test(test_result_with_some),
        cmocka_unit_test(test_many_assertions),
        cmocka_unit_test(test_much_stdout),
        cmocka_unit_test(test_result_of_limits),
        cmocka_unit_test(test_result_of_an_empty_outcome),
        cmocka_unit_test(test_result_numbers),
        cmocka_unit_test(test_outcome_deinit),
        cmocka_unit_test(test_limits_as_json),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
