/* SPDX-License-Identifier: MIT */
/* Tells every later job of the host something by the times of a device: without input, stdin is
 * /dev/null, and who may write to a file may set its times to now. Tries the mode and the owner,
 * too. Stopped by: a mount of its own that is read-only (mount_namespace). */
#include "attack.h"

static struct stat look(void)
{
    struct stat st;
    if (stat("/dev/null", &st) < 0)
        unclear("stat of /dev/null: %s", errno_name(errno));
    return st;
}

int main(void)
{
    struct stat input, before = look();
    if (fstat(STDIN_FILENO, &input) < 0 || !S_ISCHR(input.st_mode) ||
        input.st_rdev != before.st_rdev)
        unclear("stdin is not /dev/null");
    if (futimens(STDIN_FILENO, NULL) < 0)
        barred("futimens of stdin");
    if (fchmod(STDIN_FILENO, before.st_mode & 07777) == 0)
        succeeded("the mode of stdin can be set");
    barred("fchmod of stdin");
    if (fchown(STDIN_FILENO, getuid(), (gid_t)-1) == 0)
        succeeded("the owner of stdin can be set");
    barred("fchown of stdin");
    struct stat after = look();
    if (after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
        after.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
        succeeded("/dev/null was last modified just now");
    all_barred();
}
