/* SPDX-License-Identifier: MIT */
/* Mounts a file system, with its own rights or with those in a new user namespace.
 * Stopped by: seccomp, user_namespace with seccomp. */
#include "attack.h"

int main(void)
{
    if (mkdir("plant-mount", 0755) < 0)
        barred("mkdir");
    if (!enter_new_mount_namespace())
        barred("a mount namespace");
    if (mount("none", "plant-mount", "tmpfs", 0, NULL) == 0)
        succeeded("mounted a tmpfs");
    barred("mount tmpfs");
    if (mount("none", "plant-mount", "proc", 0, NULL) == 0)
        succeeded("mounted a proc");
    barred("mount proc");
    all_barred();
}
