/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the control group that this process may divide. Changes nothing. */

#include "proto/fault.h"

#include <limits.h>
#include <stdbool.h>

/* Name of the leaf for this process. */
#define CGROUP_DAEMON "daemon"

struct cgroup_place {
    int fd;              /* the group, locked against other daemons while it is open */
    bool in_leaf;        /* this process is in the group's leaf CGROUP_DAEMON already */
    bool is_hybrid;      /* version 1 is in use as well and may hold the controllers */
    char path[PATH_MAX]; /* for people */
};
#define CGROUP_PLACE_NULL \
    {                     \
        .fd = -1          \
    }

/* Finds the group of this process. PROC is "/proc/self", or a directory with files `cgroup` and
 * `mountinfo` in that format. The caller owns ret->fd. Errors and FAULT as for
 * cgroup_tree_open(). */
int cgroup_place_find(const char *proc, struct cgroup_place *ret, struct fault *fault);

/* Text for a fault: how to give rubricd a group of its own. */
extern const char cgroup_delegate_remedy[];
