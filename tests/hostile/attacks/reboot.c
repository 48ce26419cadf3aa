/* SPDX-License-Identifier: MIT */
/* Calls reboot() with a command that does not exist.
 * Stopped by: user_namespace (no capability over the host), seccomp. */
#include "attack.h"

int main(void)
{
    must_not_get_in(syscall(SYS_reboot, 0xfee1dead, 672274793, 0x0badc0de, NULL), "reboot");
    all_barred();
}
