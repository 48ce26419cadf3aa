/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include "client/terminal/text.h"

#include <inttypes.h>

bool alone_is_wanted(const struct tasks *tasks)
{
    const struct task *task;
    LIST_FOREACH(task, tasks, link)
    if (task->state == TASK_WAITING || (task->is_alone && task->holds_slot))
        return true;
    return false;
}

int64_t alone_go_on(const struct tasks *tasks, int64_t patience_ms, int64_t now)
{
    struct task *task, *first = NULL;
    unsigned beside = 0;
    LIST_FOREACH(task, tasks, link)
    {
        if (task->state == TASK_WAITING)
            first = task; /* the list begins with the newest one */
        else
            beside += task->holds_slot;
    }
    if (!first)
        return INT64_MAX;
    int64_t due = first->waits_since_ms + patience_ms;
    if (beside > 0 && now < due)
        return due;
    if (beside > 0)
        complain("job %s of run %s was to run alone; it has waited for %" PRId64
                 " s, and now begins beside %u other job%s",
                 first->id.data, first->names.run, (now - first->waits_since_ms) / 1000, beside,
                 text_plural(beside));
    task_go_alone(first, beside);
    return now; /* another one may wait, too */
}
