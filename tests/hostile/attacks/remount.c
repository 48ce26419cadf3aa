/* SPDX-License-Identifier: MIT */
/* Remounts /usr and / writable, with its own rights or with those in a new user namespace.
 * Stopped by: seccomp, user_namespace (mounts from outside are locked). */
#include "attack.h"

int main(void)
{
    static const char *const places[] = {"/usr", "/", "/proc", "/dev"};
    bool mine = enter_new_mount_namespace();
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (mine)
            (void)mount(places[i], places[i], NULL, MS_BIND, NULL);
        if (mount(NULL, places[i], NULL, MS_REMOUNT | MS_BIND, NULL) == 0)
            succeeded("remounted %s", places[i]);
        barred("remount %s", places[i]);
    }
    all_barred();
}
