/* SPDX-License-Identifier: MIT */
#include "relieve.h"
#include "state.h"

#include "daemon/base/clock.h"
#include "daemon/net/conn.h"
#include "daemon/net/outgoing.h"

#include <assert.h>

/* A client that has read next to nothing for so long is one that reads nothing. */
#define READS_NOTHING_MS 1000
#define READS_SOMETHING ((size_t)64 << 10)

/* The largest result, which each slot may add to what a client that reads has not read yet. */
#define RESULT_MAX ((size_t)24 << 20)

/* --- jobs that wait for clients which do not read --------------------------------------------- */

/* Looks for the user with most of what makes QUEUE overfull. Returns the one of that user's
 * connections that has most of it; of equal ones, the one that was choked first. */
static struct conn *find_fullest(const struct queue *queue, const struct conn_list *choked)
{
    struct conn *conn, *found = NULL;
    size_t most_of_user = 0, most = 0;
    TAILQ_FOREACH(conn, choked, of_choked)
    {
        size_t of_user = queue_held_of_user(queue, &conn->user->queue);
        size_t own = queue_held_of_lane(queue, &conn->lane);
        if (found && (of_user < most_of_user || (of_user == most_of_user && own <= most)))
            continue;
        found = conn;
        most_of_user = of_user;
        most = own;
    }
    return found;
}

/* --- replies that wait for them ------------------------------------------------------------- */

/* Whether CONN keeps replies because its client does not read. */
static bool is_left_unread(const struct conn *conn)
{
    return conn_is_served(conn) ? conn_is_choked(conn) : conn->state == CONN_FLUSHING;
}

/* Whether the client of CONN has read next to nothing for a while. That CONN gets more is no
 * reading. */
static bool reads_nothing(struct conn *conn, uint64_t now_ns)
{
    size_t unread = conn_unsent(conn);
    if (conn->seen_ns == 0 || unread + READS_SOMETHING <= conn->seen_unread) {
        conn->seen_ns = now_ns;
        conn->seen_unread = unread;
    }
    conn->seen_unread = MAX(conn->seen_unread, unread);
    return now_ns - conn->seen_ns >= READS_NOTHING_MS * NS_PER_MS;
}

/* Whether CONN is to be dropped before THAN: of the user who leaves most unread, the
 * one that leaves most. THAN may be NULL. */
static bool goes_before(const struct conn *conn, const struct conn *than)
{
    if (!than || conn->user->unsent != than->user->unsent)
        return !than || conn->user->unsent > than->user->unsent;
    return conn_unsent(conn) > conn_unsent(than);
}

/* Returns the one to be dropped; NULL: none. Each of many new clients may get one large result
 * before it is known to read nothing. Nobody else is dropped for what these leave unread, unless
 * it is so much that it does not matter who reads. */
static struct conn *find_surplus(const struct supervisor *supervisor)
{
    const struct conn_env *env = &supervisor->conn_env;
    size_t most = 2 * outgoing_most(env->high_water), recent = 0;
    uint64_t now_ns = clock_now_ns();
    struct conn *conn, *deaf = NULL, *largest = NULL;
    if (env->unsent <= most)
        return NULL;
    TAILQ_FOREACH(conn, &supervisor->conns, of_supervisor)
    {
        if (!is_left_unread(conn))
            continue;
        if (reads_nothing(conn, now_ns) && goes_before(conn, deaf))
            deaf = conn;
        if (goes_before(conn, largest))
            largest = conn;
        if (now_ns - conn->choked_ns < READS_NOTHING_MS * NS_PER_MS)
            recent += conn_unsent(conn);
    }
    if (deaf && env->unsent - recent > most)
        return deaf;
    return env->unsent > 2 * most + supervisor->settings->slots * RESULT_MAX ? largest : NULL;
}

void relieve_memory(struct supervisor *supervisor)
{
    const struct conn_list *choked = &supervisor->conn_env.choked;
    struct conn *conn;
    while (queue_is_overfull(&supervisor->queue) &&
           (conn = find_fullest(&supervisor->queue, choked)) != NULL)
        conn_dismiss_choked(conn);
    while ((conn = find_surplus(supervisor)) != NULL)
        conn_drop(conn);
}
