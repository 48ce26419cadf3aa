/* SPDX-License-Identifier: MIT */
#include "relieve.h"
#include "state.h"

#include "daemon/base/clock.h"
#include "daemon/net/conn.h"
#include "daemon/net/outgoing.h"

/* A client that has read nothing for so long is one that reads nothing. */
#define READS_NOTHING_MS 1000

/* Whether CONN, which is choked, has read nothing for a while. */
static bool reads_nothing(struct conn *conn, uint64_t now_ns)
{
    size_t unread = conn_unsent(conn);
    if (conn->seen_ns == 0 || conn->seen_unread != unread) {
        conn->seen_unread = unread;
        conn->seen_ns = now_ns;
    }
    return now_ns - conn->seen_ns >= READS_NOTHING_MS * NS_PER_MS;
}

/* Returns the one that leaves most unread, of those that read nothing. NULL: there is none, or it
 * leaves less than the mean: most of the memory is with clients that came a moment ago, and it
 * would be dropped in their place. */
static struct conn *find_deafest(const struct conn_list *list)
{
    uint64_t now_ns = clock_now_ns();
    size_t choked = 0, all_unread = 0;
    struct conn *conn, *found = NULL;
    TAILQ_FOREACH(conn, list, of_choked)
    {
        bool is_deaf = reads_nothing(conn, now_ns);
        choked++;
        all_unread += conn->seen_unread;
        if (is_deaf && (!found || conn->seen_unread > found->seen_unread))
            found = conn;
    }
    return found && found->seen_unread >= all_unread / choked ? found : NULL;
}

void relieve_memory(struct supervisor *supervisor)
{
    const struct conn_env *env = &supervisor->conn_env;
    struct conn *deaf;
    while (queue_is_overfull(&supervisor->queue) && !TAILQ_EMPTY(&env->choked))
        conn_dismiss_choked(TAILQ_FIRST(&env->choked), false);
    /* Each of many new clients may get one large result before it is known to read nothing. */
    while (env->unsent > 2 * outgoing_most(env->high_water) &&
           (deaf = find_deafest(&env->choked)) != NULL)
        conn_dismiss_choked(deaf, true);
}
