/* SPDX-License-Identifier: MIT */
#pragma once
/* What the parts of the bus share. */

#include "conf/optparse.h"

#include <nats/nats.h>
#include <stdbool.h>

#define BUS_FLEET_DEFAULT "rubricd"
#define BUS_SERVERS_MAX 32
#define BUS_SERVER_DEFAULT "nats://127.0.0.1:4222"

/* Where the server is, and what it is shown. */
struct bus_options {
    struct text_list servers;
    const char *fleet; /* NULL: BUS_FLEET_DEFAULT */
    const char *creds;
    const char *token_file;
    const char *user;
    const char *password_file;
    const char *ca;
    const char *cert;
    const char *key;
};

/* Takes REPLY, which is borrowed. Returns whether the request is to be sent again, after a short
 * while. */
typedef bool bus_reply(void *arg, natsMsg *reply);
