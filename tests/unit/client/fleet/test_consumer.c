/* SPDX-License-Identifier: MIT */
/* When another server is to lead a consumer, on a bus that only notes the requests. */
#include "client/fleet/consumer.h"

#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct bus {
    char subject[NAMES_SUBJECT_SIZE];
    unsigned requests;
};

const char *bus_fleet(const struct bus *bus)
{
    (void)bus;
    return "f";
}

void bus_complain(struct bus *bus, const char *format, ...)
{
    (void)bus, (void)format;
}

uint64_t bus_request(struct bus *bus, const char *subject, const struct header *headers,
                     const char *data, size_t n, bus_reply *reply, void *arg)
{
    (void)headers;
    (void)data;
    (void)n;
    (void)reply;
    (void)arg;
    (void)snprintf(bus->subject, sizeof(bus->subject), "%s", subject);
    return ++bus->requests;
}

bool bus_publish(struct bus *bus, const char *subject, const char *reply, const char *data,
                 size_t n)
{
    (void)bus;
    (void)subject;
    (void)reply;
    (void)data;
    (void)n;
    fail();
    return false;
}

static void look(struct consumer_watch *watch, struct bus *bus, const char *text, bool waits)
{
    natsMsg *message = NULL;
    assert_int_equal(natsMsg_Create(&message, "_INBOX.a", NULL, text, (int)strlen(text)), NATS_OK);
    watch->waits = waits;
    assert_false(consumer_is_gone(watch, bus, "r", 3, message));
    assert_false(watch->waits);
    natsMsg_Destroy(message);
}

static const char idle[] = "{\"name\":\"r-p13\",\"num_pending\":0,\"num_ack_pending\":0}";

static void test_twice_nothing_while_jobs_wait(void **state)
{
    struct bus bus = {.requests = 0};
    struct consumer_watch watch = {.waits = false};
    (void)state;
    look(&watch, &bus, idle, true);
    assert_int_equal(bus.requests, 0);
    look(&watch, &bus, idle, true);
    assert_int_equal(bus.requests, 1);
    assert_string_equal(bus.subject, "$JS.API.CONSUMER.LEADER.STEPDOWN.f-jobs.r-p13");
    /* The other server gets its time. */
    look(&watch, &bus, idle, true);
    assert_int_equal(bus.requests, 1);
    look(&watch, &bus, idle, true);
    assert_int_equal(bus.requests, 2);
}

static void test_whatever_is_no_stall(void **state)
{
    static const struct {
        const char *text;
        bool waits;
    } cases[] = {
        {idle, false},
        {"{\"num_pending\":1,\"num_ack_pending\":0}", true},
        {"{\"num_pending\":0,\"num_ack_pending\":1}", true}, /* a long job */
        {"{\"error\":{\"code\":503,\"err_code\":10008}}", true},
        {"nonsense", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bus bus = {.requests = 0};
        struct consumer_watch watch = {.waits = false};
        look(&watch, &bus, idle, true);
        look(&watch, &bus, cases[i].text, cases[i].waits);
        look(&watch, &bus, idle, true);
        assert_int_equal(bus.requests, 0);
        look(&watch, &bus, cases[i].text, cases[i].waits);
        look(&watch, &bus, cases[i].text, cases[i].waits);
        assert_int_equal(bus.requests, 0);
    }
}

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
        cmocka_unit_test(test_twice_nothing_while_jobs_wait),
        cmocka_unit_test(test_whatever_is_no_stall),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
