/* SPDX-License-Identifier: MIT */
/* Writes through /proc/self/mem to a read-only mapping of a file, to change the file for every
 * later job (as CVE-2016-5195 did). Argument: the file. Stopped on every host by the kernel's copy
 * on write; also by filesystem and landlock. */
#include "attack.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
    const char *path = argument(argc, argv, 1);
    int fd = open(path, O_RDONLY);
    unsigned char *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        barred("mmap %s", path);
        all_barred();
    }
    unsigned char before = map[8], after = 0, changed = (unsigned char)~before;
    int memory = open("/proc/self/mem", O_RDWR);
    if (memory < 0 || pwrite(memory, &changed, 1, (off_t)(uintptr_t)&map[8]) != 1)
        barred("write to /proc/self/mem");
    if (pread(fd, &after, 1, 8) != 1)
        unclear("pread: %s", errno_name(errno));
    if (after != before)
        succeeded("changed %s", path);
    refused("%s is as before", path);
}
