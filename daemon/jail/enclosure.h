/* SPDX-License-Identifier: MIT */
#pragma once
/* Confines a jail once, so that its jobs cost no more than a fork: identity in its user namespace,
 * network, view, work directory, Landlock ruleset, seccomp filter, capabilities. enclosure_build()
 * sets them up in that order, leaves out a layer that the host refuses, and says so in its notice;
 * the supervisor decides whether the rest suffices.
 *
 * An `enclosure` is what one jail built around itself. (A `confinement`, daemon/confine, is what
 * all jails of one configuration share.) */

#include "account.h"
#include "link.h"
#include "view.h"
#include "work.h"

#include <limits.h>
#include <linux/filter.h>

#define FILTER_MAX 4096

struct enclosure {
    uint32_t layers; /* bits of enum layer: layers in force */
    struct view view;
    struct work work;
    int landlock_version;
    int ruleset;           /* for all jobs; -1: no ruleset, or each job has its own */
    uint64_t pass;         /* see mounts.h */
    bool bounds_memory;    /* a control group bounds the memory of each job */
    bool gives_up_pass;    /* jobs must give it up: one could learn the pass and use it (pass.h) */
    char *const *readable; /* host paths that every job may read; borrowed */
    int socket_count;      /* see sockets.h; -1: jobs share a network namespace with others */
    uint64_t sockets;      /* before any job */
    struct account account;
    int last_pid; /* sets the pid after which the next are looked for; -1: no means to */

    /* The host directory that the view shows at VIEW_BENCH; an empty path: none. */
    char bench[PATH_MAX];
    uint64_t bench_device, bench_inode;
    size_t kept[LINK_LIST_MAX]; /* of each path shown to the job (view_detach()) */
};

/* Builds ENCLOSURE around the calling process, which the supervisor has already put into the
 * namespaces that SETUP names. SLOT_DIRECTORY is the slot's directory on the host. FILTER is
 * borrowed; -1: none. Fills NOTICE with the layers in force and the errors of the others. Returns a
 * negative errno and names the step in *ret_step if no job can run like this. */
int enclosure_build(struct enclosure *enclosure, const struct link_setup *setup,
                    char *const *readable, const char *slot_directory, int filter,
                    struct link_notice *notice, const char **ret_step);

/* Makes ENCLOSURE, of which this process has a copy in namespaces of its own (twin.h), that of a
 * twin, which shows its jobs neither bench nor readable paths of their own, nor, if it IS_APART,
 * the working directory of its jail. On failure returns a negative errno and names the step in
 * *ret_step. */
int enclosure_enter_twin(struct enclosure *enclosure, bool is_apart, const char **ret_step);

/* Returns 0 if no socket that a job has made is left, once no process of it lives; otherwise
 * -EBUSY. OWN: number of sockets that the jail has made since enclosure_build(). */
int enclosure_check_sockets(const struct enclosure *enclosure, unsigned own);

/* From which pid on the next processes of the pid namespace are numbered. Jobs must not steer what
 * has a number below theirs (daemon/confine/filter.c). */
enum enclosure_pids {
    ENCLOSURE_PIDS_OF_JAIL = 2, /* the jail's own children: its twin or template */
    ENCLOSURE_PIDS_OF_JOB = 100,
};

/* Starts to number processes as for the first job: so none learns how many others have started. Has
 * no effect where the kernel does not let the jail do that. */
void enclosure_restart_pids(const struct enclosure *enclosure, enum enclosure_pids from);

/* Whether no job can signal a process of the jail's identity, nor set its limits. Process 1 is safe
 * in any case. */
bool enclosure_guards_twin(const struct enclosure *enclosure);

/* Whether Landlock keeps jobs from signalling processes that are no part of them. */
bool enclosure_guards_signals(const struct enclosure *enclosure);

/* How many of the PROCESSES that have the jail's identity count against the limit of a job. */
unsigned enclosure_counted(const struct enclosure *enclosure, unsigned processes);

/* Returns the RLIMIT_NPROC of a job that no user namespace counts apart; RLIM_INFINITY if there is
 * none, as its cgroup counts or nothing is to be limited. May fork (account.h). */
rlim_t enclosure_limit_account(struct enclosure *enclosure, const struct link_job *request);

/* Shows a job its bench, hides that of the previous job, and shows the other paths that it may
 * read. On failure *ret_stage says which of these failed. */
int enclosure_show(struct enclosure *enclosure, const struct link_job *job,
                   const struct link_lists *lists, enum link_stage *ret_stage);

/* Hides the readable paths of the job. The bench stays for the next job. */
int enclosure_hide(struct enclosure *enclosure, const struct link_lists *lists);

/* Confines this process as every command of its session is to be, so that they all are in one
 * Landlock domain: in domains of their own they could neither see nor signal each other. What the
 * jail needs beyond that, it may: the /proc of all processes, and CGROUP (-1: none). Returns 1 if
 * that is in force; 0 where each command needs a ruleset of its own, or there is no Landlock; or a
 * negative errno. */
int enclosure_share_domain(const struct enclosure *enclosure, int cgroup);

/* Makes a ruleset for one job if each job needs its own; the caller owns it. Otherwise leaves
 * *ret_own alone: enclosure->ruleset serves all jobs. */
int enclosure_make_ruleset(const struct enclosure *enclosure, const struct link_lists *lists,
                           int cwd, int *ret_own);
