/* SPDX-License-Identifier: MIT */
#include "classes.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct slot_class slot_class_of(const struct launch_class *class)
{
    struct slot_class ret = {.affinity = 0};
    if (class->parts) {
        (void)snprintf(ret.key, sizeof(ret.key), "%s", class->parts[0]);
        ret.affinity = class->affinity;
        ret.bytes = class->bytes_max;
    }
    return ret;
}

void slot_class_begin(struct slot_class *mark, const struct slot_class *job)
{
    if (strcmp(mark->key, job->key) != 0)
        *mark = *job;
}

void slot_class_end(struct slot_class *mark, const struct link_loaded *loaded)
{
    if (loaded->error != 0)
        *mark = (struct slot_class){.affinity = 0};
    else if (*mark->key)
        mark->bytes = MIN(mark->bytes, loaded->bytes); /* a jail is not to be believed */
}

uint64_t slot_class_most(const struct slot_class *mark, const struct slot_class *job)
{
    return strcmp(mark->key, job->key) == 0 ? mark->bytes : MAX(mark->bytes, job->bytes);
}

const char *class_failures_find(const struct class_failures *failures, const char *key,
                                uint64_t now_ns)
{
    for (size_t i = 0; i < CLASS_FAILURES_MAX; i++)
        if (strcmp(failures->of[i].key, key) == 0 && now_ns < failures->of[i].until_ns)
            return failures->of[i].why;
    return NULL;
}

void class_failures_note(struct class_failures *failures, const char *key,
                         const struct link_loaded *loaded, uint64_t now_ns)
{
    bool is_of_class = loaded->error == EINVAL || loaded->error == ENOSPC;
    if (!*key || !is_of_class || class_failures_find(failures, key, now_ns))
        return;
    size_t i = failures->next;
    failures->next = (i + 1) % CLASS_FAILURES_MAX;
    (void)snprintf(failures->of[i].key, sizeof(failures->of[i].key), "%s", key);
    (void)snprintf(failures->of[i].why, sizeof(failures->of[i].why), "%s", loaded->why);
    failures->of[i].until_ns = now_ns + CLASS_FAILURE_MS * NS_PER_MS;
}
