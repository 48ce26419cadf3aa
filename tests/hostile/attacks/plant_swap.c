/* SPDX-License-Identifier: MIT */
/* Leaves a process that keeps exchanging a directory and a link to the host's while the cleaner
 * walks the tree. Arguments: plant or find, a directory of the host with a file "witness". Stopped
 * by: tree_kill (the process dies), tempdir (the cleaner follows no link). */
#include "plant.h"

#include <time.h>

#define SECONDS 20 /* until it ends by itself */

int main(int argc, char **argv)
{
    if (!is_step(argc, argv, "plant"))
        find_plants();
    if (mkdir(PLANT "directory", 0700) < 0 || mkdir(PLANT "directory/inner", 0700) < 0 ||
        symlink(argument(argc, argv, 2), PLANT "link") < 0)
        unclear("planting: %s", errno_name(errno));
    if (fork() == 0) {
        (void)setsid();
        time_t end = time(NULL) + SECONDS;
        while (time(NULL) < end)
            if (syscall(SYS_renameat2, AT_FDCWD, PLANT "directory", AT_FDCWD, PLANT "link",
                        2 /* RENAME_EXCHANGE */) < 0)
                break;
        _exit(0);
    }
    planted();
}
