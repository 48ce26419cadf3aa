/* SPDX-License-Identifier: MIT */
/* Mounts by the new calls: fsopen, fsmount, open_tree, move_mount.
 * Stopped by: seccomp, user_namespace with seccomp. */
#include "attack.h"

int main(void)
{
    (void)enter_new_mount_namespace();
    if (syscall(SYS_fsopen, "tmpfs", 0) >= 0)
        succeeded("fsopen");
    barred("fsopen");
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */);
    if (tree >= 0)
        succeeded("cloned the tree of mounts");
    barred("open_tree");
    must_not_get_in(syscall(SYS_move_mount, AT_FDCWD, "", AT_FDCWD, "/tmp", 0), "move_mount");
    must_not_get_in(syscall(SYS_mount_setattr, AT_FDCWD, "", 0, NULL, 0), "mount_setattr");
    all_barred();
}
