/* SPDX-License-Identifier: MIT */
#include "crowd.h"

#include "proto/fair.h"

#include <string.h>

void crowd_init(struct crowd *crowd, const struct gateway *gateway)
{
    *crowd = (struct crowd){
        .most = gateway->settings->connections,
        .strangers_per_address = gateway->settings->connections_per_address,
        .has_strangers = gateway->wants_token,
    };
    for (enum conn_place place = 0; place < CONN_PLACES; place++)
        TAILQ_INIT(&crowd->of[place]);
}

static void put(struct crowd *crowd, struct conn *conn, enum conn_place place)
{
    conn->place = place;
    TAILQ_INSERT_TAIL(&crowd->of[place], conn, link);
    crowd->count[place]++;
}

void crowd_remove(struct crowd *crowd, struct conn *conn)
{
    TAILQ_REMOVE(&crowd->of[conn->place], conn, link);
    crowd->count[conn->place]--;
}

static void put_out(struct crowd *crowd, struct conn *conn)
{
    crowd_remove(crowd, conn);
    put(crowd, conn, CONN_ENDING);
    conn_kill(conn);
}

/* Puts out the oldest stranger of the address of CONN if there are more than there may be. */
static void bound_address(struct crowd *crowd, const struct conn *conn)
{
    struct conn *each, *oldest = NULL;
    size_t n = 0;
    if (conn->address.family == AF_UNSPEC)
        return;
    TAILQ_FOREACH(each, &crowd->of[CONN_STRANGER], link)
    {
        if (each->address.family != conn->address.family ||
            memcmp(&each->address.of, &conn->address.of, sizeof(conn->address.of)) != 0)
            continue;
        oldest = oldest ? oldest : each;
        n++;
    }
    if (n > crowd->strangers_per_address)
        put_out(crowd, oldest);
}

void crowd_add(struct crowd *crowd, struct conn *conn)
{
    put(crowd, conn, crowd->has_strangers ? CONN_STRANGER : CONN_KNOWN);
    if (!crowd->has_strangers)
        return;
    bound_address(crowd, conn);
    struct conn *oldest = TAILQ_FIRST(&crowd->of[CONN_STRANGER]);
    if (crowd->count[CONN_STRANGER] + crowd->count[CONN_KNOWN] > crowd->most && oldest != conn)
        put_out(crowd, oldest);
}

bool crowd_recognise(struct crowd *crowd, struct conn *conn, const char *token)
{
    const struct conn *each;
    size_t has = 0, known = crowd->count[CONN_KNOWN] - (conn->place == CONN_KNOWN);
    size_t most = crowd->most - crowd->most / CROWD_STRANGERS_PART;
    if (conn->token == token || conn->place == CONN_ENDING)
        return true;
    TAILQ_FOREACH(each, &crowd->of[CONN_KNOWN], link)
    has += each->token == token;
    if (!fair_may_have(has, 1, most > known ? most - known : 0))
        return false;
    crowd_remove(crowd, conn);
    put(crowd, conn, CONN_KNOWN);
    conn->token = token;
    return true;
}
