/* SPDX-License-Identifier: MIT */
#pragma once
/* What a slot saw of a job's end. */

#include "daemon/jail/link.h"
#include "proto/json.h"

#include <stdbool.h>
#include <stdint.h>

enum slot_end {
    SLOT_END_EXITED,      /* wait_status and usage are known */
    SLOT_END_NOT_STARTED, /* stage and error are known */
    SLOT_END_JAIL_LOST, /* the jail died or had to be killed: how the program ended is not known */
};

/* Why the supervisor killed the job, if it did. */
enum slot_kill {
    SLOT_KILL_NONE,
    SLOT_KILL_DEADLINE,
    SLOT_KILL_OUTPUT,
    SLOT_KILL_CPU, /* the CPU time of its whole tree */
    SLOT_KILL_CANCELLED,
};

struct slot_result {
    enum slot_end end;
    enum slot_kill killed;
    enum link_stage stage; /* NOT_STARTED */
    int error;             /* NOT_STARTED: errno */
    int wait_status;       /* EXITED, as wait(2) gives it */
    uint64_t started_ns;   /* 0: never */
    uint64_t ended_ns;
    uint64_t cpu_us;
    uint64_t max_rss_bytes;
    uint64_t run_delay_ns;         /* UINT64_MAX: not known */
    unsigned evidence;             /* 1u << enum limit: certain evidence that this limit was met (a
                                    * cgroup event, a full tmpfs) */
    bool warm;                     /* it ran in the interpreter that waited in the jail */
    bool starved;                  /* killed because the host, not the job, ran out of memory */
    const struct bytes *out, *err; /* borrowed; what was kept of stdout and stderr */
};
