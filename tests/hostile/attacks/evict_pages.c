/* SPDX-License-Identifier: MIT */
/* Takes a file that every job reads out of the host's memory, by MADV_PAGEOUT: others wait for the
 * disk, and find out. The kernel does so for files of the account that runs the daemon. The filter
 * may also answer by itself that it is done, so this looks whether the kernel sees the call:
 * nothing is mapped at that address. Stopped by: seccomp. */
#include "attack.h"

#include <sys/mman.h>

#define PAGE 4096

int main(void)
{
    void *nothing = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nothing == MAP_FAILED || munmap(nothing, PAGE) < 0)
        unclear("mmap: %s", errno_name(errno));
    if (madvise(nothing, PAGE, MADV_PAGEOUT) < 0 && errno == ENOMEM)
        succeeded("the kernel does it");
    barred("madvise(MADV_PAGEOUT)");
    refused("the kernel does not see the call: done nothing");
}
