/* SPDX-License-Identifier: MIT */
#pragma once
/* Gives each slot's jobs a kernel uid of their own (LAYER_OWN_UID).
 *
 * The kernel counts some things per uid, over all namespaces: epoll watches, pages in pipes,
 * descriptors on their way through sockets. If daemon, jails and jobs have one uid, one job can use
 * up what the others need. So the jail's user namespace maps two users: the jail stays the daemon's
 * uid, and its jobs get a subordinate one, another for each slot. The group stays the daemon's.
 *
 * Only a process with CAP_SETUID over the parent namespace may write such a map, and the daemon has
 * none. Theory of operation:
 *
 *  1. A jail that is executed connects to rubricd-idmap (daemon/idmap), a helper with the daemon's
 *     uid and CAP_SETUID, and names its slot. The helper looks into /etc/subuid for what it grants
 *     that uid and writes the map of the process that asks.
 *  2. The zygote asks for all subordinate ids, mapped to themselves, and keeps CAP_SETUID over its
 *     own namespace. With that it writes the maps of the jails that it makes.
 *  3. The jail writes the map of its one group itself, as it does without this layer.
 *  4. A job's process becomes IDMAP_JOB before it gives up its capabilities (lockdown.c). The jail
 *     keeps its own, which are good for both users: to kill jobs, read their /proc, and remove
 * their files.
 *
 * Where the helper or its ids are missing, the jail maps one user and says so in its notice. */

#include "view.h"

#include <stddef.h>
#include <stdint.h>

/* The users inside a jail with a uid per slot. Without one, both are VIEW_UID. */
#define IDMAP_JOB VIEW_UID
#define IDMAP_JAIL (VIEW_UID + 1)

/* Maximum number of subordinate ids that are used. */
#define IDMAP_COUNT_MAX 65536
#define IDMAP_TEXT_MAX 96

/* One packet each way, over a SOCK_SEQPACKET socket. The helper writes the map of its peer. */
struct idmap_request {
    uint32_t is_zygote; /* 1: all ids, mapped to themselves; `slot` is ignored */
    uint32_t slot;
};

struct idmap_reply {
    int32_t error;  /* errno; 0: the map is written. ENODATA: no ids are granted to the account;
                       ERANGE: fewer than SLOT + 1 */
    uint32_t first; /* the ids granted */
    uint32_t count;
};

/* Asks the helper that listens at PATH, and waits for its answer for a few seconds at most. Returns
 * 0 once the map is written. -ENOENT, -ECONNREFUSED: nobody listens; -ETIMEDOUT; or the helper's
 * error.
 */
int idmap_ask(const char *path, const struct idmap_request *request, struct idmap_reply *ret);

/* Formats the map of a jail whose jobs get the uid JOB of the parent namespace. OWN is the jail's.
 */
void idmap_format(char text[IDMAP_TEXT_MAX], uint32_t job, uint32_t own);
