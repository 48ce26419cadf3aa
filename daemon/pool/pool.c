/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include "stale.h"

#include "daemon/base/clock.h"
#include "daemon/jail/children.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* --- membership ---------------------------------------------------------------------------- */

#define TO(membership) (1u << POOL_##membership)

bool pool_may_become(enum pool_membership from, enum pool_membership to)
{
    static const unsigned next[] = {
        [POOL_ACTIVE] = TO(RETIRING) | TO(CLOSING),
        [POOL_RETIRING] = TO(ACTIVE) | TO(RETIRED),
        [POOL_RETIRED] = 0,
        [POOL_CLOSING] = 0,
        [POOL_SESSION] = TO(CLOSING),
    };
    return next[from] >> to & 1;
}

static void set_membership(struct pool_slot *member, enum pool_membership membership)
{
    assert(pool_may_become(member->membership, membership));
    member->membership = membership;
}

static bool is_surplus(const struct pool_slot *member)
{
    return member->membership == POOL_RETIRING || member->membership == POOL_RETIRED;
}

static struct pool_slot *member_of(struct slot *slot)
{
    return container_of(slot, struct pool_slot, slot);
}

/* Whether it works on a job or has lent its turn to a session. */
static bool is_busy(const struct pool_slot *member)
{
    return slot_has_job(&member->slot) || member->lent_to;
}

static void stop_slot(struct pool_slot *member)
{
    if (member->membership == POOL_ACTIVE || member->membership == POOL_SESSION)
        set_membership(member, POOL_CLOSING);
    else if (member->membership == POOL_RETIRING)
        set_membership(member, POOL_RETIRED);
    slot_stop(&member->slot);
}

/* --- what slots tell ----------------------------------------------------------------------- */

static void on_started(struct slot *slot, void *owner, uint64_t started_ns, void *userdata)
{
    struct pool *pool = userdata;
    pool->ops->started(slot, owner, started_ns, pool->userdata);
}

static void stop_if_surplus(struct pool_slot *member)
{
    if (is_surplus(member) && !is_busy(member))
        stop_slot(member);
}

/* Ends the loan of a slot to the session on TO. */
static void take_back(struct pool *pool, const struct slot *to)
{
    for (unsigned i = 0; i < pool->slot_count; i++) {
        struct pool_slot *member = pool->slots[i];
        if (member->lent_to != to)
            continue;
        member->lent_to = NULL;
        stop_if_surplus(member);
        return;
    }
}

static void on_done(struct slot *slot, void *owner, const struct slot_result *result,
                    void *userdata)
{
    struct pool *pool = userdata;
    struct pool_slot *member = member_of(slot);
    pool->ops->done(slot, owner, result, pool->userdata);
    if (member->session)
        take_back(pool, slot);
    else
        stop_if_surplus(member);
}

static void on_output(struct slot *slot, void *owner, bool is_stderr, const char *data, size_t n,
                      void *userdata)
{
    struct pool *pool = userdata;
    pool->ops->output(slot, owner, is_stderr, data, n, pool->userdata);
}

static void on_taken(struct slot *slot, void *owner, size_t n, void *userdata)
{
    struct pool *pool = userdata;
    pool->ops->taken(slot, owner, n, pool->userdata);
}

static void on_idle(struct slot *slot, void *userdata)
{
    struct pool *pool = userdata;
    (void)slot;
    pool->ops->idle(pool->userdata);
}

/* A dead jail's orphans become children of this process, as the other slots' jails and the zygotes
 * are. (The zygote of a confinement that only queued jobs know would be killed too; another one
 * would be started for them.) */
static int on_sweep(void *userdata)
{
    struct pool *pool = userdata;
    size_t n = 0;
    _cleanup_free_ pid_t *keep = calloc(2 * (size_t)pool->slot_count + 1, sizeof(*keep));
    if (!keep)
        return -ENOMEM;
    keep[n++] = confinement_zygote(pool->slot_config.confinement);
    for (unsigned i = 0; i < pool->slot_count; i++) {
        const struct slot *slot = &pool->slots[i]->slot;
        keep[n++] = slot_jail_pid(slot);
        if (slot->jail.confinement)
            keep[n++] = confinement_zygote(slot->jail.confinement);
    }
    return children_kill(keep, n);
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
    .output = on_output,
    .taken = on_taken,
    .idle = on_idle,
    .sweep = on_sweep,
    .stopped = on_stopped,
};

static const struct slot_ops session_ops = {
    .started = on_started,
    .done = on_done,
    .output = on_output,
    .lost = on_idle,
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
    stale_put_away(config->work_directory_fd, config->slot_count);
    return pool_resize(pool, config->slot_count);
}

/* --- the dispatcher ------------------------------------------------------------------------ */

static bool is_idle(const struct pool_slot *member)
{
    return slot_is_idle(&member->slot) && !member->lent_to && !member->session;
}

static bool takes_next(const struct pool_slot *member)
{
    return member->membership == POOL_ACTIVE && slot_takes_next(&member->slot);
}

static bool holds_next(const struct pool_slot *member)
{
    return slot_holds_next(&member->slot);
}

static bool delays_next(const struct pool_slot *member)
{
    return slot_delays_next(&member->slot);
}

/* The first slot that IS_WANTED, NULL if none is. */
static struct slot *find(const struct pool *pool, bool (*is_wanted)(const struct pool_slot *member))
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (is_wanted(pool->slots[i]))
            return &pool->slots[i]->slot;
    return NULL;
}

/* Moves a job that another slot was given ahead and has no time for to slot TO. It goes before the
 * queue's entries: it left the queue before them. Returns whether there was one. */
static bool pass_on(struct pool *pool, struct slot *to)
{
    struct slot *from = find(pool, slot_is_idle(to) ? holds_next : delays_next);
    if (!from)
        return false;
    void *owner = slot_pass_on(from, to);
    pool->ops->moved(to, owner, pool->userdata);
    return true;
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

/* A slot that TAKES jobs when those are passed on that wait elsewhere, NULL if there is none. */
static struct slot *find_for_entry(struct pool *pool, bool (*takes)(const struct pool_slot *member))
{
    struct slot *slot;
    while ((slot = find(pool, takes)) && pass_on(pool, slot))
        continue;
    return slot;
}

/* Of the idle slots, of which FIRST is the first one, that which suits ENTRY best: the first that
 * has a template of the entry's class; otherwise the first that has none, so that none goes. */
static struct slot *choose_idle(const struct pool *pool, const struct queue_entry *entry,
                                struct slot *first)
{
    struct slot *best = first;
    for (unsigned i = 0; i < pool->slot_count; i++) {
        if (!is_idle(pool->slots[i]))
            continue;
        struct slot *slot = &pool->slots[i]->slot;
        if (slot_affinity(slot) == entry->affinity)
            return slot;
        if (slot_affinity(best) != 0 && slot_affinity(slot) == 0)
            best = slot;
    }
    return best;
}

bool pool_dispatch(struct pool *pool)
{
    if (pool->stopping)
        return false;
    struct slot *slot = find_for_entry(pool, is_idle);
    const struct queue_entry *next = queue_peek(pool->queue);
    if (slot && next)
        slot = choose_idle(pool, next, slot);
    if (!slot && !(next && next->wants_idle))
        slot = find_for_entry(pool, takes_next);
    return slot && launch(pool, slot);
}

bool pool_can_dispatch(const struct pool *pool)
{
    return !pool->stopping && queue_can_pop(pool->queue) && find(pool, is_idle);
}

bool pool_others_wait(const struct pool *pool, const struct slot *slot,
                      const struct queue_lane *lane)
{
    if (pool->stopping)
        return false;
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (is_idle(pool->slots[i]) && &pool->slots[i]->slot != slot)
            return false;
    return find(pool, delays_next) || queue_others_wait(pool->queue, lane);
}

/* --- what can be seen ---------------------------------------------------------------------- */

bool pool_is_overdue(const struct pool *pool, uint64_t slack_ms)
{
    uint64_t now_ns = clock_now_ns();
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (slot_is_overdue(&pool->slots[i]->slot, now_ns, slack_ms))
            return true;
    return false;
}

bool pool_has_no_jail(const struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (!pool->slots[i]->session && !slot_lacks_jail(&pool->slots[i]->slot))
            return false;
    return !pool->stopping;
}

const char *pool_why_no_jail(const struct pool *pool)
{
    const char *why = NULL;
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (!pool->slots[i]->session && !(why = slot_why_no_jail(&pool->slots[i]->slot)))
            return NULL;
    return pool->stopping ? NULL : why;
}

unsigned pool_busy(const struct pool *pool)
{
    unsigned busy = 0;
    for (unsigned i = 0; i < pool->slot_count; i++)
        busy += slot_has_job(&pool->slots[i]->slot);
    return busy;
}

unsigned pool_size(const struct pool *pool)
{
    unsigned size = 0;
    for (unsigned i = 0; i < pool->slot_count; i++)
        size += pool->slots[i]->membership == POOL_ACTIVE;
    return size;
}

unsigned pool_retiring(const struct pool *pool)
{
    unsigned retiring = 0;
    for (unsigned i = 0; i < pool->slot_count; i++)
        retiring += is_surplus(pool->slots[i]) && is_busy(pool->slots[i]);
    return retiring;
}

bool pool_look(const struct pool *pool, unsigned *at, struct slot_view *ret)
{
    while (*at < pool->slot_count) {
        const struct pool_slot *member = pool->slots[(*at)++];
        if (member->session || (is_surplus(member) && !is_busy(member)))
            continue;
        slot_look(member->lent_to ? member->lent_to : &member->slot, ret);
        ret->index = slot_index(&member->slot);
        ret->is_retiring = is_surplus(member);
        return true;
    }
    return false;
}

const struct slot_tally *pool_tally(const struct pool *pool)
{
    return &pool->tally;
}

uint64_t pool_dispatched(const struct pool *pool)
{
    return pool->dispatched;
}

/* --- growing and shrinking ----------------------------------------------------------------- */

static bool is_in_use(const struct pool *pool, unsigned index)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (slot_index(&pool->slots[i]->slot) == index)
            return true;
    return false;
}

/* The lowest number that no slot has: one that is stopping still has its directory. */
static unsigned free_index(const struct pool *pool)
{
    unsigned index = 0;
    while (is_in_use(pool, index))
        index++;
    return index;
}

static void free_slot(const struct pool *pool, struct pool_slot *member)
{
    char name[24];
    (void)snprintf(name, sizeof(name), "slot-%u", slot_index(&member->slot));
    slot_deinit(&member->slot); /* first: its jail may be making the directory */
    (void)unlinkat(pool->slot_config.work_directory_fd, name, AT_REMOVEDIR);
    if (member->session)
        confinement_unref(member->session->confinement);
    free(member->session);
    free(member);
}

/* Adds MEMBER, which is taken, with a slot that lives by CONFIG. */
static int add_member(struct pool *pool, struct pool_slot *member, const struct slot_config *config)
{
    /* An array of pointers. NOLINTNEXTLINE(bugprone-sizeof-expression) */
    struct pool_slot **slots = reallocarray(pool->slots, pool->slot_count + 1, sizeof(*slots));
    int r = slots ? 0 : -ENOMEM;
    if (slots)
        pool->slots = slots;
    if (r == 0)
        r = slot_init(&member->slot, config, free_index(pool));
    if (r < 0) {
        free_slot(pool, member);
        return r;
    }
    pool->slots[pool->slot_count++] = member;
    return 0;
}

/* A member without a slot that slot_deinit() would have to end. */
static struct pool_slot *new_member(enum pool_membership membership)
{
    struct pool_slot *member = malloc(sizeof(*member));
    if (member)
        *member = (struct pool_slot){
            .slot = {.timer = TIMER_NULL,
                     .jail = SLOT_JAIL_NULL,
                     .job = SLOT_JOB_NULL,
                     .next = SLOT_JOB_NULL,
                     .kept = JOB_CGROUP_NULL},
            .membership = membership,
        };
    return member;
}

static int add_slot(struct pool *pool)
{
    struct pool_slot *member = new_member(POOL_ACTIVE);
    return member ? add_member(pool, member, &pool->slot_config) : -ENOMEM;
}

int pool_open_session(struct pool *pool, struct confinement *confinement, struct slot **ret)
{
    struct pool_slot *member = new_member(POOL_SESSION);
    struct slot_config *config = member ? malloc(sizeof(*config)) : NULL;
    if (!config) {
        free(member);
        return -ENOMEM;
    }
    *config = pool->slot_config;
    config->confinement = confinement_ref(confinement);
    config->ops = &session_ops;
    member->session = config;
    int r = add_member(pool, member, config);
    if (r == 0)
        *ret = &member->slot;
    return r;
}

void pool_close_session(struct pool *pool, struct slot *slot)
{
    struct pool_slot *member = member_of(slot);
    (void)pool;
    assert(member->session && !slot_has_job(slot));
    if (member->membership == POOL_SESSION)
        stop_slot(member);
}

void pool_lend(struct pool *pool, struct slot *slot, const struct slot *to)
{
    struct pool_slot *member = member_of(slot);
    (void)pool;
    assert(is_idle(member) && slot_has_job(to));
    member->lent_to = to;
}

/* Calls a retiring slot back, or adds a slot if none retires. */
static int gain_slot(struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (pool->slots[i]->membership == POOL_RETIRING) {
            set_membership(pool->slots[i], POOL_ACTIVE);
            return 0;
        }
    return add_slot(pool);
}

/* Retires the last active slot that has no job, or the last one if all have. */
static void lose_slot(struct pool *pool)
{
    struct pool_slot *surplus = NULL;
    for (unsigned i = 0; i < pool->slot_count; i++) {
        struct pool_slot *member = pool->slots[i];
        if (member->membership == POOL_ACTIVE && (!surplus || is_busy(surplus) || !is_busy(member)))
            surplus = member;
    }
    assert(surplus); /* the caller has counted */
    set_membership(surplus, POOL_RETIRING);
    stop_if_surplus(surplus);
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
        slot_renew(&pool->slots[i]->slot); /* that of a session is configured apart */
}

void pool_reap(struct pool *pool)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < pool->slot_count; i++) {
        struct pool_slot *member = pool->slots[i];
        if (slot_is_stopped(&member->slot)) {
            assert(!slot_has_job(&member->slot));
            free_slot(pool, member);
        } else {
            pool->slots[kept++] = member;
        }
    }
    pool->slot_count = kept;
}

/* --- the end ------------------------------------------------------------------------------- */

void pool_cancel_all(struct pool *pool, void (*before)(void *owner))
{
    for (unsigned i = 0; i < pool->slot_count; i++) {
        struct slot *slot = &pool->slots[i]->slot;
        void *owners[SLOT_JOBS_MAX];
        slot_owners(slot, owners);
        for (size_t k = 0; k < SLOT_JOBS_MAX; k++) {
            if (!owners[k])
                continue;
            before(owners[k]);
            slot_cancel(slot, owners[k]);
        }
    }
}

void pool_stop(struct pool *pool)
{
    pool->stopping = true;
    for (unsigned i = 0; i < pool->slot_count; i++)
        stop_slot(pool->slots[i]);
}

bool pool_is_stopped(const struct pool *pool)
{
    for (unsigned i = 0; i < pool->slot_count; i++)
        if (!slot_is_stopped(&pool->slots[i]->slot))
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
