/* SPDX-License-Identifier: MIT */
#include "relieve.h"
#include "state.h"

#include "daemon/base/clock.h"
#include "daemon/net/conn.h"
#include "daemon/net/outgoing.h"

/* A client that has read nothing for so long is one that reads nothing. */
#define READS_NOTHING_MS 1000

/* Whether CONN, which is choked, has read nothing for a while. That it gets more is no reading. */
static bool reads_nothing(struct conn *conn, uint64_t now_ns)
{
    size_t unread = conn_unsent(conn);
    if (conn->seen_ns == 0 || unread < conn->seen_unread)
        conn->seen_ns = now_ns;
    conn->seen_unread = unread;
    return now_ns - conn->seen_ns >= READS_NOTHING_MS * NS_PER_MS;
}

/* Looks among the clients that read nothing for the one that leaves most unread. Returns it, or
 * NULL if all clients read. Stores in *RET_RECENT how much newcomers leave unread: clients that
 * cannot be known to read nothing yet. */
static struct conn *find_deafest(const struct conn_list *choked, size_t *ret_recent)
{
    uint64_t now_ns = clock_now_ns();
    struct conn *conn, *found = NULL;
    *ret_recent = 0;
    TAILQ_FOREACH(conn, choked, of_choked)
    {
        if (reads_nothing(conn, now_ns) && (!found || conn->seen_unread > found->seen_unread))
            found = conn;
        if (now_ns - conn->choked_ns < READS_NOTHING_MS * NS_PER_MS)
            *ret_recent += conn->seen_unread;
    }
    return found;
}

/* Returns the one to be dismissed; NULL: none. Each of many new clients may get one large result
 * before it is known to read nothing. Nobody else is dismissed for what these leave unread. */
static struct conn *find_surplus(const struct conn_env *env)
{
    size_t most = 2 * outgoing_most(env->high_water), recent;
    struct conn *deaf = env->unsent > most ? find_deafest(&env->choked, &recent) : NULL;
    return deaf && env->unsent - recent > most ? deaf : NULL;
}

void relieve_memory(struct supervisor *supervisor)
{
    const struct conn_env *env = &supervisor->conn_env;
    struct conn *deaf;
    while (queue_is_overfull(&supervisor->queue) && !TAILQ_EMPTY(&env->choked))
        conn_dismiss_choked(TAILQ_FIRST(&env->choked), false);
    while ((deaf = find_surplus(env)) != NULL)
        conn_dismiss_choked(deaf, true);
}
