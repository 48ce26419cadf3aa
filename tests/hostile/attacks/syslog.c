/* SPDX-License-Identifier: MIT */
/* Reads the log of the kernel.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

#include <sys/klog.h>

int main(void)
{
    char text[64];
    must_not_get_in(klogctl(3, text, sizeof(text)), "syslog(SYSLOG_ACTION_READ_ALL)");
    must_not_get_in(klogctl(10, NULL, 0), "syslog(SYSLOG_ACTION_SIZE_BUFFER)");
    all_barred();
}
