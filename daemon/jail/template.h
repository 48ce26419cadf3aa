/* SPDX-License-Identifier: MIT */
#pragma once
/* Templates: a process for each of the last task classes of a slot, of which its jobs are forks.
 *
 * A task class may say what its jobs need loaded: modules of the library, and helpers of its own.
 * A template is a fork of the jail that gives up everything that a job gives up (lockdown.c), loads
 * that, and then does nothing but fork jobs of this class. So code of a class is in its own
 * template and jobs alone.
 *
 * The jail believes nothing that a template says:
 *
 *  - A template runs only while the jail waits for it: while it loads, and while it forks. At all
 *    other times it is stopped, and the jail knows that from the kernel (waitid()). No signal of a
 *    job reaches it, since each job is in a Landlock domain inside or beside its own.
 *  - When it has loaded, the jail looks at it through /proc (template_look.h): one thread, no
 *    child, no descriptor but those that it was given, no memory shared with others. Nor may it
 *    have left files or written any output. Otherwise it ends, and jobs of the class run as if the
 *    class loaded nothing. From its first fork on it is not dumpable.
 *  - Its fork is a child of the jail (CLONE_PARENT). The jail finds it in the kernel's list of its
 *    children: it must be the only one that is new. The fork inherits the identity, filter, limits
 *    and Landlock domain of its template, so a template serves jobs of the same limits only; it
 *    gets its standard descriptors from the jail when the template is stopped again, which
 *    therefore never has them.
 *  - After such a job the jail looks at the list once more, and how many descriptors the template
 *    has. If another process is there, or it has got a descriptor of the job, the jail kills all,
 *    the templates included.
 *
 * A class whose code does harm to its template harms later jobs of its own. */

#include "template_parts.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bars later jobs of the jail, whose set-up is done otherwise, from processes of its own, if it can
 * keep templates at all. 0 or a negative errno. */
int templates_bar(struct templates *templates, const struct enclosure *enclosure);

/* Starts JOB in a fork of its class's template, which it makes if there is none. Returns its pid,
 * stores a pidfd that the caller
 * owns, and when it was forked (CLOCK_MONOTONIC); or 0, and BECAUSE says why there is no template.
 * Then no process of it is left, and the job must be started in another way. */
pid_t templates_start(struct templates *templates, const struct template_parts *parts,
                      const struct template_job *job, int *ret_pidfd, uint64_t *ret_started_ns,
                      char because[LINK_BECAUSE_MAX]);

/* After a job of a template, whose process has been reaped: whether nothing is left of it that the
 * jail does not know of. Otherwise all children must be killed. */
bool templates_are_alone(struct templates *templates, const struct template_parts *parts);
