/* SPDX-License-Identifier: MIT */
/* Opens performance counters.
 * Stopped by: seccomp. */
#include "attack.h"

#include <linux/perf_event.h>

int main(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof(attributes),
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    if (syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0)
        succeeded("a performance counter");
    barred("perf_event_open");
    all_barred();
}
