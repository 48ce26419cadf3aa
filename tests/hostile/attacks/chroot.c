/* SPDX-License-Identifier: MIT */
/* Leaves its root by chroot: into a second root inside, with a working directory outside of it.
 * Reading a file of the host, the argument, shows that it has left. Stopped by: seccomp, filesystem
 * (the root is that of a mount namespace, there is no way up). */
#include "attack.h"

int main(int argc, char **argv)
{
    const char *secret = argument(argc, argv, 1);
    char text[64];
    if (access(secret, F_OK) == 0)
        (void)printf("the file can be seen as it is\n");
    (void)mkdir("plant-root", 0755);
    if (chroot("plant-root") < 0) {
        barred("chroot");
        if (!enter_new_namespaces(0) || chroot("plant-root") < 0) {
            barred("chroot in a new user namespace");
            all_barred();
        }
    }
    for (int i = 0; i < 100; i++)
        (void)!chdir(".."); /* stays there at the top */
    if (chroot(".") < 0)
        barred("the second chroot");
    if (read_file(secret, text, sizeof(text)) > 0)
        succeeded("outside, where %s is", secret);
    barred("read %s", secret);
    all_barred();
}
