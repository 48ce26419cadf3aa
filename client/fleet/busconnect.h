/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes a connection of the NATS library from the options, and says in plain words why it fails. */

#include "bustypes.h"

/* The library calls these in threads of its own. */
struct busconnect_events {
    natsConnectionHandler lost, back, closed;
    natsErrHandler refused; /* the server refuses something, or messages are dropped */
};

/* Checks the addresses of the servers, without asking for any. -EINVAL or -ENOMEM with FAULT. */
int busconnect_check(const struct bus_options *options, struct fault *fault);

/* Connects, and reads the files of credentials. Fails as bus_open() does. */
int busconnect(const struct bus_options *options, const struct busconnect_events *events, void *arg,
               natsConnection **ret, struct fault *fault);
