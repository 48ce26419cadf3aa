/* SPDX-License-Identifier: MIT */
/* Makes the OOM killer choose the jail first and itself last. Stopped by: user_namespace (no
 * CAP_SYS_RESOURCE), filesystem (the jail is not visible). */
#include "attack.h"

int main(void)
{
    char path[64];
    if (write_file("/proc/self/oom_score_adj", "-1000") == 0)
        succeeded("the kernel will not kill this job for want of memory");
    barred("lower oom_score_adj");
    (void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)getppid());
    if (write_file(path, "1000") == 0)
        succeeded("the kernel will kill process %d in this job's stead", (int)getppid());
    barred("raise %s", path);
    all_barred();
}
