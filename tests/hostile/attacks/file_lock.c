/* SPDX-License-Identifier: MIT */
/* Leaves a process that locks a file that every job can read. The next job, or one that runs at the
 * same time, sees the lock. Arguments: plant, find or hold (in the foreground); the file. Stopped
 * by: tree_kill, for the next job only. */
#include "plant.h"

#include <sys/file.h>

#define SECONDS 20 /* until it releases the lock by itself */

int main(int argc, char **argv)
{
    int fd = open(argument(argc, argv, 2), O_RDONLY);
    if (fd < 0)
        unclear("open %s: %s", argv[2], errno_name(errno));
    if (is_step(argc, argv, "find")) {
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
            succeeded("another job holds a lock on %s", argv[2]);
        refused("nobody holds a lock on %s", argv[2]);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        barred("flock %s", argv[2]);
        all_barred();
    }
    bool foreground = is_step(argc, argv, "hold");
    if (foreground || fork() == 0) {
        (void)setsid();
        if (!foreground)
            for (int i = 0; i < 3; i++)
                (void)close(i);
        (void)sleep(SECONDS);
    }
    planted();
}
