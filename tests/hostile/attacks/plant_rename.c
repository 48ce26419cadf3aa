/* SPDX-License-Identifier: MIT */
/* Renames its working directory and leaves a link to a directory of the host in its place.
 * Arguments: plant or find, a directory of the host with a file "witness".
 * Stopped by: filesystem (the working directory is a mount), tempdir. */
#include "plant.h"

int main(int argc, char **argv)
{
    char here[512], away[600];
    if (!is_step(argc, argv, "plant")) {
        if (access("witness", F_OK) == 0)
            succeeded("the next job runs in a directory of the host");
        find_plants();
    }
    if (!getcwd(here, sizeof(here)))
        unclear("getcwd: %s", errno_name(errno));
    (void)mkdir(PLANT "left-behind", 0700);
    (void)snprintf(away, sizeof(away), "%s-" PLANT "moved", here);
    if (rename(here, away) < 0)
        barred("rename %s", here);
    else if (symlink(argument(argc, argv, 2), here) < 0)
        barred("a link in its place");
    planted();
}
