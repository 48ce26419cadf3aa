/* SPDX-License-Identifier: MIT */
/* Reads the environment of the daemon or of the jail through /proc.
 * Stopped by: pid_namespace with filesystem (the job has its own /proc), user_namespace (the
 * process is in another one). */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[64], text[4096];
    for (int i = 1; i < argc; i++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/environ",
                       (int)argument_process(argc, argv, i));
        ssize_t n = read_file(path, text, sizeof(text));
        if (n >= 0)
            succeeded("%zd bytes of %s: %.60s", n, path, text);
        barred("%s", path);
    }
    all_barred();
}
