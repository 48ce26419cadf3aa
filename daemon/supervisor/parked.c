/* SPDX-License-Identifier: MIT */
#include "parked.h"

#include "daemon/base/clock.h"
#include "daemon/kinds/kind.h"

/* How long the daemon looks at what requests wait for before it serves others, and how often for
 * one user. */
#define LOOKS_NS UINT64_C(5000000)
#define LOOKS_MAX 8
/* When it looks again, if none of those that it has looked at could go on. */
static const struct timeval later = {.tv_usec = 100000};

int parked_settle(const struct conn *conn, const struct job_spec *spec,
                  const struct settings *settings, struct fault *fault)
{
    const struct kind_ops *kind = kind_ops_get(spec->kind);
    return kind->settle ? kind->settle(spec, &settings->kind_host, conn->user, fault) : 1;
}

/* One pass through the requests that wait. */
struct pass {
    bool is_full;      /* one waits for room in the queue */
    bool has_admitted; /* one has gone on */
    bool has_skipped;  /* one has not been looked at */
};

/* Begins a round of looks. */
static void on_look_again(evutil_socket_t fd, short what, void *userdata)
{
    struct supervisor *supervisor = userdata;
    (void)fd;
    (void)what;
    parked_look_again(supervisor);
}

void parked_look_again(struct supervisor *supervisor)
{
    supervisor->looks = (struct looks_round){.number = supervisor->looks.number + 1};
    event_active(supervisor->turn, 0, 0);
}

/* Whether a look may be taken at what CONN's request waits for, which may take milliseconds: each
 * user has one in a round, and more of them as long as the round is short. */
static bool may_look(struct supervisor *supervisor, struct conn *conn)
{
    struct looks_round *round = &supervisor->looks;
    struct user *user = conn->user;
    uint64_t now_ns = clock_now_ns();
    if (round->began_ns == 0)
        round->began_ns = now_ns;
    if (user->looked_in != round->number) {
        user->looked_in = round->number;
        user->looks = 0;
    }
    if (user->looks > 0 && (user->looks == LOOKS_MAX || now_ns > round->began_ns + LOOKS_NS))
        return false;
    user->looks++;
    return true;
}

/* Whether nothing is being found out for the request with which CONN waits. Only submits can wait
 * for that. */
static bool is_settled(struct supervisor *supervisor, struct conn *conn, struct pass *pass)
{
    const struct parked_request *parked = &conn->parked;
    if (!parked->request.job)
        return true;
    if (!may_look(supervisor, conn)) {
        pass->has_skipped = true;
        return false;
    }
    return parked_settle(conn, parked->request.job, parked->settings, NULL) != 0;
}

/* Whether the request with which CONN waits can go on. */
static bool may_go_on(struct supervisor *supervisor, struct conn *conn, struct pass *pass)
{
    enum queue_room room = queue_has_room(&supervisor->queue, &conn->lane, conn->parked.size);
    /* The first in line gets the next room, but for that which is kept for each user. */
    if (room == QUEUE_ROOM && pass->is_full && !queue_user_is_owed(&conn->lane))
        room = QUEUE_FULL;
    pass->is_full |= room == QUEUE_FULL;
    if (state_refuses_jobs(supervisor))
        return true;
    /* One that is not settled keeps its place, but takes no room from those behind it. */
    return room == QUEUE_ROOM && is_settled(supervisor, conn, pass);
}

void parked_resume(struct supervisor *supervisor)
{
    const struct conn_list *parked = &supervisor->conn_env.parked;
    struct conn *conn = TAILQ_FIRST(parked), *next;
    struct pass pass = {.is_full = false};
    for (; conn; conn = next) {
        next = TAILQ_NEXT(conn, of_parked);
        if (!may_go_on(supervisor, conn, &pass))
            continue;
        pass.has_admitted = true;
        conn_unpark(conn); /* its next job may park it at the end of the list */
        if (next && !conn_is_parked(next))
            next = TAILQ_FIRST(parked); /* it ended meanwhile */
    }
    supervisor->looks.has_admitted |= pass.has_admitted;
    if (!pass.has_skipped ||
        (supervisor->look_again && event_pending(supervisor->look_again, EV_TIMEOUT, NULL)))
        return;
    /* A turn that follows a turn comes before all else; a timer lets others be served first. */
    if (!supervisor->look_again)
        supervisor->look_again = event_new(supervisor->base, -1, 0, on_look_again, supervisor);
    if (supervisor->look_again)
        (void)event_add(supervisor->look_again,
                        supervisor->looks.has_admitted ? &(struct timeval){0} : &later);
}
