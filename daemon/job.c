/* SPDX-License-Identifier: MIT */
#include "job.h"
#include "rubric.h"

#include "clock.h"

#include "proto/utf8.h"

#include <string.h>

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

void job_drop_input(struct job *job)
{
    if (job->spec->kind == JOB_RUBRIC) {
        bytes_deinit(&job->spec->rubric.input);
        return;
    }
    struct sandbox_spec *sandbox = &job->spec->sandbox;
    bytes_deinit(&sandbox->input);
    bytes_deinit(&sandbox->text);
    for (size_t i = 0; i < sandbox->file_count; i++)
        bytes_deinit(&sandbox->files[i].content);
}

static const char *sandbox_label(const struct sandbox_spec *sandbox)
{
    if (sandbox->program == SANDBOX_ARGV)
        return sandbox->argv[0];
    return sandbox->runner == SANDBOX_SHELL ? "shell snippet" : "python snippet";
}

void job_describe(const struct job_spec *spec, char text[JOB_LABEL_MAX])
{
    const char *label =
        spec->kind == JOB_SANDBOX ? sandbox_label(&spec->sandbox) : spec->rubric.task_class;
    size_t shown = utf8_cut(label, strlen(label), JOB_LABEL_MAX - 1);
    memcpy(text, label, shown);
    text[shown] = '\0';
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
