/* SPDX-License-Identifier: MIT */
/* Leaves a key in the keyrings that outlive a process: the user's, the user's session, the
 * persistent one. Arguments: plant or find, a name. Stopped by: seccomp. */
#include "plant.h"

#include <linux/keyctl.h>

int main(int argc, char **argv)
{
    static const int keyrings[] = {KEY_SPEC_USER_KEYRING, KEY_SPEC_USER_SESSION_KEYRING,
                                   KEY_SPEC_SESSION_KEYRING};
    const char *name = argument(argc, argv, 2);
    bool plant = is_step(argc, argv, "plant");
    int made = 0;
    for (size_t i = 0; i < COUNT_OF(keyrings); i++) {
        long key = plant ? syscall(SYS_add_key, "user", name, "secret", 6, keyrings[i])
                         : syscall(SYS_keyctl, KEYCTL_SEARCH, keyrings[i], "user", name, 0);
        if (key < 0)
            barred("keyring %d", keyrings[i]);
        else if (!plant) {
            (void)syscall(SYS_keyctl, KEYCTL_INVALIDATE, key);
            succeeded("the next job found the key in keyring %d", keyrings[i]);
        }
        made += key >= 0;
    }
    if (made > 0)
        planted();
    all_barred();
}
