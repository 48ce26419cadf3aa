/* SPDX-License-Identifier: MIT */
/* Has the kernel merge equal pages of its memory with those of others (KSM): a write to a page that
 * was merged takes longer, which tells what others have in their memory. Stopped by: seccomp. */
#include "attack.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif

int main(void)
{
    void *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        unclear("mmap: %s", errno_name(errno));
    if (madvise(area, 4096, MADV_MERGEABLE) == 0)
        succeeded("memory that the kernel may merge, by madvise");
    barred("madvise(MADV_MERGEABLE)");
    if (prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0) == 0)
        succeeded("memory that the kernel may merge, by prctl");
    barred("prctl(PR_SET_MEMORY_MERGE)");
    all_barred();
}
