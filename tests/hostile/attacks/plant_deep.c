/* SPDX-License-Identifier: MIT */
/* Plants directories nested 1,000 deep, which no path can name and recursion may not reach.
 * Stopped by: tempdir. */
#include "plant.h"

#define DEPTH 1000

int main(int argc, char **argv)
{
    if (!is_step(argc, argv, "plant"))
        find_plants();
    for (int i = 0; i < DEPTH; i++)
        if (mkdir(PLANT "deeper-and-deeper", 0700) < 0 || chdir(PLANT "deeper-and-deeper") < 0)
            unclear("depth %d: %s", i, errno_name(errno));
    planted();
}
