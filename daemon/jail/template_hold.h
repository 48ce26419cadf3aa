/* SPDX-License-Identifier: MIT */
#pragma once
/* How the jail keeps a template in check, and hears of it. */

#include "template_parts.h"
#include "template_run.h"

#include <stdio.h>

/* Time for what takes a healthy template a fraction of a millisecond. */
#define TEMPLATE_ANSWER_MS UINT64_C(2000)
/* Pids of the jail's own children are below; a job's begin at ENCLOSURE_PIDS_OF_JOB. */
#define TEMPLATE_PIDS 64

/* Keeps every later job of the jail from the calls that steer another process of the same user,
 * which no Landlock domain stops, where they name a process with a pid below TEMPLATE_PIDS. 0 or a
 * negative errno. */
int template_bar(void);

/* Stops it. Returns whether it is stopped; otherwise it must be ended. */
bool template_stop(const struct template *template);

/* Whether the stopped template has one thread and no child. */
bool template_is_single(const struct template_parts *parts, const struct template *template);

/* Returns the one child that the jail does not know; 0: there is none; -1: that is not certain, or
 * there are several. */
pid_t template_find_new(struct templates *templates, const struct template_parts *parts);

/* Kills the TEMPLATE, which cannot serve, and since nobody knows what it has started, everything
 * else. Keeps its entry, with BECAUSE (NULL: what the entry says). */
void template_give_up(struct templates *templates, struct template *template,
                      const struct template_parts *parts, const char *because);

/* Stores TEXT as the reason in BECAUSE. */
static inline void template_explain(char because[LINK_BECAUSE_MAX], const char *text)
{
    (void)snprintf(because, LINK_BECAUSE_MAX, "%s", text);
}

enum template_heard {
    TEMPLATE_HEARD_WORD,
    TEMPLATE_HEARD_END,     /* the process has ended */
    TEMPLATE_HEARD_NOTHING, /* in time; or the supervisor is gone */
};

/* Waits for a word over LINK, for the end of the process behind PIDFD, or for that of the
 * SUPERVISOR (-1: not for that), for at most MS. */
enum template_heard template_hear(int link, int pidfd, int supervisor, uint64_t ms,
                                  struct template_says *ret);

/* Drops what was said over LINK to nobody. */
void template_drop_words(int link);
