/* SPDX-License-Identifier: MIT */
/* Lists the descriptors of a process in /proc/PID/fd and opens their files.
 * Stopped by: pid_namespace with filesystem, user_namespace, landlock. */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[64], target[256];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)argument_process(argc, argv, 1));
    DIR *entries = opendir(path);
    if (!entries) {
        barred("opendir %s", path);
        all_barred();
    }
    const struct dirent *entry;
    while ((entry = readdir(entries))) {
        ssize_t n = readlinkat(dirfd(entries), entry->d_name, target, sizeof(target) - 1);
        if (n < 0 || entry->d_name[0] == '.')
            continue;
        target[n] = '\0';
        succeeded("%s/%s is %s", path, entry->d_name, target);
    }
    barred("links in %s", path);
    all_barred();
}
