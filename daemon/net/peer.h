/* SPDX-License-Identifier: MIT */
#pragma once
/* Who is at the other end of a connection, and what they may do. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Group ids of those NAMES that exist; up to MAX. Returns how many. */
size_t peer_resolve_groups(char *const *names, size_t n, gid_t *ret_gids, size_t max);

/* Root, the daemon's own user, or a member of one of the N admin groups: by its primary group or by
 * the supplementary groups that it had when it connected FD. */
bool peer_is_admin(int fd, const struct ucred *peer, const gid_t *admin_gids, size_t n);
