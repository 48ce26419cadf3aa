/* SPDX-License-Identifier: MIT */
#pragma once
/* The requests about a consumer at the NATS server, from which workers pull the jobs of a run with
 * one priority. Both fronts of a fleet make them: that of a batch and `fleet serve`. Nothing here
 * blocks. */

#include "bus.h"
#include "names.h"

#include <jansson.h>

/* Sends the request WHAT ("CONSUMER.INFO", ...), without a body. As bus_request(). */
uint64_t consumer_ask(struct bus *bus, const char *run, int64_t priority, const char *what,
                      bus_reply *reply, void *arg);

/* Has the server make the consumer, for daemons whose isolation is DIGEST; one that is there stays
 * as it is. As bus_request(). */
uint64_t consumer_create(struct bus *bus, const char *run, int64_t priority, const char *digest,
                         int64_t ack_wait_s, bus_reply *reply, void *arg);

/* Returns what the server says of a consumer, to be released; NULL if it is no JSON. */
json_t *consumer_read(natsMsg *reply);

/* Whether the server says in REPLY, to "CONSUMER.INFO", that there is no such consumer, which
 * somebody has deleted then; says so. */
bool consumer_is_gone(natsMsg *reply, const char *run, int64_t priority);

/* How often in a row a consumer had nothing to deliver although jobs of it wait. */
struct consumer_stall {
    unsigned looks;
};

/* Takes REPLY, to "CONSUMER.INFO". WAITS: jobs that the queue took a minute ago or earlier have no
 * answer. If the consumer nevertheless has nothing to deliver, twice in a row, has another server
 * lead it, and says so: after a server has lost its disk its copy of the queue may lag for good
 * (seen with nats-server 2.9), and a consumer that this server leads delivers none of what lacks.
 */
void consumer_look(struct consumer_stall *stall, struct bus *bus, const char *run, int64_t priority,
                   natsMsg *reply, bool waits);

/* Has the workers look at the list of consumers. */
void consumer_wake_workers(struct bus *bus);
