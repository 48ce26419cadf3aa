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

/* Whether INFO, of a consumer, says that it has nothing to deliver and nothing in work. */
bool consumer_has_nothing(const json_t *info);

/* Whether INFO says that it has nothing to deliver, but that something is not acknowledged yet. */
bool consumer_settles(const json_t *info);

/* The number up to which INFO says that all messages of the queue were acknowledged: it will
 * deliver none of them. 0: none, or INFO is no such answer. */
uint64_t consumer_floor(const json_t *info);

/* Has a consumer deleted that is ahead of the queue, and says so: a queue that comes from a server
 * which lacked its end counts from there again, and this consumer would skip what is new. The next
 * check of the front makes it again, for all that the queue has. */
void consumer_give_up(struct bus *bus, const char *run, int64_t priority);

/* What a front knows of a consumer from one check to the next. */
struct consumer_watch {
    bool waits;     /* jobs that the queue took long ago have no answer; noted by the front */
    unsigned looks; /* so often in a row it had nothing although jobs wait */
};

/* Takes REPLY, to "CONSUMER.INFO". Returns whether there is no such consumer, which somebody has
 * deleted then, and says so: the front makes it again. If it has nothing to deliver although jobs
 * wait, twice in a row, has another server lead it, and says so: after a server has lost its disk
 * its copy of the queue may lag for good (seen with nats-server 2.9), and a consumer that this
 * server leads delivers none of what lacks. */
bool consumer_is_gone(struct consumer_watch *watch, struct bus *bus, const char *run,
                      int64_t priority, natsMsg *reply);

/* Has the workers look at the list of consumers. */
void consumer_wake_workers(struct bus *bus);
