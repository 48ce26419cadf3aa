/* SPDX-License-Identifier: MIT */
#include "subids.h"

#include "daemon/jail/idmap.h"
#include "proto/util.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Reads a decimal number up to END, one of the characters after it. */
static bool read_number(const char *text, const char *end, uint32_t *ret)
{
    char *stop;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long value = strtoul(text, &stop, 10);
    if (errno != 0 || value > UINT32_MAX || !strchr(end, *stop))
        return false;
    *ret = (uint32_t)value;
    return true;
}

static bool is_account(const char *field, size_t length, const char *name, const char *number)
{
    return (strlen(name) == length && strncmp(field, name, length) == 0) ||
           (strlen(number) == length && strncmp(field, number, length) == 0);
}

static bool read_line(const char *line, const char *name, const char *number, struct subids *ret)
{
    const char *first = strchr(line, ':');
    const char *count = first ? strchr(first + 1, ':') : NULL;
    struct subids ids;
    if (!count || !is_account(line, (size_t)(first - line), name, number) ||
        !read_number(first + 1, ":", &ids.first) || !read_number(count + 1, "\n", &ids.count))
        return false;
    /* UINT32_MAX is no uid. */
    if (ids.first == 0 || ids.count == 0 || ids.count > UINT32_MAX - ids.first)
        return false;
    ids.count = MIN(ids.count, (uint32_t)IDMAP_COUNT_MAX);
    *ret = ids;
    return true;
}

int subids_find(FILE *file, const char *name, uid_t uid, struct subids *ret)
{
    char line[512], number[16];
    (void)snprintf(number, sizeof(number), "%u", (unsigned)uid);
    while (fgets(line, sizeof(line), file))
        if (read_line(line, name, number, ret))
            return 0;
    return ferror(file) ? -EIO : -ENODATA;
}
