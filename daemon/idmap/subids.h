/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads from /etc/subuid which subordinate ids the administrator has granted to an account. */

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define SUBIDS_PATH "/etc/subuid"

struct subids {
    uint32_t first, count;
};

/* Finds the first range in FILE (lines of "ACCOUNT:FIRST:COUNT") for the account NAME, which is
 * also named by its UID. Ignores lines that are malformed or would grant uid 0. -ENODATA if there
 * is none. */
int subids_find(FILE *file, const char *name, uid_t uid, struct subids *ret);
