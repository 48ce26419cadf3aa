/* SPDX-License-Identifier: MIT */
/* Keeps huge pages in pipes: a pipe that has been given one byte of such a page keeps all of it,
 * also when it is mapped nowhere. Argument: MiB. Stopped by: seccomp. */
#include "attack.h"

#include <sys/mman.h>
#include <sys/uio.h>

#define HUGE ((size_t)2 << 20)
#define SLOTS 16 /* of a pipe */

static int fill(int out)
{
    for (int i = 0; i < SLOTS; i++) {
        char *area =
            mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (area == MAP_FAILED)
            return -1;
        char *page = (char *)(((uintptr_t)area + HUGE - 1) & ~(HUGE - 1));
        (void)madvise(page, HUGE, MADV_HUGEPAGE);
        *page = 'x';
        struct iovec piece = {page, 1};
        ssize_t n = vmsplice(out, &piece, 1, 0);
        int error = errno;
        (void)munmap(area, 2 * HUGE);
        errno = error;
        if (n < 0)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1), got = 0;
    for (; got < goal; got += (long)(SLOTS * HUGE >> 20)) {
        int ends[2];
        if (pipe(ends) < 0 || fill(ends[1]) < 0) {
            barred("vmsplice after %ld MiB", got);
            all_barred();
        }
    }
    succeeded("%ld MiB in pipes", got);
}
