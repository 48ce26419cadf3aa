/* SPDX-License-Identifier: MIT */
#include "jobkinds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE_(ID, name, keys) extern const struct job_kind job_kind_##name;
JOB_KINDS(DECLARE_)
#undef DECLARE_

#define ENTRY_(ID, name, keys) [JOB_##ID] = &job_kind_##name,
static const struct job_kind *const kinds[JOB_KIND_COUNT] = {JOB_KINDS(ENTRY_)};
#undef ENTRY_

const struct job_kind *job_kind_get(enum job_kind_id id)
{
    assert(id < JOB_KIND_COUNT);
    return kinds[id];
}

const char *job_kind_name(enum job_kind_id id)
{
    return job_kind_get(id)->name;
}

enum job_kind_id job_kind_find(const char *name)
{
    enum job_kind_id id = 0;
    while (id < JOB_KIND_COUNT && strcmp(name, kinds[id]->name) != 0)
        id++;
    return id;
}

size_t job_spec_size(const struct job_spec *spec)
{
    return job_kind_get(spec->kind)->size(spec);
}

struct job_spec *job_spec_free(struct job_spec *spec)
{
    if (spec) {
        job_kind_get(spec->kind)->deinit(spec);
        free(spec);
    }
    return NULL;
}
