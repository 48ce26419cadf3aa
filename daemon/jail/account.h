/* SPDX-License-Identifier: MIT */
#pragma once
/* Bounds the processes of a job where no user namespace counts them apart.
 *
 * RLIMIT_NPROC of such a job is about all processes of the account, in every container of the host,
 * and no file says how many these are. The jail finds out by trying: with its own soft limit below
 * the count it cannot fork. */

#include <sys/resource.h>

/* What a job is granted beyond its own limit, since the rest of the account starts processes, too.
 * It is far more than they need, and few enough for a host to get rid of. */
#define ACCOUNT_MARGIN 1024

struct account {
    rlim_t processes; /* of the account when it was last looked at; 0: not yet */
};

/* Returns the RLIMIT_NPROC for a job that may have OWN processes; RLIM_INFINITY if the account's
 * cannot be counted. Forks twice if the count has hardly changed since ACCOUNT was filled in, and
 * some forty times if it has. Nothing else of this process may change its limits meanwhile. */
rlim_t account_limit(struct account *account, rlim_t own);
