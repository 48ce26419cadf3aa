/* SPDX-License-Identifier: MIT */
#include "own_state.h"

#include "proto/util.h"

#include <sys/time.h>

bool own_state_read(struct own_state *ret)
{
    bool is_read = stat(".", &ret->directory) == 0;
    ret->mask = umask(0);
    (void)umask(ret->mask);
    for (unsigned i = 0; i < RLIM_NLIMITS; i++)
        is_read &= getrlimit(i, &ret->limits[i]) == 0;
    return is_read;
}

static bool has_timer(void)
{
    static const __itimer_which_t timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    struct itimerval left;
    for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
        if (getitimer(timers[i], &left) < 0 || timerisset(&left.it_value))
            return true;
    return false;
}

const char *own_state_change(const struct own_state *before)
{
    struct own_state now;
    if (!own_state_read(&now) || now.directory.st_dev != before->directory.st_dev ||
        now.directory.st_ino != before->directory.st_ino)
        return "its modules leave the working directory";
    if (now.mask != before->mask)
        return "its modules change the umask";
    for (unsigned i = 0; i < RLIM_NLIMITS; i++)
        if (now.limits[i].rlim_cur != before->limits[i].rlim_cur ||
            now.limits[i].rlim_max != before->limits[i].rlim_max)
            return "its modules change a resource limit";
    return has_timer() ? "its modules leave a timer" : NULL;
}
