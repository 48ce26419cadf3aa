/* SPDX-License-Identifier: MIT */
#pragma once
/* Gives up root. A daemon that root starts works as an unprivileged account: no job ever runs as
 * uid 0 of the host. */

#include "proto/fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct account {
    uid_t uid;
    gid_t gid;
    char name[64];
};

/* Returns whether this process is root, by its real or effective user. */
bool privileges_are_root(void);

/* Finds the account NAME; if NAME is DEFAULT_NAME and the host does not have it, `nobody`. -ENOENT,
 * or -EPERM if it is uid 0, with FAULT. */
int privileges_find(const char *name, const char *default_name, struct account *ret,
                    struct fault *fault);

/* Makes the directory PATH with MODE, and its parent if that is missing. Gives what was made, and
 * PATH if it is root's, to ACCOUNT. A negative errno with FAULT. */
int privileges_make_directory(const char *path, mode_t mode, const struct account *account,
                              struct fault *fault);

/* Becomes ACCOUNT with its groups, irrevocably. A negative errno with FAULT. */
int privileges_drop(const struct account *account, struct fault *fault);
