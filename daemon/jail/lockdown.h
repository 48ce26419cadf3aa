/* SPDX-License-Identifier: MIT */
#pragma once
/* Runs in a job's process between fork and execve: the ordered list of what confines a job beyond
 * the jail that it inherits. Nothing here allocates, logs or uses stdio; a failure is stored in
 * shared memory and ends the process. */

#include "link.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Descriptors of a program at most: the standard ones, and those of a pair (link.h). */
#define LOCKDOWN_FDS LINK_PAIR_FDS

struct lockdown_error {
    uint32_t stage; /* enum link_stage; LINK_STAGE_NONE: the program was started */
    int32_t error;  /* errno */
};

/* What to confine, and what to become. Everything in it is borrowed; the descriptors end with the
 * process. */
struct lockdown {
    uint32_t layers;       /* bits of enum layer: layers in force */
    int cwd;               /* the work directory; becomes the working directory */
    int fds[LOCKDOWN_FDS]; /* become 0, 1, 2, ...; above those, as the jail sees to; -1: none,
                              and /dev/null in the place of 0 */
    unsigned fd_count;     /* of them in use; the first three always are */
    unsigned processes;    /* of the jail's own that count against the job's limit */
    int ruleset;           /* Landlock ruleset; -1: none */
    bool is_in_domain;     /* the jail has enforced it on itself, and this process inherits that */
    bool own_cgroup;       /* the job is alone in its cgroup, which becomes the root of its cgroup
                              namespace */
    int enter_cgroup;      /* that cgroup, if the process was not started in it; -1 otherwise */
    uint64_t pass;         /* see mounts.h */
    bool cgroup_counts;    /* the cgroup limits the number of processes */
    rlim_t account_limit;  /* RLIMIT_NPROC where no user namespace counts the job apart (account.h);
                              RLIM_INFINITY: as the jail has it */
    bool has_terminal;     /* fds[0] is a terminal, which becomes the controlling one */
    bool any_address_space; /* RLIMIT_AS stays as the jail has it */
    bool any_stack;         /* only the memory limit bounds its stack */
    bool forks_jobs;        /* it is a template: its forks get the limit of CPU time, not it */
    bool gives_up_pass;     /* the job must give up the pass and the calls that it opens */
    const struct limits *limits;
    const struct rlimit *ceilings; /* the jail's own limits by resource, RLIM_NLIMITS of them */
    char *const *argv; /* argv[0] is the absolute path of the program; or as `act` says */
    enum link_act act;
    const char *directory; /* LINK_EXEC: where it starts; NULL: in the work directory */
    mode_t file_mode;      /* LINK_WRITE */
    bool appends;          /* LINK_WRITE */
    char *const *envp;
    const char *script;    /* path of a bench's program, which the job must be able to read; NULL:
                              none */
    char *const *readable; /* paths that it may read; NULL: none */
    struct lockdown_error *ret_error; /* in memory shared with the jail */
};

/* Sets up the jail's own signal dispositions, mask and resource limits, from which those of jobs
 * derive, and stores its limits in CEILINGS (RLIM_NLIMITS entries). Call once, before anything
 * else. */
void lockdown_prepare(struct rlimit *ceilings);

/* Confines this process, all but execve, which also closes the descriptors above 2. On failure sets
 * *ret_error and ends the process. May run in the jail's memory. */
void lockdown_confine(const struct lockdown *lockdown);

/* Confines this process, which is a fork of one that lockdown_confine() has confined for a job with
 * the same limits and layers, as the next such job: its descriptors, its working directory, a
 * process group, a Landlock domain and CPU time of its own. Returns false and says in *RET what
 * failed. */
bool lockdown_again(const struct lockdown *lockdown, struct lockdown_error *ret);

/* Gives the pipes among the descriptors of a job that is started by lockdown_again() to its user,
 * if that is another than the jail's. In the jail. 0 or a negative errno. */
int lockdown_give_pipes(const struct lockdown *lockdown);

/* Becomes the program, without the jail's signal dispositions. Never returns; fails as
 * lockdown_confine() does. */
_Noreturn void lockdown_exec(const struct lockdown *lockdown);
