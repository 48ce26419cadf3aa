/* SPDX-License-Identifier: MIT */
/* Plants links for the cleaner to follow: to a directory of the host, to /, and a hard link to a
 * file of the host; then a directory that becomes a link to the host's before the cleaner enters
 * it. Arguments: plant or find, a directory of the host with a file "witness". Stopped by: tempdir
 * (the cleaner follows no link, and the next job gets an empty directory). */
#include "plant.h"

int main(int argc, char **argv)
{
    if (!is_step(argc, argv, "plant"))
        find_plants();
    const char *outside = argument(argc, argv, 2);
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/witness", outside);
    if (symlink(outside, PLANT "directory") < 0 || symlink(path, PLANT "file") < 0 ||
        symlink("/", PLANT "root") < 0 || symlink(".", PLANT "self") < 0 ||
        symlink("../..", PLANT "up") < 0 || symlink("nowhere", PLANT "dangling") < 0)
        unclear("symlink: %s", errno_name(errno));
    if (link(path, PLANT "hard") < 0)
        barred("a hard link to %s", path);
    (void)mkdir(PLANT "inner", 0700);
    if (symlink(outside, PLANT "inner/directory") < 0 ||
        symlink("/proc/self/root", PLANT "inner/magic") < 0)
        unclear("symlink: %s", errno_name(errno));
    planted();
}
