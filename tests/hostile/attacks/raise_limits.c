/* SPDX-License-Identifier: MIT */
/* Raises its own limits.
 * Stopped by: rlimits (hard limits), user_namespace (no CAP_SYS_RESOURCE over the host). */
#include "attack.h"

#include <sys/resource.h>

int main(void)
{
    static const struct {
        __rlimit_resource_t resource;
        const char *name;
    } limits[] = {
        {RLIMIT_AS, "AS"},       {RLIMIT_CPU, "CPU"},           {RLIMIT_NOFILE, "NOFILE"},
        {RLIMIT_FSIZE, "FSIZE"}, {RLIMIT_CORE, "CORE"},         {RLIMIT_MEMLOCK, "MEMLOCK"},
        {RLIMIT_NPROC, "NPROC"}, {RLIMIT_MSGQUEUE, "MSGQUEUE"},
    };
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit) < 0)
            unclear("getrlimit: %s", errno_name(errno));
        if (limits[i].resource != RLIMIT_NPROC && limit.rlim_max == RLIM_INFINITY)
            succeeded("RLIMIT_%s has no bound", limits[i].name);
        if (limit.rlim_max == RLIM_INFINITY)
            continue;
        limit.rlim_cur = ++limit.rlim_max;
        rlim_t wanted = limit.rlim_max;
        /* The filter may say that it is done, and leave the limit as it is. */
        if (setrlimit(limits[i].resource, &limit) == 0) {
            (void)getrlimit(limits[i].resource, &limit);
            if (limit.rlim_max == wanted)
                succeeded("raised RLIMIT_%s", limits[i].name);
            errno = EPERM;
        }
        barred("raise RLIMIT_%s", limits[i].name);
    }
    all_barred();
}
