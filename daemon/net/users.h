/* SPDX-License-Identifier: MIT */
#pragma once
/* Keeps, for each uid that is connected, what its connections have in common. A gateway, which
 * submits for many users, is one user for each share that it names, and one more for what it
 * submits without.
 *
 * Invariant: a user is in the table exactly while at least one of the user's connections is open.
 */

#include "frame_line.h"

#include "daemon/pool/queue.h"

#include <sys/types.h>

struct user {
    uid_t uid;
    char *share; /* NULL: none */
    size_t connections;
    struct queue_user queue;
    struct frame_user frames;
    size_t received; /* bytes of the user's shares of the receive budget */
    size_t beyond;   /* bytes of it that are beyond that budget */
    size_t put;      /* bytes of the tests that the user's connections have put */
    size_t unsent;   /* bytes of replies that they leave unread */
    LIST_ENTRY(user) link;
};

LIST_HEAD(user_list, user);

#define USER_BUCKETS 64

struct users {
    struct user_list buckets[USER_BUCKETS];
};

void users_init(struct users *users);

/* Counts one more connection of UID for SHARE; NULL: for none. NULL when memory runs out. */
struct user *users_join(struct users *users, uid_t uid, const char *share);

/* Counts one connection less; frees a user who has none left. Accepts and returns NULL. */
struct user *user_leave(struct user *user);

/* A number of USER's, the same whenever the user connects: the uid, or for a share one that another
 * user has by chance alone, of that gateway. */
uint64_t user_number(const struct user *user);

/* Whether USER is the one of its uid for SHARE; NULL: for none. */
bool user_has_share(const struct user *user, const char *share);

/* Whether UID may connect once more while FREE more connections are possible. All shares of a
 * gateway count together. */
bool users_admit(const struct users *users, uid_t uid, size_t free);

/* Whether one of UID's connections may become one of SHARE while FREE more connections are
 * possible: by the same rule, of those that UID may have. */
bool users_admit_share(const struct users *users, uid_t uid, const char *share, size_t free);
