/* SPDX-License-Identifier: MIT */
/* Changes the root by pivot_root.
 * Stopped by: seccomp, user_namespace with seccomp. */
#include "attack.h"

int main(void)
{
    (void)mkdir("plant-root", 0755);
    if (!enter_new_mount_namespace())
        barred("a mount namespace");
    if (mount("none", "plant-root", "tmpfs", 0, NULL) < 0)
        barred("mount tmpfs");
    else
        (void)mkdir("plant-root/old", 0755);
    must_not_get_in(syscall(SYS_pivot_root, "plant-root", "plant-root/old"), "pivot_root");
    all_barred();
}
