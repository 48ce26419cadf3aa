/* SPDX-License-Identifier: MIT */
/* Has the kernel note for each page of an empty file on which node it belongs. Nobody counts these
 * notes. Stopped by: seccomp. */
#include "attack.h"

#include <sys/mman.h>

#define BIND 2
#define PAGE 4096
#define PAGES 64

int main(void)
{
    unsigned long first_node = 1;
    int file = open("pages", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, PAGES * PAGE) < 0)
        unclear("pages: %s", errno_name(errno));
    (void)unlink("pages");
    char *area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (area == MAP_FAILED)
        unclear("mmap: %s", errno_name(errno));
    for (long i = 0; i < PAGES; i += 2)
        if (syscall(SYS_mbind, area + i * PAGE, PAGE, BIND, &first_node, 64UL, 0UL) < 0) {
            barred("mbind");
            all_barred();
        }
    succeeded("%d notes about a file without pages", PAGES / 2);
}
