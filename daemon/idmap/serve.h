/* SPDX-License-Identifier: MIT */
#pragma once
/* The room daemon/idmap. Duty: rubricd-idmap, the helper that writes the maps of jails' user
 * namespaces (daemon/jail/idmap.h). It is a program of its own, linked with libc alone, because it
 * is the only part of rubricd with a capability over the host: CAP_SETUID.
 *
 * May include: daemon/jail/idmap.h and proto/util.h. It knows nothing of jobs or configuration.
 *
 * What it does for whom: it answers only processes with its own uid, and it maps only the process
 * that asks. The kernel lets it do so only for a user namespace that this uid has made. A map names
 * this uid and the ids that /etc/subuid grants it, nothing else. So whoever may connect gains what
 * newuidmap(1) gives every account with subordinate ids.
 *
 * CAP_SETGID is not needed: a jail maps one group, its own, which takes no privilege. */

/* Answers one request on CONNECTION, which the caller closes. Takes the ids from SUBUIDS, a file as
 * /etc/subuid. Waits for the peer for a second at most. Returns the errno that it has answered, or
 * -1 if it could not answer. */
int serve_one(int connection, const char *subuids);
