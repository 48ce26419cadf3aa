/* SPDX-License-Identifier: MIT */
/* Unmounts file systems to see what they hide.
 * Stopped by: seccomp, user_namespace (mounts from outside are locked). */
#include "attack.h"

int main(void)
{
    static const char *const places[] = {"/dev/shm", "/tmp", "/work", "/proc", "/dev", "/usr"};
    (void)enter_new_mount_namespace(); /* so that the host keeps its mounts */
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (umount2(places[i], MNT_DETACH) == 0)
            succeeded("took the mount at %s away", places[i]);
        barred("umount %s", places[i]);
    }
    all_barred();
}
