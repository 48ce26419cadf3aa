/* SPDX-License-Identifier: MIT */
#pragma once
/* The identity of a process in its user namespace. */

#include <stdint.h>

/* Maps the user INSIDE_UID and the group INSIDE_GID of this process's user namespace, which has no
 * mapping yet, to one user and one group of its parent: the most that the kernel allows without
 * privilege. UID and GID must be this process's own. The process must be dumpable. A negative
 * errno. */
int identity_map(uint32_t inside_uid, uint32_t uid, uint32_t inside_gid, uint32_t gid);

/* The part of identity_map() that maps the group. */
int identity_map_group(uint32_t inside_gid, uint32_t gid);

/* Writes TEXT to the existing file PATH, for example of /proc. 0 or a negative errno. */
int identity_write(const char *path, const char *text);
