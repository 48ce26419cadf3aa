/* SPDX-License-Identifier: MIT */
/* Reads the command line of a process outside, which names the socket and the work directory.
 * Stopped by: pid_namespace with filesystem (the job's own /proc does not show that process). */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[64], text[4096];
    for (int i = 1; i < argc; i++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/cmdline",
                       (int)argument_process(argc, argv, i));
        ssize_t n = read_file(path, text, sizeof(text));
        if (n > 0)
            succeeded("%zd bytes of %s: %.60s", n, path, text);
        if (n == 0)
            errno = ENODATA;
        barred("%s", path);
    }
    all_barred();
}
