/* SPDX-License-Identifier: MIT */
/* Bodies of requests to rubricd-http: the first byte chooses the API, the rest is the body.
 * Whatever job is made of one is JSON that the daemon's decoder reads, and an answer is made of any
 * result. */
#include "tests/fuzz/fuzz.h"

#include "client/http/fusion.h"
#include "client/http/piston.h"
#include "client/http/semver.h"
#include "proto/printer.h"

#include <string.h>

struct world {
    struct language_list languages;
    struct steps_host host;
    json_t *status;
};

static void make_world(struct world *world)
{
    static const char limits[] =
        "{\"defaults\":{\"sandbox\":{\"cpu\":60,\"memory_bytes\":1073741824,\"disk_bytes\":"
        "67108864}},"
        "\"ceilings\":{\"sandbox\":{\"wall_clock\":300,\"cpu\":300,\"memory_bytes\":4294967296,"
        "\"output_bytes\":4194304}}}";
    struct config_problems problems = CONFIG_PROBLEMS_NULL;
    CHECK(language_list_load(&world->languages, "", &problems) == 0);
    world->status = json_array();
    for (size_t i = 0; i < world->languages.count; i++)
        CHECK(json_array_append_new(
                  world->status, json_pack("{s:s,s:b,s:s}", "name", world->languages.item[i].name,
                                           "available", 1, "version", "X 1.2.3")) == 0);
    world->host = (struct steps_host){.limits = json_loadb(limits, sizeof(limits) - 1, 0, NULL),
                                      .python = "/usr/bin/python3"};
    CHECK(world->host.limits);
}

/* The daemon may refuse the job for what it says, never for its form. */
static void check_job(const json_t *job)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    json_t *again = NULL;
    CHECK(json_print(job, &text) == 0);
    int r = json_read_object(text.data, text.length, &again, &fault);
    CHECK(r == 0);
    CHECK(json_array_size(json_object_get(again, "steps")) >= 1);
    json_decref(again);
}

static void check_answer(json_t *answer)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    CHECK(answer && json_print(answer, &text) == 0);
    json_decref(answer);
}

static void check_fusion(const struct world *world, const json_t *request)
{
    struct fusion_job job = {.job = NULL};
    json_t *refusal = NULL;
    struct fault fault = FAULT_NULL;
    int r = fusion_job(request, &world->languages, &world->host, &job, &refusal, &fault);
    CHECK((r == 0) == (job.job != NULL) && (r == -EINVAL) == (refusal != NULL));
    CHECK(r == 0 || r == -EINVAL || (r == -ENOENT && fault.text[0]));
    if (job.job) {
        json_t *none = json_object();
        check_job(job.job);
        CHECK(json_array_size(json_object_get(job.job, "steps")) == steps_count(job.language));
        check_answer(fusion_answer(job.language, none));
        json_decref(none);
    }
    json_decref(job.job);
    json_decref(refusal);
}

static void check_piston(const struct world *world, const json_t *request)
{
    struct piston_job job = {.job = NULL};
    struct fault fault = FAULT_NULL;
    int r = piston_job(request, &world->languages, world->status, &world->host, &job, &fault);
    CHECK((r == 0) == (job.job != NULL) && (r == 0 || (r == -EINVAL && fault.text[0])));
    if (job.job) {
        check_job(job.job);
        CHECK(json_array_size(json_object_get(job.job, "steps")) == steps_count(job.language));
    }
    json_decref(job.job);
}

static void check_selector(const char *bytes, size_t n)
{
    const struct semver version = {.part = {3, 11, 2}};
    struct semver found;
    char text[SEMVER_TEXT_MAX], *copy = strndup(bytes, n);
    CHECK(copy);
    (void)semver_selects(copy, &version);
    (void)semver_find(copy, &found);
    semver_print(&found, text);
    CHECK(semver_selects(text, &found));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    struct fault fault = FAULT_NULL;
    json_t *request = NULL;
    if (!world.status)
        make_world(&world);
    if (size == 0)
        return 0;
    const char *body = (const char *)data + 1;
    check_selector(body, size - 1);
    if (json_read_object(body, size - 1, &request, &fault) < 0)
        return 0;
    if (data[0] == 'p')
        check_piston(&world, request);
    else
        check_fusion(&world, request);
    json_decref(request);
    return 0;
}
