/* SPDX-License-Identifier: MIT */
/* Acts on the quotas of every file system, by syncing them.
 * Stopped by: seccomp. */
#include "attack.h"

#include <sys/quota.h>

int main(void)
{
    must_not_get_in(quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL), "quotactl(Q_SYNC)");
    all_barred();
}
