/* SPDX-License-Identifier: MIT */
/* Makes namespaces of the other kinds, without a user namespace.
 * Stopped by: user_namespace (no CAP_SYS_ADMIN), seccomp. */
#include "attack.h"

int main(void)
{
    static const struct {
        int flag;
        const char *name;
    } kinds[] = {
        {CLONE_NEWNS, "mnt"},
        {CLONE_NEWNET, "net"},
        {CLONE_NEWPID, "pid"},
        {CLONE_NEWIPC, "ipc"},
        {CLONE_NEWUTS, "uts"},
        {CLONE_NEWCGROUP, "cgroup"},
        {0x80 /* CLONE_NEWTIME */, "time"},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (unshare(kinds[i].flag) == 0)
            succeeded("a new %s namespace", kinds[i].name);
        barred("unshare(%s)", kinds[i].name);
    }
    all_barred();
}
