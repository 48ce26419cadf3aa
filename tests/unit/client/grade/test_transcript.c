/* SPDX-License-Identifier: MIT */
/* Tests the lines of a file of transcripts: what is written, and what is made of them. */
#include "client/grade/transcript.h"

#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *parse(const char *text)
{
    char copy[1000];
    (void)snprintf(copy, sizeof(copy), "%s", text);
    for (char *p = copy; (p = strchr(p, '\'')); p++)
        *p = '"';
    json_t *value = json_loads(copy, 0, NULL);
    if (!value)
        fail_msg("%s", copy);
    return value;
}

#define RESULT(passed, more)                                                                   \
    "{'type':'result','id':'t/1:0','score':{'passed':" passed ",'score':1,'failure_modes':[]," \
    "'cost_usd':0}" more "}"
#define DATA ",'transcript':{'replayable':true,'data':'eA=='},'interpreter':'warm'"
#define REASON ",'transcript':{'replayable':false,'reason':'threads'}"

static void check_line(const char *text, bool is_replayable, const char *wanted)
{
    json_t *job = parse("{'kind':'code_exec','code':'x','transcript':true,'targets':['y']}");
    json_t *sample = parse("{'task_id':'t/1','completion':'x','sample':0,'passed':true}");
    struct message answer = {.type = MESSAGE_RESULT, .object = parse(text)};
    struct bytes line = BYTES_NULL;
    assert_true(transcript_is_due(&answer));
    assert_int_equal(transcript_is_replayable(&answer), is_replayable);
    assert_int_equal(transcript_line(job, sample, &answer, &line), 0);
    json_t *got = json_loadb(line.data, line.length, 0, NULL), *expected = parse(wanted);
    if (!json_equal(got, expected))
        fail_msg("%.*s", (int)line.length, line.data);
    assert_non_null(json_object_get(job, "transcript")); /* the job stays as it was */
    json_decref(got);
    json_decref(expected);
    json_decref(answer.object);
    json_decref(sample);
    json_decref(job);
    bytes_deinit(&line);
}

static void test_lines(void **state)
{
    (void)state;
    check_line(RESULT("true", DATA), true,
               "{'id':'t/1:0','task_id':'t/1','sample':0,'job':{'kind':'code_exec','code':'x',"
               "'targets':['y']},'transcript':{'replayable':true,'data':'eA=='},"
               "'interpreter':'warm'}");
    check_line(RESULT("true", REASON), false,
               "{'id':'t/1:0','task_id':'t/1','sample':0,'job':{'kind':'code_exec','code':'x',"
               "'targets':['y']},'transcript':{'replayable':false,'reason':'threads'}}");
}

static void test_no_line(void **state)
{
    static const char *const texts[] = {RESULT("false", ""), RESULT("true", ""),
                                        RESULT("false", DATA)};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct message answer = {.type = MESSAGE_RESULT, .object = parse(texts[i])};
        assert_false(transcript_is_due(&answer));
        json_decref(answer.object);
    }
    struct message error = {.type = MESSAGE_ERROR, .object = parse("{'code':'internal'}")};
    assert_false(transcript_is_due(&error));
    json_decref(error.object);
}

static void test_reading(void **state)
{
    struct fault fault = FAULT_NULL;
    struct transcript transcript;
    (void)state;
    json_t *line = parse("{'id':'a','job':{'code':'x'},'transcript':{'replayable':true,"
                         "'data':'eA=='}}");
    assert_int_equal(transcript_read(line, &transcript, &fault), 0);
    assert_null(transcript.reason);
    assert_string_equal(json_string_value(transcript.id), "a");
    assert_string_equal(json_string_value(json_object_get(transcript.job, "replay")), "eA==");
    json_decref(line);
    line = parse("{'id':'a','job':{},'transcript':{'replayable':false,'reason':'threads'}}");
    assert_int_equal(transcript_read(line, &transcript, &fault), 0);
    assert_string_equal(transcript.reason, "threads");
    assert_null(json_object_get(transcript.job, "replay"));
    json_decref(line);
    line = parse("{'id':'a','job':{},'transcript':{'replayable':false}}");
    assert_int_equal(transcript_read(line, &transcript, &fault), 0);
    assert_non_null(transcript.reason);
    json_decref(line);
}

static void test_unusable(void **state)
{
    static const char none[] = "not a line of transcripts: expected id, job and transcript";
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{}", none},
        {"{'id':1,'job':{},'transcript':{'replayable':false}}", none},
        {"{'id':'a','job':[],'transcript':{'replayable':false}}", none},
        {"{'id':'a','job':{},'transcript':true}", none},
        {"{'id':'a','job':{},'transcript':{'replayable':1}}", none},
        {"{'id':'a','job':{},'transcript':{'replayable':true}}",
         "transcript.data: expected a string"},
        {"{'id':'a','job':{},'transcript':{'replayable':true,'data':7}}",
         "transcript.data: expected a string"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fault fault = FAULT_NULL;
        struct transcript transcript;
        json_t *line = parse(cases[i].text);
        assert_true(transcript_read(line, &transcript, &fault) < 0);
        assert_string_equal(fault.text, cases[i].why);
        json_decref(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_no_line),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_unusable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
