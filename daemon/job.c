/* SPDX-License-Identifier: MIT */
#include "job.h"
#include "rubric.h"

#include "clock.h"

struct job *job_new(struct request *request, size_t size)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->id = request->id;
    job->spec = TAKE_PTR(request->job);
    job->entry.size = size;
    job->entry.priority = job->spec->priority;
    job->queued_ns = clock_now_ns();
    request->id = (struct bytes)BYTES_NULL;
    return job;
}

struct job *job_free(struct job *job)
{
    if (job) {
        bytes_deinit(&job->id);
        job_spec_free(job->spec);
        task_class_free(job->task_class);
        free(job);
    }
    return NULL;
}
