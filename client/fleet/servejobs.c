/* SPDX-License-Identifier: MIT */
#include "servejobs.h"

#include "benchcache.h"
#include "feeds.h"
#include "hosts.h"
#include "serveanswer.h"

#include "client/terminal/text.h"
#include "proto/printer.h"
#include "rubricdir/manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <search.h>
#include <sha2.h>
#include <string.h>

/* Jobs of a user in the fleet's queue for each of its slots, and the least of them. */
#define WINDOW_PER_SLOT 2
#define WINDOW_MIN 16
#define FAILURES_MAX 10

/* --- finding jobs ------------------------------------------------------------------------- */

static int by_id(const void *left, const void *right)
{
    const struct served *a = left, *b = right;
    int order = memcmp(a->id.data, b->id.data, MIN(a->id.length, b->id.length));
    return order != 0 ? order : (a->id.length > b->id.length) - (a->id.length < b->id.length);
}

static int by_number(const void *left, const void *right)
{
    const struct served *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

struct served *servejobs_find_id(const struct guest *guest, const struct bytes *id)
{
    const struct served key = {.id = *id};
    void *const *node = tfind(&key, &guest->by_id, by_id);
    return node ? *node : NULL;
}

static struct served *find(const struct serve *serve, uint64_t number)
{
    const struct served key = {.number = number};
    void *const *node = tfind(&key, &serve->by_number, by_number);
    return node ? *node : NULL;
}

struct served *servejobs_find_number(const struct serve *serve, uint64_t number)
{
    struct served *served = find(serve, number);
    return served && served->guest ? served : NULL;
}

/* --- jobs come to an end ------------------------------------------------------------------ */

/* The client has been answered, or is gone. */
static void detach(struct served *served)
{
    struct guest *guest = served->guest;
    assert(guest);
    (void)tdelete(served, &guest->by_id, by_id);
    TAILQ_REMOVE(&guest->jobs, served, of_guest);
    guest->caller->unanswered--;
    served->guest = NULL;
}

/* Forgets an orphan. */
static void served_free(struct served *served)
{
    struct serve_run *run = served->run;
    struct serve *serve = run->serve;
    assert(!served->guest);
    if (served->entry.lane) {
        turns_remove(&run->turns, &served->entry);
        serve->n_waiting--;
    }
    if (served->job) {
        TAILQ_REMOVE(&run->sent, served, of_run);
        run->n_sent--;
    }
    (void)tdelete(served, &serve->by_number, by_number);
    run->n_jobs--;
    serve->bytes -= served->size;
    (void)runjob_free(served->job);
    bytes_deinit(&served->id);
    bytes_deinit(&served->body);
    free(served->tests_ref);
    free(served->bench);
    free(served);
}

/* The job's client wants nothing more of it: takes it back. */
static void abandon(struct served *served)
{
    detach(served);
    if (!served->job)
        served_free(served);
    else
        runjob_withdraw(served->job); /* on_failed() forgets it, at once or later */
}

/* Keeps it among the last failures. */
static void note_failure(struct serve *serve, const struct served *served, const char *what)
{
    json_t *failure =
        json_pack("{s:I,s:s%,s:s,s:s,s:s,s:I}", "job_no", (json_int_t)served->number, "id",
                  served->id.data, served->id.length, "kind", job_kind_name(served->kind), "label",
                  served->label, "what", what, "at_ms", (json_int_t)monotonic_ms());
    if (!failure || json_array_insert_new(serve->failures, 0, failure) < 0)
        return;
    while (json_array_size(serve->failures) > FAILURES_MAX)
        (void)json_array_remove(serve->failures, FAILURES_MAX);
}

void servejobs_fail(struct served *served, enum error_code code, const char *message)
{
    struct caller *caller = served->guest->caller;
    note_failure(served->run->serve, served, error_code_name(code));
    detach(served);
    caller_send_error(caller, &served->id, served->number, code, message);
    if (!served->job)
        served_free(served);
    else
        runjob_withdraw(served->job); /* on_failed() forgets it, at once or later */
    caller_settle(caller);
}

/* The fleet has nothing more of SERVED: it is forgotten, and the next one has its place. */
static void end(struct served *served)
{
    struct serve_run *run = served->run;
    served_free(served);
    servejobs_feed(run);
    servejobs_unpark(run->serve);
}

/* Answers SERVED, which has a client, with an error that comes from the fleet. */
static void pass_error(struct served *served, enum error_code code, const char *why)
{
    struct caller *caller = served->guest->caller;
    note_failure(served->run->serve, served, error_code_name(code));
    detach(served);
    caller_send_error(caller, &served->id, served->number, code, why);
    caller_settle(caller);
}

static void pass_answer(struct served *served, struct bytes *take_answer)
{
    struct caller *caller = served->guest->caller;
    _cleanup_json_ json_t *owner = NULL;
    const char *what = serveanswer_failure(take_answer, &owner);
    if (what)
        note_failure(served->run->serve, served, what);
    detach(served);
    caller_send(caller, take_answer);
    caller_settle(caller);
}

static void on_answered(struct runjob *job, struct bytes *text)
{
    struct served *served = job->arg;
    _cleanup_bytes_ struct bytes answer = BYTES_NULL;
    int r = served->guest ? serveanswer_restore(text, served->number, &served->id, &answer) : 0;
    if (served->guest && r == 0)
        pass_answer(served, &answer);
    else if (served->guest)
        pass_error(served, ERROR_INTERNAL,
                   r == -ENOMEM ? "out of memory" : "the answer of the fleet cannot be read");
    end(served);
}

static void on_failed(struct runjob *job, const char *code, const char *why)
{
    struct served *served = job->arg;
    bool is_of_client = strcmp(code, error_code_name(ERROR_BAD_REQUEST)) == 0;
    if (served->guest)
        pass_error(served, is_of_client ? ERROR_BAD_REQUEST : ERROR_INTERNAL, why);
    end(served);
}

/* No result of a new run is ever there before. */
static void on_cleared(_unused_ struct runjob *job)
{
}

static const struct runjob_ops job_ops = {on_answered, on_failed, on_cleared};

/* --- into the fleet ----------------------------------------------------------------------- */

static size_t window_of(const struct serve *serve)
{
    return MAX((size_t)MAX(serve->slots, INT64_C(0)) * WINDOW_PER_SLOT, (size_t)WINDOW_MIN);
}

/* Makes what goes into the queue. NULL when memory runs out. */
static struct runjob *make_job(struct served *served, int64_t priority)
{
    char fleet_id[SERVEANSWER_ID_SIZE];
    struct runjob *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->bus = served->run->serve->bus;
    job->run = served->run->run.name;
    job->isolation = served->run->run.digest;
    job->ops = &job_ops;
    job->arg = served;
    job->priority = priority;
    job->job_no = served->number;
    job->body = TAKE_STRUCT(served->body, BYTES_NULL);
    job->tests_ref = TAKE_PTR(served->tests_ref);
    (void)snprintf(job->bench, sizeof(job->bench), "%s", served->bench ? served->bench : "");
    names_token(fleet_id, serveanswer_fleet_id(served->number, &served->id, fleet_id), job->token);
    (void)SHA256Data((const uint8_t *)job->body.data, job->body.length, job->digest);
    return job;
}

static void send_job(struct served *served)
{
    struct serve_run *run = served->run;
    int64_t priority = served->entry.priority;
    served->job = make_job(served, priority);
    if (!served->job) {
        servejobs_fail(served, ERROR_INTERNAL, "out of memory");
        return;
    }
    served->sent_ms = monotonic_ms();
    TAILQ_INSERT_TAIL(&run->sent, served, of_run);
    run->n_sent++;
    userrun_want(&run->run, priority);
    runjob_begin(served->job);
}

void servejobs_feed(struct serve_run *run)
{
    struct turn_entry *entry;
    while (run->run.is_ready && run->n_sent < window_of(run->serve) &&
           (entry = turns_next(&run->turns)) != NULL) {
        run->serve->n_waiting--;
        send_job(container_of(entry, struct served, entry));
    }
}

/* --- runs --------------------------------------------------------------------------------- */

static void on_run_ready(void *arg)
{
    servejobs_feed(arg);
}

static void on_run_result(void *arg, const char *token, natsMsg *message, uint64_t seq)
{
    struct serve_run *run = arg;
    struct served *served = find(run->serve, serveanswer_number(token));
    /* A second result of a job finds the job gone. */
    if (served && served->job && served->run == run)
        (void)runjob_take(served->job, message, seq);
}

static void on_run_started(void *arg, const char *token)
{
    struct serve_run *run = arg;
    struct served *served = find(run->serve, serveanswer_number(token));
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (!served || served->run != run || !served->guest || served->is_started)
        return;
    served->is_started = true;
    if (reply_started(&served->id, served->number, 0, &payload) == 0)
        caller_send(served->guest->caller, &payload);
}

static void on_run_lost(void *arg)
{
    struct serve_run *run = arg;
    complain("run %s: the NATS server has lost results that were there; looking for the answers of "
             "the jobs under way",
             run->run.name);
    run->lost_end = true;
    run->again_ms = monotonic_ms();
}

static const struct userrun_ops run_ops = {on_run_ready, on_run_result, on_run_started,
                                           on_run_lost};

static struct serve_run *make_run(struct serve *serve, uid_t uid, const char *digest)
{
    char name[NAMES_RUN_MAX + 1];
    struct serve_run *run = calloc(1, sizeof(*run));
    if (!run)
        return NULL;
    run->serve = serve;
    run->uid = uid;
    run->homeless_ms = run->again_ms = INT64_MAX;
    run->epoch = bus_epoch(serve->bus);
    turns_init(&run->turns);
    TAILQ_INIT(&run->sent);
    (void)snprintf(name, sizeof(name), NAMES_SERVE_HEAD "%s-%s-%u-%u", serve->options.name,
                   serve->instance, (unsigned)uid, ++serve->n_runs);
    LIST_INSERT_HEAD(&serve->runs, run, link); /* the bus may know it from now on */
    if (userrun_init(&run->run, serve->bus, name, digest, serve->options.ack_wait_s, &run_ops,
                     run) < 0) {
        complain("cannot begin the run %s: out of memory", name);
        return NULL;
    }
    return run;
}

/* Returns the run of the guest's user, or NULL. */
static struct serve_run *find_run(const struct guest *guest)
{
    struct serve_run *run = guest->run;
    if (run)
        return run;
    LIST_FOREACH(run, &guest->serve->runs, link)
    if (run->uid == guest->user->uid && strcmp(run->run.digest, guest->digest) == 0)
        break;
    return run;
}

/* Returns it, which is made if there is none; NULL: memory ran out. */
static struct serve_run *run_of(struct guest *guest)
{
    struct serve_run *run = find_run(guest);
    guest->run = run ? run : make_run(guest->serve, guest->user->uid, guest->digest);
    return guest->run;
}

/* --- from clients ------------------------------------------------------------------------- */

bool servejobs_is_hopeless(const struct serve *serve, int64_t now)
{
    return *serve->trouble && now >= serve->trouble_ms + serve->options.patience_ms;
}

static bool has_room(const struct guest *guest, size_t size)
{
    const struct serve *serve = guest->serve;
    const struct serve_run *run = find_run(guest);
    bool is_alone = !run || run->n_jobs == 0; /* each user may always have one job */
    return guest->lane.n < guest->jobs_max &&
           (is_alone ||
            (serve->n_waiting < SERVEJOBS_MAX && serve->bytes + size <= SERVEJOBS_BYTES_MAX));
}

void servejobs_unpark(struct serve *serve)
{
    if (!TAILQ_EMPTY(&serve->callers.parked))
        event_active(serve->unpark, 0, 0);
}

void servejobs_on_unpark(_unused_ evutil_socket_t fd, _unused_ short what, void *serve_)
{
    struct serve *serve = serve_;
    struct caller *caller, *next;
    for (caller = TAILQ_FIRST(&serve->callers.parked); caller; caller = next) {
        const struct guest *guest = caller->of_owner;
        next = TAILQ_NEXT(caller, of_parked);
        bool is_refused = serve->is_draining || servejobs_is_hopeless(serve, monotonic_ms());
        if (caller->owed >= SERVEJOBS_OWED_MAX ||
            (!is_refused && !has_room(guest, caller->parked_size)))
            continue;
        caller_resume(caller); /* which may park it at the end of the list */
        if (next && !next->is_parked)
            next = TAILQ_FIRST(&serve->callers.parked); /* it ended meanwhile */
    }
}

/* Writes what a job runs: one line for people. */
static void describe(enum job_kind_id kind, const json_t *fields, char *ret, size_t size)
{
    static const char *const names[] = {"task_class", "entry_point", "language", "runner"};
    const char *text = json_string_value(json_array_get(json_object_get(fields, "argv"), 0));
    for (size_t i = 0; !text && i < ARRAY_SIZE(names); i++)
        text = json_string_value(json_object_get(fields, names[i]));
    if (!text || !*text)
        text = job_kind_name(kind);
    struct fault whole = FAULT_NULL; /* cuts at a whole character */
    (void)fault_set(&whole, "%s", text);
    size_t n = MIN(strlen(whole.text), size - 1);
    while (n > 0 && n < strlen(whole.text) && ((unsigned char)whole.text[n] & 0xC0) == 0x80)
        n--;
    (void)snprintf(ret, size, "%.*s", (int)n, whole.text);
}

/* Has a host that lacks the rubric fetch it from the fleet, if the client says which one it wants.
 * Benches are not read here: whose files they are, serve cannot know. Returns false if memory runs
 * out. */
static bool name_bench(enum job_kind_id kind, const json_t *fields, char **ret)
{
    const char *digest = json_string_value(json_object_get(fields, "rubric_digest"));
    const char *task_class = json_string_value(json_object_get(fields, "task_class"));
    if (kind != JOB_RUBRIC || !digest || !task_class || !manifest_is_digest(digest) ||
        !benchcache_is_task_class(task_class))
        return true; /* what is wrong with it the daemon says */
    if (asprintf(ret, "%s %s", digest, task_class) >= 0)
        return true;
    *ret = NULL;
    return false;
}

static struct served *make_served(struct guest *guest, const struct bytes *id,
                                  enum job_kind_id kind, const json_t *fields, const char *ref)
{
    struct served *served = calloc(1, sizeof(*served));
    if (!served)
        return NULL;
    served->kind = kind;
    served->number = guest->serve->last_no + 1;
    describe(kind, fields, served->label, sizeof(served->label));
    if (bytes_copy(id->data, id->length, &served->id) == 0 &&
        json_print(fields, &served->body) == 0 && (!ref || (served->tests_ref = strdup(ref))) &&
        name_bench(kind, fields, &served->bench) && tsearch(served, &guest->by_id, by_id)) {
        if (tsearch(served, &guest->serve->by_number, by_number))
            return served;
        (void)tdelete(served, &guest->by_id, by_id);
    }
    bytes_deinit(&served->id);
    bytes_deinit(&served->body);
    free(served->tests_ref);
    free(served->bench);
    free(served);
    return NULL;
}

static int64_t priority_of(const json_t *fields)
{
    int64_t priority = json_integer_value(json_object_get(fields, "priority"));
    return MIN(MAX(priority, (int64_t)NAMES_PRIORITY_MIN), (int64_t)NAMES_PRIORITY_MAX);
}

/* Makes the job and has it wait for its turn. */
static void admit(struct guest *guest, const struct bytes *id, enum job_kind_id kind,
                  const json_t *fields, size_t size, const char *ref)
{
    struct serve *serve = guest->serve;
    struct serve_run *run = run_of(guest);
    struct served *served = run ? make_served(guest, id, kind, fields, ref) : NULL;
    if (!served) {
        caller_send_error(guest->caller, id, 0, ERROR_INTERNAL, "out of memory");
        return;
    }
    serve->last_no++;
    serve->submitted++;
    served->run = run;
    served->guest = guest;
    served->size = MAX(size, served->body.length);
    TAILQ_INSERT_TAIL(&guest->jobs, served, of_guest);
    guest->caller->unanswered++;
    serve->bytes += served->size;
    serve->n_waiting++;
    run->n_jobs++;
    turns_push(&run->turns, &guest->lane, &served->entry, priority_of(fields));
    servejobs_feed(run);
}

bool servejobs_submit(struct guest *guest, const struct bytes *id, enum job_kind_id kind,
                      const json_t *fields, size_t size)
{
    struct serve *serve = guest->serve;
    struct caller *caller = guest->caller;
    const char *put = json_string_value(json_object_get(json_object_get(fields, "tests"), "put"));
    const char *ref = put && guest->puts ? serveputs_ref(guest->puts, put) : NULL;
    struct fault fault = FAULT_NULL;
    if (serve->is_draining) {
        caller_send_error(caller, id, 0, ERROR_DRAINING, "fleet serve takes no new jobs");
    } else if (servejobs_find_id(guest, id)) {
        caller_send_error(caller, id, 0, ERROR_BAD_REQUEST,
                          "id: already in use by an unfinished job of this connection");
    } else if (servejobs_is_hopeless(serve, monotonic_ms())) {
        caller_send_error(caller, id, 0, ERROR_INTERNAL, serve->trouble);
    } else if (put && !ref) {
        (void)fault_set(&fault,
                        "job.tests.put: this connection has put no tests %s, or they had to make "
                        "room for others: put them again",
                        put);
        caller_send_error(caller, id, 0, ERROR_TESTS_NOT_FOUND, fault.text);
    } else if (!has_room(guest, size)) {
        caller->parked_size = size;
        return false;
    } else {
        admit(guest, id, kind, fields, size, ref);
    }
    return true;
}

struct guest *servejobs_guest_new(struct serve *serve, struct serve_user *user)
{
    struct guest *guest = calloc(1, sizeof(*guest));
    if (!guest)
        return NULL;
    guest->serve = serve;
    guest->user = user;
    turn_lane_init(&guest->lane);
    TAILQ_INIT(&guest->jobs);
    return guest;
}

void servejobs_drop_guest(struct guest *guest)
{
    struct served *served;
    while ((served = TAILQ_FIRST(&guest->jobs)) != NULL)
        abandon(served);
    if (guest->run)
        servejobs_feed(guest->run);
}

void servejobs_guest_free(struct guest *guest)
{
    guest->puts = serveputs_free(guest->puts);
    free(guest);
}

/* --- the end ------------------------------------------------------------------------------ */

size_t servejobs_count(const struct serve *serve)
{
    const struct caller *caller;
    size_t n = 0;
    TAILQ_FOREACH(caller, &serve->callers.list, of_list)
    n += caller->unanswered;
    return n;
}

void servejobs_deinit(struct serve *serve)
{
    struct serve_run *run;
    while ((run = LIST_FIRST(&serve->runs)) != NULL) {
        struct served *served;
        while ((served = TAILQ_FIRST(&run->sent)) != NULL)
            served_free(served);
        userrun_deinit(&run->run);
        LIST_REMOVE(run, link);
        free(run);
    }
}
