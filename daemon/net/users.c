/* SPDX-License-Identifier: MIT */
#include "users.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void users_init(struct users *users)
{
    for (size_t i = 0; i < USER_BUCKETS; i++)
        LIST_INIT(&users->buckets[i]);
}

static bool has_share(const struct user *user, const char *share)
{
    return share && user->share ? strcmp(user->share, share) == 0 : share == user->share;
}

static struct user *find(const struct users *users, uid_t uid, const char *share)
{
    struct user *user;
    LIST_FOREACH(user, &users->buckets[uid % USER_BUCKETS], link)
    if (user->uid == uid && has_share(user, share))
        return user;
    return NULL;
}

/* NULL when memory runs out. */
static struct user *make(uid_t uid, const char *share)
{
    struct user *user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    user->uid = uid;
    if (share && !(user->share = strdup(share))) {
        free(user);
        return NULL;
    }
    return user;
}

struct user *users_join(struct users *users, uid_t uid, const char *share)
{
    struct user *user = find(users, uid, share);
    if (!user) {
        user = make(uid, share);
        if (!user)
            return NULL;
        queue_user_init(&user->queue);
        LIST_INSERT_HEAD(&users->buckets[uid % USER_BUCKETS], user, link);
    }
    user->connections++;
    return user;
}

struct user *user_leave(struct user *user)
{
    if (!user)
        return NULL;
    assert(user->connections > 0);
    if (--user->connections == 0) {
        assert(TAILQ_EMPTY(&user->queue.ring) && user->received == 0 && user->put == 0);
        LIST_REMOVE(user, link);
        free(user->share);
        free(user);
    }
    return NULL;
}

bool users_admit(const struct users *users, uid_t uid, size_t free)
{
    const struct user *user = find(users, uid, NULL);
    return free > 0 && (!user || user->connections / USER_CONNECTIONS_PER_FREE < free);
}
