/* SPDX-License-Identifier: MIT */
#include "pool.h"
#include "jail/children.h"

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
        jails[i] = pool->slots[i].jail_pid;
    return children_kill(jails, pool->slot_count);
}

static void on_stopped(struct slot *slot, void *userdata)
{
    struct pool *pool = userdata;
    (void)slot;
    if (pool_is_stopped(pool))
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
                .jail = config->jail,
                .shape = config->shape,
                .networked_shape = config->networked_shape,
                .cgroups = config->cgroups,
                .cpu_percent = config->cpu_percent,
                .work_directory = config->work_directory,
                .work_directory_fd = config->work_directory_fd,
                .ops = &slot_ops,
                .userdata = pool,
            },
        .queue = config->queue,
        .ops = config->ops,
        .userdata = config->userdata,
    };
    pool->slots = calloc(config->slot_count, sizeof(*pool->slots));
    if (!pool->slots)
        return -ENOMEM;
    for (unsigned i = 0; i < config->slot_count; i++) {
        int r = slot_init(&pool->slots[i], &pool->slot_config, i);
        pool->slot_count = i + 1;
        if (r < 0)
            return r;
    }
    return 0;
}

static struct slot *find_idle(const struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (pool->slots[i].state == SLOT_IDLE)
            return &pool->slots[i];
    return NULL;
}

void pool_dispatch(struct pool *pool)
{
    struct slot *slot;
    struct queue_entry *entry;
    while (!pool->stopping && (slot = find_idle(pool)) && (entry = queue_pop(pool->queue)))
        pool->ops->launch(slot, entry, pool->userdata);
}

unsigned pool_busy(const struct pool *pool)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < pool->slot_count; i++)
        busy += pool->slots[i].owner != NULL;
    return busy;
}

void pool_stop(struct pool *pool)
{
    pool->stopping = true;
    for (unsigned i = 0; i < pool->slot_count; i++)
        slot_stop(&pool->slots[i]);
}

bool pool_is_stopped(const struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (pool->slots[i].state != SLOT_STOPPED)
            return false;
    return true;
}

void pool_deinit(struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        slot_deinit(&pool->slots[i]);
    free(pool->slots);
    *pool = (struct pool){.slot_count = 0};
}
