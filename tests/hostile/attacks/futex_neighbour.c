/* SPDX-License-Identifier: MIT */
/* Waits at a futex in a file of the host, which another job wakes: the kernel takes any page of a
 * shared mapping, also a read-only one. Arguments: wake or wait; the file; for wait,
 * the name of a file that it makes when it waits. Stopped by: nothing. */
#include "neighbour.h"

#include <linux/futex.h>
#include <sys/mman.h>

#define TRIES 100
#define PAUSE_US 20000

/* Wakes one who waits there. The other job may have said that it is ready just before it waits. */
_Noreturn static void wake(const uint32_t *word, const char *path)
{
    for (int i = 0; i < TRIES; i++) {
        long woken = syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
        if (woken > 0)
            succeeded("woke another job that waits at %s", path);
        if (woken < 0) {
            barred("FUTEX_WAKE");
            all_barred();
        }
        (void)usleep(PAUSE_US);
    }
    refused("nobody waits at %s", path);
}

int main(int argc, char **argv)
{
    const char *path = argument(argc, argv, 2);
    int fd = open(path, O_RDONLY);
    const uint32_t *word = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (word == MAP_FAILED)
        unclear("mapping %s: %s", path, errno_name(errno));
    if (strcmp(argv[1], "wake") == 0)
        wake(word, path);
    const char *file = argument(argc, argv, 3);
    await_go(file);
    make(file, "");
    while (syscall(SYS_futex, word, FUTEX_WAIT, *word, NULL, NULL, 0) == 0)
        ;
    unclear("FUTEX_WAIT: %s", errno_name(errno));
}
