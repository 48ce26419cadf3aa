/* SPDX-License-Identifier: MIT */
#include "kind.h"

#include <assert.h>

#define DECLARE_(ID, name, keys) extern const struct kind_ops name##_ops;
JOB_KINDS(DECLARE_)
#undef DECLARE_

const struct kind_ops *kind_ops_get(enum job_kind_id id)
{
#define ENTRY_(ID, name, keys) [JOB_##ID] = &name##_ops,
    static const struct kind_ops *const table[JOB_KIND_COUNT] = {JOB_KINDS(ENTRY_)};
#undef ENTRY_
    assert(id < JOB_KIND_COUNT);
    return table[id];
}

void kind_plan_deinit(struct kind_plan *plan)
{
    if (plan->free_parts)
        plan->free_parts(plan->parts);
    *plan = (struct kind_plan)KIND_PLAN_NULL;
}

void judgement_deinit(struct judgement *judgement)
{
    bench_score_deinit(&judgement->score);
    json_decref(judgement->assertions);
    json_decref(judgement->transcript);
    json_decref(judgement->language);
    json_decref(judgement->tests);
    json_decref(judgement->compile);
    bytes_deinit(&judgement->steps);
    reply_files_deinit(&judgement->files);
    free(judgement->broken);
    *judgement = (struct judgement)JUDGEMENT_NULL;
}
