/* SPDX-License-Identifier: MIT */
#include "runinfo.h"
#include "digest.h"

#include "proto/printer.h"
#include "proto/util.h"
#include "rubricdir/digests.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

/* Members of a job that differ between two answers to the same case. */
static const char *const of_the_answer[] = {
    "bench_root", "rubric_digest", "sut", "harness_output", "generation", "code", "language",
};

/* Adds the digests of the job and of its case. */
static int put_digests(json_t *run, json_t *job)
{
    char of_job[DIGEST_SIZE], of_case[DIGEST_SIZE];
    _cleanup_json_ json_t *rest = json_copy(job);
    if (!rest)
        return -ENOMEM;
    (void)json_object_del(rest, "priority");
    if (digest_json(rest, of_job) < 0)
        return -ENOMEM;
    size_t whole = json_object_size(rest);
    for (size_t i = 0; i < ARRAY_SIZE(of_the_answer); i++)
        (void)json_object_del(rest, of_the_answer[i]);
    if (json_object_size(rest) == whole)
        memcpy(of_case, of_job, sizeof(of_case));
    else if (digest_json(rest, of_case) < 0)
        return -ENOMEM;
    if (json_object_set_new(run, "job_digest", json_string(of_job)) < 0 ||
        json_object_set_new(run, "case_digest", json_string(of_case)) < 0)
        return -ENOMEM;
    return 0;
}

/* The daemon runs as another user and may read other files: this digest is of what we can read. */
static int put_rubric_digest(json_t *run, const json_t *job, const char *task_class,
                             struct digests *digests)
{
    struct rubric_digest digest;
    const char *path = json_string_value(json_object_get(job, "bench_root"));
    if (!digests || !path || !manifest_is_name(task_class) || strchr(task_class, '/'))
        return 0;
    _cleanup_close_ int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return 0;
    const struct tree_place place = {root, task_class};
    digests_look(digests, path, &place, 0, UINT64_MAX, &digest);
    return *digest.hex ? json_object_set_new(run, "rubric_digest", json_string(digest.hex)) : 0;
}

json_t *runinfo_make(json_t *job, const struct bytes *id, struct digests *digests)
{
    const char *task_class = json_string_value(json_object_get(job, "task_class"));
    _cleanup_json_ json_t *run =
        json_pack("{s:s%,s:i}", "case_id", id->data, id->length, "sample", 1);
    json_t *kind = json_object_get(job, "kind");
    if (!run || put_digests(run, job) < 0 ||
        (json_is_string(kind) && json_object_set(run, "kind", kind) < 0))
        return NULL;
    if (task_class && *task_class &&
        (json_object_set_new(run, "task_class", json_string(task_class)) < 0 ||
         put_rubric_digest(run, job, task_class, digests) < 0))
        return NULL;
    return TAKE_PTR(run);
}

int runinfo_set_sample(json_t *run, const struct bytes *case_id, uint64_t sample)
{
    int bad = json_object_set_new(run, "case_id", json_stringn(case_id->data, case_id->length));
    bad |= json_object_set_new(run, "sample", json_integer((json_int_t)sample));
    return bad ? -ENOMEM : 0;
}

/* Returns the time now, as "2026-11-21T17:55:01.123Z". */
static json_t *time_json(void)
{
    struct timespec now;
    struct tm utc;
    char text[32];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    return json_sprintf("%s.%03ldZ", text, now.tv_nsec / 1000000);
}

int runinfo_add_earlier(json_t *run, const char *why, const struct message *answer)
{
    json_t *earlier = json_object_get(run, "earlier");
    json_t *entry = json_pack("{s:s,s:o,s:O}", "why", why, "finished_at", time_json(), "answer",
                              answer->object);
    if (!earlier) {
        earlier = json_array();
        if (json_object_set_new(run, "earlier", earlier) < 0)
            earlier = NULL;
    }
    return json_array_append_new(earlier, entry) < 0 ? -ENOMEM : 0;
}

size_t runinfo_earlier(const json_t *run)
{
    return json_array_size(json_object_get(run, "earlier"));
}

/* Copies the first N members of NAMES that ANSWER has. */
static int copy_members(json_t *run, const json_t *answer, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_object_get(answer, names[i]);
        if (value && json_object_set(run, names[i], value) < 0)
            return -ENOMEM;
    }
    return 0;
}

int runinfo_set_starvation(json_t *run, const json_t *answer)
{
    static const char *const names[] = {"deadline", "fleet"};
    return copy_members(run, answer, names, ARRAY_SIZE(names));
}

int runinfo_finish(json_t *run, const char *version)
{
    json_int_t attempts = (json_int_t)runinfo_earlier(run) + 1;
    int bad = json_object_set_new(run, "attempts", json_integer(attempts));
    bad |= json_object_set_new(run, "rubricd", json_string(version));
    bad |= json_object_set_new(run, "finished_at", time_json());
    return bad ? -ENOMEM : 0;
}

int runinfo_set_circumstances(json_t *run, const json_t *answer)
{
    static const char *const names[] = {"mode", "usage", "isolation"};
    return copy_members(run, answer, names, ARRAY_SIZE(names));
}

int runinfo_set_host(json_t *run, json_t *take_host)
{
    return json_object_set_new(run, "host", take_host) < 0 ? -ENOMEM : 0;
}

int runinfo_splice(struct bytes *line, const json_t *run)
{
    size_t n = line->length;
    while (n > 0 && line->data[n - 1] != '}')
        n--;
    if (n == 0)
        return -ENOMEM;
    struct printer printer = {.text = {.data = line->data, .length = n - 1}, .room = line->length};
    *line = (struct bytes)BYTES_NULL;
    printer_name(&printer, "run");
    printer_value(&printer, run);
    printer_close(&printer);
    return printer_finish(&printer, line);
}

uint64_t runinfo_identity(const json_t *run)
{
    return digest_head(json_string_value(json_object_get(run, "job_digest"))) ^ runinfo_rubric(run);
}

uint64_t runinfo_rubric(const json_t *run)
{
    return digest_head(json_string_value(json_object_get(run, "rubric_digest")));
}
