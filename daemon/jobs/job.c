/* SPDX-License-Identifier: MIT */
#include "job.h"
#include "settings.h"

#include "daemon/base/clock.h"
#include "daemon/kinds/rubric.h"
#include "proto/utf8.h"

#include <assert.h>
#include <string.h>

struct job *job_new(struct request *request, size_t size, struct settings *settings)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->id = request->id;
    job->spec = TAKE_PTR(request->job);
    job->settings = settings_ref(settings);
    job->entry.size = size;
    job->entry.priority = job->spec->priority;
    job->queued_ns = clock_now_ns();
    request->id = (struct bytes)BYTES_NULL;
    return job;
}

static _unused_ bool may_follow(enum job_place place, enum job_place next)
{
    switch (next) {
    case JOB_ADMITTED:
        return false;
    case JOB_QUEUED:
        return place == JOB_ADMITTED;
    case JOB_ON_SLOT:
        return place == JOB_QUEUED || place == JOB_ON_SLOT;
    case JOB_ENDED:
        return place != JOB_ENDED;
    }
    return false;
}

void job_enter(struct job *job, enum job_place place, struct slot *slot)
{
    assert(may_follow(job->place, place));
    assert((place == JOB_QUEUED) == (job->entry.lane != NULL));
    assert((place == JOB_ON_SLOT) == (slot != NULL));
    if (job->set && place == JOB_ON_SLOT && job->place != JOB_ON_SLOT)
        job->set->running++;
    if (job->set && place != JOB_ON_SLOT && job->place == JOB_ON_SLOT) {
        assert(job->set->running > 0);
        job->set->running--;
    }
    job->place = place;
    job->slot = slot;
}

static void drop_sandbox_input(struct sandbox_spec *sandbox)
{
    bytes_deinit(&sandbox->input);
    bytes_deinit(&sandbox->text);
    for (size_t i = 0; i < sandbox->file_count; i++)
        bytes_deinit(&sandbox->files[i].content);
}

/* Keeps target_count, which the score is a fraction of. */
static void drop_code_exec_input(struct code_exec_spec *code_exec)
{
    bytes_deinit(&code_exec->text);
    bytes_deinit(&code_exec->test);
    bytes_deinit(&code_exec->prelude);
    bytes_deinit(&code_exec->test_setup);
    for (size_t i = 0; i < code_exec->target_count; i++)
        bytes_deinit(&code_exec->targets[i]);
}

void job_drop_input(struct job *job)
{
    switch (job->spec->kind) {
    case JOB_RUBRIC:
        bytes_deinit(&job->spec->rubric.input);
        break;
    case JOB_SANDBOX:
        drop_sandbox_input(&job->spec->sandbox);
        break;
    case JOB_CODE_EXEC:
        drop_code_exec_input(&job->spec->code_exec);
        break;
    case JOB_KIND_COUNT:
        break;
    }
}

static const char *sandbox_label(const struct sandbox_spec *sandbox)
{
    if (sandbox->program == SANDBOX_ARGV)
        return sandbox->argv[0];
    return sandbox->runner == SANDBOX_SHELL ? "shell snippet" : "python snippet";
}

static const char *label_of(const struct job_spec *spec)
{
    switch (spec->kind) {
    case JOB_RUBRIC:
        return spec->rubric.task_class;
    case JOB_SANDBOX:
        return sandbox_label(&spec->sandbox);
    case JOB_CODE_EXEC:
        return spec->code_exec.entry_point ? spec->code_exec.entry_point : "python code";
    case JOB_KIND_COUNT:
        break;
    }
    return "";
}

int64_t job_queue_ms(const struct job *job)
{
    return (int64_t)((job->began_ns - job->queued_ns) / NS_PER_MS);
}

void job_describe(const struct job_spec *spec, char text[JOB_LABEL_MAX])
{
    const char *label = label_of(spec);
    size_t shown = utf8_cut(label, strlen(label), JOB_LABEL_MAX - 1);
    memcpy(text, label, shown);
    text[shown] = '\0';
}

struct job *job_free(struct job *job)
{
    if (job) {
        assert(job->place == JOB_ADMITTED || job->place == JOB_ENDED);
        assert(!job->entry.lane && !job->set);
        bytes_deinit(&job->id);
        job_spec_free(job->spec);
        task_class_free(job->task_class);
        settings_unref(job->settings);
        free(job);
    }
    return NULL;
}
