/* SPDX-License-Identifier: MIT */
#include "task_private.h"
#include "taskresult.h"

#include "client/batch/attempt.h"
#include "client/terminal/text.h"
#include "proto/json.h"
#include "proto/printer.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

/* The daemon is given tests that it has dropped so often. */
#define TESTS_LOST_MAX 3
/* A job whose daemon was reloaded goes to others a little later (nanoseconds). */
#define RELOADED_BACK "-NAK {\"delay\":2000000000}"
/* Says so often in the time after which the server gives the job to another worker. */
#define PROGRESS_PART 3

_unused_ static bool may_follow(enum task_state from, enum task_state to)
{
#define TO(state) (1U << (state))
    static const unsigned next[TASK_STATES] = {
        [TASK_NEW] = TO(TASK_LOOKING) | TO(TASK_FETCHING) | TO(TASK_MARKING),
        [TASK_LOOKING] =
            TO(TASK_FETCHING) | TO(TASK_MARKING) | TO(TASK_SETTLING) | TO(TASK_UNMARKING),
        [TASK_FETCHING] = TO(TASK_FETCHING) | TO(TASK_MARKING) | TO(TASK_RUNNING) |
                          TO(TASK_PUBLISHING) | TO(TASK_SETTLING) | TO(TASK_UNMARKING),
        [TASK_MARKING] = TO(TASK_RUNNING) | TO(TASK_BURYING) | TO(TASK_PUBLISHING) |
                         TO(TASK_WAITING) | TO(TASK_UNMARKING) | TO(TASK_SETTLING),
        [TASK_WAITING] = TO(TASK_MARKING) | TO(TASK_UNMARKING) | TO(TASK_SETTLING),
        [TASK_RUNNING] = TO(TASK_FETCHING) | TO(TASK_PUBLISHING) | TO(TASK_STARVING) |
                         TO(TASK_UNMARKING) | TO(TASK_SETTLING),
        [TASK_PUBLISHING] = TO(TASK_PUBLISHING) | TO(TASK_SETTLING),
        [TASK_BURYING] = TO(TASK_PUBLISHING) | TO(TASK_SETTLING),
        [TASK_UNMARKING] = TO(TASK_SETTLING),
        [TASK_STARVING] = TO(TASK_SETTLING),
        [TASK_SETTLING] = TO(TASK_OVER),
    };
#undef TO
    return next[from] >> to & 1;
}

void task_enter(struct task *task, enum task_state state)
{
    assert(may_follow(task->state, state));
    task->state = state;
}

void task_release_slot(struct task *task)
{
    task->lane->reserved -= task->holds_slot;
    task->holds_slot = false;
}

/* --- the last step ------------------------------------------------------------------------ */

static bool on_settled(void *arg, _unused_ natsMsg *reply)
{
    struct task *task = arg;
    task->request = 0;
    task_enter(task, TASK_OVER);
    return false;
}

void task_settle(struct task *task, const char *verb, enum task_end end)
{
    task_enter(task, TASK_SETTLING);
    task->end = end;
    task->settle_ms = monotonic_ms() + task->ack_wait_ms;
    task_release_slot(task);
    task->request = bus_request(task->bus, task->reply, NULL, verb, strlen(verb), on_settled, task);
    if (task->request == 0)
        task_enter(task, TASK_OVER); /* it is delivered again after a while */
}

void task_settle_unrun(struct task *task)
{
    if (task->is_cancelled)
        task_settle(task, "+TERM", TASK_CANCELLED);
    else
        task_settle(task, task->back, TASK_BACK);
}

static void fetch(struct task *task);

/* Hands the job back, or terminates its message if it is cancelled. Its start does not count. */
static void hand_back(struct task *task)
{
    if (task->mark.starts && task->mark_seq > 0) {
        task_enter(task, TASK_UNMARKING);
        task_release_slot(task);
        taskmark_take_back(task);
    } else {
        task_settle_unrun(task);
    }
}

/* --- the result --------------------------------------------------------------------------- */

static bool on_published(void *arg, natsMsg *reply)
{
    struct task *task = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome != API_OK && answer.outcome != API_EXISTS) {
        bus_complain(task->bus, "a result is not stored: %s; keeping it and trying again%s",
                     answer.text, api_remedy(&answer));
        return true;
    }
    task->request = 0;
    if (answer.outcome == API_EXISTS && task->end != TASK_DEAD)
        task->end = TASK_KNOWN; /* the first one wins */
    task_settle(task, task->end == TASK_DEAD ? "+TERM" : "+ACK", task->end);
    return false;
}

static void send_result(struct task *task)
{
    char subject[NAMES_SUBJECT_SIZE], id[NAMES_SUBJECT_SIZE];
    struct header headers[8];
    size_t n = 0;
    names_of_run(bus_fleet(task->bus), STREAM_RESULTS, task->names.run, task->names.token, subject);
    /* A server knows by this that it has the message already, and need not refuse it: what is
     * refused counts in each copy of the stream, and copies that have counted otherwise do not go
     * together. */
    (void)snprintf(id, sizeof(id), "%s.%s.%s", task->names.run, task->names.token, task->nonce);
    headers[n++] = (struct header){API_ID, id};
    headers[n++] = (struct header){API_TYPE, task->result_is_error ? "error" : "result"};
    headers[n++] = (struct header){API_HOST, task->worker};
    if (task->digest)
        headers[n++] = (struct header){API_DIGEST, task->digest};
    if (*task->isolation)
        headers[n++] = (struct header){API_ISOLATION, task->isolation};
    if (task->result_ref)
        headers[n++] = (struct header){API_BODY, task->result_ref};
    headers[n] = (struct header){NULL, NULL};
    task->request = bus_request(task->bus, subject, headers, task->result.data,
                                task->result_ref ? 0 : task->result.length, on_published, task);
}

static void on_result_stored(void *arg, _unused_ struct bytes *text, const char *why)
{
    struct task *task = arg;
    task->blob = blob_free(task->blob);
    if (why)
        complain("the chunks of a result are not stored: %s", why);
    send_result(task); /* who reads a reference that leads nowhere says so */
}

/* Publishes *TAKE_RESULT, the text of a result or of an error. */
static void publish(struct task *task, struct bytes *take_result, bool is_error)
{
    if (task->state != TASK_PUBLISHING)
        task_enter(task, TASK_PUBLISHING);
    task_release_slot(task);
    task->result = TAKE_STRUCT(*take_result, BYTES_NULL);
    task->result_is_error = is_error;
    if (task->end != TASK_DEAD)
        task->end = is_error ? TASK_ERROR : TASK_DONE;
    if (task->result.length <= BLOBS_INLINE_MAX) {
        send_result(task);
        return;
    }
    char ref[BLOBS_REF_SIZE];
    _cleanup_bytes_ struct bytes copy = BYTES_NULL;
    blobs_ref(task->result.data, task->result.length, NULL, ref);
    task->result_ref = strdup(ref);
    if (task->result_ref && bytes_copy(task->result.data, task->result.length, &copy) == 0)
        task->blob = blob_up(task->bus, &copy, ref, on_result_stored, task);
}

static void publish_error(struct task *task, const char *code, const char *message, bool retriable)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (taskresult_error(&task->id, code, message, retriable, &text) == 0)
        publish(task, &text, true);
    else
        task_settle(task, "-NAK", TASK_BACK);
}

/* --- the dead letter ---------------------------------------------------------------------- */

static bool on_buried(void *arg, natsMsg *reply)
{
    struct task *task = arg;
    struct api_answer answer;
    char reason[FAULT_MAX];
    api_read(reply, &answer);
    if (answer.outcome != API_OK) {
        bus_complain(task->bus, "a dead letter is not stored: %s; trying again%s", answer.text,
                     api_remedy(&answer));
        return true;
    }
    task->request = 0;
    task->end = TASK_DEAD;
    marks_reason(task->mark.starts, reason);
    complain("job %s of run %s: %s; its dead letter is stored", task->id.data, task->names.run,
             reason);
    publish_error(task, "workers_lost", reason, false);
    return false;
}

void task_bury(struct task *task)
{
    char subject[NAMES_SUBJECT_SIZE], reason[FAULT_MAX];
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    task_enter(task, TASK_BURYING);
    task_release_slot(task);
    marks_reason(task->mark.starts, reason);
    names_of_run(bus_fleet(task->bus), STREAM_DEAD, task->names.run, task->names.token, subject);
    _cleanup_json_ json_t *letter = json_pack(
        "{s:s,s:s%,s:s,s:s?,s:O}", "run", task->names.run, "id", task->id.data, task->id.length,
        "reason", reason, "digest", task->digest, "starts", task->mark.starts);
    if (letter && json_print(letter, &text) == 0)
        task->request =
            bus_request(task->bus, subject, NULL, text.data, text.length, on_buried, task);
}

/* --- running ------------------------------------------------------------------------------ */

/* Whether the daemon has dropped the tests of the job, which then gets them again. */
static bool lacks_tests(struct task *task, const struct message *message)
{
    return task->tests_ref && message->type == MESSAGE_ERROR &&
           strcmp(message_text(message, "code"), "tests_not_found") == 0 &&
           task->tests_lost++ < TESTS_LOST_MAX;
}

/* Hands back a job whose rubric can be had neither here nor from the fleet, or gives it up.
 * IS_LOCAL: another host may do better. */
static void do_without_bench(struct task *task, const char *why, bool is_local)
{
    char reason[FAULT_MAX];
    if (is_local)
        bus_complain(task->bus, "the rubric of %s cannot run here: %s; handing its jobs back",
                     task->bench.task_class, why);
    /* Deliveries would not do: a job is handed back for many other reasons. */
    if (task->mark.without_rubric + 1 < TASKBENCH_TRIES_MAX) {
        task->lacks_rubric = true;
        task->back = TASKBENCH_BACK;
        hand_back(task);
        return;
    }
    taskbench_reason(&task->bench, why, is_local ? task->worker : NULL, reason);
    publish_error(task, is_local ? "internal" : "rubric_not_found", reason, is_local);
}

static void on_bench(struct bench_wait *wait, const char *why, bool is_local)
{
    struct task *task = container_of(wait, struct task, bench.wait);
    if (why)
        do_without_bench(task, why, is_local);
    else
        fetch(task); /* finds it in the cache */
}

static void fetch_bench(struct task *task)
{
    task_enter(task, TASK_FETCHING);
    task->bench.wait.done = on_bench;
    taskbench_fetch(&task->bench);
}

/* Whether the job starved and is to run again, on another host if there is one. */
static bool is_to_run_again(const struct task *task, const struct message *message)
{
    return !task->keeps_starved && !task->is_cancelled && attempt_is_starved(message) &&
           json_array_size(task->mark.starved) + 1 < MARKS_STARVED_MAX;
}

static void starve(struct task *task)
{
    complain(
        "job %s of run %s got no CPU on this host; it runs again, on another one if one takes it",
        task->id.data, task->names.run);
    task_enter(task, TASK_STARVING);
    task_release_slot(task);
    taskmark_starve(task);
}

/* Hands the job back to daemons that confine it as its run wants it: this one was reloaded after
 * the job was asked for. */
static void leave_to_others(struct task *task, const char *isolation)
{
    bus_complain(task->bus,
                 "job %s of run %s ran with the isolation %.12s..., since the daemon was reloaded; "
                 "its run wants %.12s...: it is handed back, and its result dropped",
                 task->id.data, task->names.run, isolation, task->wanted);
    (void)lane_ask_status(task->lane); /* before more jobs are asked for */
    task->back = RELOADED_BACK;
    hand_back(task);
}

/* Returns the digest of the isolation of the daemon that gave the answer MESSAGE; NULL: it does not
 * say. A job that got the network had another one than the daemon's other jobs. */
static const char *isolation_of(const struct task *task, const struct message *message)
{
    const json_t *isolation = json_object_get(message->object, "isolation");
    const char *digest = json_string_value(json_object_get(isolation, "digest"));
    bool is_networked = digest && strcmp(digest, lane_networked_digest(task->lane)) == 0;
    return is_networked ? lane_digest(task->lane) : digest;
}

static void on_answered(struct lane_job *job, struct message *message)
{
    struct task *task = container_of(job, struct task, job);
    const char *isolation = isolation_of(task, message);
    const char *code = message->type == MESSAGE_ERROR ? message_text(message, "code") : "";
    char why[FAULT_MAX];
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    bool was_ended = strcmp(code, "cancelled") == 0 || strcmp(code, "draining") == 0;
    if (((task->is_cancelled || task->is_unwanted) && was_ended) || strcmp(code, "draining") == 0) {
        hand_back(task);
    } else if (isolation && !feeds_allow(task->wanted, isolation)) {
        leave_to_others(task, isolation);
    } else if (lacks_tests(task, message)) {
        fetch(task);
    } else if (taskbench_lacks(&task->bench, message)) {
        fetch_bench(task);
    } else if (taskbench_was_in_vain(&task->bench, message, why)) {
        do_without_bench(task, why, true);
    } else if (is_to_run_again(task, message)) {
        starve(task);
    } else if (taskresult_restore(message, task->job.id, &task->id, &text) == 0 &&
               taskresult_label(&text, task->worker, task->mark.starved, task->beside) == 0) {
        (void)snprintf(task->isolation, sizeof(task->isolation), "%s", isolation ? isolation : "");
        publish(task, &text, message->type == MESSAGE_ERROR);
    } else {
        task_settle(task, "-NAK", TASK_BACK); /* out of memory: it counts as a start */
    }
}

/* The daemon is gone, and this job may be why: the start stays on the mark. */
static void on_lost(struct lane_job *job)
{
    struct task *task = container_of(job, struct task, job);
    task_settle(task, "-NAK", TASK_BACK);
}

/* Tells whoever listens; nothing depends on it. */
static void on_started(struct lane_job *job)
{
    struct task *task = container_of(job, struct task, job);
    char subject[NAMES_SUBJECT_SIZE];
    (void)snprintf(subject, sizeof(subject), "%s.started.%s.%s", bus_fleet(task->bus),
                   task->names.run, task->names.token);
    (void)bus_publish(task->bus, subject, NULL, "", 0);
}

void task_run(struct task *task)
{
    char why[128];
    if (task->is_cancelled) {
        hand_back(task);
        return;
    }
    task_enter(task, TASK_RUNNING);
    task->job.started = on_started;
    task->job.answered = on_answered;
    task->job.lost = on_lost;
    task->job.tests = task->tests_ref ? &task->tests : NULL;
    int r = task->is_unwanted
                ? -ENOTCONN
                : lane_submit(task->lane, &task->job, task->body.data, task->body.length);
    if (r == -EMSGSIZE) {
        (void)snprintf(why, sizeof(why), "the job has %zu bytes; the daemon of %.40s takes %u",
                       task->body.length, task->worker, task->lane->session.max_frame);
        publish_error(task, "frame_too_large", why, false);
    } else if (r < 0) {
        hand_back(task); /* the daemon went away meanwhile: nothing has started */
    }
}

/* --- what it needs ------------------------------------------------------------------------ */

static void on_inputs(void *arg, struct bytes *text, const char *why)
{
    struct task *task = arg;
    task->blob = blob_free(task->blob);
    if (why) {
        /* The daemon would say the same of tests that it does not have. */
        publish_error(task, task->body.data ? "tests_not_found" : "internal", why, true);
        return;
    }
    if (!task->body.data)
        task->body = TAKE_STRUCT(*text, BYTES_NULL);
    else
        task->tests.text = TAKE_STRUCT(*text, BYTES_NULL);
    fetch(task);
}

/* Fetches what of the job is in the stream of inputs, and goes on. */
static void fetch(struct task *task)
{
    const char *ref = NULL;
    if (!task->body.data)
        ref = task->body_ref;
    else if (task->tests_ref && !task->tests.text.data &&
             !lane_has_tests(task->lane, task->tests.digest))
        ref = task->tests_ref;
    if (!ref && taskbench_use(&task->bench, &task->body) < 0) {
        task_settle(task, "-NAK", TASK_BACK); /* out of memory */
        return;
    }
    if (ref) {
        task_enter(task, TASK_FETCHING);
        task->blob = blob_down(task->bus, ref, on_inputs, task);
        if (!task->blob)
            publish_error(task, "internal", "the reference of an input is malformed", true);
    } else if (task->mark_seq > 0) {
        task_run(task); /* again, with its tests */
    } else {
        task_enter(task, TASK_MARKING);
        taskmark_start(task);
    }
}

static bool on_looked(void *arg, natsMsg *reply)
{
    struct task *task = arg;
    if (api_sequence(reply) == 0 && api_status(reply) != 404)
        return true;
    task->request = 0;
    if (api_sequence(reply) > 0)
        task_settle(task, "+ACK", TASK_KNOWN);
    else
        fetch(task);
    return false;
}

/* A job that was delivered before may have a result. */
static void look(struct task *task)
{
    char subject[NAMES_SUBJECT_SIZE], request[API_SUBJECT_SIZE];
    task_enter(task, TASK_LOOKING);
    names_of_run(bus_fleet(task->bus), STREAM_RESULTS, task->names.run, task->names.token, subject);
    api_direct_last(bus_fleet(task->bus), STREAM_RESULTS, subject, request, sizeof(request));
    task->request = bus_request(task->bus, request, NULL, "", 0, on_looked, task);
}

/* --- making and ending -------------------------------------------------------------------- */

static char *copy_header(natsMsg *message, const char *name)
{
    const char *value = api_header(message, name);
    return value ? strdup(value) : NULL;
}

static int take_message(struct task *task, struct benches *benches, natsMsg *message)
{
    task->subject = strdup(natsMsg_GetSubject(message));
    task->reply = strdup(natsMsg_GetReply(message));
    task->digest = copy_header(message, API_DIGEST);
    task->body_ref = copy_header(message, API_BODY);
    task->tests_ref = copy_header(message, API_TESTS);
    if (taskbench_init(&task->bench, benches, api_header(message, API_BENCH)) < 0)
        return -EINVAL;
    task->keeps_starved = api_header(message, API_STARVED) != NULL;
    if (!task->subject || !task->reply)
        return -ENOMEM;
    if (task->tests_ref)
        (void)snprintf(task->tests.digest, sizeof(task->tests.digest), "sha256:%.64s",
                       task->tests_ref);
    return task->body_ref ? 0
                          : bytes_copy(natsMsg_GetData(message),
                                       (size_t)natsMsg_GetDataLength(message), &task->body);
}

static void make_nonce(char ret[24])
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        number = (uint64_t)monotonic_ms() << 20 ^ (uint64_t)getpid();
    (void)snprintf(ret, 24, "%016" PRIx64, number);
}

struct task *task_new(struct bus *bus, struct lane *lane, const char *worker,
                      struct benches *benches, struct passes *passes, const struct feed *feed,
                      natsMsg *message, int64_t now)
{
    struct task *task = calloc(1, sizeof(*task));
    if (!task)
        return NULL;
    task->bus = bus;
    task->lane = lane;
    task->worker = worker;
    task->passes = passes;
    task->ack_wait_ms = feed->ack_wait_ms;
    task->progress_ms = now + task->ack_wait_ms / PROGRESS_PART;
    task->back = "-NAK";
    (void)snprintf(task->wanted, sizeof(task->wanted), "%s", feed->digest);
    task->bench.lock = -1;
    make_nonce(task->nonce);
    if (!api_read_delivery(natsMsg_GetReply(message), &task->delivery) ||
        !names_read_job(bus_fleet(bus), natsMsg_GetSubject(message), &task->names) ||
        names_id(task->names.token, &task->id) < 0 || take_message(task, benches, message) < 0)
        return task_free(task);
    lane->reserved++;
    task->holds_slot = true;
    if (task->delivery.delivered > 1)
        look(task);
    else
        fetch(task);
    return task;
}

struct task *task_free(struct task *task)
{
    if (!task)
        return NULL;
    bus_forget(task->bus, task->request);
    (void)blob_free(task->blob);
    bytes_deinit(&task->id);
    bytes_deinit(&task->body);
    bytes_deinit(&task->result);
    tests_deinit(&task->tests);
    taskbench_deinit(&task->bench);
    mark_deinit(&task->mark);
    free(task->subject);
    free(task->reply);
    free(task->digest);
    free(task->body_ref);
    free(task->tests_ref);
    free(task->result_ref);
    free(task);
    return NULL;
}

void task_give_back(struct task *task)
{
    task->is_unwanted = true;
    if (task->state == TASK_RUNNING)
        lane_cancel(task->lane, &task->job);
    else if (task->state == TASK_WAITING)
        hand_back(task);
}

void task_cancel(struct task *task)
{
    task->is_cancelled = true;
    if (task->state == TASK_RUNNING)
        lane_cancel(task->lane, &task->job);
    else if (task->state == TASK_WAITING)
        hand_back(task);
}

/* Whether it waits for nothing, because memory ran out where it was to ask for something. */
static bool is_stuck(const struct task *task)
{
    return task->request == 0 && !task->blob && !task->bench.wait.is_waiting &&
           task->state != TASK_RUNNING && task->state != TASK_WAITING && task->state != TASK_OVER;
}

/* Gives up settling: the run's consumer may be gone, so that nobody answers. If it is not, the
 * message comes again, and its result is known then. */
static void stop_settling(struct task *task)
{
    bus_forget(task->bus, task->request);
    task->request = 0;
    task_enter(task, TASK_OVER);
}

int64_t task_tick(struct task *task, int64_t now)
{
    static const char progress[] = "+WPI";
    if (task->state == TASK_SETTLING && now >= task->settle_ms)
        stop_settling(task);
    if (is_stuck(task)) {
        complain("out of memory: job %s of run %s is handed back", task->id.data, task->names.run);
        task_settle(task, "-NAK", TASK_BACK);
    }
    if (now >= task->progress_ms && task->state != TASK_OVER) {
        (void)bus_publish(task->bus, task->reply, NULL, progress, strlen(progress));
        task->progress_ms = now + task->ack_wait_ms / PROGRESS_PART;
    }
    return task->state == TASK_SETTLING ? MIN(task->progress_ms, task->settle_ms)
                                        : task->progress_ms;
}
