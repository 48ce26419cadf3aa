/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include "daemon/base/clock.h"
#include "daemon/jail/children.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void on_started(struct slot *slot, void *owner, void *userdata)
{
    struct pool *pool = userdata;
    pool->ops->started(slot, owner, pool->userdata);
}

static void on_done(struct slot *slot, void *owner, const struct slot_result *result,
                    void *userdata)
{
    struct pool *pool = userdata;
    pool->ops->done(slot, owner, result, pool->userdata);
    if (slot->retiring && !slot_has_job(slot))
        slot_stop(slot);
}

static void on_idle(struct slot *slot, void *userdata)
{
    (void)slot;
    pool_dispatch(userdata);
}

/* A dead jail's orphans are our children, beside the other slots' jails. */
static int on_sweep(void *userdata)
{
    struct pool *pool = userdata;
    _cleanup_free_ pid_t *jails = calloc(pool->slot_count, sizeof(*jails));
    if (!jails)
        return -ENOMEM;
    for (unsigned i = 0; i < pool->slot_count; i++)
        jails[i] = pool->slots[i]->jail_pid;
    return children_kill(jails, pool->slot_count);
}

static void on_stopped(struct slot *slot, void *userdata)
{
    struct pool *pool = userdata;
    (void)slot;
    pool->ops->stopped(pool->userdata);
}

static const struct slot_ops slot_ops = {
    .started = on_started,
    .done = on_done,
    .idle = on_idle,
    .sweep = on_sweep,
    .stopped = on_stopped,
};

int pool_init(struct pool *pool, const struct pool_config *config)
{
    *pool = (struct pool){
        .slot_config =
            {
                .base = config->base,
                .log = config->log,
                .confinement = confinement_ref(config->confinement),
                .cgroups = config->cgroups,
                .work_directory = config->work_directory,
                .work_directory_fd = config->work_directory_fd,
                .tally = &pool->tally,
                .ops = &slot_ops,
                .userdata = pool,
            },
        .queue = config->queue,
        .ops = config->ops,
        .userdata = config->userdata,
    };
    return pool_resize(pool, config->slot_count);
}

/* --- the dispatcher ------------------------------------------------------------------------ */

static bool is_idle(const struct slot *slot)
{
    return slot->state == SLOT_IDLE && !slot->stopping;
}

static struct slot *find(const struct pool *pool, bool (*is_wanted)(const struct slot *slot))
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (is_wanted(pool->slots[i]))
            return pool->slots[i];
    return NULL;
}

/* A job that was taken ahead by a slot which has no time for it goes first: it was the next. */
static bool pass_on(struct pool *pool, struct slot *to)
{
    struct slot *from = find(pool, to->state == SLOT_IDLE ? slot_holds_next : slot_delays_next);
    void *owner = from ? slot_pass_on(from, to) : NULL;
    if (owner)
        pool->ops->moved(to, owner, pool->userdata);
    return from != NULL;
}

static bool launch(struct pool *pool, struct slot *slot)
{
    struct queue_entry *entry = queue_pop(pool->queue);
    if (!entry)
        return false;
    pool->dispatched++;
    pool->ops->launch(slot, entry, pool->userdata);
    return true;
}

void pool_dispatch(struct pool *pool)
{
    struct slot *slot;
    if (pool->stopping)
        return;
    while ((slot = find(pool, is_idle)))
        if (!pass_on(pool, slot) && !launch(pool, slot))
            return;
    while ((slot = find(pool, slot_takes_next)))
        if (!pass_on(pool, slot) && !launch(pool, slot))
            return;
}

bool pool_can_dispatch(const struct pool *pool)
{
    return !pool->stopping && queue_can_pop(pool->queue) && find(pool, is_idle);
}

bool pool_is_overdue(const struct pool *pool, uint64_t slack_ms)
{
    uint64_t now_ns = clock_now_ns();
    for (unsigned i = 0; i < pool->slot_count; i++) {
        const struct slot *slot = pool->slots[i];
        if (slot->state == SLOT_RUNNING && slot->deadline_ns + slack_ms * NS_PER_MS < now_ns)
            return true;
    }
    return false;
}

bool pool_has_no_jail(const struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (pool->slots[i]->failed_starts == 0)
            return false;
    return !pool->stopping;
}

unsigned pool_busy(const struct pool *pool)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < pool->slot_count; i++)
        busy += slot_has_job(pool->slots[i]);
    return busy;
}

/* --- growing and shrinking ----------------------------------------------------------------- */

/* A slot that is stopped is gone but for its jail's last moments. */
static bool is_leaving(const struct slot *slot)
{
    return slot->retiring || slot->stopping;
}

unsigned pool_size(const struct pool *pool)
{
    unsigned size = 0;
    for (unsigned i = 0; i < pool->slot_count; i++)
        size += !is_leaving(pool->slots[i]);
    return size;
}

unsigned pool_retiring(const struct pool *pool)
{
    unsigned retiring = 0;
    for (unsigned i = 0; i < pool->slot_count; i++)
        retiring += pool->slots[i]->retiring && slot_has_job(pool->slots[i]);
    return retiring;
}

bool pool_shows(const struct slot *slot)
{
    return slot_has_job(slot) || !slot->retiring;
}

static bool is_in_use(const struct pool *pool, unsigned index)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (pool->slots[i]->index == index)
            return true;
    return false;
}

/* The lowest number that no slot has, not even one whose directory is about to go. */
static unsigned free_index(const struct pool *pool)
{
    unsigned index = 0;
    while (is_in_use(pool, index))
        index++;
    return index;
}

/* The jail first: it may be making its directory. */
static void free_slot(const struct pool *pool, struct slot *slot)
{
    char name[24];
    slot_deinit(slot);
    (void)snprintf(name, sizeof(name), "slot-%u", slot->index);
    (void)unlinkat(pool->slot_config.work_directory_fd, name, AT_REMOVEDIR);
    free(slot);
}

static int add_slot(struct pool *pool)
{
    /* It is pointers that it holds. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    struct slot **slots = reallocarray(pool->slots, pool->slot_count + 1, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    pool->slots = slots;
    struct slot *slot = calloc(1, sizeof(*slot));
    if (!slot)
        return -ENOMEM;
    int r = slot_init(slot, &pool->slot_config, free_index(pool));
    if (r < 0) {
        free_slot(pool, slot);
        return r;
    }
    pool->slots[pool->slot_count++] = slot;
    return 0;
}

/* One that was surplus and works still stays after all; otherwise a new one comes. */
static int gain_slot(struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++) {
        struct slot *slot = pool->slots[i];
        if (slot->retiring && !slot->stopping) {
            slot->retiring = false;
            return 0;
        }
    }
    return add_slot(pool);
}

/* The last of those that have no job, or else of all. */
static void lose_slot(struct pool *pool)
{
    struct slot *surplus = NULL;
    for (unsigned i = 0; i < pool->slot_count; i++) {
        struct slot *slot = pool->slots[i];
        if (!is_leaving(slot) && (!surplus || slot_has_job(surplus) || !slot_has_job(slot)))
            surplus = slot;
    }
    if (!surplus)
        return;
    surplus->retiring = true;
    if (!slot_has_job(surplus))
        slot_stop(surplus);
}

int pool_resize(struct pool *pool, unsigned size)
{
    unsigned before = pool_size(pool);
    int r = 0;
    while (r == 0 && pool_size(pool) < size)
        r = gain_slot(pool);
    if (r < 0)
        size = before;
    while (pool_size(pool) > size)
        lose_slot(pool);
    return r;
}

void pool_set_confinement(struct pool *pool, struct confinement *confinement)
{
    confinement_replace(&pool->slot_config.confinement, confinement);
    for (unsigned i = 0; i < pool->slot_count; i++)
        slot_renew(pool->slots[i]);
}

void pool_reap(struct pool *pool)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < pool->slot_count; i++) {
        struct slot *slot = pool->slots[i];
        if (slot->state == SLOT_STOPPED) {
            free_slot(pool, slot);
        } else {
            pool->slots[kept++] = slot;
        }
    }
    pool->slot_count = kept;
}

/* --- the end ------------------------------------------------------------------------------- */

void pool_stop(struct pool *pool)
{
    pool->stopping = true;
    for (unsigned i = 0; i < pool->slot_count; i++)
        slot_stop(pool->slots[i]);
}

bool pool_is_stopped(const struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (pool->slots[i]->state != SLOT_STOPPED)
            return false;
    return true;
}

void pool_deinit(struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        free_slot(pool, pool->slots[i]);
    free(pool->slots);
    confinement_unref(pool->slot_config.confinement);
    *pool = (struct pool){.slot_count = 0};
}
