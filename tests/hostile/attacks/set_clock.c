/* SPDX-License-Identifier: MIT */
/* Sets the clock to the current time.
 * Stopped by: user_namespace (no CAP_SYS_TIME over the host), seccomp. */
#include "attack.h"

#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

int main(void)
{
    struct timex clock = {.modes = 0};
    struct timespec now;
    must_not_get_in(syscall(SYS_settimeofday, NULL, NULL), "settimeofday");
    if (adjtimex(&clock) < 0)
        barred("adjtimex to read");
    clock.modes = ADJ_TICK;
    must_not_get_in(adjtimex(&clock), "adjtimex");
    (void)clock_gettime(CLOCK_REALTIME, &now);
    must_not_get_in(clock_settime(CLOCK_REALTIME, &now), "clock_settime");
    all_barred();
}
