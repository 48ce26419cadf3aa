/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include "proto/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int identity_write(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t n = strlen(text);
    return write(fd, text, n) == (ssize_t)n ? 0 : -errno;
}

int identity_map_group(uint32_t inside_gid, uint32_t gid)
{
    char gids[48];
    (void)snprintf(gids, sizeof(gids), "%u %u 1", inside_gid, gid);
    int r = identity_write("/proc/self/setgroups", "deny");
    return r < 0 ? r : identity_write("/proc/self/gid_map", gids);
}

int identity_map(uint32_t inside_uid, uint32_t uid, uint32_t inside_gid, uint32_t gid)
{
    char uids[48];
    (void)snprintf(uids, sizeof(uids), "%u %u 1", inside_uid, uid);
    int r = identity_write("/proc/self/uid_map", uids);
    return r < 0 ? r : identity_map_group(inside_gid, gid);
}
