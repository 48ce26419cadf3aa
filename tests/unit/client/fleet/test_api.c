/* SPDX-License-Identifier: MIT */
#include "client/fleet/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct api_answer read_text(const char *text)
{
    natsMsg *message = NULL;
    struct api_answer answer;
    assert_int_equal(natsMsg_Create(&message, "s", NULL, text, (int)strlen(text)), NATS_OK);
    api_read(message, &answer);
    natsMsg_Destroy(message);
    return answer;
}

#define ERROR(code, err_code, text)                                                     \
    "{\"error\":{\"code\":" #code ",\"err_code\":" #err_code ",\"description\":\"" text \
    "\"},\"stream\":\"s\",\"seq\":0}"

/* The texts are those of nats-server 2.9.10. */
static void test_answers(void **state)
{
    static const struct {
        const char *text;
        enum api_outcome outcome;
    } cases[] = {
        {"{\"stream\":\"s\", \"seq\":7}", API_OK},
        {"", API_OK}, /* an acknowledgement is acknowledged */
        {"{\"stream\":\"s\",\"seq\":7,\"duplicate\":true}", API_OK},
        {"{\"stream\":\"s\",\"seq\":0,\"duplicate\":true}", API_AGAIN},
        {ERROR(409, 10158, "duplicate message id is in process"), API_AGAIN}, /* of 2.12 */
        {ERROR(503, 10077, "maximum messages per subject exceeded"), API_EXISTS},
        {ERROR(503, 10077, "maximum bytes exceeded"), API_FULL},
        {ERROR(500, 10047, "insufficient storage resources available"), API_FULL},
        {ERROR(400, 10071, "wrong last sequence: 1"), API_CONFLICT},
        {ERROR(500, 10057, "no message found"), API_GONE},
        {ERROR(404, 10037, "no message found"), API_GONE},
        {ERROR(400, 10054, "message size exceeds maximum allowed"), API_TOO_LARGE},
        {ERROR(503, 10008, "JetStream system temporarily unavailable"), API_AGAIN},
        {ERROR(400, 10060, "expected stream does not match"), API_REFUSED},
        {"nonsense", API_AGAIN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(read_text(cases[i].text).outcome, cases[i].outcome);
    assert_int_equal(read_text(cases[0].text).seq, 7);
    assert_string_equal(read_text(cases[6].text).text, "maximum bytes exceeded");
}

static void test_deliveries(void **state)
{
    struct api_delivery delivery;
    (void)state;
    assert_true(api_read_delivery("$JS.ACK.s.c.3.44.5.1795543617691832880.2", &delivery));
    assert_int_equal(delivery.delivered, 3);
    assert_int_equal(delivery.stream_seq, 44);
    assert_true(api_is_from(&delivery, "c"));
    assert_false(api_is_from(&delivery, "cc"));
    assert_false(api_is_from(&delivery, ""));
    /* As servers since 2.10 may write it: with a domain and an account. */
    assert_true(api_read_delivery("$JS.ACK._.acc.s.c.3.44.5.17.2", &delivery));
    assert_int_equal(delivery.delivered, 3);
    assert_int_equal(delivery.stream_seq, 44);
    assert_false(api_read_delivery("$JS.ACK.s.c.3.44.5.17", &delivery));
    assert_false(api_read_delivery("$JS.ACK.s.c.0.44.5.17.2", &delivery));
    assert_false(api_read_delivery("_INBOX.a.b", &delivery));
    assert_false(api_read_delivery(NULL, &delivery));
}

static void test_subjects(void **state)
{
    char subject[API_SUBJECT_SIZE];
    (void)state;
    api_subject("STREAM.PURGE", "f", STREAM_JOBS, NULL, subject, sizeof(subject));
    assert_string_equal(subject, "$JS.API.STREAM.PURGE.f-jobs");
    api_direct_last("f", STREAM_MARKS, "f.marks.r.a", subject, sizeof(subject));
    assert_string_equal(subject, "$JS.API.DIRECT.GET.f-marks.f.marks.r.a");
}

/* Messages can be freed only while the library is open. */
static int open_library(void **state)
{
    (void)state;
    return nats_Open(-1) == NATS_OK ? 0 : -1;
}

static int close_library(void **state)
{
    (void)state;
    return nats_CloseAndWait(0) == NATS_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_deliveries),
        cmocka_unit_test(test_subjects),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
