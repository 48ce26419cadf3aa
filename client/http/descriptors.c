/* SPDX-License-Identifier: MIT */
#include "descriptors.h"
#include "crowd.h"

#include "proto/util.h"

#include <inttypes.h>
#include <sys/resource.h>

uint64_t descriptors_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return UINT64_MAX;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        limit.rlim_cur = before;
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

int descriptors_bound(uint64_t limit, size_t tokens, unsigned *connections, struct fault *fault)
{
    /* A connection to the daemon for the jobs of each token, one for questions; and clients'
     * connections that have made way and are still open. */
    uint64_t others = DESCRIPTORS_OWN + MAX(tokens, (size_t)1) + 1;
    others += tokens > 0 ? CROWD_ENDING_MAX : 0;
    uint64_t left = limit > others ? limit - others : 0;
    if (left >= *connections)
        return 0;
    if (left < DESCRIPTORS_CONNECTIONS_MIN)
        return fault_set(fault,
                         "connections is %u, but %" PRIu64
                         " open files (RLIMIT_NOFILE) suffice for "
                         "%" PRIu64 ": at least %" PRIu64 " files are needed",
                         *connections, limit, left,
                         others + MIN(*connections, (unsigned)DESCRIPTORS_CONNECTIONS_MIN));
    (void)fault_set(fault,
                    "connections is %u, but %" PRIu64 " open files (RLIMIT_NOFILE) suffice for "
                    "%" PRIu64 ", which it is now",
                    *connections, limit, left);
    *connections = (unsigned)left;
    return 1;
}
