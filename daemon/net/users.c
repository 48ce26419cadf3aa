/* SPDX-License-Identifier: MIT */
#include "users.h"

#include "proto/fair.h"
#include "proto/fnv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void users_init(struct users *users)
{
    for (size_t i = 0; i < USER_BUCKETS; i++)
        LIST_INIT(&users->buckets[i]);
}

bool user_has_share(const struct user *user, const char *share)
{
    return share && user->share ? strcmp(user->share, share) == 0 : share == user->share;
}

static struct user *find(const struct users *users, uid_t uid, const char *share)
{
    struct user *user;
    LIST_FOREACH(user, &users->buckets[uid % USER_BUCKETS], link)
    if (user->uid == uid && user_has_share(user, share))
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
        frame_user_init(&user->frames);
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
        assert(user->unsent == 0);
        assert(TAILQ_EMPTY(&user->frames.waiting[FRAME_LIGHT]) &&
               TAILQ_EMPTY(&user->frames.waiting[FRAME_HEAVY]));
        LIST_REMOVE(user, link);
        free(user->share);
        free(user);
    }
    return NULL;
}

uint64_t user_number(const struct user *user)
{
    return user->share ? fnv_add(FNV_BASIS ^ user->uid, user->share) : user->uid;
}

/* All shares together. */
static size_t count_all(const struct users *users, uid_t uid)
{
    const struct user *user;
    size_t connections = 0;
    LIST_FOREACH(user, &users->buckets[uid % USER_BUCKETS], link)
    connections += user->uid == uid ? user->connections : 0;
    return connections;
}

bool users_admit(const struct users *users, uid_t uid, size_t free)
{
    return fair_may_have_one(count_all(users, uid), free);
}

bool users_admit_share(const struct users *users, uid_t uid, const char *share, size_t free)
{
    const struct user *user = find(users, uid, share);
    size_t has = count_all(users, uid), most = FAIR_PER_FREE * free;
    size_t left = most > has ? (most - has) / (FAIR_PER_FREE + 1) : 0;
    return !user || user->connections / FAIR_PER_FREE <= left;
}
