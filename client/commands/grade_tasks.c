/* SPDX-License-Identifier: MIT */
#include "grade_tasks.h"

#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

const char *grade_tasks_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "stdin" : path;
}

static void complain_record(void *arg, const char *what)
{
    uint64_t *unusable = arg;
    (*unusable)++;
    complain("%s", what);
}

int grade_tasks_read(const char *path, struct dataset *ret, uint64_t *unusable, struct fault *fault)
{
    int r = dataset_read(path, complain_record, unusable, ret, fault);
    if (r == 0 && ret->n == 0)
        r = fault_set(fault, "%s: no task in it can be used", grade_tasks_name(path));
    return r;
}

bool grade_tasks_tell_unattempted(const struct dataset *dataset, const char *name)
{
    bool any = false;
    for (size_t i = 0; i < dataset->n; i++) {
        const struct task *task = &dataset->tasks[i];
        if (task->samples > 0)
            continue;
        complain("%s:%" PRIu64 ": task \"%s\" has no sample", name, task->line, task->id);
        any = true;
    }
    return any;
}

void grade_tasks_tell_plus(const struct dataset *dataset, const char *name)
{
    size_t n = dataset->plus;
    if (n > 0)
        complain("%s: %zu task%s with the tests of EvalPlus (base and plus)", name, n,
                 text_plural(n));
}
