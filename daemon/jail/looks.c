/* SPDX-License-Identifier: MIT */
#include "looks.h"
#include "pace.h"
#include "same_memory.h"
#include "tree_memory.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

/* Between two looks, unless these take long. */
#define LOOK_MS UINT64_C(50)

/* Sums up the tree's memory, unless nothing has run since the last whole sum. */
static void look_at_memory(struct looks *looks, struct tree_memory *tree, struct pollfd *until,
                           nfds_t count)
{
    if (looks->known.is_on && !looks->known.has_stirred)
        return;
    int r = tree_memory_exceeds(tree, looks->memory_bytes, until, count);
    looks->took_too_much = r > 0;
    looks->is_suspect = tree->is_suspect;
    looks->known.has_stirred = r < 0;
}

static int look(struct looks *looks, const struct work *work, int proc,
                struct tree_time_except twin, struct pollfd *until, nfds_t count)
{
    bool bounds_memory = looks->memory_bytes > 0 && !looks->took_too_much;
    looks->met_full_disk = looks->met_full_disk || work_is_full(work);
    looks->candidate_met_full_disk = looks->candidate_met_full_disk || work_candidate_is_full(work);
    looks->lacked_room = looks->lacked_room || work_lacks_room(work);
    bool knows_all = (looks->met_full_disk || looks->lacked_room) &&
                     (looks->candidate_met_full_disk || !work->is_apart_used);
    if (!bounds_memory && !looks->known.is_on)
        return knows_all ? -1 : (int)LOOK_MS;
    const struct pace pace = pace_begin();
    struct tree_memory tree = {.proc = proc,
                               .twin = twin.pid,
                               .inner = twin.inner,
                               .pass = work->pass,
                               .is_same = same_memory,
                               .cpu_ms = TREE_MEMORY_CPU_MS,
                               .hold = tree_memory_stop};
    if (bounds_memory && looks->is_suspect)
        tree_memory_hold(&tree);
    /* Not at the first look already: most jobs that last until then are over before the second. */
    if (looks->known.is_on && pace.began_ns - looks->known.looked_ns >= LOOK_MS / 2 * NS_PER_MS)
        tree_known_look(&looks->known, proc, twin);
    if (bounds_memory)
        look_at_memory(looks, &tree, until, count);
    uint64_t held_ms = tree_memory_let_go(&tree);
    return pace_next_ms(&pace, MAX(LOOK_MS, held_ms));
}

int looks_take(struct looks *looks, const struct work *work, int proc, struct tree_time_except twin,
               struct pollfd *until, nfds_t count)
{
    uint64_t now_ns = clock_now_ns();
    if (now_ns < looks->next_ns)
        return (int)((looks->next_ns - now_ns) / NS_PER_MS) + 1;
    int ms = look(looks, work, proc, twin, until, count);
    int locks_ms = tree_locks_look(&looks->locks, proc);
    ms = ms < 0 ? locks_ms : ms;
    looks->next_ns = ms < 0 ? 0 : clock_now_ns() + (uint64_t)ms * NS_PER_MS;
    return ms;
}
