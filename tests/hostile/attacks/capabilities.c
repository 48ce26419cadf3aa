/* SPDX-License-Identifier: MIT */
/* Takes back capabilities, and becomes root.
 * Stopped by: user_namespace (no capability, and nobody else to become). */
#include "attack.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>

int main(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    (void)memset(data, 0, sizeof(data));
    if (syscall(SYS_capget, &header, data) == 0 && (data[0].effective || data[0].permitted))
        succeeded("this job has capabilities: %x", data[0].permitted);
    data[0].effective = data[0].permitted = 1;
    if (syscall(SYS_capset, &header, data) == 0)
        succeeded("took back a capability");
    barred("capset");
    if (setgid(0) == 0 && getuid() != 0)
        succeeded("became group 0");
    barred("setgid(0)");
    if (setuid(0) == 0)
        succeeded("became root");
    barred("setuid(0)");
    if (setgroups(0, NULL) == 0)
        succeeded("left its groups");
    barred("setgroups");
    must_not_get_in(prctl(PR_SET_SECUREBITS, 0), "PR_SET_SECUREBITS");
    all_barred();
}
