/* SPDX-License-Identifier: MIT */
/* Allocates memory in files without a name, which no tmpfs counts and which are not mapped.
 * Argument: MiB.
 * Stopped by: cgroup (memory.max); seccomp, unless a cgroup bounds memory. rlimits bound it to
 * RLIMIT_FSIZE times RLIMIT_NOFILE. */
#include "attack.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
    static char piece[1 << 20];
    long goal = argument_number(argc, argv, 1);
    (void)memset(piece, 1, sizeof(piece));
    (void)signal(SIGXFSZ, SIG_IGN);
    int fd = memfd_create("attack", 0);
    for (long got = 0; got < goal; got++) {
        ssize_t n = fd < 0 ? -1 : write(fd, piece, sizeof(piece));
        if (n < 0 && errno == EFBIG) {
            fd = memfd_create("attack", 0);
            n = fd < 0 ? -1 : write(fd, piece, sizeof(piece));
        }
        if (n < 0) {
            barred("memfd after %ld MiB", got);
            all_barred();
        }
    }
    succeeded("%ld MiB of files without a name", goal);
}
