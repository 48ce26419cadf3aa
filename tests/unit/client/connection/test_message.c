/* SPDX-License-Identifier: MIT */
#include "client/connection/message.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int decode_after(struct message_tail *tail, const char *text, struct message *ret,
                        struct fault *fault)
{
    struct bytes payload = BYTES_NULL;
    assert_int_equal(bytes_copy(text, strlen(text), &payload), 0);
    int r = message_decode(&payload, tail, ret, fault);
    assert_null(payload.data);
    return r;
}

static int decode(const char *text, struct message *ret, struct fault *fault)
{
    struct message_tail tail = MESSAGE_TAIL_NULL;
    int r = decode_after(&tail, text, ret, fault);
    message_tail_deinit(&tail);
    return r;
}

static void test_types(void **state)
{
    static const struct {
        const char *text;
        enum message_type type;
    } cases[] = {
        {"{\"type\":\"hello\",\"version\":\"1\",\"protocol\":1,\"limits\":{},\"new\":[]}",
         MESSAGE_HELLO},
        {"{\"type\":\"started\",\"id\":\"a\"}", MESSAGE_STARTED},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"score\":1}}",
         MESSAGE_RESULT},
        {"{\"type\":\"error\",\"code\":\"denied\",\"message\":\"no\"}", MESSAGE_ERROR},
        {"{\"type\":\"status\",\"version\":\"1\"}", MESSAGE_STATUS},
        {"{\"type\":\"pong\"}", MESSAGE_PONG},
        {"{\"type\":\"reloaded\",\"generation\":2,\"changed\":[],\"restart\":[]}",
         MESSAGE_RELOADED},
        {"{\"type\":\"bye\",\"reason\":\"draining\"}", MESSAGE_BYE},
        {"{\"type\":\"\"}", MESSAGE_OTHER},
        {"{\"type\":\"metrics\",\"text\":\"# EOF\"}", MESSAGE_METRICS},
        {"{\"type\":\"tomorrow\"}", MESSAGE_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        assert_int_equal(decode(cases[i].text, &message, NULL), 0);
        assert_int_equal(message.type, cases[i].type);
        assert_string_equal(message.payload.data, cases[i].text);
    }
}

static void test_nothing_is_kept(void **state)
{
    struct message message;
    (void)state;
    assert_int_equal(decode("{\"type\":\"started\",\"id\":\"a\"}", &message, NULL), 0);
    json_t *object = json_incref(message.object);
    message_deinit(&message);
    assert_null(message.object);
    assert_int_equal(object->refcount, 1);
    json_decref(object);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text;
        const char *fault;
    } cases[] = {
        {"{}", "a message without a type"},
        {"{\"type\":1}", "a message without a type"},
        {"[]", "expected an object, got an array"},
        {"{\"type\":\"started\"}", "started.id: got nothing"},
        {"{\"type\":\"started\",\"id\":4}", "started.id: got a number"},
        {"{\"type\":\"error\",\"code\":\"x\"}", "error.message: got nothing"},
        {"{\"type\":\"hello\",\"version\":\"1\",\"protocol\":1.0,\"limits\":{}}",
         "hello.protocol: got a number"},
        {"{\"type\":\"bye\",\"reason\":null}", "bye.reason: got null"},
        {"{\"type\":\"metrics\"}", "metrics.text: got nothing"},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":null}", "result.score: got null"},
        {"{\"type\":\"result\",\"id\":\"a\"}", "result.score: got nothing"},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":null,\"reason\":1}",
         "result.score: got null"},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":1,\"reason\":\"x\"}",
         "result.score: got a number"},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":1,\"score\":1}}",
         "result.score.passed: expected a boolean"},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true}}",
         "result.score.score: expected a number or null"},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"score\":1,"
         "\"failure_modes\":{}}}",
         "result.score.failure_modes: expected an array"},
        {"{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"score\":1,"
         "\"failure_modes\":[{\"code\":\"a\"},3]}}",
         "result.score.failure_modes[1].code: expected a string"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct message message = MESSAGE_NULL;
        struct fault fault = FAULT_NULL;
        assert_int_equal(decode(cases[i].text, &message, &fault), -EINVAL);
        assert_string_equal(fault.text, cases[i].fault);
        assert_null(message.object);
    }
    struct message message = MESSAGE_NULL;
    assert_int_equal(decode("{\"type\":", &message, NULL), -EBADMSG);
}

static void test_verdict(void **state)
{
    (void)state;
    _cleanup_message_ struct message full = MESSAGE_NULL;
    assert_int_equal(decode("{\"type\":\"result\",\"id\":\"a\",\"job_no\":7,\"score\":{\"passed\":"
                            "false,\"score\":0.25,\"cost_usd\":2,\"failure_modes\":[{\"code\":"
                            "\"x\"}]}}",
                            &full, NULL),
                     0);
    struct score_parts parts = message_score(&full);
    assert_false(parts.passed);
    assert_float_equal(parts.score, 0.25, 0);
    assert_float_equal(parts.cost_usd, 2, 0);
    assert_int_equal(json_array_size(parts.failure_modes), 1);
    assert_int_equal(message_integer(&full, "job_no"), 7);
    assert_int_equal(message_integer(&full, "id"), 0);
    assert_string_equal(message_text(&full, "id"), "a");
    assert_null(message_text(&full, "job_no"));

    _cleanup_message_ struct message bare = MESSAGE_NULL;
    assert_int_equal(decode("{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,"
                            "\"score\":null}}",
                            &bare, NULL),
                     0);
    parts = message_score(&bare);
    assert_true(parts.passed);
    assert_true(isnan(parts.score));
    assert_null(parts.failure_modes);
    assert_null(parts.reason);

    _cleanup_message_ struct message none = MESSAGE_NULL;
    assert_int_equal(decode("{\"type\":\"result\",\"id\":\"a\",\"score\":null,\"reason\":"
                            "\"no_code\"}",
                            &none, NULL),
                     0);
    parts = message_score(&none);
    assert_false(parts.passed);
    assert_true(isnan(parts.score));
    assert_null(parts.failure_modes);
    assert_string_equal(parts.reason, "no_code");
}

#define RESULT "\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"score\":1}"
#define TAIL ",\"isolation\":{\"class\":\"subprocess\",\"layers\":[\"env\"]}}"

/* Messages before do not change how a message is read. */
static void test_tail_is_the_last_ones(void **state)
{
    static const char *const texts[] = {
        "{" RESULT TAIL,
        "{" RESULT ",\"more\":[{}]" TAIL,
        "{\"isolation\":1," RESULT TAIL,       /* twice */
        "{" RESULT "," TAIL,                   /* a comma too many */
        "{" TAIL,                              /* nothing before */
        "{" RESULT ",\"b\":\"" TAIL,           /* a text that does not end */
        "{" RESULT ",\"b\":{\"c\":1" TAIL,     /* in another object */
        "{" RESULT ",\"b\":{\"c\":1" TAIL "}", /* the same, whole */
        "{" RESULT ",\"b\":[1" TAIL,           /* in an array */
        "{" RESULT ",\"b\":\"\\\"" TAIL "\"}", /* in a text */
        "{" RESULT ",\"isolation\":{\"class\":\"x\"},\"b\":\",\\\"isolation\\\":{}}\"}",
        "{" RESULT ",\"isolation\":{\"class\":\"y\",\"isolation\":{}}}",
        "{" RESULT ",\"isolation\":{\"class\":\"y\",\"isolation\":{}}}",
        "{" RESULT ",\"isolation\":{}}",
        "{" RESULT ",\"isolation\":{}}  ",
        "{" RESULT "}",
        "{" RESULT ",\"isolation\":null}",
        "{" RESULT TAIL,
        "{" RESULT TAIL,
    };
    (void)state;
    for (size_t first = 0; first < ARRAY_SIZE(texts); first++) {
        struct message_tail tail = MESSAGE_TAIL_NULL;
        for (size_t i = first; i < ARRAY_SIZE(texts); i++) {
            _cleanup_message_ struct message alone = MESSAGE_NULL, after = MESSAGE_NULL;
            struct fault why_alone = FAULT_NULL, why_after = FAULT_NULL;
            int r = decode(texts[i], &alone, &why_alone);
            assert_int_equal(decode_after(&tail, texts[i], &after, &why_after), r);
            assert_string_equal(why_after.text, why_alone.text);
            if (r < 0)
                continue;
            assert_true(json_equal(after.object, alone.object));
            assert_string_equal(after.payload.data, texts[i]);
        }
        message_tail_deinit(&tail);
    }
}

/* The second one has the very object that the first one has. */
static void test_tail_is_shared(void **state)
{
    struct message_tail tail = MESSAGE_TAIL_NULL;
    _cleanup_message_ struct message first = MESSAGE_NULL, second = MESSAGE_NULL,
                                     third = MESSAGE_NULL;
    (void)state;
    assert_int_equal(decode_after(&tail, "{" RESULT TAIL, &first, NULL), 0);
    assert_int_equal(decode_after(&tail, "{" RESULT TAIL, &second, NULL), 0);
    assert_int_equal(decode_after(&tail, "{" RESULT ",\"n\":1" TAIL, &third, NULL), 0);
    const json_t *shared = json_object_get(second.object, "isolation");
    assert_ptr_equal(shared, tail.isolation);
    assert_ptr_equal(shared, json_object_get(third.object, "isolation"));
    assert_int_equal(json_integer_value(json_object_get(third.object, "n")), 1);
    message_tail_deinit(&tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),          cmocka_unit_test(test_nothing_is_kept),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_tail_is_the_last_ones),
        cmocka_unit_test(test_tail_is_shared), cmocka_unit_test(test_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
