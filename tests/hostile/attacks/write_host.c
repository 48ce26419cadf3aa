/* SPDX-License-Identifier: MIT */
/* Writes into directories of the host that everybody may write to. A job may have a private one of
 * the same name, so it recognizes the host's by a file that the runner has put there. Arguments:
 * that file's name, the name to write, and the directories. Stopped by: filesystem, landlock. */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[512];
    for (int i = 3; i < argc; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", argv[i], argument(argc, argv, 1));
        bool of_the_host = access(path, F_OK) == 0;
        if (!of_the_host)
            barred("the host's %s", argv[i]);
        /* Write nevertheless: the runner checks whether the file appears on the host. */
        (void)snprintf(path, sizeof(path), "%s/%s", argv[i], argument(argc, argv, 2));
        int fd = open(path, O_WRONLY | O_CREAT, 0666);
        if (fd >= 0 && of_the_host)
            succeeded("made %s", path);
        if (fd < 0)
            barred("create %s", path);
    }
    all_barred();
}
