/* SPDX-License-Identifier: MIT */
#include "client/fleet/taskresult.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Gives the answer TEXT of the job LANE_ID to the job ID. */
static void check(const char *text, const char *id, const char *expected)
{
    _cleanup_message_ struct message message = MESSAGE_NULL;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL, of_id = BYTES_NULL, made = BYTES_NULL;
    struct message_tail tail = MESSAGE_TAIL_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(bytes_copy(text, strlen(text), &payload), 0);
    assert_int_equal(bytes_copy(id, strlen(id), &of_id), 0);
    assert_int_equal(message_decode(&payload, &tail, &message, &fault), 0);
    assert_int_equal(taskresult_restore(&message, "w7", &of_id, &made), 0);
    assert_string_equal(made.data, expected);
    assert_int_equal(made.length, strlen(expected));
    message_tail_deinit(&tail);
}

#define REST ",\"code\":\"internal\",\"message\":\"\\u0000 1.10\",\"retriable\":true}"

/* Nothing but the id changes, wherever the daemon writes it. */
static void test_the_id_is_restored(void **state)
{
    (void)state;
    check("{\"type\":\"error\",\"id\":\"w7\"" REST, "a\"\n",
          "{\"type\":\"error\",\"id\":\"a\\\"\\n\"" REST);
    check("{\"type\":\"error\",\"id\":\"w7\"" REST, "", "{\"type\":\"error\",\"id\":\"\"" REST);
    check("{\"id\":\"w7\",\"type\":\"error\"" REST, "long id",
          "{\"id\":\"long id\",\"type\":\"error\"" REST);
}

static void test_an_error(void **state)
{
    const struct bytes id = {.data = (char[]){"a"}, .length = 1};
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    (void)state;
    assert_int_equal(taskresult_error(&id, "workers_lost", "why", false, &text), 0);
    assert_string_equal(text.data, "{\"type\":\"error\",\"id\":\"a\",\"code\":\"workers_lost\","
                                   "\"message\":\"why\",\"retriable\":false}");
}

/* What a fleet adds comes last; the rest stays as it is, byte for byte. */
static void test_a_label(void **state)
{
    static const char answer[] = "{\"type\":\"error\",\"id\":\"x\"" REST "\n";
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    _cleanup_json_ json_t *starved = json_array();
    (void)state;
    assert_int_equal(bytes_copy(answer, strlen(answer), &text), 0);
    assert_int_equal(taskresult_label(&text, "b", starved, 0), 0);
    assert_int_equal(taskresult_label(&text, "b", NULL, 0), 0);
    assert_string_equal(text.data, answer);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            json_array_append_new(
                starved, json_pack("{s:s,s:s}", "worker", i == 1 ? "c" : "a", "nonce", "n")),
            0);
    assert_int_equal(taskresult_label(&text, "b", starved, 0), 0);
    assert_string_equal(text.data, "{\"type\":\"error\",\"id\":\"x\",\"code\":\"internal\","
                                   "\"message\":\"\\u0000 1.10\",\"retriable\":true,\"fleet\":{"
                                   "\"worker\":\"b\",\"starved_on\":[\"a\",\"c\"],"
                                   "\"same_host\":false}}");
    assert_int_equal(text.length, strlen(text.data));
    bytes_deinit(&text);
    assert_int_equal(bytes_copy("{}", 2, &text), 0);
    assert_int_equal(taskresult_label(&text, "c", starved, 2), 0);
    assert_non_null(strstr(text.data, "\"same_host\":true,\"beside\":2}}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_id_is_restored),
        cmocka_unit_test(test_an_error),
        cmocka_unit_test(test_a_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
