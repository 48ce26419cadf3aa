/* SPDX-License-Identifier: MIT */
#pragma once
/* Remembers the digests of the directories that were asked for, so that to ask again costs a few
 * system calls for each file and no reading.
 *
 * Theory of operation. An entry is KNOWN, or READING: its files are listed and some are not
 * digested. A caller that must not block gives a budget of bytes. digests_prepare() is for it to
 * call before it needs a digest. If that takes more than the budget, the entry goes into a list,
 * and digests_work() reads on, a portion each time. A directory that has no digest is looked at
 * again after a second.
 *
 * A directory is known by its name and the path of its bench root. Whoever serves several users
 * gives canonical paths: else one directory has as many entries as its root has names. What is
 * remembered and what is read is bounded, and each directory counts for a user, a number that the
 * caller chooses. Users take turns with what is read; one may have three times as many places in
 * the list as are free; and who has most entries loses one first. What a quarter of the
 * budget suffices for needs no place. */

#include "tree.h"

struct digests;

struct rubric_digest {
    char hex[RUBRICDIR_DIGEST_SIZE]; /* "": there is none, and `why` says why */
    char why[FAULT_MAX];             /* "helpers/data.bin: Permission denied" */
    bool is_short;                   /* the host was short of something, or its files change */
    uint64_t reading;   /* the same number, the same files: they have not been read again */
    int64_t changed_ns; /* when a file or directory changed last, by the kernel's time stamps */
};

/* `awaits`: until there is a place in the list. */
#define DIGESTS_A_PLACE UINT64_MAX

/* Who asks for a directory. */
struct digests_asker {
    uint64_t user;
    uint64_t awaits; /* set by digests_prepare(): what for; 0: nothing */
};

/* 0 or -ENOMEM. */
int digests_new(struct digests **ret);

/* Accepts NULL and returns NULL. */
struct digests *digests_free(struct digests *digests);

/* Digests the directory at PLACE as it is now, for USER. ROOT is a path of its bench root. Reads at
 * most BUDGET bytes: if more has changed there is no digest yet. */
void digests_look(struct digests *digests, const char *root, const struct tree_place *place,
                  uint64_t user, uint64_t budget, struct rubric_digest *ret);

/* Whether the directory NAME below ROOT was looked at before and is not being read: without a
 * system call. What has changed since, digests_look() finds. */
bool digests_knows(const struct digests *digests, const char *root, const char *name);

/* Keeps VALUE with the directory NAME below ROOT until its files are read again, as DIGEST, which
 * digests_look() has just returned, was read; or frees it by FREE_VALUE at once. */
void digests_keep(struct digests *digests, const char *root, const char *name,
                  const struct rubric_digest *digest, void *value, void (*free_value)(void *));

/* Returns what is kept with the directory since its files were read as DIGEST was; borrowed. NULL
 * if that is nothing. */
void *digests_kept(const struct digests *digests, const char *root, const char *name,
                   const struct rubric_digest *digest);

/* Whether digests_look() can be expected not to read more than BUDGET bytes. If not, ASKER waits
 * for digests_work(), which has something to do. */
bool digests_prepare(struct digests *digests, const char *root, const struct tree_place *place,
                     uint64_t budget, struct digests_asker *asker);

/* Whether what ASKER waits for has come, so that digests_prepare() is to be called again: without a
 * system call. */
bool digests_is_due(const struct digests *digests, const struct digests_asker *asker);

/* After how many milliseconds digests_work() has something to do; -1: nothing is left. */
int64_t digests_wait_ms(const struct digests *digests);

/* Reads at most BUDGET bytes of what digests_prepare() and digests_look() have left over. Returns
 * digests_wait_ms(). *ret_ready: a directory was finished. */
int64_t digests_work(struct digests *digests, uint64_t budget, bool *ret_ready);
