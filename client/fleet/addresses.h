/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the addresses of NATS servers. Pure.
 *
 * A text is one server or a list of them with commas or white space between:
 * [nats://|tls://][USER:PASSWORD@|TOKEN@]HOST[:PORT]. User, password and token may be
 * percent-encoded, and have to be where they would divide the list. In a text with an @ every
 * server needs its scheme: what is left of a password that has divided the list would otherwise
 * pass for a host. No complaint shows what may be a part of a secret. */

#include "bustypes.h"

/* What the texts say, with strings of its own. */
struct addresses {
    char *urls[BUS_SERVERS_MAX]; /* "tls://HOST:PORT": without secrets, so that people may see it */
    size_t n;
    bool want_tls; /* of one of them at least */
    /* Decoded, as the servers are to get them. There is a user with a password, or a token, or
     * none of them. */
    char *user, *password, *token;
};

#define ADDRESSES_NULL \
    {                  \
        .n = 0,        \
    }

/* Reads N texts that WHAT has given ("NATS_URL"). -EINVAL or -ENOMEM with FAULT. */
int addresses_read(const char *what, const char *const *texts, size_t n, struct addresses *ret,
                   struct fault *fault);

void addresses_deinit(struct addresses *addresses);

/* Lists the servers for people: "nats://a:4222, nats://b:4222". */
void addresses_list(const struct addresses *addresses, char *out, size_t size);
