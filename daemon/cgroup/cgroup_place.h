/* SPDX-License-Identifier: MIT */
#pragma once
/* The control group that this process may divide; nothing is changed in looking for it. */

#include "proto/fault.h"

#include <limits.h>
#include <stdbool.h>

/* The leaf of this process. */
#define CGROUP_DAEMON "daemon"

struct cgroup_place {
    int fd;              /* the group, with a lock against other daemons as long as it is open */
    bool in_leaf;        /* this process is in its leaf CGROUP_DAEMON already */
    bool is_hybrid;      /* version 1 is in use beside, and may hold the controllers */
    char path[PATH_MAX]; /* for people */
};
#define CGROUP_PLACE_NULL \
    {                     \
        .fd = -1          \
    }

/* PROC: "/proc/self", or a directory with the files `cgroup` and `mountinfo` as they would be
 * there. The caller owns ret->fd. Errors and FAULT as cgroup_tree_open() has them. */
int cgroup_place_find(const char *proc, struct cgroup_place *ret, struct fault *fault);

/* "start it ..." for a fault: how rubricd gets a group of its own. */
extern const char cgroup_delegate_remedy[];
