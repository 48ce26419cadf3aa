/* SPDX-License-Identifier: MIT */
/* Takes all permissions from directories that are not empty, and from the working directory itself.
 * Stopped by: tempdir. */
#include "plant.h"

int main(int argc, char **argv)
{
    if (!is_step(argc, argv, "plant"))
        find_plants();
    if (mkdir(PLANT "a", 0700) < 0 || mkdir(PLANT "a/b", 0700) < 0 ||
        mkdir(PLANT "a/b/c", 0700) < 0)
        unclear("mkdir: %s", errno_name(errno));
    (void)chmod(PLANT "a/b/c", 0);
    (void)chmod(PLANT "a/b", 0);
    (void)chmod(PLANT "a", 0);
    if (chmod("..", 0) < 0)
        barred("chmod 000 of the parent directory");
    if (chmod(".", 0) < 0)
        barred("chmod 000 of the working directory");
    planted();
}
