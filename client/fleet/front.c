/* SPDX-License-Identifier: MIT */
#include "front.h"

#include "feeds.h"
#include "frontconsumers.h"
#include "frontputs.h"
#include "marks.h"
#include "suited.h"

#include "client/terminal/text.h"
#include "proto/jobkinds.h"
#include "proto/json.h"
#include "proto/printer.h"
#include "proto/request.h"

#include <inttypes.h>
#include <poll.h>
#include <search.h>
#include <sha2.h>
#include <string.h>

/* With more unread by the client, take nothing more from it. */
#define UNSENT_MAX ((size_t)4 << 20)
/* Queue a job again that has had no answer for so long; after a lost connection. */
#define AGAIN_MS 60000
#define AGAIN_SOON_MS 5000
/* Look for jobs without an answer at this interval. */
#define LATE_MS 15000
/* The value of an id: the sequence of its result, and whether that is a verdict. */
#define VERDICT UINT64_C(1)

struct front {
    struct bus *bus;
    struct front_options options;
    struct frames frames;
    struct reader reader;
    struct suited suited;
    bool is_ready; /* has read the results that were there */
    bool is_broken;
    char other[80];       /* isolation of a verdict that was there and is not that of the run; "" */
    struct idmap results; /* by token */
    void *jobs;           /* tsearch(): struct runjob by token */
    size_t n_jobs;
    uint64_t last_no;
    struct frontputs *puts;
    struct frontbenches *benches;
    struct frontconsumers consumers;
    unsigned epoch;
    bool was_lost;    /* the connection, since the queue was looked after */
    bool lost_end;    /* the results have lost theirs, likewise */
    int64_t again_ms; /* when to look for jobs that the queue may have lost, and at the consumers */
    int64_t late_ms;  /* when to look for jobs alone */
};

/* --- jobs by token ------------------------------------------------------------------------ */

static int by_token(const void *left, const void *right)
{
    const struct runjob *a = left, *b = right;
    return strcmp(a->token, b->token);
}

static struct runjob *find_job(const struct front *front, const char *token)
{
    struct runjob key;
    (void)snprintf(key.token, sizeof(key.token), "%s", token);
    void *const *node = tfind(&key, &front->jobs, by_token);
    return node ? *node : NULL;
}

static void drop_job(struct front *front, struct runjob *job)
{
    (void)tdelete(job, &front->jobs, by_token);
    front->n_jobs--;
    (void)runjob_free(job);
}

/* --- to the client ------------------------------------------------------------------------ */

static void send_json(struct front *front, json_t *take_message)
{
    _cleanup_json_ json_t *message = take_message;
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (message && json_print(message, &text) == 0)
        frames_send(&front->frames, text.data, text.length);
}

/* ID may be NULL. */
static void send_error(struct front *front, const struct bytes *id, const char *code,
                       const char *message)
{
    bool retriable = strcmp(code, "internal") == 0 || strcmp(code, "tests_not_found") == 0;
    json_t *error = json_pack("{s:s,s:s,s:s,s:b}", "type", "error", "code", code, "message",
                              message, "retriable", retriable);
    if (id && id->data)
        (void)json_object_set_new(error, "id", json_stringn(id->data, id->length));
    send_json(front, error);
}

static void on_answered(struct runjob *job, struct bytes *text)
{
    struct front *front = job->arg;
    frames_send(&front->frames, text->data, text->length);
    drop_job(front, job);
}

static void on_failed(struct runjob *job, const char *code, const char *why)
{
    struct front *front = job->arg;
    send_error(front, &job->id, code, why);
    drop_job(front, job);
}

static void on_cleared(struct runjob *job)
{
    struct front *front = job->arg;
    uint64_t *value = idmap_find(&front->results, job->token, strlen(job->token));
    if (value)
        *value = 0;
    /* Another command may use the run; when that ends it takes away a consumer that has nothing at
     * that moment. */
    front->again_ms = MIN(front->again_ms, monotonic_ms() + AGAIN_SOON_MS);
}

static const struct runjob_ops job_ops = {on_answered, on_failed, on_cleared};

/* --- from the fleet ----------------------------------------------------------------------- */

/* Notes that MESSAGE is the result SEQ of its id. Returns whether it is the only one. */
static bool note_result(struct front *front, natsMsg *message, uint64_t seq)
{
    const char *token = names_last(natsMsg_GetSubject(message));
    const char *type = api_header(message, API_TYPE);
    uint64_t *value = idmap_put(&front->results, token, strlen(token));
    if (!value) {
        complain("out of memory");
        return true;
    }
    if (*value != 0 && *value >> 1 != seq) {
        complain("run %s: %s has a second result, number %" PRIu64 " beside %" PRIu64
                 "; it is ignored",
                 front->options.run, token, seq, *value >> 1);
        return false;
    }
    *value = seq << 1 | (type && strcmp(type, "result") == 0 ? VERDICT : 0);
    return true;
}

static void on_known(void *arg, natsMsg *message, uint64_t seq)
{
    struct front *front = arg;
    const char *isolation = api_header(message, API_ISOLATION);
    (void)note_result(front, message, seq);
    if (isolation && !feeds_allow(front->options.digest, isolation))
        (void)snprintf(front->other, sizeof(front->other), "%s", isolation);
}

/* Tells the client why it is not served. */
static void refuse_run(struct front *front)
{
    struct fault why = FAULT_NULL;
    (void)fault_set(&why,
                    "run %s has results of jobs that ran with the isolation %.12s..., and the "
                    "daemons have %.12s... now, because a configuration or a version has changed: "
                    "change it back, give the jobs a run of another name, or give --mix to have "
                    "scores that are not comparable",
                    front->options.run, front->other, front->options.digest);
    send_json(front,
              json_pack("{s:s,s:s,s:s}", "type", "bye", "reason", "mixed", "message", why.text));
    front->is_broken = true;
}

static void on_ready(void *arg)
{
    struct front *front = arg;
    front->is_ready = true;
    if (*front->other)
        refuse_run(front);
}

static void on_result(void *arg, natsMsg *message, uint64_t seq)
{
    struct front *front = arg;
    struct runjob *job = find_job(front, names_last(natsMsg_GetSubject(message)));
    if (note_result(front, message, seq) && job)
        (void)runjob_take(job, message, seq);
}

static void on_lost(void *arg)
{
    struct front *front = arg;
    complain("run %s: the NATS server has lost results that were there; looking for the answers of "
             "the jobs under way",
             front->options.run);
    front->lost_end = true;
    front->again_ms = monotonic_ms();
}

static const struct reader_ops reader_ops = {on_known, on_ready, on_result, on_lost};

/* A worker has marked a job as started. */
static void on_mark(void *arg, natsMsg *message)
{
    struct front *front = arg;
    struct runjob *job = find_job(front, names_last(natsMsg_GetSubject(message)));
    if (!job || job->is_started ||
        marks_count_starts(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)) == 0)
        return; /* a start that was taken back, or of which nobody wants to know any more */
    job->is_started = true;
    send_json(front, json_pack("{s:s,s:s%,s:I,s:i}", "type", "started", "id", job->id.data,
                               job->id.length, "job_no", (json_int_t)job->job_no, "slot", 0));
}

/* --- from the client ---------------------------------------------------------------------- */

static bool is_priority(const json_t *value)
{
    json_int_t priority = json_integer_value(value);
    return json_is_integer(value) && priority >= NAMES_PRIORITY_MIN &&
           priority <= NAMES_PRIORITY_MAX;
}

/* Digests what of FIELDS the answer depends on: not when the job has its turn, if it says that as
 * it should. 0 or -ENOMEM. */
static int digest_job(const json_t *fields, struct runjob *job)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    _cleanup_json_ json_t *judged = json_copy((json_t *)(uintptr_t)fields);
    if (is_priority(json_object_get(judged, "priority")))
        (void)json_object_del(judged, "priority");
    int r = judged ? json_print(judged, &text) : -ENOMEM;
    if (r == 0)
        (void)SHA256Data((const uint8_t *)text.data, text.length, job->digest);
    return r;
}

static int fill_job(struct front *front, const json_t *fields, struct runjob *job)
{
    int r = json_print(fields, &job->body);
    if (r == 0)
        r = digest_job(fields, job);
    if (r < 0)
        return r;
    uint64_t *known = idmap_find(&front->results, job->token, strlen(job->token));
    if (known && *known != 0) {
        job->known_seq = *known >> 1;
        job->is_known_verdict = *known & VERDICT;
    }
    return 0;
}

static int64_t priority_of(const json_t *fields)
{
    int64_t priority = json_integer_value(json_object_get(fields, "priority"));
    return MIN(MAX(priority, (int64_t)NAMES_PRIORITY_MIN), (int64_t)NAMES_PRIORITY_MAX);
}

/* Returns the digest of the tests that the job names, or NULL. */
static const char *put_of(const json_t *fields)
{
    return json_string_value(json_object_get(json_object_get(fields, "tests"), "put"));
}

/* Makes the job and begins with it. */
static void begin_job(struct front *front, const struct bytes *id, const json_t *fields)
{
    struct runjob *job = calloc(1, sizeof(*job));
    const char *put = put_of(fields), *ref = put ? frontputs_ref(front->puts, put) : NULL;
    if (put && !ref) {
        send_error(front, id, "tests_not_found",
                   "job.tests.put: this connection has put no such tests");
        free(job);
        return;
    }
    if (!job || bytes_copy(id->data, id->length, &job->id) < 0) {
        send_error(front, id, "internal", "out of memory");
        free(job);
        return;
    }
    job->bus = front->bus;
    job->run = front->options.run;
    job->isolation = front->options.digest;
    job->ops = &job_ops;
    job->arg = front;
    job->job_no = ++front->last_no;
    job->priority = priority_of(fields);
    job->keeps_starved = front->options.keeps_starved;
    job->tests_ref = ref ? strdup(ref) : NULL;
    names_token(id->data, id->length, job->token);
    _cleanup_json_ json_t *named = front->options.host_benches
                                       ? json_incref((json_t *)(uintptr_t)fields)
                                       : frontbenches_name(front->benches, fields, job->bench);
    if (!named || fill_job(front, named, job) < 0 || !tsearch(job, &front->jobs, by_token)) {
        send_error(front, id, "internal", "out of memory");
        (void)runjob_free(job);
        return;
    }
    front->n_jobs++;
    frontconsumers_ensure(&front->consumers, job->priority);
    if (frontbenches_is_ready(front->benches, job->bench))
        runjob_begin(job); /* else on_bench() does */
}

static void submit(struct front *front, const struct bytes *id, const json_t *message)
{
    const json_t *fields = json_object_get(message, "job");
    const char *kind = json_string_value(json_object_get(fields, "kind"));
    char token[NAMES_TOKEN_MAX + 1];
    if (!id->data) {
        send_error(front, NULL, "bad_request", "id: expected a string of 1 to 128 bytes");
        return;
    }
    names_token(id->data, id->length, token);
    if (!json_is_object(fields))
        send_error(front, id, "bad_request", "job: expected an object");
    else if (find_job(front, token))
        send_error(front, id, "bad_request", "id: an unfinished job has it");
    else if (json_object_get(message, "share"))
        send_error(front, id, "bad_request", "share: a fleet has no gateways");
    else if (kind && strcmp(kind, job_kind_name(JOB_SESSION)) == 0)
        send_error(front, id, "bad_request", "job.kind: a fleet has no sessions");
    else
        begin_job(front, id, fields);
}

static void cancel(struct front *front, const struct bytes *id)
{
    char token[NAMES_TOKEN_MAX + 1];
    struct runjob *job = NULL;
    if (id->data) {
        names_token(id->data, id->length, token);
        job = find_job(front, token);
    }
    if (job)
        runjob_withdraw(job);
    else
        send_error(front, id, "bad_request", "there is no unfinished job of that id");
}

static void take_message(struct front *front, const json_t *message)
{
    const json_t *id_json = json_object_get(message, "id");
    const char *type = json_string_value(json_object_get(message, "type"));
    size_t length = json_string_length(id_json);
    struct bytes id = BYTES_NULL;
    if (length >= 1 && length <= REQUEST_ID_MAX)
        id =
            (struct bytes){.data = (char *)(uintptr_t)json_string_value(id_json), .length = length};
    type = type ? type : "";
    if (strcmp(type, "submit") == 0)
        submit(front, &id, message);
    else if (strcmp(type, "cancel") == 0)
        cancel(front, &id);
    else if (strcmp(type, "put") == 0)
        frontputs_take(front->puts, message);
    else if (strcmp(type, "ping") == 0)
        send_json(front, json_pack("{s:s}", "type", "pong"));
    else
        send_error(front, &id, "bad_request", "type: a fleet does not answer such requests");
}

static void take_frames(struct front *front)
{
    while (frames_unsent(&front->frames) < UNSENT_MAX) {
        _cleanup_bytes_ struct bytes payload = BYTES_NULL;
        _cleanup_json_ json_t *message = NULL;
        struct fault fault = FAULT_NULL;
        int r = frames_next(&front->frames, &payload, &fault);
        if (r == 0)
            return;
        if (r == -ECONNRESET)
            return;
        if (r < 0) {
            front->is_broken = true;
            send_error(front, NULL, "frame_too_large", fault.text);
            return;
        }
        if (json_read_object(payload.data, payload.length, &message, &fault) < 0)
            send_error(front, NULL, "bad_request", fault.text);
        else
            take_message(front, message);
    }
}

/* --- jobs that the queue may have lost ---------------------------------------------------- */

struct job_list {
    struct runjob **jobs;
    size_t n;
};

static void list_job(const void *node, VISIT visit, void *list_)
{
    struct job_list *list = list_;
    if (visit == postorder || visit == leaf)
        list->jobs[list->n++] = *(struct runjob *const *)node;
}

/* Returns all jobs, to be freed; none when memory runs out. */
static struct job_list list_jobs(const struct front *front)
{
    struct job_list list = {.n = 0};
    list.jobs = reallocarray(NULL, MAX(front->n_jobs, (size_t)1),
                             sizeof(*list.jobs)); // NOLINT(bugprone-sizeof-expression)
    if (list.jobs)
        twalk_r(front->jobs, list_job, &list);
    return list;
}

/* Queues the jobs again that have been queued since before BEFORE_MS, unless they have a result. */
static void queue_again(struct front *front, int64_t before_ms)
{
    struct job_list list = list_jobs(front);
    for (size_t i = 0; i < list.n; i++)
        if (runjob_send_again(list.jobs[i], before_ms))
            frontconsumers_note_waiting(&front->consumers, list.jobs[i]->priority);
    free(list.jobs);
}

/* A server that lost its disk, or what it had not written yet, has no job and no result of it. So
 * what has no answer for long is queued again, and soon after a connection was lost; then the
 * consumers are looked at, too. */
static void send_again(struct front *front, int64_t now)
{
    int64_t before_ms = now - AGAIN_MS;
    if (front->epoch != bus_epoch(front->bus)) {
        front->epoch = bus_epoch(front->bus);
        front->again_ms = now + AGAIN_SOON_MS; /* results that are there are read first */
        front->was_lost = true;
    }
    if (now < MIN(front->again_ms, front->late_ms))
        return;
    front->late_ms = now + LATE_MS;
    if (now < front->again_ms) {
        queue_again(front, before_ms);
        return;
    }
    if (front->was_lost)
        before_ms = now - AGAIN_SOON_MS;
    if (front->lost_end)
        before_ms = INT64_MAX; /* answers may have come with numbers that were read */
    front->was_lost = front->lost_end = false;
    front->again_ms = now + AGAIN_MS;
    queue_again(front, before_ms);
    if (front->n_jobs > 0)
        frontconsumers_check(&front->consumers);
}

/* --- the whole ---------------------------------------------------------------------------- */

/* Begins with the jobs that have waited for their rubric to be stored. */
static void on_bench(void *arg, const char *name)
{
    struct front *front = arg;
    struct job_list list = list_jobs(front);
    for (size_t i = 0; i < list.n; i++)
        if (list.jobs[i]->state == RUNJOB_NEW && strcmp(list.jobs[i]->bench, name) == 0)
            runjob_begin(list.jobs[i]);
    free(list.jobs);
}

static void on_put_answer(void *arg, json_t *take_message)
{
    send_json(arg, take_message);
}

int front_new(struct bus *bus, int fd, const struct front_options *options, const json_t *hello,
              struct front **ret, struct fault *fault)
{
    char marks[NAMES_SUBJECT_SIZE];
    struct front *front = calloc(1, sizeof(*front));
    if (!front) {
        (void)close_fd(fd);
        return -ENOMEM;
    }
    front->bus = bus;
    front->options = *options;
    frontconsumers_init(&front->consumers, bus, options->run, options->digest, options->ack_wait_s);
    front->epoch = bus_epoch(bus);
    front->again_ms = front->late_ms = monotonic_ms() + AGAIN_MS;
    int r = frames_init(&front->frames, fd, options->max_frame);
    if (r == 0)
        r = frontputs_new(bus, on_put_answer, front, &front->puts);
    if (r == 0)
        r = frontbenches_new(bus, on_bench, front, &front->benches);
    names_of_run(bus_fleet(bus), STREAM_MARKS, options->run, "*", marks);
    if (r == 0)
        r = bus_watch(bus, marks, on_mark, front);
    if (r == 0)
        r = suited_init(&front->suited, bus, options->run, options->digest);
    if (r == 0)
        r = reader_init(&front->reader, bus, options->run, &reader_ops, front);
    if (r < 0) {
        (void)fault_set(fault, "cannot begin the run: %s", strerror(-r));
        (void)front_free(front);
        return r;
    }
    send_json(front, json_incref((json_t *)(uintptr_t)hello));
    *ret = front;
    return 0;
}

struct front *front_free(struct front *front)
{
    if (!front)
        return NULL;
    while (front->jobs)
        drop_job(front, *(struct runjob **)front->jobs);
    front->puts = frontputs_free(front->puts);
    front->benches = frontbenches_free(front->benches);
    reader_deinit(&front->reader);
    frames_deinit(&front->frames);
    idmap_deinit(&front->results);
    free(front);
    return NULL;
}

int front_fd(const struct front *front)
{
    return front->frames.fd;
}

short front_events(const struct front *front)
{
    return frames_events(&front->frames,
                         !front->is_ready || frames_unsent(&front->frames) >= UNSENT_MAX);
}

int64_t front_pump(struct front *front, short revents, int64_t now)
{
    frames_pump(&front->frames, revents);
    if (front->is_ready && !front->is_broken)
        take_frames(front);
    send_again(front, now);
    int64_t due = suited_check(&front->suited, front->n_jobs > 0, now);
    due = MIN(due, MIN(front->again_ms, front->late_ms));
    return MIN(due, reader_go_on(&front->reader, now));
}

bool front_is_over(const struct front *front)
{
    return front->frames.is_gone || (front->is_broken && frames_unsent(&front->frames) == 0) ||
           (front->frames.read_ended && front->n_jobs == 0 && frames_unsent(&front->frames) == 0);
}

void front_end(struct front *front, int64_t until)
{
    if (front->n_jobs == 0)
        frontconsumers_end(&front->consumers);
    for (int64_t now = monotonic_ms(); front->consumers.n_ending > 0 && now < until;
         now = monotonic_ms()) {
        struct pollfd bus = {.fd = bus_fd(front->bus), .events = POLLIN};
        int64_t due = MIN(bus_due(front->bus), until);
        (void)poll(&bus, 1, (int)MAX(due - now, INT64_C(0)));
        bus_dispatch(front->bus, monotonic_ms());
    }
}
