/* SPDX-License-Identifier: MIT */
#pragma once
/* The template: a process of a job's class that has loaded what all jobs of the class load, and of
 * which each of them is a fork.
 *
 * A class of jobs may name modules that all of them import (link.h). To import them takes longer
 * than many a job runs. So the jail forks its waiting interpreter once more, confines that process
 * as it confines a job, and only then has it import them. That is the template. When it has loaded
 * everything, the jail examines it. It must have one thread, no child, no descriptor beyond its
 * own, no memory that a job could share with it and write to, and it must have left no file.
 * The template itself reports which state of its own the modules have changed (own_state.h). From
 * then on it is undumpable and runs the loop of this file: the jail sends it the descriptors of a
 * job, and it forks the job, as a child of the jail.
 *
 * Modules are trusted with the jobs of their class, whose scores they decide about, and with
 * nothing else: they can have changed the template as they like, but nothing outside of it.
 *
 * A job of the class cannot change what the next one starts from. It is a fork, so it writes to
 * memory of its own. It can neither signal nor trace the template: it is in a Landlock domain below
 * that of the template, or, where Landlock knows no signals, both have a filter that refuses
 * signals to so low a pid (shield.h). The filter of all jobs refuses to change the limits of such a
 * process.
 *
 * A class of pairs (link.h) has its template in the twin, which is the jail of its candidates; what
 * follows about jails holds for the twin then, and its jail ends the twin instead.
 *
 * A jail has at most one template, and no twin beside it. Before any job that is of another class,
 * or of none, the template ends: no process of a class lives while a job of anybody else runs.
 *
 * If the jail cannot make a template, the job runs without one, and the jail says why. */

#include "template_parts.h"
#include "tree_time.h"

#include <stdbool.h>
#include <sys/types.h>

struct template
{
    pid_t pid;                     /* 0: there is none */
    int pidfd;                     /* of it; -1: none */
    int link;                      /* to it; -1: none */
    char key[LINK_CLASS_KEY_SIZE]; /* of the class */
    struct link_loaded loaded;     /* what it has loaded */
};

#define TEMPLATE_NULL            \
    {                            \
        .pidfd = -1, .link = -1, \
    }

/* Whether jails of ENCLOSURE can have templates; otherwise says in WHY what is missing. */
bool template_is_possible(const struct enclosure *enclosure, char why[LINK_WHY_SIZE]);

/* Whether there is one that lives, of the class KEY. */
bool template_is_of(const struct template *template, const char *key);

/* Makes one; there must be none. The working directory may hold files of it afterwards. Returns 0,
 * or the positive errno of struct link_loaded, and says in WHY what was wrong; there is none then,
 * but something that it has started may be left. */
int template_make(struct template *template, const struct template_parts *parts,
                  char why[LINK_WHY_SIZE]);

/* Starts the job that LOCKDOWN describes as a fork of the template, in the cgroup CGROUP unless
 * that is -1; of a pair the second program, if it IS_SECOND. Waits until it runs or has failed to
 * start, which *STATUS tells. Returns the
 * pid and stores a pidfd that the caller owns, or returns a negative errno; then the template may
 * have ended, and something that it has started may be left. But after -EAGAIN nothing is left, nor
 * the template, which could not fork. */
pid_t template_fork(struct template *template, const struct enclosure *enclosure,
                    const struct lockdown *lockdown, int cgroup, bool is_second, int *ret_pidfd,
                    struct start_status *status);

/* How the job REQUEST, in the work directory CWD, is confined as far as all jobs of its class are:
 * the class's key stands for that. PROCESSES of the jail's identity live beside its jobs. The
 * caller adds the program. */
struct lockdown template_lockdown(const struct enclosure *enclosure, const struct rlimit *ceilings,
                                  const struct link_job *request, int cwd, unsigned processes);

/* What of the jail's children is the template and no part of a job. */
static inline struct tree_time_except template_except(const struct template *template)
{
    return (struct tree_time_except){.pid = template->pid};
}

/* How many sockets of the jail's network namespace are the link to it. */
static inline unsigned template_sockets(const struct template *template)
{
    return template->link >= 0 ? 2 : 0;
}

/* Whether it lives, and no process beside it and the jail. */
bool template_is_alone(const struct template *template, const struct enclosure *enclosure);

/* Ends it, if there is one. */
void template_dismiss(struct template *template);
