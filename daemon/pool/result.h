/* SPDX-License-Identifier: MIT */
#pragma once
/* How a job ended, as its slot saw it. A struct, no code; the kinds of jobs make a verdict of it.
 *
 * May include: the jail's link, and proto. */

#include "daemon/jail/link.h"
#include "proto/json.h"

#include <stdbool.h>
#include <stdint.h>

enum slot_end {
    SLOT_END_EXITED,      /* wait_status and usage are known */
    SLOT_END_NOT_STARTED, /* stage and error are known */
    SLOT_END_JAIL_LOST,   /* the jail died or was killed, or never had the job: no more is known */
};

/* Why the daemon killed the job, or would have if it had seen in time what is known in the end. */
enum slot_kill {
    SLOT_KILL_NONE,
    SLOT_KILL_DEADLINE,
    SLOT_KILL_OUTPUT,
    SLOT_KILL_CPU,     /* its whole tree has used up the CPU time */
    SLOT_KILL_STARVED, /* at a deadline that could not move further; it has not had its time */
    SLOT_KILL_CANCELLED,
};

struct slot_result {
    enum slot_end end;
    enum slot_kill killed;
    bool cancelled; /* it was to be killed as cancelled, whatever killed it in the end */
    const struct limits *limits; /* of the launch; borrowed */
    unsigned step;               /* likewise */
    bool more;                   /* likewise: another step may follow */
    const char *no_jail; /* JAIL_LOST: why no jail can be started in its place; borrowed. NULL: one
                          * was */
    enum link_stage stage; /* NOT_STARTED */
    int error;             /* NOT_STARTED: errno */
    int wait_status;       /* EXITED, as wait(2) gives it */
    uint64_t started_ns;   /* 0: never */
    uint64_t ended_ns;
    uint64_t cpu_us;
    uint64_t max_rss_bytes;
    uint64_t run_delay_ns;       /* UINT64_MAX: not known */
    unsigned deadline_moves;     /* how often its deadline moved, since others had the CPUs */
    uint64_t deadline_ms;        /* the final limit, of wall clock; 0: it did not move */
    uint64_t program_by_ns;      /* when the time of the first program was over, which of a pair
                                  * is the candidate; the interactor may have had longer */
    const char *class_key;       /* of the class; borrowed; empty: it was to have no template */
    struct link_loaded of_class; /* of a job of a class: what its template had loaded; or an error,
                                  * and why it ran without one. Empty digest and 0: of no class */
    unsigned evidence;           /* 1u << enum limit: the job certainly met this limit (a cgroup
                                  * event, a full tmpfs) */
    bool warm;                   /* it ran in the jail's waiting interpreter */
    const char *lost;            /* a part of the job's end that was lost; NULL: nothing was */
    int lost_error;              /* for this, a negative errno */
    bool lacked_room;            /* the host's disk, which the job shares, was full */
    bool starved;                /* killed because the host, not the job, ran out of memory */
    const struct bytes *out, *err; /* borrowed; the part of stdout and stderr that was kept */
    int collected; /* sealed memory with the files that were collected (collected.h); borrowed:
                    * dup() it to keep it. 0 or less: none */
    struct link_candidate candidate; /* the other program of a joined pair; `cpu_us` has its time,
                                      * and `out` is what it wrote to stderr */
    int collect_error; /* why files are missing among these, an errno: EFBIG: they have more bytes
                        * than `collect_max`; E2BIG: there are too many; ECHILD: the job left
                        * processes that took too long to die; or another. 0: none are */
};
