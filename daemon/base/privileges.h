/* SPDX-License-Identifier: MIT */
#pragma once
/* Started by root, the daemon works as an unprivileged account: no job ever runs as uid 0 of the
 * host. */

#include "proto/fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct account {
    uid_t uid;
    gid_t gid;
    char name[64];
};

/* Whether there is something to give up. */
bool privileges_are_root(void);

/* Finds the account called NAME; where that is DEFAULT_NAME and the host does not have it,
 * `nobody`. -ENOENT or -EPERM (it is uid 0) with FAULT. */
int privileges_find(const char *name, const char *default_name, struct account *ret,
                    struct fault *fault);

/* Makes the directory PATH with MODE and its parent, and gives what was made (and PATH, if it was
 * root's) to ACCOUNT. */
int privileges_make_directory(const char *path, mode_t mode, const struct account *account,
                              struct fault *fault);

/* Becomes ACCOUNT with its groups for good. */
int privileges_drop(const struct account *account, struct fault *fault);
