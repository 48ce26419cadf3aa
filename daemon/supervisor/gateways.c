/* SPDX-License-Identifier: MIT */
#include "gateways.h"

#include "daemon/base/clock.h"
#include "daemon/net/peer.h"

#include <inttypes.h>
#include <stdio.h>

bool gateways_is_one(struct supervisor *supervisor, const struct ucred *peer)
{
    const struct string_list *names = &supervisor->settings->config.gateway_users;
    struct known_gateway *known = &supervisor->gateways[peer->uid % GATEWAYS_KNOWN];
    uint64_t now_ns = clock_now_ns();
    if (names->count == 0)
        return false;
    if (known->uid != peer->uid || known->generation != supervisor->settings->generation ||
        now_ns - known->asked_ns >= NS_PER_S)
        *known = (struct known_gateway){
            .uid = peer->uid,
            .generation = supervisor->settings->generation,
            .asked_ns = now_ns,
            .is_gateway = peer_is_one_of(peer, names->item, names->count),
        };
    return known->is_gateway;
}

/* Says in TEXT why CONN cannot be one of SHARE: R is what conn_join_share() has returned, or
 * -EPERM. */
static enum error_code explain(const struct conn *conn, int r, char *text, size_t size)
{
    const char *joined = conn->user->share, *quote = joined ? "\"" : "";
    switch (r) {
    case -EPERM:
        (void)snprintf(text, size, "share: uid %d is not among [daemon] gateway_users",
                       (int)conn->peer.uid);
        return ERROR_NOT_PERMITTED;
    case -EEXIST:
        (void)snprintf(text, size,
                       "share: this connection is for %s%s%s; use another one for each share",
                       quote, joined ? joined : "no share", quote);
        return ERROR_BAD_REQUEST;
    default:
        (void)snprintf(text, size, "out of memory");
        return ERROR_INTERNAL;
    }
}

/* A share must leave connections to others, as a user must, but names itself only when it is
 * connected already. False: CONN was turned away. */
static bool has_room(struct supervisor *supervisor, struct conn *conn, const char *share)
{
    size_t free = state_free_connections(supervisor);
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (users_admit_share(&supervisor->conn_env.users, conn->peer.uid, share, free))
        return true;
    stats_count_refused(&supervisor->stats);
    log_event(&supervisor->log, LOG_WARNING, LOG_MESSAGE_CLIENT_REFUSED,
              "client %" PRIu64 " refused (uid %d): its share has as many connections as it may; "
              "the rest is kept for others",
              conn->number, (int)conn->peer.uid);
    if (reply_bye("too_many_clients",
                  "too many clients of this share are connected; try again later", &payload) == 0)
        conn_send(conn, &payload);
    conn_close(conn);
    return false;
}

bool gateways_join(struct supervisor *supervisor, struct conn *conn, const struct request *request)
{
    const char *share = request->share;
    char why[256];
    if (request->type != REQUEST_SUBMIT && request->type != REQUEST_PUT &&
        request->type != REQUEST_SESSION_OPEN)
        return true;
    if (share && conn->may_share && !conn->has_joined && !has_room(supervisor, conn, share))
        return false;
    int r = share && !conn->may_share ? -EPERM : conn_join_share(conn, share);
    if (r == 0)
        return true;
    enum error_code code = explain(conn, r, why, sizeof(why));
    conn_send_error(conn, request->id.data ? &request->id : NULL, 0, code, why);
    return false;
}
