/* SPDX-License-Identifier: MIT */
#pragma once
/* Tells whether the account at the other end of a connection may administer the daemon, or submit
 * for users of its own. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Looks up the N NAMES. Writes the ids of groups that exist, at most MAX, and returns how many. */
size_t peer_resolve_groups(char *const *names, size_t n, gid_t *ret_gids, size_t max);

/* Whether PEER is one of the N accounts NAMES: names, or uids. */
bool peer_is_one_of(const struct ucred *peer, char *const *names, size_t n);

/* Whether PEER is root, the daemon's own user, or a member of one of the N admin groups, by its
 * primary group or by the supplementary groups that it had when it connected FD. */
bool peer_is_admin(int fd, const struct ucred *peer, const gid_t *admin_gids, size_t n);
