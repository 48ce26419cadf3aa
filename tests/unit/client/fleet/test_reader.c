/* SPDX-License-Identifier: MIT */
/* The reader of results, on a bus that only notes what it is given. */
#include "client/fleet/reader.h"

#include "client/terminal/text.h"
#include "proto/util.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* --- the bus ------------------------------------------------------------------------------ */

struct bus {
    bus_take *take;
    bus_reply *reply;
    void *arg;
    size_t requests, asked;
};

const char *bus_fleet(const struct bus *bus)
{
    (void)bus;
    return "f";
}

unsigned bus_epoch(const struct bus *bus)
{
    (void)bus;
    return 1;
}

uint64_t bus_request(struct bus *bus, const char *subject, const struct header *headers,
                     const char *data, size_t n, bus_reply *reply, void *arg)
{
    (void)subject;
    (void)headers;
    (void)data;
    (void)n;
    bus->reply = reply;
    bus->arg = arg;
    return ++bus->requests;
}

void bus_forget(struct bus *bus, uint64_t number)
{
    (void)bus;
    (void)number;
}

bool bus_publish(struct bus *bus, const char *subject, const char *reply, const char *data,
                 size_t n)
{
    (void)subject;
    (void)reply;
    (void)data;
    (void)n;
    bus->asked++;
    return true;
}

void bus_complain(struct bus *bus, const char *format, ...)
{
    (void)bus;
    (void)format;
}

void bus_new_inbox(struct bus *bus, char ret[BUS_INBOX_SIZE])
{
    (void)bus;
    (void)snprintf(ret, BUS_INBOX_SIZE, "_INBOX.a");
}

int bus_watch(struct bus *bus, const char *subject, bus_take *take, void *arg)
{
    (void)subject;
    bus->take = take;
    bus->arg = arg;
    return 0;
}

/* --- what the reader says ----------------------------------------------------------------- */

struct heard {
    size_t known, ready, come, bytes, lost;
};

static void on_known(void *arg, natsMsg *message, uint64_t seq)
{
    struct heard *heard = arg;
    (void)message;
    (void)seq;
    heard->known++;
}

static void on_ready(void *arg)
{
    struct heard *heard = arg;
    heard->ready++;
}

static void on_come(void *arg, natsMsg *message, uint64_t seq)
{
    struct heard *heard = arg;
    (void)seq;
    heard->come++;
    heard->bytes += (size_t)natsMsg_GetDataLength(message);
}

static void on_lost(void *arg)
{
    struct heard *heard = arg;
    heard->lost++;
}

static const struct reader_ops ops = {
    .known = on_known, .ready = on_ready, .come = on_come, .lost = on_lost};

/* The server has made the consumer NAME, which begins behind the message AFTER; PENDING messages
 * wait. */
static void created_after(struct bus *bus, const char *name, int pending, int after)
{
    natsMsg *message = NULL;
    char text[192];
    int n = snprintf(
        text, sizeof(text),
        "{\"name\":\"%s\",\"num_pending\":%d,\"delivered\":{\"consumer_seq\":0,\"stream_seq\":%d}}",
        name, pending, after);
    assert_int_equal(natsMsg_Create(&message, "_INBOX.b", NULL, text, n), NATS_OK);
    assert_false(bus->reply(bus->arg, message));
    natsMsg_Destroy(message);
}

/* Likewise, where the reader is. */
static void created(struct bus *bus, const char *name, int pending)
{
    const struct reader *reader = bus->arg;
    created_after(bus, name, pending, (int)reader->last_seq);
}

/* CONSUMER delivers the result number SEQ with BODY, and has PENDING more. */
static void deliver(struct bus *bus, const char *consumer, uint64_t seq, const char *body,
                    int pending)
{
    natsMsg *message = NULL;
    char reply[128];
    (void)snprintf(reply, sizeof(reply), "$JS.ACK.f-results.%s.1.%" PRIu64 ".1.17.%d", consumer,
                   seq, pending);
    assert_int_equal(natsMsg_Create(&message, "f.results.r.x", reply, body, (int)strlen(body)),
                     NATS_OK);
    bus->take(bus->arg, message);
    natsMsg_Destroy(message);
}

/* The server says that the request for messages is over, after all that it waited. */
static void expire(struct bus *bus)
{
    natsMsg *message = NULL;
    assert_int_equal(natsMsg_Create(&message, "_INBOX.a.s", NULL, "", 0), NATS_OK);
    assert_int_equal(natsMsgHeader_Set(message, "Status", "408"), NATS_OK);
    bus->take(bus->arg, message);
    natsMsg_Destroy(message);
}

static void begin(struct bus *bus, struct heard *heard, struct reader *reader)
{
    *bus = (struct bus){0};
    *heard = (struct heard){0};
    assert_int_equal(reader_init(reader, bus, "r", &ops, heard), 0);
}

/* Likewise, of a run without results so far. */
static void begin_live(struct bus *bus, struct heard *heard, struct reader *reader)
{
    begin(bus, heard, reader);
    created(bus, "index", 0);
    created(bus, "live", 0);
}

/* --- the tests ---------------------------------------------------------------------------- */

static void test_the_index_and_what_comes_behind_it(void **state)
{
    struct bus bus;
    struct heard heard;
    struct reader reader;
    (void)state;
    begin(&bus, &heard, &reader);
    created(&bus, "index", 2);
    deliver(&bus, "index", 1, "", 1);
    assert_int_equal(heard.ready, 0);
    deliver(&bus, "index", 2, "", 0);
    assert_int_equal(heard.known, 2);
    assert_int_equal(heard.ready, 1);
    created(&bus, "live", 0);
    deliver(&bus, "live", 3, "{}", 0);
    deliver(&bus, "live", 3, "{}", 0);
    assert_int_equal(heard.come, 1);
    assert_int_equal(heard.bytes, 2);
    reader_deinit(&reader);
}

/* The consumer of the index has room for more messages than it had; so it also sends what comes
 * behind the index, without a body. */
static void test_what_the_consumer_of_the_index_sends_late(void **state)
{
    struct bus bus;
    struct heard heard;
    struct reader reader;
    (void)state;
    begin(&bus, &heard, &reader);
    created(&bus, "index", 1);
    deliver(&bus, "index", 1, "", 0);
    deliver(&bus, "index", 2, "", 0); /* the other consumer is still to be made */
    created(&bus, "live", 2);
    deliver(&bus, "index", 3, "", 0);
    assert_int_equal(heard.come, 0);
    deliver(&bus, "live", 2, "{}", 1);
    deliver(&bus, "live", 3, "{}", 0);
    assert_int_equal(heard.come, 2);
    assert_int_equal(heard.bytes, 4);
    reader_deinit(&reader);
}

/* What was to come last in the index was removed before it came: nothing says that it was the last
 * but a new consumer, which has nothing. */
static void test_the_end_of_the_index_is_removed(void **state)
{
    struct bus bus;
    struct heard heard;
    struct reader reader;
    (void)state;
    begin(&bus, &heard, &reader);
    created(&bus, "index", 2);
    deliver(&bus, "index", 1, "", 1);
    expire(&bus);
    size_t requests = bus.requests;
    (void)reader_go_on(&reader, monotonic_ms());
    assert_int_equal(bus.requests, requests + 1);
    created(&bus, "rest", 0);
    assert_int_equal(heard.ready, 1);
    reader_deinit(&reader);
}

/* The server has lost the end of the stream, and counts from there again: what comes then has
 * numbers that were read. */
static void test_the_end_of_the_stream_is_lost(void **state)
{
    struct bus bus;
    struct heard heard;
    struct reader reader;
    (void)state;
    begin_live(&bus, &heard, &reader);
    for (uint64_t seq = 1; seq <= 9; seq++)
        deliver(&bus, "live", seq, "{}", 0);
    assert_int_equal(heard.come, 9);
    reader.silence_ms = 0;
    (void)reader_go_on(&reader, monotonic_ms());
    created_after(&bus, "again", 0, 4);
    assert_int_equal(heard.lost, 1);
    deliver(&bus, "again", 5, "{}", 0);
    assert_int_equal(heard.come, 10);
    reader.silence_ms = 0;
    (void)reader_go_on(&reader, monotonic_ms());
    created_after(&bus, "ahead", 0, 7); /* what lies between is of other runs */
    assert_int_equal(heard.lost, 1);
    reader_deinit(&reader);
}

/* Where results are awaited, a request that is over is made again at the same consumer. */
static void test_a_request_for_results_is_made_again(void **state)
{
    struct bus bus;
    struct heard heard;
    struct reader reader;
    (void)state;
    begin_live(&bus, &heard, &reader);
    expire(&bus);
    size_t requests = bus.requests, asked = bus.asked;
    (void)reader_go_on(&reader, monotonic_ms());
    assert_int_equal(bus.requests, requests);
    assert_int_equal(bus.asked, asked + 1);
    reader_deinit(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_index_and_what_comes_behind_it),
        cmocka_unit_test(test_what_the_consumer_of_the_index_sends_late),
        cmocka_unit_test(test_the_end_of_the_index_is_removed),
        cmocka_unit_test(test_the_end_of_the_stream_is_lost),
        cmocka_unit_test(test_a_request_for_results_is_made_again),
    };
    if (nats_Open(-1) != NATS_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)nats_CloseAndWait(0);
    return failed;
}
