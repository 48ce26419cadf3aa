/* SPDX-License-Identifier: MIT */
#pragma once
/* A judge that stays: the process that has judged one pair (link.h) and serves for the next.
 *
 * Forking a judge, and copying the pages that it writes to, costs more than most of what it judges.
 * A judge of which nothing can tell what it has judged says so (daemon/checker/stay.py) over its
 * seat, a socket to the jail. The jail then keeps it, and hands it the descriptors of the next
 * pair. If the judge refuses that pair, or anything else is to run in the jail, it ends, and the
 * jail forks as ever. A judge gives up its seat before it runs anything that could use it.
 *
 * A judge serves the jobs of one connection to the daemon. It never sees those of another: that
 * ends it before anything of the other job is in the jail. So what a fault in the checker could
 * carry from one job to the next, it could carry only between jobs of one client.
 *
 * It stays only where all jobs of the jail are alike to it: in a pid namespace, in a working
 * directory that is always the same one, and without a control group of its own for each job. */

#include "children.h"
#include "enclosure.h"
#include "run_delay.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of the arguments and the environment of a judge that may stay. */
#define STAY_STRINGS_MAX 4096

struct stay {
    int proc;      /* a directory that hides no process; borrowed */
    pid_t pid;     /* 0: there is no judge with a seat */
    int pidfd;     /* of it; -1: none */
    int seat;      /* the jail's end; -1: none */
    int schedstat; /* see run_delay.h; -1: none */
    bool is_on;    /* it judges now */
    bool is_done;  /* it has judged the pair, and stays */
    uint64_t max_rss_bytes;
    struct run_times before; /* what it had used before the pair */
    uint64_t client_no;      /* whose pairs it judges */
    uint32_t any_address_space;
    struct limits limits; /* under which it was started */
    size_t length;
    char strings[STAY_STRINGS_MAX]; /* with which it was started */
};

#define STAY_NULL                                             \
    {                                                         \
        .proc = -1, .pidfd = -1, .seat = -1, .schedstat = -1, \
    }

/* Returns whether the judge of a pair, REQUEST with FDS, may stay in ENCLOSURE. */
bool stay_is_possible(const struct enclosure *enclosure, const struct link_job *request,
                      const int fds[LINK_JOB_FDS]);

/* Ends the judge that has stayed, if there is one, unless it is one for REQUEST with STRINGS: a
 * pair whose judge may stay (IS_POSSIBLE), of the client and with the limits and strings of its
 * first. To be called before anything of REQUEST is in the jail. */
void stay_prepare(struct stay *stay, bool is_possible, const struct link_job *request,
                  const char *strings);

/* Hands the judge that stay_prepare() has left, if there is one, the pair REQUEST with the
 * descriptors FDS (from 0 to LINK_PAIR_STATUS). Returns its pid, and gives the caller another
 * *ret_pidfd of it; 0 if none takes the pair: then none stays any more, and the pair is as if
 * nobody had been handed it. */
pid_t stay_begin(struct stay *stay, const struct link_job *request, const int fds[LINK_PAIR_CODE],
                 int *ret_pidfd);

/* Makes a seat for a judge that is about to be forked. Returns its end, which the caller owns, or a
 * negative errno: then it cannot stay. */
int stay_offer(struct stay *stay);

/* Notes that the judge of REQUEST with STRINGS was started with that seat, if there is one, as PID;
 * 0: it was not. The caller keeps PIDFD. */
void stay_note(struct stay *stay, const struct link_job *request, const char *strings, pid_t pid,
               int pidfd);

/* Reads what the judge says. Returns whether it is done with the pair and stays; otherwise it has
 * given up its seat, or has ended. */
bool stay_hear(struct stay *stay);

/* Finishes the pair of a judge that is done with it: adds what it has used, and stores for how long
 * it was runnable without a CPU. One that is not done has ended, and is forgotten: what its pairs
 * before have used is taken off both, which hold what it has used in all. */
void stay_finish(struct stay *stay, struct children_usage *usage, uint64_t *ret_run_delay_ns);

/* Ends the judge that has stayed. */
void stay_end(struct stay *stay);

/* How many sockets of the jail's network namespace are its seat. */
unsigned stay_sockets(const struct stay *stay);
