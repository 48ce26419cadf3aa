/* SPDX-License-Identifier: MIT */
#include "requests.h"
#include "dispatch.h"
#include "gateways.h"
#include "reload.h"
#include "rubrics.h"
#include "sessions.h"
#include "terminals.h"

#include "daemon/base/clock.h"
#include "daemon/kinds/kind.h"
#include "daemon/net/peer.h"
#include "daemon/observe/metrics.h"
#include "proto/frame.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#define ADMIN_GROUPS_MAX 32

/* --- small answers ------------------------------------------------------------------------- */

static bool is_admin(const struct supervisor *supervisor, const struct conn *conn)
{
    gid_t gids[ADMIN_GROUPS_MAX];
    const struct string_list *names = &supervisor->settings->config.admin_groups;
    size_t n = peer_resolve_groups(names->item, names->count, gids, ARRAY_SIZE(gids));
    return peer_is_admin(conn_fd(conn), &conn->peer, gids, n);
}

/* --- submit -------------------------------------------------------------------------------- */

/* Whether the job has to run on a slot to be answered. */
static bool is_run(const struct job_spec *spec)
{
    const struct kind_ops *kind = kind_ops_get(spec->kind);
    return !kind->is_run || kind->is_run(spec);
}

/* As the `settle` of kind_ops. */
static int settle(const struct conn *conn, struct job_spec *spec, const struct settings *settings,
                  struct fault *fault)
{
    const struct kind_ops *kind = kind_ops_get(spec->kind);
    if (spec->kind == JOB_RUBRIC)
        spec->rubric.user = user_number(conn->user);
    return kind->settle ? kind->settle(spec, &settings->kind_host, fault) : 1;
}

/* SESSION: whose command it is; NULL: it is none. */
static void admit(struct supervisor *supervisor, struct conn *conn, struct request *request,
                  size_t size, struct settings *settings, struct session *session)
{
    const struct job_client client = {conn, conn->number, conn->peer};
    if (session) {
        settings = session->settings;
        session_settle(session, request->job);
    }
    struct job *job = job_new(request, size, settings, supervisor->last_job_no + 1, &client);
    if (!job || job_set_add(&conn->jobs, job) < 0) {
        conn_send_error(conn, job ? &job->id : &request->id, 0, ERROR_INTERNAL, "out of memory");
        job_free(job);
        return;
    }
    supervisor->last_job_no++;
    if (session) {
        job->session = session;
        job->entry.wants_idle = true;
        session_begin(session, job);
    }
    if (job->spec->kind == JOB_SANDBOX && job->spec->sandbox.terminal.is_wanted)
        job->entry.wants_idle = true; /* somebody waits for it, and it lasts */
    stats_count_submitted(&supervisor->stats, job->spec->kind);
    if (is_run(job->spec)) {
        queue_push(&supervisor->queue, &conn->lane, &job->entry);
        job_enter(job, JOB_QUEUED, NULL);
        event_active(supervisor->turn, 0, 0);
    } else {
        dispatch_answer_sut(supervisor, job);
    }
}

/* Finds the tests that a job names instead of carrying them. Returns false if it was answered. */
static bool find_tests(struct conn *conn, const struct request *request)
{
    struct fault fault = FAULT_NULL;
    struct program_spec *program = &request->job->program;
    if (request->job->kind != JOB_PROGRAM || program->tests)
        return true;
    struct program_tests *tests = put_set_find(&conn->puts, program->digest);
    if (!tests) {
        fault_set(&fault,
                  "job.tests.put: this connection has put no tests %s, or they had to make "
                  "room for others: put them again",
                  program->digest);
        conn_send_error(conn, &request->id, 0, ERROR_TESTS_NOT_FOUND, fault.text);
        return false;
    }
    if (program_tests_check_call(tests, program->call != NULL, &fault) < 0) {
        conn_send_error(conn, &request->id, 0, ERROR_BAD_REQUEST, fault.text);
        return false;
    }
    program->tests = program_tests_ref(tests);
    return true;
}

/* Whether the daemon stops and takes no such job. Sessions may go on until the grace period is
 * over, as jobs that run may; what would have to wait for the queue may not. */
static bool refuses_job(const struct supervisor *supervisor, const struct conn *conn,
                        const struct job_spec *spec, size_t size)
{
    bool goes_on = spec->kind == JOB_SESSION && supervisor->phase < PHASE_KILLING &&
                   queue_has_room(&supervisor->queue, &conn->lane, size) == QUEUE_ROOM;
    return state_refuses_jobs(supervisor) && !goes_on;
}

static void handle_submit(struct supervisor *supervisor, struct conn *conn, struct request *request,
                          size_t size, struct settings *settings)
{
    /* The decoded job may be longer than the client's text of it. */
    size = MAX(size, job_spec_size(request->job));
    struct fault fault = FAULT_NULL;
    struct session *session = NULL;
    bool refuses = refuses_job(supervisor, conn, request->job, size);
    int settled = refuses ? 1 : settle(conn, request->job, settings, &fault);
    if (refuses) {
        stats_count_submitted(&supervisor->stats, request->job->kind);
        stats_count_error(&supervisor->stats, request->job->kind, ERROR_DRAINING, clock_now_ns());
        conn_send_error(conn, &request->id, 0, ERROR_DRAINING, "the daemon takes no new jobs");
    } else if (job_set_find(&conn->jobs, &request->id)) {
        conn_send_error(conn, &request->id, 0, ERROR_BAD_REQUEST,
                        "id: already in use by an unfinished job of this connection");
    } else if (!find_tests(conn, request) ||
               (request->job->kind == JOB_SESSION &&
                !(session = sessions_find(supervisor, conn, &request->id, request->job)))) {
        return;
    } else if (settled < 0) {
        stats_count_submitted(&supervisor->stats, request->job->kind);
        stats_count_error(&supervisor->stats, request->job->kind, ERROR_INTERNAL, clock_now_ns());
        conn_send_error(conn, &request->id, 0, ERROR_INTERNAL, fault.text);
    } else if (settled == 0 ||
               (is_run(request->job) &&
                queue_has_room(&supervisor->queue, &conn->lane, size) != QUEUE_ROOM)) {
        conn_park(conn, request, size, settings);
        rubrics_go_on(supervisor);
    } else {
        admit(supervisor, conn, request, size, settings, session);
    }
}

/* Whether nothing is being found out for the request of CONN, which waits. Only submits can wait
 * for that. */
static bool is_settled(const struct conn *conn)
{
    const struct parked_request *parked = &conn->parked;
    struct job_spec *spec = parked->request.job;
    const struct kind_ops *kind = spec ? kind_ops_get(spec->kind) : NULL;
    if (kind && kind->is_due && !kind->is_due(spec, &parked->settings->kind_host))
        return false;
    return !spec || settle(conn, spec, parked->settings, NULL) != 0;
}

bool requests_resume(struct supervisor *supervisor)
{
    const struct conn_list *parked = &supervisor->conn_env.parked;
    struct conn *conn = TAILQ_FIRST(parked), *next;
    uint64_t until_ns = clock_now_ns() + FRAME_BUDGET_MS * NS_PER_MS;
    bool is_full = false;
    for (; conn; conn = next) {
        bool refused = state_refuses_jobs(supervisor);
        if (!refused && clock_now_ns() >= until_ns)
            return false;
        enum queue_room room = queue_has_room(&supervisor->queue, &conn->lane, conn->parked.size);
        next = TAILQ_NEXT(conn, of_parked);
        /* The first in line gets the next room, but for that which is kept for each user. */
        if (room == QUEUE_ROOM && is_full && !queue_user_is_owed(&conn->lane))
            room = QUEUE_FULL;
        is_full |= room == QUEUE_FULL;
        if (room == QUEUE_ROOM && !refused && !is_settled(conn))
            continue; /* it keeps its place, but takes no room from those behind it */
        if (room != QUEUE_ROOM && !refused)
            continue;
        conn_unpark(conn); /* its next job may park it at the end of the list */
        if (next && !conn_is_parked(next))
            next = TAILQ_FIRST(parked); /* it ended meanwhile */
    }
    return true;
}

/* The oldest queued job of CONN, but for commands of sessions, and jobs that have begun, if it
 * SPARES them. */
static struct job *first_queued(const struct conn *conn, bool spares)
{
    struct job *job;
    TAILQ_FOREACH(job, &conn->jobs.list, of_conn)
    if (job->place == JOB_QUEUED && job->entry.lane &&
        !(spares && (job->session || job_is_between_turns(job))))
        return job;
    return NULL;
}

void requests_refuse_queued(struct supervisor *supervisor, bool spares, enum error_code code,
                            const char *message)
{
    struct conn *conn;
    TAILQ_FOREACH(conn, &supervisor->conns, of_supervisor)
    {
        struct job *job;
        while ((job = first_queued(conn, spares))) {
            queue_remove(&supervisor->queue, &job->entry);
            dispatch_answer_error(supervisor, job, code, message);
        }
    }
    (void)requests_resume(supervisor); /* a turn follows */
}

/* --- put ----------------------------------------------------------------------------------- */

/* Adds the tests of REQUEST, or a part of them, to those of CONN, and tells in STORED what there is
 * now. 0; or negative with *ret_code and FAULT. */
static int take_tests(struct conn *conn, struct request *request, const struct put_bounds *bounds,
                      struct reply_stored *stored, enum error_code *ret_code, struct fault *fault)
{
    const struct program_tests *kept;
    int r;
    if (request->parts == 0) {
        r = put_set_add(&conn->puts, request->digest, request->tests, bounds, ret_code, fault);
        if (r < 0)
            return r;
        request->tests = NULL;
        return 0;
    }
    const struct put_part part = {
        .digest = request->digest,
        .number = request->part,
        .count = request->parts,
        .tests = TAKE_PTR(request->tests),
        .text = &request->text,
    };
    r = put_set_add_part(&conn->puts, &part, bounds, &kept, ret_code, fault);
    if (r < 0)
        return r;
    stored->count = kept->count;
    stored->bytes = kept->size;
    return 0;
}

static void handle_put(struct supervisor *supervisor, struct conn *conn, struct request *request,
                       const struct settings *settings)
{
    const struct put_bounds bounds = {
        .per_client = settings->config.program_put_bytes_per_client,
        .total = settings->config.program_put_bytes,
        .used = &supervisor->put_bytes,
        .of_user = &conn->user->put,
    };
    struct reply_stored stored = {
        .id = &request->id,
        .digest = request->digest,
        .count = request->tests->count,
        .bytes = request->tests->size,
        .part = request->part,
        .parts = request->parts,
    };
    enum error_code code = ERROR_INTERNAL;
    struct fault fault = FAULT_NULL;
    const struct bytes *id = request->id.data ? &request->id : NULL;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (take_tests(conn, request, &bounds, &stored, &code, &fault) < 0)
        conn_send_error(conn, id, 0, code, fault.text);
    else if (reply_stored(&stored, &payload) == 0)
        conn_send(conn, &payload);
    else
        conn_send_error(conn, id, 0, ERROR_INTERNAL, "out of memory");
}

/* --- cancel -------------------------------------------------------------------------------- */

static struct job *find_by_number(const struct supervisor *supervisor, uint64_t number)
{
    struct conn *conn;
    struct job *job;
    TAILQ_FOREACH(conn, &supervisor->conns, of_supervisor)
    TAILQ_FOREACH(job, &conn->jobs.list, of_conn)
    if (job->number == number)
        return job;
    return NULL;
}

static void cancel(struct supervisor *supervisor, struct job *job)
{
    if (job->place == JOB_ON_SLOT) {
        slot_cancel(job->slot, job);
    } else {
        queue_remove(&supervisor->queue, &job->entry);
        dispatch_answer_error(supervisor, job, ERROR_CANCELLED,
                              job_is_between_turns(job)
                                  ? "cancelled while it waited for its next turn"
                                  : "cancelled while queued");
    }
}

static void cancel_by_number(struct supervisor *supervisor, struct conn *conn, uint64_t number)
{
    char message[128];
    struct job *job = find_by_number(supervisor, number);
    if (!job) {
        (void)snprintf(message, sizeof(message), "job_no: there is no unfinished job %" PRIu64,
                       number);
        conn_send_error(conn, NULL, number, ERROR_BAD_REQUEST, message);
    } else if (job->peer.uid != conn->peer.uid && !is_admin(supervisor, conn)) {
        (void)snprintf(message, sizeof(message),
                       "job %" PRIu64 " is another user's; cancelling it takes an administrator",
                       number);
        conn_send_error(conn, NULL, number, ERROR_DENIED, message);
    } else {
        if (job->conn != conn) {
            (void)snprintf(message, sizeof(message), "job %" PRIu64 " is cancelled", number);
            conn_send_error(conn, NULL, number, ERROR_CANCELLED, message);
        }
        cancel(supervisor, job);
    }
}

static void handle_cancel(struct supervisor *supervisor, struct conn *conn,
                          const struct request *request)
{
    if (!request->id.data) {
        cancel_by_number(supervisor, conn, request->job_no);
        return;
    }
    struct job *job = job_set_find(&conn->jobs, &request->id);
    if (job)
        cancel(supervisor, job);
    else
        conn_send_error(conn, &request->id, 0, ERROR_BAD_REQUEST,
                        "id: this connection has no such unfinished job");
}

/* --- the others ---------------------------------------------------------------------------- */

/* Sends what PRINT makes of the state of the daemon. */
static void send_view(struct supervisor *supervisor, struct conn *conn,
                      int (*print)(const struct status_view *view, struct bytes *ret))
{
    struct status_view view = state_view(supervisor);
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (print(&view, &payload) == 0)
        conn_send(conn, &payload);
    else
        conn_send_error(conn, NULL, 0, ERROR_INTERNAL, "out of memory");
}

static void handle_ping(struct conn *conn)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (reply_pong(&payload) == 0)
        conn_send(conn, &payload);
    else
        conn_send_error(conn, NULL, 0, ERROR_INTERNAL, "out of memory");
}

static void handle_drain(struct supervisor *supervisor, struct conn *conn)
{
    if (is_admin(supervisor, conn)) {
        /* Requests that this client has sent already are refused, before the drain itself. */
        if (!state_refuses_jobs(supervisor))
            state_enter(supervisor, PHASE_REFUSING);
        event_active(supervisor->drain, 0, 0);
        return;
    }
    conn_send_error(conn, NULL, 0, ERROR_DENIED, "draining the daemon takes an administrator");
}

static void handle_reload(struct supervisor *supervisor, struct conn *conn)
{
    if (!is_admin(supervisor, conn)) {
        conn_send_error(conn, NULL, 0, ERROR_DENIED, "reloading the daemon takes an administrator");
        return;
    }
    _cleanup_reload_ struct reload done = RELOAD_NULL;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    reload_configuration(supervisor, &done);
    if (done.is_done && reload_reply(supervisor, &done, &payload) == 0)
        conn_send(conn, &payload);
    else if (done.problem)
        conn_send_error(conn, NULL, 0, done.code, done.problem);
    else
        conn_send_error(conn, NULL, 0, ERROR_INTERNAL, "out of memory");
}

static void on_request(struct conn *conn, struct request *request, size_t size,
                       struct settings *settings, void *userdata)
{
    struct supervisor *supervisor = userdata;
    if (!gateways_join(supervisor, conn, request))
        return;
    switch (request->type) {
    case REQUEST_SUBMIT:
        handle_submit(supervisor, conn, request, size, settings);
        break;
    case REQUEST_CANCEL:
        handle_cancel(supervisor, conn, request);
        break;
    case REQUEST_PUT:
        handle_put(supervisor, conn, request, settings);
        break;
    case REQUEST_SESSION_OPEN:
        sessions_open(supervisor, conn, request);
        break;
    case REQUEST_SESSION_CLOSE:
        sessions_close(supervisor, conn, request);
        break;
    case REQUEST_INPUT:
        terminals_type(conn, request);
        break;
    case REQUEST_RESIZE:
        terminals_resize(conn, request);
        break;
    case REQUEST_STATUS:
        send_view(supervisor, conn, status_reply);
        break;
    case REQUEST_METRICS:
        send_view(supervisor, conn, metrics_reply);
        break;
    case REQUEST_PING:
        handle_ping(conn);
        break;
    case REQUEST_DRAIN:
        handle_drain(supervisor, conn);
        break;
    case REQUEST_RELOAD:
        handle_reload(supervisor, conn);
        break;
    }
}

/* --- connections come and go --------------------------------------------------------------- */

/* The client is gone. Drops its queued jobs; kills those on slots, which dispatch.c ends later. */
static void on_gone(struct conn *conn, void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct job *job;
    while ((job = TAILQ_FIRST(&conn->jobs.list))) {
        job_set_remove(&conn->jobs, job);
        job_orphan(job);
        if (job->place == JOB_ON_SLOT) {
            slot_cancel(job->slot, job);
            continue;
        }
        queue_remove(&supervisor->queue, &job->entry);
        if (job_is_between_turns(job)) {
            dispatch_answer_error(supervisor, job, ERROR_CANCELLED, "its client is gone");
        } else {
            stats_count_dropped(&supervisor->stats, job->spec->kind);
            job_enter(job, JOB_ENDED, NULL);
            job_free(job);
        }
    }
    sessions_orphan(supervisor, conn);
    put_set_deinit(&conn->puts);
    event_active(supervisor->turn, 0, 0);
}

/* What is read of a program's output would wait here for a client that does not read. */
static void pause_output(const struct conn *conn, bool is_paused)
{
    struct job *job;
    TAILQ_FOREACH(job, &conn->jobs.list, of_conn)
    if (job->place == JOB_ON_SLOT && job->spec->streams)
        slot_pause_output(job->slot, job, is_paused);
}

static void on_choked(struct conn *conn, bool choked, void *userdata)
{
    struct supervisor *supervisor = userdata;
    assert(queue_lane_is_held(&conn->lane) != choked);
    queue_hold(&supervisor->queue, &conn->lane, choked);
    conn->seen_ns = 0;
    conn->choked_ns = clock_now_ns();
    pause_output(conn, choked);
    /* A held lane makes room for others; a released one has jobs to dispatch. */
    event_active(supervisor->turn, 0, 0);
}

/* Its last words; it reads them if it reads on before the connection is closed for good. */
static void on_left_unread(struct conn *conn, void *userdata)
{
    struct supervisor *supervisor = userdata;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    size_t unread = conn_unsent(conn), jobs = job_set_size(&conn->jobs);
    stats_count_unread(&supervisor->stats, jobs);
    log_event(&supervisor->log, LOG_WARNING, LOG_MESSAGE_CLIENT_DISMISSED,
              "client %" PRIu64 " (uid %d, pid %d) is dismissed: it has left %zu bytes of replies "
              "unread for too long; its %zu unanswered jobs are cancelled",
              conn->number, (int)conn->peer.uid, (int)conn->peer.pid, unread, jobs);
    if (reply_bye("replies_unread", "too many replies were left unread for too long", &payload) ==
        0)
        conn_send(conn, &payload);
}

static void on_closed(struct conn *conn, void *userdata)
{
    struct supervisor *supervisor = userdata;
    state_remove_conn(supervisor, conn);
    conn_free(conn);
    event_active(supervisor->turn, 0, 0);
}

const struct conn_ops requests_conn_ops = {
    .request = on_request,
    .gone = on_gone,
    .choked = on_choked,
    .left_unread = on_left_unread,
    .closed = on_closed,
};

/* Says bye on FD (taken) in one try, without a connection object: a client too many must cost
 * nothing. */
static void refuse_client(int fd)
{
    _cleanup_close_ int taken = fd;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    uint8_t header[FRAME_HEADER_SIZE];
    if (reply_bye("too_many_clients", "too many clients are connected; try again later", &payload) <
        0)
        return;
    frame_write_header(header, (uint32_t)payload.length);
    (void)!send(taken, header, sizeof(header), MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE);
    (void)!send(taken, payload.data, payload.length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Says in the log why not. */
static bool may_connect(struct supervisor *supervisor, int fd)
{
    size_t count = supervisor->conn_count, free = state_free_connections(supervisor);
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t length = sizeof(peer);
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    if (users_admit(&supervisor->conn_env.users, peer.uid, free))
        return true;
    log_event(&supervisor->log, LOG_WARNING, LOG_MESSAGE_CLIENT_REFUSED,
              "client refused (uid %d): %zu are connected%s", (int)peer.uid, count,
              free > 0 ? ", and the rest is kept for other users" : "");
    return false;
}

void requests_accept(int fd, void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct conn *conn;
    struct reply_hello hello = {
        .version = supervisor->version,
        .limits = supervisor->settings->hello_limits,
        .isolation = supervisor->settings->isolation.summary,
        .interpreter = supervisor->settings->hello_interpreter,
    };
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;

    if (!may_connect(supervisor, fd)) {
        stats_count_refused(&supervisor->stats);
        refuse_client(fd);
        return;
    }
    int r = conn_new(&supervisor->conn_env, fd, supervisor->last_conn_no + 1, &conn);
    if (r < 0) {
        log_write(&supervisor->log, LOG_WARNING, "cannot serve a client: %s", strerror(-r));
        return;
    }
    supervisor->last_conn_no++;
    state_add_conn(supervisor, conn);
    hello.may_share = conn->may_share = gateways_is_one(supervisor, &conn->peer);
    if (reply_hello(&hello, &payload) == 0)
        conn_send(conn, &payload);
    else
        conn_close(conn);
    conn_start(conn);
}
