/* SPDX-License-Identifier: MIT */
#include "alone.h"

bool alone_is_wanted(const struct tasks *tasks)
{
    const struct task *task;
    LIST_FOREACH(task, tasks, link)
    if (task->state == TASK_WAITING || (task->is_alone && task->holds_slot))
        return true;
    return false;
}

void alone_go_on(const struct tasks *tasks)
{
    struct task *task, *first = NULL;
    LIST_FOREACH(task, tasks, link)
    {
        if (task->state == TASK_WAITING)
            first = task; /* the list begins with the newest one */
        else if (task->holds_slot)
            return;
    }
    if (first)
        task_go_alone(first);
}
