/* SPDX-License-Identifier: MIT */
/* A job of a run, without a server: this file stands in for the bus and for what stores large
 * bodies. */
#include "client/fleet/feeds.h"
#include "client/fleet/runjob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define DIGEST_OF_JOB "d"

static struct {
    bus_reply *reply; /* of the last request */
    blob_done *stored, *read;
    unsigned uploads, forgotten;
    unsigned answered, failed;
    char asked[API_SUBJECT_SIZE]; /* the subject of the last request */
    char told[NAMES_SUBJECT_SIZE];
} seen;

const char *bus_fleet(const struct bus *bus)
{
    (void)bus;
    return "F";
}

uint64_t bus_request(struct bus *bus, const char *subject, const struct header *headers,
                     const char *data, size_t n, bus_reply *reply, void *arg)
{
    (void)bus, (void)headers, (void)data, (void)n, (void)arg;
    (void)snprintf(seen.asked, sizeof(seen.asked), "%s", subject);
    seen.reply = reply;
    return 1;
}

void bus_forget(struct bus *bus, uint64_t number)
{
    (void)bus, (void)number;
}

bool bus_publish(struct bus *bus, const char *subject, const char *reply, const char *data,
                 size_t n)
{
    (void)bus, (void)subject, (void)reply;
    (void)snprintf(seen.told, sizeof(seen.told), "%.*s", (int)n, data);
    return true;
}

void bus_complain(struct bus *bus, const char *format, ...)
{
    (void)bus, (void)format;
}

void blobs_ref(const char *text, size_t n, const char *hex, char ret[BLOBS_REF_SIZE])
{
    (void)text, (void)n, (void)hex;
    (void)strcpy(ret, "ref");
}

struct blob *blob_up(struct bus *bus, struct bytes *take_text, const char *ref, blob_done *done,
                     void *arg)
{
    (void)bus, (void)ref, (void)arg;
    bytes_deinit(take_text);
    seen.uploads++;
    seen.stored = done;
    return (struct blob *)&seen;
}

struct blob *blob_down(struct bus *bus, const char *ref, blob_done *done, void *arg)
{
    (void)bus, (void)ref, (void)arg;
    seen.read = done;
    return (struct blob *)&seen;
}

struct blob *blob_free(struct blob *blob)
{
    seen.forgotten += blob != NULL;
    return NULL;
}

static void on_answered(struct runjob *job, struct bytes *text)
{
    (void)job;
    assert_string_equal(text->data, "result");
    seen.answered++;
}

static void on_failed(struct runjob *job, const char *code, const char *why)
{
    (void)job, (void)code, (void)why;
    seen.failed++;
}

static void on_cleared(struct runjob *job)
{
    (void)job;
}

static const struct runjob_ops ops = {on_answered, on_failed, on_cleared};

/* A job whose body does not fit into a message. The caller frees it. */
static struct runjob *large_job(void)
{
    struct runjob *job = calloc(1, sizeof(*job));
    assert_non_null(job);
    memset(&seen, 0, sizeof(seen));
    *job = (struct runjob){.run = "r", .ops = &ops, .token = "t", .digest = DIGEST_OF_JOB};
    job->body =
        (struct bytes){.data = calloc(1, BLOBS_INLINE_MAX + 2), .length = BLOBS_INLINE_MAX + 1};
    assert_non_null(job->body.data);
    return job;
}

static natsMsg *message_of(const char *text, const char *digest)
{
    natsMsg *message = NULL;
    assert_int_equal(natsMsg_Create(&message, "s", NULL, text, (int)strlen(text)), NATS_OK);
    if (digest)
        assert_int_equal(natsMsgHeader_Set(message, API_DIGEST, digest), NATS_OK);
    return message;
}

static void answer(struct runjob *job, const char *text)
{
    natsMsg *message = message_of(text, NULL);
    assert_false(seen.reply(job, message));
    natsMsg_Destroy(message);
}

/* Has the result that is there deleted: its mark begins anew first. */
static void clear_it(struct runjob *job)
{
    assert_int_equal(job->state, RUNJOB_CLEARING);
    assert_string_equal(seen.asked, "F.marks.r.t");
    answer(job, "{\"stream\":\"F-marks\",\"seq\":3}");
    assert_int_equal(job->state, RUNJOB_CLEARING);
    assert_string_equal(seen.asked, "$JS.API.STREAM.MSG.DELETE.F-results");
    answer(job, "{\"success\":true}");
}

/* Brings JOB into the queue. */
static void queue_it(struct runjob *job)
{
    runjob_begin(job);
    assert_int_equal(job->state, RUNJOB_STORING);
    seen.stored(job, NULL, NULL);
    assert_int_equal(job->state, RUNJOB_SENDING);
    natsMsg *stored = message_of("{\"stream\":\"F-jobs\",\"seq\":7}", NULL);
    assert_false(seen.reply(job, stored));
    natsMsg_Destroy(stored);
    assert_int_equal(job->state, RUNJOB_QUEUED);
}

/* Has JOB, which has had no answer for long, looked for: there is none. */
static void look_in_vain(struct runjob *job)
{
    natsMsg *nothing = message_of("", NULL);
    runjob_send_again(job, INT64_MAX);
    assert_int_equal(job->state, RUNJOB_LOOKING);
    assert_int_equal(natsMsgHeader_Set(nothing, "Status", "404"), NATS_OK);
    assert_false(seen.reply(job, nothing));
    natsMsg_Destroy(nothing);
}

/* A server that has lost its disk may give a result a number that was read already. */
static void test_a_result_that_the_reader_has_passed(void **state)
{
    struct runjob *job = large_job();
    natsMsg *result = message_of("result", DIGEST_OF_JOB);
    (void)state;
    queue_it(job);
    runjob_send_again(job, INT64_MAX);
    assert_int_equal(job->state, RUNJOB_LOOKING);
    assert_int_equal(natsMsgHeader_Set(result, "Nats-Sequence", "9"), NATS_OK);
    assert_false(seen.reply(job, result));
    assert_int_equal(job->state, RUNJOB_OVER);
    assert_int_equal(seen.answered, 1);
    assert_int_equal(seen.uploads, 1);
    natsMsg_Destroy(result);
    runjob_free(job);
}

/* The body of a job that may be lost is stored again; its result can come in that moment. */
static void test_an_answer_while_the_body_is_stored_again(void **state)
{
    struct runjob *job = large_job();
    natsMsg *result = message_of("result", DIGEST_OF_JOB);
    (void)state;
    queue_it(job);
    look_in_vain(job);
    assert_int_equal(job->state, RUNJOB_STORING);
    assert_int_equal(seen.uploads, 2);
    unsigned forgotten = seen.forgotten;
    assert_true(runjob_take(job, result, 9));
    assert_int_equal(seen.forgotten, forgotten + 1);
    assert_int_equal(job->state, RUNJOB_OVER);
    assert_int_equal(seen.answered, 1);
    assert_int_equal(seen.failed, 0);
    natsMsg_Destroy(result);
    runjob_free(job);
}

/* An answer to another job of the same id is none: it is deleted, and the job goes on. */
static void test_a_foreign_answer_while_the_body_is_stored(void **state)
{
    struct runjob *job = large_job();
    natsMsg *foreign = message_of("result", "other");
    (void)state;
    runjob_begin(job);
    assert_false(runjob_take(job, foreign, 9));
    clear_it(job);
    assert_int_equal(job->state, RUNJOB_STORING);
    assert_int_equal(seen.answered + seen.failed, 0);
    natsMsg_Destroy(foreign);
    runjob_free(job);
}

/* Nor is one of a daemon that confines jobs otherwise. The job runs again; but not for ever. */
static void test_answers_of_another_isolation(void **state)
{
    struct runjob *job = large_job();
    natsMsg *other = message_of("result", DIGEST_OF_JOB),
            *own = message_of("result", DIGEST_OF_JOB);
    assert_int_equal(natsMsgHeader_Set(other, API_ISOLATION, "b"), NATS_OK);
    assert_int_equal(natsMsgHeader_Set(own, API_ISOLATION, "a"), NATS_OK);
    (void)state;
    job->isolation = "a";
    queue_it(job);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(runjob_take(job, other, 9 + i));
        clear_it(job);
        seen.stored(job, NULL, NULL);
        answer(job, "{\"stream\":\"F-jobs\",\"seq\":17}");
        assert_int_equal(job->state, RUNJOB_QUEUED);
    }
    struct runjob copy = *job;
    assert_true(runjob_take(&copy, own, 12));
    assert_int_equal(seen.answered, 1);
    copy = *job;
    copy.isolation = FEEDS_ANY;
    assert_true(runjob_take(&copy, other, 12));
    assert_int_equal(seen.answered, 2);
    assert_int_equal(seen.failed, 0);
    assert_false(runjob_take(job, other, 12));
    assert_int_equal(seen.failed, 1);
    natsMsg_Destroy(other);
    natsMsg_Destroy(own);
    runjob_free(job);
}

/* A job that is stored again may still be in the queue: it is taken out of there, too. */
static void test_cancelled_while_the_body_is_stored_again(void **state)
{
    struct runjob *job = large_job();
    struct cancel cancel;
    (void)state;
    queue_it(job);
    look_in_vain(job);
    assert_int_equal(job->state, RUNJOB_STORING);
    runjob_withdraw(job);
    assert_int_equal(seen.failed, 1);
    assert_string_equal(seen.asked, "$JS.API.STREAM.MSG.DELETE.F-jobs");
    assert_true(cancel_read(seen.told, strlen(seen.told), &cancel));
    assert_string_equal(cancel.run, "r");
    assert_string_equal(cancel.token, "t");
    assert_true(cancel.number == job->submission);
    runjob_free(job);
}

#define REFUSED                                    \
    "{\"error\":{\"code\":400,\"err_code\":10077," \
    "\"description\":\"maximum messages per subject exceeded\"}}"

/* Has JOB, which has had no answer for long, refused because the queue has a message of it, number
 * 7; the consumer has acknowledged all up to FLOOR. */
static void refuse_again(struct runjob *job, unsigned floor)
{
    char info[64];
    look_in_vain(job);
    seen.stored(job, NULL, NULL);
    assert_string_equal(seen.asked, "F.jobs.r.p10.t");
    answer(job, REFUSED);
    assert_string_equal(seen.asked, "$JS.API.STREAM.MSG.GET.F-jobs");
    answer(job, "{\"message\":{\"subject\":\"F.jobs.r.p10.t\",\"seq\":7}}");
    assert_string_equal(seen.asked, "$JS.API.CONSUMER.INFO.F-jobs.r-p10");
    (void)snprintf(info, sizeof(info), "{\"ack_floor\":{\"stream_seq\":%u}}", floor);
    answer(job, info);
}

/* A server that lost its disk keeps a message that was acknowledged: nobody will get it. */
static void test_a_message_that_nobody_will_get(void **state)
{
    struct runjob *job = large_job();
    (void)state;
    queue_it(job);
    refuse_again(job, 7);
    assert_string_equal(seen.asked, "$JS.API.STREAM.MSG.DELETE.F-jobs");
    answer(job, "{\"success\":true}");
    assert_int_equal(job->state, RUNJOB_SENDING);
    assert_string_equal(seen.asked, "F.jobs.r.p10.t");
    answer(job, "{\"stream\":\"F-jobs\",\"seq\":9}");
    assert_int_equal(job->state, RUNJOB_QUEUED);
    assert_int_equal(job->queued_seq, 9);
    assert_string_equal(seen.asked, "F.jobs.r.p10.t"); /* the consumer stays */
    runjob_free(job);
}

/* It stays if it may still be delivered, or somebody has it. */
static void test_a_message_that_somebody_will_get(void **state)
{
    struct runjob *job = large_job();
    (void)state;
    queue_it(job);
    refuse_again(job, 6);
    assert_string_equal(seen.asked, "$JS.API.CONSUMER.INFO.F-jobs.r-p10");
    assert_int_equal(job->state, RUNJOB_QUEUED);
    assert_int_equal(job->queued_seq, 7);
    runjob_free(job);
}

/* The queue has lost its end and counts from there again: the consumer, which has passed the number
 * of the new message, too, is deleted. */
static void test_a_consumer_that_is_ahead_of_the_queue(void **state)
{
    struct runjob *job = large_job();
    (void)state;
    queue_it(job);
    refuse_again(job, 20);
    answer(job, "{\"success\":true}");
    answer(job, "{\"stream\":\"F-jobs\",\"seq\":9}");
    assert_int_equal(job->state, RUNJOB_QUEUED);
    assert_string_equal(seen.asked, "$JS.API.CONSUMER.DELETE.F-jobs.r-p10");
    runjob_free(job);
}

/* A cancel that comes while the message is looked for takes it out once it is known. */
static void test_cancelled_while_the_message_is_looked_for(void **state)
{
    struct runjob *job = large_job();
    (void)state;
    queue_it(job);
    look_in_vain(job);
    seen.stored(job, NULL, NULL);
    answer(job, REFUSED);
    runjob_withdraw(job);
    assert_int_equal(seen.failed, 0);
    answer(job, "{\"error\":{\"code\":404}}");
    assert_int_equal(seen.failed, 1);
    runjob_free(job);
}

/* A job that is new here and in the queue already: another client has sent it. Nothing is looked
 * up. */
static void test_a_job_that_is_in_the_queue_already(void **state)
{
    struct runjob *job = large_job();
    (void)state;
    runjob_begin(job);
    seen.stored(job, NULL, NULL);
    answer(job, REFUSED);
    assert_int_equal(job->state, RUNJOB_QUEUED);
    assert_int_equal(job->queued_seq, 0);
    runjob_free(job);
}

/* Has JOB, which is in the queue, answered by a result whose chunks the server has lost. */
static void answer_in_part(struct runjob *job)
{
    natsMsg *result = message_of("", DIGEST_OF_JOB);
    assert_int_equal(natsMsgHeader_Set(result, API_BODY, "ref"), NATS_OK);
    assert_true(runjob_take(job, result, 9));
    natsMsg_Destroy(result);
    assert_int_equal(job->state, RUNJOB_READING);
    seen.read(job, NULL, "gone");
}

/* A result without its chunks is none: it is deleted, and the job runs again; but not for ever. */
static void test_a_result_of_which_a_part_is_lost(void **state)
{
    struct runjob *job = large_job();
    (void)state;
    queue_it(job);
    for (unsigned i = 0; i < 3; i++) {
        answer_in_part(job);
        clear_it(job);
        assert_int_equal(job->state, RUNJOB_STORING);
        seen.stored(job, NULL, NULL);
        answer(job, "{\"stream\":\"F-jobs\",\"seq\":17}");
        assert_int_equal(seen.failed, 0);
    }
    answer_in_part(job);
    assert_int_equal(seen.failed, 1);
    assert_int_equal(seen.answered, 0);
    runjob_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_result_that_the_reader_has_passed),
        cmocka_unit_test(test_an_answer_while_the_body_is_stored_again),
        cmocka_unit_test(test_a_foreign_answer_while_the_body_is_stored),
        cmocka_unit_test(test_answers_of_another_isolation),
        cmocka_unit_test(test_cancelled_while_the_body_is_stored_again),
        cmocka_unit_test(test_a_message_that_nobody_will_get),
        cmocka_unit_test(test_a_message_that_somebody_will_get),
        cmocka_unit_test(test_a_consumer_that_is_ahead_of_the_queue),
        cmocka_unit_test(test_cancelled_while_the_message_is_looked_for),
        cmocka_unit_test(test_a_job_that_is_in_the_queue_already),
        cmocka_unit_test(test_a_result_of_which_a_part_is_lost),
    };
    /* The library frees messages only once it has been opened. */
    if (nats_Open(-1) != NATS_OK)
        return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    nats_Close();
    return failures;
}
