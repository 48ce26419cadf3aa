/* SPDX-License-Identifier: MIT */
/* Which jobs of classes get a template (jail/template.h). */
#include "pool.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

/* Memory that templates of other slots than SLOT take, or may take. */
static uint64_t taken(const struct pool *pool, const struct slot *slot)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < pool->slot_count; i++) {
        const struct slot *other = &pool->slots[i]->slot;
        if (other != slot)
            bytes += MAX(slot_class_most(&other->of_class, &other->job.of_class),
                         slot_class_most(&other->of_class, &other->next.of_class));
    }
    return bytes;
}

void pool_settle_class(const struct pool *pool, const struct slot *slot, struct launch *launch,
                       uint64_t bytes_max)
{
    struct launch_class *class = &launch->of_class;
    if (!class->parts)
        return;
    uint64_t bytes = taken(pool, slot);
    class->why_not = class_failures_find(&pool->failures, class->parts[0], clock_now_ns());
    if (!class->why_not && bytes >= bytes_max)
        class->why_not = bytes_max == 0 ? "[warm] classes is 0" : "[warm] classes has no room left";
    if (class->why_not)
        class->parts = NULL;
    else /* those that come next have some room, too, while this one loads */
        class->bytes_max = (bytes_max - bytes + 1) / 2;
}

void pool_note_class(struct pool *pool, const struct slot_result *result)
{
    class_failures_note(&pool->failures, result->class_key, &result->of_class, clock_now_ns());
}
