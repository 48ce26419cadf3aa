/* SPDX-License-Identifier: MIT */
#include "client/fleet/servepast.h"
#include "client/fleet/servepolicy.h"
#include "client/fleet/servesocket.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void expect_refusal(const char *text, const char *begin)
{
    _cleanup_json_ json_t *message = NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(json_read_object(text, strlen(text), &message, &fault), 0);
    const char *why = servepolicy_refusal(message);
    if (!begin) {
        assert_null(why);
        return;
    }
    assert_non_null(why);
    assert_memory_equal(why, begin, strlen(begin));
}

static void test_what_a_fleet_cannot_do(void **state)
{
    (void)state;
    expect_refusal("{\"type\":\"session_open\"}", "type: a fleet has no sessions");
    expect_refusal("{\"type\":\"input\"}", "type: a fleet has no terminals");
    expect_refusal("{\"type\":\"reload\"}", "type: a fleet has no configuration");
    expect_refusal("{\"type\":\"submit\",\"job\":{\"kind\":\"session\"}}", "job.kind: ");
    expect_refusal("{\"type\":\"submit\",\"job\":{\"kind\":\"sandbox\",\"terminal\":{}}}",
                   "job.terminal: ");
    expect_refusal("{\"type\":\"submit\",\"job\":{\"kind\":\"sandbox\",\"stream\":true}}",
                   "job.stream: ");
    expect_refusal("{\"type\":\"submit\",\"share\":\"a\",\"job\":{}}", "share: ");
    expect_refusal("{\"type\":\"put\",\"share\":\"a\",\"tests\":[]}", "share: ");
    /* What is merely wrong is for the decoder. */
    expect_refusal("{\"type\":\"submit\",\"job\":{\"kind\":\"sandbox\",\"stream\":false}}", NULL);
    expect_refusal("{\"type\":\"submit\",\"job\":{\"kind\":\"rubric\",\"stream\":true}}", NULL);
    expect_refusal("{\"type\":\"submit\",\"job\":{\"kind\":7}}", NULL);
    expect_refusal("{\"type\":7}", NULL);
    expect_refusal("{}", NULL);
}

static void test_limits_are_those_of_the_hello(void **state)
{
    struct request_policy policy;
    _cleanup_json_ json_t *hello = json_pack(
        "{s:{s:{s:{s:f,s:i}},s:{s:{s:i,s:b}}}}", "limits", "defaults", "sandbox", "wall_clock", 2.5,
        "disk_bytes", 77777, "ceilings", "sandbox", "cpu", 9, "allow_network", 1);
    (void)state;
    servepolicy_make(hello, &policy);
    assert_int_equal(policy.defaults[JOB_SANDBOX].of[LIMIT_WALL_CLOCK], 2500);
    assert_int_equal(policy.defaults[JOB_SANDBOX].of[LIMIT_DISK], 77777);
    assert_int_equal(policy.ceilings[JOB_SANDBOX].of[LIMIT_CPU], 9000);
    assert_true(policy.allow_network);
    /* What it does not tell is as daemons have it. */
    assert_int_equal(policy.ceilings[JOB_RUBRIC].of[LIMIT_MEMORY],
                     limits_ceiling_default.of[LIMIT_MEMORY]);
}

static void test_runs_of_an_earlier_start(void **state)
{
    const struct servepast past = {.name = "host-1", .instance = "0123abcd"};
    (void)state;
    assert_true(servepast_is_mine(&past, "serve-host-1-fedc4567-1000-3"));
    /* Those of this start, of another serve, and of others. */
    assert_false(servepast_is_mine(&past, "serve-host-1-0123abcd-1000-3"));
    assert_false(servepast_is_mine(&past, "serve-host-12-fedc4567-1000-3"));
    assert_false(servepast_is_mine(&past, "serve-host-1-2-fedc4567-1000-3"));
    assert_false(servepast_is_mine(&past, "serve-host-1-fedc4567-1000-"));
    assert_false(servepast_is_mine(&past, "serve-host-1-fedc4567-1000-3x"));
    assert_false(servepast_is_mine(&past, "tuesday"));
}

static void test_modes(void **state)
{
    static const char *const wrong[] = {"", "8", "0668", "1000", "-1", " 660", "0x1ff", "660 "};
    unsigned mode = 7;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(servesocket_parse_mode(wrong[i], &mode), -EINVAL);
    assert_int_equal(mode, 7);
    assert_int_equal(servesocket_parse_mode("0600", &mode), 0);
    assert_int_equal(mode, 0600);
    assert_int_equal(servesocket_parse_mode("777", &mode), 0);
    assert_int_equal(mode, 0777);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_fleet_cannot_do),
        cmocka_unit_test(test_limits_are_those_of_the_hello),
        cmocka_unit_test(test_runs_of_an_earlier_start),
        cmocka_unit_test(test_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
