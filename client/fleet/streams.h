/* SPDX-License-Identifier: MIT */
#pragma once
/* The streams of a fleet at the server: what they are to be like, and how they come to be so. All
 * functions block until the server has answered. */

#include "bus.h"
#include "names.h"

struct streams_wish {
    const char *fleet; /* borrowed */
    int64_t replicas;
    int64_t keep_s;    /* how long results, marks, inputs and dead letters stay */
    int64_t max_bytes; /* of jobs, of results and of inputs each; -1: no limit */
};

enum streams_change {
    STREAMS_SAME,
    STREAMS_CREATE,
    STREAMS_UPDATE,
};

/* Compares STREAM at the server with WISH. Writes to RET_WHAT what differs: "replicas 1 -> 3".
 * 0, or a negative errno with FAULT. */
int streams_compare(struct bus *bus, const struct streams_wish *wish, enum fleet_stream stream,
                    enum streams_change *ret, char ret_what[FAULT_MAX], struct fault *fault);

/* Makes or changes STREAM at the server. That of the hosts, which announce themselves again within
 * seconds, is deleted and made anew if it cannot be changed: after a failure it may be gone. 0, or
 * a negative errno with FAULT. */
int streams_apply(struct bus *bus, const struct streams_wish *wish, enum fleet_stream stream,
                  enum streams_change change, struct fault *fault);

/* Checks that every stream is there. 0, or a negative errno with a FAULT that names the remedy. */
int streams_check(struct bus *bus, struct fault *fault);
