/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include "proto/util.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

size_t peer_resolve_groups(char *const *names, size_t n, gid_t *ret_gids, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < n && count < max; i++) {
        const struct group *group = getgrnam(names[i]);
        if (group)
            ret_gids[count++] = group->gr_gid;
    }
    return count;
}

bool peer_is_one_of(const struct ucred *peer, char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *end;
        unsigned long uid = strtoul(names[i], &end, 10);
        if (*end == '\0' && uid == peer->uid)
            return true;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_name = names[i][strspn(names[i], "0123456789")] != '\0';
        const struct passwd *account = is_name ? getpwnam(names[i]) : NULL;
        if (account && account->pw_uid == peer->uid)
            return true;
    }
    return false;
}

static bool contains(const gid_t *gids, size_t n, gid_t gid)
{
    for (size_t i = 0; i < n; i++)
        if (gids[i] == gid)
            return true;
    return false;
}

bool peer_is_admin(int fd, const struct ucred *peer, const gid_t *admin_gids, size_t n)
{
    if (peer->uid == 0 || peer->uid == geteuid() || contains(admin_gids, n, peer->gid))
        return true;
    /* The kernel's NGROUPS_MAX. */
    socklen_t length = 65536 * sizeof(gid_t);
    _cleanup_free_ gid_t *groups = n > 0 ? malloc(length) : NULL;
    if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0)
        return false;
    for (size_t i = 0; i < length / sizeof(gid_t); i++)
        if (contains(admin_gids, n, groups[i]))
            return true;
    return false;
}
