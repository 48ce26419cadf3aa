/* SPDX-License-Identifier: MIT */
#pragma once
/* Speaks the daemon's protocol to one client, in front of a fleet: what the client submits goes
 * into the queue under the name of a run, and what workers answer comes back to it.
 *
 * Theory of operation. The front remembers of each id of the run the sequence of its result, 24
 * bytes or so: it knows a second result of an id when it sees one, and passes only the first on.
 * Jobs under way are found by their token. No job is taken before the results of earlier clients of
 * the run have been read. */

#include "frames.h"
#include "reader.h"
#include "runjob.h"

#include "client/batch/idmap.h"

struct front_options {
    const char *run;
    const char *digest; /* of the isolation that the jobs are to have; FEEDS_ANY */
    int64_t ack_wait_s;
    bool host_benches;  /* rubrics are those of the hosts: none is named or stored */
    bool keeps_starved; /* the answer of a job counts although it got no CPU */
    uint32_t max_frame;
};

struct front;

/* Serves the client at FD, which is non-blocking and which the front takes over, and sends it HELLO
 * (borrowed) first. Negative errno with FAULT. */
int front_new(struct bus *bus, int take_fd, const struct front_options *options,
              const json_t *hello, struct front **ret, struct fault *fault);

struct front *front_free(struct front *front);

int front_fd(const struct front *front);
short front_events(const struct front *front);

/* Reads and writes, and does what is due. Returns when to call this again. */
int64_t front_pump(struct front *front, short revents, int64_t now);

/* Whether the client has gone. */
bool front_is_over(const struct front *front);

/* Does what is left once the client has gone, until UNTIL at the latest: takes the run's consumers
 * away if none of its jobs is left in the queue. */
void front_end(struct front *front, int64_t until);
