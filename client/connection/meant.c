/* SPDX-License-Identifier: MIT */
#include "meant.h"

#include "conf/suggest.h"
#include "proto/jobkinds.h"
#include "proto/util.h"

#include <string.h>

static const char unknown_kind[] = "job.kind: unknown kind";

#define FIELDS_MAX 64
/* Room for the path of a field, with its NUL; the daemon cuts longer ones. */
#define PATH_SHOWN_MAX 512

/* Returns the fields that a job like JOB may have at PATH, "job" or "job.limits"; 0: not known. */
static size_t list_fields(const json_t *job, const char *path, const char *names[FIELDS_MAX])
{
    size_t n = 0;
    const char *word = json_string_value(json_object_get(job, "kind"));
    enum job_kind_id id = job_kind_find(word ? word : "");
    if (id >= JOB_KIND_COUNT)
        return 0;
    const struct job_kind *kind = job_kind_get(id);
    if (strcmp(path, "job") == 0)
        for (; n < MIN(kind->field_count, (size_t)FIELDS_MAX); n++)
            names[n] = kind->fields[n].name;
    if (strcmp(path, "job.limits") == 0)
        for (; n < LIMIT_COUNT; n++)
            names[n] = limit_key((enum limit)n);
    return n;
}

/* Returns the kind that was meant by the one that JOB names. */
static const char *meant_kind(const json_t *job)
{
    const char *names[JOB_KIND_COUNT], *typed = json_string_value(json_object_get(job, "kind"));
    for (size_t i = 0; i < JOB_KIND_COUNT; i++)
        names[i] = job_kind_name((enum job_kind_id)i);
    return typed ? suggest(typed, names, JOB_KIND_COUNT) : NULL;
}

const char *meant_field(const char *message, const json_t *job)
{
    if (strncmp(message, unknown_kind, strlen(unknown_kind)) == 0)
        return meant_kind(job);
    static const char unknown[] = ": unknown field";
    const char *names[FIELDS_MAX];
    char path[PATH_SHOWN_MAX];
    const char *end = strstr(message, unknown);
    if (!end || end[strlen(unknown)] || (size_t)(end - message) >= sizeof(path))
        return NULL;
    (void)snprintf(path, sizeof(path), "%.*s", (int)(end - message), message);
    char *dot = strrchr(path, '.');
    if (!dot)
        return NULL;
    *dot = '\0';
    return suggest(dot + 1, names, list_fields(job, path, names));
}
