/* SPDX-License-Identifier: MIT */
#include "sessions.h"
#include "dispatch.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"

#include "proto/fair.h"

#include <inttypes.h>
#include <string.h>

static const char *const why_ended[SESSION_ENDS] = {
    [SESSION_CLOSED] = "the session was closed while the command ran",
    [SESSION_CLIENT_GONE] = "the client is gone",
    [SESSION_LEASE_OVER] = "the session's lease is over",
    [SESSION_IDLE] = "the session was idle for too long",
    [SESSION_DRAINED] = "the daemon stops",
    [SESSION_LOST] = "the session's jail is lost",
};

static struct session *find(const struct supervisor *supervisor, const struct conn *conn,
                            uint64_t number)
{
    struct session *session;
    TAILQ_FOREACH(session, &supervisor->sessions, link)
    if (session->number == number && session->conn == conn && session->state == SESSION_OPEN)
        return session;
    return NULL;
}

static void answer_not_found(struct conn *conn, const struct bytes *id, const char *path,
                             uint64_t number)
{
    char message[128];
    (void)snprintf(message, sizeof(message),
                   "%s: this connection has no session %" PRIu64 ", or it has ended", path, number);
    conn_send_error(conn, id, 0, ERROR_SESSION_ENDED, message);
}

/* --- the end ------------------------------------------------------------------------------ */

/* Ends the command: one that waits at once, one that runs when it is dead. */
static void end_command(struct supervisor *supervisor, struct session *session)
{
    struct job *job = session->job;
    bool is_draining = session->end == SESSION_DRAINED;
    if (!job)
        return;
    if (job->place == JOB_ON_SLOT) {
        if (is_draining)
            job_mark_draining(job);
        else
            job->session_over = why_ended[session->end];
        slot_cancel(job->slot, job);
    } else {
        queue_remove(&supervisor->queue, &job->entry);
        dispatch_answer_error(supervisor, job, is_draining ? ERROR_DRAINING : ERROR_SESSION_ENDED,
                              why_ended[session->end]);
    }
}

static void end(struct supervisor *supervisor, struct session *session, enum session_end why)
{
    if (session->state != SESSION_OPEN)
        return;
    session->end = why;
    session_enter(session, SESSION_ENDING);
    (void)event_del(session->timer);
    end_command(supervisor, session);
    event_active(supervisor->turn, 0, 0);
}

static void tell_end(struct supervisor *supervisor, const struct session *session)
{
    const struct reply_session reply = {
        .id = session->close_id.data ? &session->close_id : NULL,
        .number = session->number,
        .reason = session_end_name(session->end),
        .commands = session->commands,
        .age_ms = (clock_now_ns() - session->opened_ns) / NS_PER_MS,
    };
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    log_event(&supervisor->log, LOG_INFO, LOG_MESSAGE_SESSION_ENDED,
              "session %" PRIu64 " (uid %d, pid %d) has ended: %s, after %" PRIu64
              " commands and %" PRIu64 " ms",
              session->number, (int)session->peer.uid, (int)session->peer.pid, reply.reason,
              reply.commands, reply.age_ms);
    if (!session->conn)
        return;
    if (reply_session_closed(&reply, &payload) == 0)
        conn_send(session->conn, &payload);
    else
        conn_close(session->conn);
}

/* Whether the slot of an ending session may be stopped. A jail that was lost has left its files to
 * the next one, which empties the directory before it is up. */
static bool may_stop(const struct session *session)
{
    const struct slot *slot = session->slot;
    return !session->job && !slot_has_job(slot) && (slot_is_idle(slot) || slot_lacks_jail(slot));
}

void sessions_settle(struct supervisor *supervisor)
{
    struct session *session = TAILQ_FIRST(&supervisor->sessions), *next;
    for (; session; session = next) {
        next = TAILQ_NEXT(session, link);
        if (slot_has_lost_jail(session->slot))
            end(supervisor, session, SESSION_LOST);
        if (session->state == SESSION_ENDING && may_stop(session))
            pool_close_session(&supervisor->pool, session->slot);
        if (session->state != SESSION_ENDING || !slot_is_stopped(session->slot))
            continue;
        session_enter(session, SESSION_ENDED);
        TAILQ_REMOVE(&supervisor->sessions, session, link);
        supervisor->session_count--;
        stats_count_session_ended(&supervisor->stats, session->end);
        tell_end(supervisor, session);
        session_free(session);
    }
}

void sessions_orphan(struct supervisor *supervisor, struct conn *conn)
{
    struct session *session;
    TAILQ_FOREACH(session, &supervisor->sessions, link)
    if (session->conn == conn) {
        session->conn = NULL;
        end(supervisor, session, SESSION_CLIENT_GONE);
    }
}

void sessions_drain(struct supervisor *supervisor)
{
    struct session *session;
    TAILQ_FOREACH(session, &supervisor->sessions, link)
    end(supervisor, session, SESSION_DRAINED);
}

void sessions_close(struct supervisor *supervisor, struct conn *conn, struct request *request)
{
    struct session *session = find(supervisor, conn, request->session);
    if (!session) {
        answer_not_found(conn, &request->id, "session", request->session);
        return;
    }
    session->close_id = TAKE_STRUCT(request->id, BYTES_NULL);
    end(supervisor, session, SESSION_CLOSED);
}

/* --- the timer ---------------------------------------------------------------------------- */

static void on_due(evutil_socket_t fd, short what, void *userdata)
{
    struct supervisor *supervisor = userdata;
    uint64_t now_ns = clock_now_ns();
    struct session *session;
    (void)fd;
    (void)what;
    TAILQ_FOREACH(session, &supervisor->sessions, link)
    {
        enum session_end why;
        if (session_due_ms(session, now_ns, &why) == 0)
            end(supervisor, session, why);
        else
            session_arm(session);
    }
}

/* --- opening ------------------------------------------------------------------------------ */

/* Sessions that end may outlast the connections of their user. */
static unsigned count_of(const struct supervisor *supervisor, const struct user *user)
{
    unsigned count = 0;
    const struct session *session;
    TAILQ_FOREACH(session, &supervisor->sessions, link)
    count += session->peer.uid == user->uid && user_has_share(user, session->share);
    return count;
}

/* Says why CONN may open no session now, in TEXT; returns false then. */
static bool may_open(const struct supervisor *supervisor, const struct conn *conn, char *text,
                     size_t size)
{
    unsigned max = supervisor->settings->sessions, count = supervisor->session_count;
    unsigned free = max > count ? max - count : 0, own = count_of(supervisor, conn->user);
    if (fair_may_have_one(own, free))
        return true;
    (void)snprintf(text, size, "%u of %u sessions are open%s; close one, or try again later", count,
                   max, free > 0 ? ", and the rest is kept for other users" : "");
    return false;
}

/* Makes the session that REQUEST asks for; a negative errno on failure. */
static int make(struct supervisor *supervisor, struct conn *conn, struct request *request,
                struct session **ret)
{
    struct session *session = calloc(1, sizeof(*session));
    if (!session)
        return -ENOMEM;
    session->settings = settings_ref(supervisor->settings);
    session->conn = conn;
    session->peer = conn->peer;
    session->wish = TAKE_STRUCT(request->wish, (struct session_wish){.env = NULL});
    session->opened_ns = session->idle_since_ns = clock_now_ns();
    session->timer = event_new(supervisor->base, -1, 0, on_due, supervisor);
    session->share = conn->user->share ? strdup(conn->user->share) : NULL;
    bool has_all = session->timer && !session->share == !conn->user->share;
    int r = has_all ? pool_open_session(&supervisor->pool, session->settings->confinement,
                                        &session->slot)
                    : -ENOMEM;
    if (r < 0) {
        session_free(session);
        return r;
    }
    session->number = ++supervisor->last_session_no;
    TAILQ_INSERT_TAIL(&supervisor->sessions, session, link);
    supervisor->session_count++;
    *ret = session;
    return 0;
}

static void tell_opening(struct conn *conn, const struct session *session, const struct bytes *id)
{
    const struct reply_session reply = {
        .id = id,
        .number = session->number,
        .lease_ms = session->wish.lease_ms,
        .idle_ms = session->wish.idle_ms,
        .limits = &session->wish.limits,
        .isolation = &session->settings->isolation.of_jobs,
    };
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (reply_session_opened(&reply, &payload) == 0)
        conn_send(conn, &payload);
    else
        conn_close(conn);
}

void sessions_open(struct supervisor *supervisor, struct conn *conn, struct request *request)
{
    char text[160];
    struct session *session = NULL;
    if (state_refuses_jobs(supervisor)) {
        conn_send_error(conn, &request->id, 0, ERROR_DRAINING, "the daemon opens no new sessions");
        return;
    }
    if (!may_open(supervisor, conn, text, sizeof(text))) {
        conn_send_error(conn, &request->id, 0, ERROR_TOO_MANY_SESSIONS, text);
        return;
    }
    int r = make(supervisor, conn, request, &session);
    if (r < 0) {
        (void)snprintf(text, sizeof(text), "the session could not be opened: %s", strerror(-r));
        conn_send_error(conn, &request->id, 0, ERROR_INTERNAL, text);
        return;
    }
    session_arm(session);
    stats_count_session_opened(&supervisor->stats);
    log_event(&supervisor->log, LOG_INFO, LOG_MESSAGE_SESSION_OPENED,
              "session %" PRIu64 " is open (uid %d, pid %d): %u of %u", session->number,
              (int)session->peer.uid, (int)session->peer.pid, supervisor->session_count,
              supervisor->settings->sessions);
    tell_opening(conn, session, &request->id);
}

/* --- commands ----------------------------------------------------------------------------- */

struct session *sessions_find(struct supervisor *supervisor, struct conn *conn,
                              const struct bytes *id, const struct job_spec *spec)
{
    struct session *session = find(supervisor, conn, spec->session.number);
    if (!session)
        answer_not_found(conn, id, "job.session", spec->session.number);
    else if (session->job)
        conn_send_error(conn, id, 0, ERROR_SESSION_BUSY,
                        "job.session: a command of this session has not ended; one runs at a time");
    return session && !session->job ? session : NULL;
}
