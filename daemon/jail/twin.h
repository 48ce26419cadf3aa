/* SPDX-License-Identifier: MIT */
#pragma once
/* The twin: a second jail inside a slot's jail, for the candidate of a pair (link.h).
 *
 * A candidate must not reach the process that judges it. So the jail clones itself, interpreter
 * included, into a pid, mount, ipc, uts and network namespace of the copy's own, as far as the
 * jail has such namespaces itself. The twin mounts its own /proc, /tmp and /dev/shm; it shares the
 * jail's user namespace and working directory. The jail makes its twin when the first pair arrives,
 * and keeps it for the next, unless a job could stop it or set its limits
 * (enclosure_guards_twin()). A twin for the candidates of joined pairs is apart: it has a working
 * directory of its own, too. A jail has a twin of one sort at a time.
 *
 * For each pair the jail sends the twin one message with one end of the wire. The twin starts the
 * candidate, moves what it writes to its output into the job's stderr, and writes its wait status
 * to a pipe for the judge. A candidate that ends with LINK_PAIR_AGAIN is replaced, once, by a fresh
 * program on the same wire: the judge asks for that by having it end so. When the judge has ended,
 * the jail tells the twin to stop; the twin kills whatever is left of the candidate's process tree,
 * and answers with what it used.
 *
 * If the job is of a class (link.h), the twin has a template (template.h), of which each candidate
 * is a fork, and the second program, too. Such a twin serves that class alone: the jail ends it
 * before any other job.
 *
 * The candidate of a joined pair has the wire for its stdin and stdout, and is never replaced.
 *
 * A twin that does not answer, and one that has died, is not trusted with another candidate: the
 * jail says `leftover` and makes way for a new one. */

#include "children.h"
#include "tree_time.h"
#include "twin_parts.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct twin {
    pid_t pid;                     /* 0: there is none */
    int pidfd;                     /* of it; -1: none */
    int link;                      /* to it; -1: none */
    bool is_on;                    /* it has a candidate */
    bool is_apart;                 /* its candidates are those of joined pairs */
    bool is_second;                /* it has told that the second program of the pair starts */
    uint64_t first_delay_ns;       /* how long the first one was runnable without a CPU */
    uint64_t used_us;              /* CPU time of its candidates so far */
    char key[LINK_CLASS_KEY_SIZE]; /* of the class that it has a template of; empty: none */
    pid_t template;                /* that, as the jail sees it; 0: none */
    struct link_loaded loaded;     /* what that has loaded; and once a candidate has ended, with
                                      what that one ran, or why without */
};

#define TWIN_NULL                \
    {                            \
        .pidfd = -1, .link = -1, \
    }

/* The judge's descriptors of a pair, owned; and of a joined one the candidate's ends of the wire.
 */
struct twin_ends {
    int wire_read, wire_write, status, candidate_read, candidate_write;
};

#define TWIN_ENDS_NULL                                                         \
    {                                                                          \
        .wire_read = -1, .wire_write = -1, .status = -1, .candidate_read = -1, \
        .candidate_write = -1,                                                 \
    }

void twin_ends_close(struct twin_ends *ends);

/* Whether there is a twin that lives. */
bool twin_is_alive(const struct twin *twin);

/* What of the jail's children is the twin's own, and no part of its candidate. */
struct tree_time_except twin_except(const struct twin *twin);

/* Ends it if it lives. It must have no candidate. */
void twin_dismiss(struct twin *twin);

/* How many sockets of the jail's network namespace are the link to it. */
unsigned twin_sockets(const struct twin *twin);

/* Sees to it that there is a twin, one that IS_APART or not. Call before anything is prepared for
 * the job. FDS, those of the job, stay the jail's; of these the twin keeps the code alone. A
 * negative errno. */
int twin_make(struct twin *twin, const struct twin_parts *parts, bool is_apart,
              const int fds[LINK_JOB_FDS]);

/* Whether the twin has a template of the class KEY, and lives. */
bool twin_is_of(const struct twin *twin, const char *key);

/* Has the twin, which must have none, make the template of the job's class, whose key is KEY, in
 * the work directory that work_begin() prepared; PROC is that of the jail. Stores in *RET what it
 * has loaded, or why there is none; then the twin is gone. */
void twin_load(struct twin *twin, const struct link_job *request, const char *strings,
               const int fds[LINK_JOB_FDS], const char *key, int proc, struct link_loaded *ret);

/* Has the twin start the candidate of the job REQUEST with STRINGS and FDS, in the working
 * directory that work_begin() prepared. On failure a negative errno, and no candidate runs. */
int twin_begin(struct twin *twin, const struct link_job *request, const char *strings,
               const int fds[LINK_JOB_FDS], struct twin_ends *ret);

/* Returns whether the second program of the pair has started. */
bool twin_runs_second(struct twin *twin);

/* Ends the candidate if there is one, adds what it used to *usage and to *run_delay_ns, completes
 * CANDIDATE, which says how it stands, and returns when nothing of it is left. Returns false if the
 * twin is lost; it is gone then, but something of the candidate may be left. */
bool twin_end(struct twin *twin, struct children_usage *usage, uint64_t *run_delay_ns,
              struct link_candidate *candidate);
