/* SPDX-License-Identifier: MIT */
/* Tests one log entry in its three forms. */
#include "daemon/log/record.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void fill(struct record *record)
{
    record_init(record, LOG_INFO, LOG_MESSAGE_JOB_VERDICT);
    record_say(record, "job %d: %s", 7, "no \"luck\"\nat all");
    record_add_bytes(record, RECORD_JOB_ID, "a\nMESSAGE=forged\x1B\0\xFF", 19);
    record_add_number(record, RECORD_JOB_NO, 7);
    record_add_text(record, RECORD_KIND, "rubric");
    record_add_text(record, RECORD_LIMIT, NULL);
    record_add_real(record, RECORD_SCORE, 0.25);
    record_add_number(record, RECORD_CPU_MS, 31);
    record_add_text(record, RECORD_STDERR, "one\n\ttwo \\ \x1B[0m\nthree");
}

static void test_journal(void **state)
{
    static const char expected[] =
        "MESSAGE=job 7: no \"luck\" at all\n"
        "PRIORITY=6\n"
        "SYSLOG_IDENTIFIER=rubricd\n"
        "MESSAGE_ID=22e6dcfae5a64f34926a7399b6d5983b\n"
        "RUBRIC_JOB_ID=a\\nMESSAGE=forged\\x1b\\x00\xEF\xBF\xBD\n"
        "RUBRIC_JOB_NO=7\n"
        "RUBRIC_KIND=rubric\n"
        "RUBRIC_SCORE=0.25\n"
        "RUBRIC_CPU_MS=31\n"
        "RUBRIC_STDERR\n\x18\0\0\0\0\0\0\0one\n\ttwo \\ \\x1b[0m\nthree\n";
    struct record record;
    char out[RECORD_PRINTED_MAX];
    (void)state;
    fill(&record);
    assert_int_equal(record_print_journal(&record, out), sizeof(expected) - 1);
    assert_memory_equal(out, expected, sizeof(expected) - 1);
}

static void test_json(void **state)
{
    static const char expected[] =
        "{\"time\":\"2026-11-21T17:04:20.000123Z\",\"level\":\"info\",\"message\":"
        "\"job 7: no \\\"luck\\\" at all\",\"event\":\"job_verdict\","
        "\"message_id\":\"22e6dcfae5a64f34926a7399b6d5983b\","
        "\"job_id\":\"a\\\\nMESSAGE=forged\\\\x1b\\\\x00\xEF\xBF\xBD\",\"job_no\":7,"
        "\"kind\":\"rubric\",\"score\":0.25,\"cpu_ms\":31,"
        "\"stderr\":\"one\\n\\ttwo \\\\ \\\\x1b[0m\\nthree\"}\n";
    struct record record;
    char out[RECORD_PRINTED_MAX];
    (void)state;
    fill(&record);
    assert_int_equal(record_print_json(&record, UINT64_C(1795280660000123), out),
                     sizeof(expected) - 1);
    assert_memory_equal(out, expected, sizeof(expected) - 1);
}

static void assert_plain(const struct record *record, const char *expected)
{
    char out[RECORD_PRINTED_MAX];
    size_t n = record_print_plain(record, out);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(out, expected, n);
}

/* Plain lines do not repeat what the sentence says. */
static void test_plain(void **state)
{
    struct record record;
    (void)state;
    fill(&record);
    assert_plain(&record, "job 7: no \"luck\" at all [kind=rubric cpu_ms=31]\n");
    record_init(&record, LOG_INFO, LOG_MESSAGE_NONE);
    record_say(&record, "a [1]");
    assert_plain(&record, "a [1]\n");
}

static void test_of_no_sort(void **state)
{
    struct record record;
    char out[RECORD_PRINTED_MAX];
    (void)state;
    record_init(&record, LOG_WARNING, LOG_MESSAGE_NONE);
    record_say(&record, "x");
    size_t n = record_print_journal(&record, out);
    assert_int_equal(n, strlen("MESSAGE=x\nPRIORITY=4\nSYSLOG_IDENTIFIER=rubricd\n"));
    n = record_print_json(&record, 0, out);
    out[n] = '\0';
    assert_string_equal(out, "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"warning\","
                             "\"message\":\"x\"}\n");
}

/* No input makes an entry invalid or longer than promised. */
static void test_bounds(void **state)
{
    static const char fillers[] = {'a', '\x1B', '"', '\\', '\n', '\xFF', '\0'};
    char *big = malloc(1 << 16), out[RECORD_PRINTED_MAX];
    (void)state;
    assert_non_null(big);
    for (size_t i = 0; i < sizeof(fillers); i++) {
        struct record record;
        struct fault fault = FAULT_NULL;
        _cleanup_json_ json_t *object = NULL;
        memset(big, fillers[i], 1 << 16);
        big[(1 << 16) - 1] = '\0';
        record_init(&record, LOG_ERR, LOG_MESSAGE_JOB_VERDICT);
        record_say(&record, "%s", big);
        for (enum record_field field = 0; field < RECORD_FIELDS; field++)
            record_add_bytes(&record, field, big, 1 << 16);
        size_t n = record_print_json(&record, 0, out);
        assert_true(n < sizeof(out));
        assert_int_equal(json_read_object(out, n, &object, &fault), 0);
        assert_non_null(json_object_get(object, record_field_name(RECORD_STDERR)));
        assert_null(json_object_get(object, record_field_name(RECORD_JOB_NO)));
        assert_true(record_print_journal(&record, out) < sizeof(out));
        n = record_print_plain(&record, out);
        assert_true(n < sizeof(out));
        assert_ptr_equal(memchr(out, '\n', n), out + n - 1);
    }
    free(big);
}

/* Names of journal fields: capitals, digits and underscores, 64 at most. */
static void test_names(void **state)
{
    (void)state;
    for (enum record_field field = 0; field < RECORD_FIELDS; field++) {
        const char *name = record_field_name(field);
        assert_non_null(name);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        assert_true(strlen(name) <= 64 - strlen("RUBRIC_"));
    }
    for (enum log_message message = 1; message < LOG_MESSAGE_COUNT; message++) {
        assert_int_equal(strspn(log_message_id(message), "0123456789abcdef"), 32);
        assert_int_equal(strlen(log_message_id(message)), 32);
        assert_non_null(log_message_name(message));
    }
    assert_null(log_message_id(LOG_MESSAGE_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journal), cmocka_unit_test(test_json),
        cmocka_unit_test(test_plain),   cmocka_unit_test(test_of_no_sort),
        cmocka_unit_test(test_bounds),  cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
