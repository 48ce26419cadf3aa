/* SPDX-License-Identifier: MIT */
#pragma once
/* The room daemon/languages. Duty: find out which of the configured languages (conf/language.h)
 * this host has and in which version, and say how a program in one of them is compiled and run
 * here.
 *
 * languages.h: what there is. query.h: one run of a version command. source.h: the class of a
 * program, after which its file is named.
 *
 * May include: conf, proto, daemon/base. It knows nothing of jobs, jails or clients.
 *
 * Invariants:
 *  - Making the object runs nothing: it looks for the programs in the directories of the jobs'
 * PATH.
 *  - A version is asked for once, by a process of its own that the event loop waits for, with a
 *    deadline: by languages_settle() when a job wants the language, or by languages_ask_all().
 *  - What fails for want of something is never "not there": the next job asks again. */

#include "conf/language.h"

#include <event2/event.h>
#include <stdbool.h>

struct languages;

struct languages_host {
    const struct language_list *list; /* borrowed for the life of the object, like the rest */
    const char *python;               /* {python} */
    const char *python_version;       /* known already */
    const char *const *environment;   /* of every job: NULL-terminated */
    bool has_view;                    /* jobs have a view of their own, with a /tmp and a /proc */
    bool bounds_memory; /* something else than the address space bounds the memory of jobs */
};

/* 0; -ENOMEM, or another shortage. */
int languages_new(const struct languages_host *host, struct languages **ret);

/* Ends what is being asked. Accepts NULL and returns NULL. */
struct languages *languages_free(struct languages *languages);

/* From now on versions can be asked for: in BASE's loop, which calls SETTLED after each answer. 0
 * or -ENOMEM. */
int languages_attach(struct languages *languages, struct event_base *base,
                     void (*settled)(void *userdata), void *userdata);

/* Ends what is being asked: the loop is about to go. */
void languages_detach(struct languages *languages);

/* Asks for all versions in the background, one at a time, beginning in DELAY_MS. */
void languages_ask_all(struct languages *languages, uint64_t delay_ms);

/* The language with this name or alias; NULL if there is none. */
const struct language *languages_find(const struct languages *languages, const char *name);

/* The name or alias that was probably meant by TYPED, which is none; NULL. */
const char *languages_suggest(const struct languages *languages, const char *typed);

/* Returns 1 if it is known whether there is LANGUAGE; 0 if its version is being asked for: the call
 * after `settled` tells more. A shortage, as a negative errno, if the answer failed for want of
 * something, which languages_has() names: a job that comes seconds later asks again. */
int languages_settle(struct languages *languages, const struct language *language);

/* Whether this host has LANGUAGE, as far as is known. The strings are borrowed and may be NULL, as
 * the pointers to them may: *ret_version as long as it was not asked for, *ret_why_not if there is
 * nothing to complain of. */
bool languages_has(const struct languages *languages, const struct language *language,
                   const char **ret_version, const char **ret_why_not);

/* What the scores of a language depend on beside the isolation of all jobs: SHA-256 over its file's
 * digest, its version, and which of its readable paths there are. NULL before the version is known.
 */
const char *languages_digest(const struct languages *languages, const struct language *language);

enum language_command {
    LANGUAGE_COMPILE,
    LANGUAGE_RUN,
};

/* The command with VALUES in it, NULL-terminated: its program is an absolute path, or one in the
 * work directory that begins with "./". The caller frees it with language_strings_free(). -ENOMEM;
 * -ENOENT if there is no such program, or no such command. */
int language_argv(const struct languages *languages, const struct language *language,
                  enum language_command command, const struct language_values *values,
                  char ***ret_argv);

/* The environment of both commands: that of every job, and the language's own, which takes
 * precedence. NULL-terminated; the caller frees it with language_strings_free(). -ENOMEM. */
int language_environment(const struct languages *languages, const struct language *language,
                         const struct language_values *values, char ***ret_envp);

/* Accepts NULL and returns NULL. */
char **language_strings_free(char **strings);
