/* SPDX-License-Identifier: MIT */
/* The users of a gateway: which of them a connection is for. */
#include "conn.h"

#include <assert.h>

int conn_join_share(struct conn *conn, const char *share)
{
    if (conn->has_joined)
        return user_has_share(conn->user, share) ? 0 : -EEXIST;
    if (share) {
        struct user *user = users_join(&conn->env->users, conn->peer.uid, share);
        if (!user)
            return -ENOMEM;
        assert(queue_lane_count(&conn->lane) == 0 && !queue_lane_is_held(&conn->lane));
        assert(conn->puts.count == 0);
        queue_lane_init(&conn->lane, &user->queue);
        assert(!conn->turn.is_waiting);
        conn->turn.user = &user->frames;
        receive_share_move(&conn->receiving, user);
        conn->user->unsent -= conn->unsent;
        user->unsent += conn->unsent;
        (void)user_leave(conn->user);
        conn->user = user;
    }
    conn->has_joined = true;
    return 0;
}
