/* SPDX-License-Identifier: MIT */
/* Writes into directories that everybody may write to on the host. A job may have a private one of
 * the same name, so the host's is known by a file that the runner has put there.
 * Arguments: that file's name, the name to write, and the directories.
 * Stopped by: filesystem, landlock. */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[512];
    for (int i = 3; i < argc; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", argv[i], argument(argc, argv, 1));
        bool of_the_host = access(path, F_OK) == 0;
        if (!of_the_host)
            barred("the host's %s", argv[i]);
        /* Written all the same: the runner looks whether it comes out. */
        (void)snprintf(path, sizeof(path), "%s/%s", argv[i], argument(argc, argv, 2));
        int fd = open(path, O_WRONLY | O_CREAT, 0666);
        if (fd >= 0 && of_the_host)
            succeeded("made %s", path);
        if (fd < 0)
            barred("create %s", path);
    }
    all_barred();
}
