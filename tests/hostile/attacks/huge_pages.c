/* SPDX-License-Identifier: MIT */
/* Takes pages from the host's pool of huge ones, which nobody else has then, and whose use no
 * control group counts as memory. A host whose pool is empty grants the mapping all the same
 * (MAP_NORESERVE). Stopped by: seccomp. */
#include "attack.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#define SIZE ((size_t)2 << 20)

int main(void)
{
    static const int types[] = {MAP_PRIVATE, MAP_SHARED};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        int flags = types[i] | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE;
        if (mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
            succeeded("a mapping of huge pages (type %d)", types[i]);
        barred("mmap(MAP_HUGETLB)");
    }
    int fd = memfd_create("attack", MFD_HUGETLB);
    if (fd >= 0)
        succeeded("a file of huge pages");
    barred("memfd_create(MFD_HUGETLB)");
    if (shmget(IPC_PRIVATE, SIZE, IPC_CREAT | SHM_HUGETLB | SHM_NORESERVE | 0600) >= 0)
        succeeded("a segment of huge pages");
    barred("shmget(SHM_HUGETLB)");
    all_barred();
}
