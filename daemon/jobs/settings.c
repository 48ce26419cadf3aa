/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "daemon/base/clock.h"
#include "daemon/compare/compare.h"
#include "daemon/kinds/code_exec.h"
#include "proto/reply.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* --- the hello message ----------------------------------------------------------------- */

/* LIMITS by kind of job, with `allow_network` for the sandbox. NULL when memory runs out. */
static json_t *kinds_json(const struct limits *limits, bool network)
{
    _cleanup_json_ json_t *kinds = json_object();
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++)
        if (json_object_set_new(kinds, job_kind_name(id),
                                limits_json(&limits[id], LIMITS_IN_SECONDS)) < 0)
            return NULL;
    json_t *sandbox = json_object_get(kinds, job_kind_name(JOB_SANDBOX));
    if (json_object_set_new(sandbox, "allow_network", json_boolean(network)) < 0)
        return NULL;
    return TAKE_PTR(kinds);
}

static int make_hello(struct settings *settings)
{
    const struct config *config = &settings->config;
    const struct request_policy *policy = &settings->policy;
    settings->hello_limits = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "max_frame", (json_int_t)config->max_frame, "slots",
        (json_int_t)settings->slots, "queue_jobs", (json_int_t)config->queue_jobs, "queue_bytes",
        (json_int_t)config->queue_bytes, "jobs_per_client",
        (json_int_t)config->queue_jobs_per_client, "defaults", kinds_json(policy->defaults, false),
        "ceilings", kinds_json(policy->ceilings, policy->allow_network));
    return settings->hello_limits && settings->hello_interpreter ? 0 : -ENOMEM;
}

/* --- the rules for jobs ----------------------------------------------------------------- */

static struct roots roots(const struct string_list *list)
{
    return (struct roots){.item = (const char *const *)list->item, .count = list->count};
}

/* So that a request with a rule that there is not is refused, and does not wait for its turn first.
 */
static int check_compare(const char *rule, struct fault *fault)
{
    struct compare ignored;
    return compare_parse(rule, &ignored, fault);
}

/* Whether the layers keep a program from the files and the memory of one that runs beside it with
 * the same uid: either it has other files and sees no other process, or it may touch neither. */
static bool keeps_apart(uint32_t layers)
{
    return (layer_in(layers, LAYER_MOUNT_NAMESPACE) && layer_in(layers, LAYER_PID_NAMESPACE)) ||
           (layer_in(layers, LAYER_LANDLOCK) && layer_in(layers, LAYER_FILESYSTEM));
}

static void make_policy(struct settings *settings)
{
    const struct config *config = &settings->config;
    struct limits *defaults = settings->policy.defaults, *ceilings = settings->policy.ceilings;
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        defaults[id] = config->limits[id];
        ceilings[id] = config->ceilings;
        if (config->wall_clock_ceiling_ms[id] > 0)
            ceilings[id].of[LIMIT_WALL_CLOCK] = config->wall_clock_ceiling_ms[id];
    }
    settings->policy.env_names = (const char *const *)config->sandbox_env_names.item;
    settings->policy.env_name_count = config->sandbox_env_names.count;
    settings->policy.allow_network = config->sandbox_allow_network;
    settings->policy.check_compare = check_compare;
    ceilings[JOB_SESSION].of[LIMIT_OUTPUT] = config->session_output_ceiling;
    settings->policy.lease_ms = config->session_lease_ms;
    settings->policy.lease_ceiling_ms = config->session_lease_ceiling_ms;
    settings->policy.idle_ms = config->session_idle_ms;
    settings->policy.idle_ceiling_ms = config->session_idle_ceiling_ms;
    settings->kind_host = (struct kind_host){
        .interpreter = config->interpreter,
        .environment = (const char *const *)settings->isolation.environment,
        .checker = settings->checker,
        .rubric_roots =
            {
                .default_root = *config->bench_root ? config->bench_root : NULL,
                .allowed = roots(&config->allowed_roots),
                .digests = settings->digests,
            },
        .languages = settings->languages,
        .readable_roots = roots(&config->sandbox_readable_roots),
        .keeps_apart = keeps_apart(settings->isolation.layers),
        .has_view = layer_in(settings->isolation.layers, LAYER_MOUNT_NAMESPACE),
    };
}

static int make_isolation(struct settings *settings, const struct settings_host *host,
                          struct confinement *confinement, struct fault *fault)
{
    const struct config *config = &settings->config;
    const struct confinement_host of = {
        .jail_program = host->jail_program,
        .warm_program = host->warm_program,
        .code = settings->checker,
        .no_cgroups = host->no_cgroups,
        .bounds_memory = host->bounds_memory,
        .is_private = host->is_private,
    };
    struct version_query query;
    char directory[4096];
    (void)snprintf(directory, sizeof(directory), "%s/probe", config->work_dir);
    int r = isolation_version_begin(config->interpreter, &query, fault);
    if (r < 0)
        return r;
    if (confinement)
        settings->confinement = confinement_ref(confinement);
    else
        r = confinement_new(config, &of, directory, &settings->confinement, fault);
    _cleanup_free_ char *version =
        isolation_version_end(&query, config->interpreter, r < 0 ? NULL : fault);
    if (r < 0 || !version)
        return r < 0 ? r : -EINVAL;
    settings->hello_interpreter =
        json_pack("{s:s,s:s}", "path", config->interpreter, "version", version);
    if (!confinement)
        r = confinement_warm_up(settings->confinement, config, &of, version, directory, fault);
    return r < 0 ? r
                 : isolation_init(&settings->isolation, config, version,
                                  &settings->confinement->probe, fault);
}

/* Whether a control group, or the jail's look at the tree, bounds the memory of jobs. */
static bool bounds_memory(const struct settings *settings, const struct settings_host *host)
{
    const uint32_t layers = settings->isolation.layers;
    return (layer_in(layers, LAYER_CGROUP) && host->bounds_memory) ||
           (layer_in(layers, LAYER_RLIMITS) && layer_in(layers, LAYER_PID_NAMESPACE) &&
            layer_in(layers, LAYER_MOUNT_NAMESPACE));
}

static int find_languages(struct settings *settings, const struct settings_host *host,
                          struct fault *fault)
{
    const struct languages_host of = {
        .list = &settings->config.languages,
        .python = settings->config.interpreter,
        .python_version =
            json_string_value(json_object_get(settings->hello_interpreter, "version")),
        .environment = (const char *const *)settings->isolation.environment,
        .has_view = layer_in(settings->isolation.layers, LAYER_MOUNT_NAMESPACE),
        .bounds_memory = bounds_memory(settings, host),
    };
    int r = languages_new(&of, &settings->languages);
    if (r < 0)
        fault_set(fault, "looking for the programs of languages: %s", strerror(-r));
    return r;
}

/* --- slots --------------------------------------------------------------------------------- */

/* Descriptors that the daemon has open for itself, and for each slot when it has a job: its jail
 * and timers, and the pipes, the program and the client of the job. */
#define DESCRIPTORS_OWN 32
#define DESCRIPTORS_OF_SLOT 9
#define DESCRIPTORS_OF_CONNECTION 2
/* There are this many more connections than slots, whatever the limit is: the descriptors of each
 * slot have one, and those of the daemon's own that it needs for moments have these. */
#define CONNECTIONS_BESIDE 4

uint64_t settings_open_files(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? RLIM_INFINITY : limit.rlim_cur;
}

/* How many slots can all have a job under the process's limit of open files. */
static uint64_t most_slots(void)
{
    uint64_t limit = settings_open_files();
    return limit < DESCRIPTORS_OWN ? 0 : (limit - DESCRIPTORS_OWN) / DESCRIPTORS_OF_SLOT;
}

static unsigned count_slots(const struct config *config)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return config->slots > 0
               ? config->slots
               : (unsigned)MAX(MIN((uint64_t)MAX(cpus, 1L), most_slots()), UINT64_C(1));
}

/* A session takes as many descriptors as a slot. Where the limit leaves too few for as many
 * sessions as slots, there are fewer, unless the configuration says how many. */
static unsigned count_sessions(const struct config *config, unsigned slots)
{
    uint64_t most = most_slots();
    return config->session_max > 0 ? (unsigned)config->session_max
                                   : (unsigned)MIN((uint64_t)slots, most - MIN(most, slots));
}

/* How many connections the limit leaves descriptors for. If these ran out first, whoever holds the
 * connections that there are would keep all others out. */
static unsigned count_connections(const struct config *config, unsigned slots, unsigned sessions)
{
    uint64_t limit = settings_open_files();
    uint64_t taken = DESCRIPTORS_OWN + ((uint64_t)slots + sessions) * DESCRIPTORS_OF_SLOT;
    uint64_t left = limit > taken ? (limit - taken) / DESCRIPTORS_OF_CONNECTION : 0;
    return (unsigned)MIN((uint64_t)config->max_clients, slots + CONNECTIONS_BESIDE + left);
}

/* Refuses a limit under which the slots and the sessions could not all have a job: each would be an
 * error. */
static int check_descriptors(unsigned slots, unsigned sessions, struct fault *fault)
{
    uint64_t limit = settings_open_files(), most = most_slots();
    if (most >= slots && most - slots < sessions)
        return fault_set(fault,
                         "[session] max: %u sessions beside %u slots take %" PRIu64
                         " open files, and the limit of the process is %" PRIu64
                         ": raise it (LimitNOFILE= of the service, ulimit -n), or configure fewer",
                         sessions, slots,
                         DESCRIPTORS_OWN + ((uint64_t)slots + sessions) * DESCRIPTORS_OF_SLOT,
                         limit),
               -EMFILE;
    if (most >= slots)
        return 0;
    fault_set(fault,
              "[daemon] slots: %u slots take %" PRIu64
              " open files, and the limit of the process is %" PRIu64
              ": raise it (LimitNOFILE= of the service, ulimit -n), or configure fewer slots",
              slots, DESCRIPTORS_OWN + (uint64_t)slots * DESCRIPTORS_OF_SLOT, limit);
    return -EMFILE;
}

/* --- the object ---------------------------------------------------------------------------- */

int settings_new(struct config *config, const struct settings_host *host, uint64_t generation,
                 struct confinement *confinement, struct settings **ret, struct fault *fault)
{
    struct settings *settings = calloc(1, sizeof(*settings));
    if (!settings) {
        config_deinit(config);
        fault_set(fault, "out of memory");
        return -ENOMEM;
    }
    settings->references = 1;
    settings->generation = generation;
    settings->made_ns = clock_now_ns();
    settings->config = *config;
    *config = (struct config)CONFIG_NULL;
    settings->digests = host->digests;
    settings->slots = count_slots(&settings->config);
    settings->sessions = count_sessions(&settings->config, settings->slots);
    settings->connections =
        count_connections(&settings->config, settings->slots, settings->sessions);
    int r = check_descriptors(settings->slots, settings->sessions, fault);
    settings->checker = r < 0 ? -1 : code_exec_checker();
    if (r == 0 && settings->checker < 0) {
        r = settings->checker;
        fault_set(fault, "putting the checker into memory: %s", strerror(-r));
    }
    if (r == 0)
        r = make_isolation(settings, host, confinement, fault);
    if (r == 0)
        r = find_languages(settings, host, fault);
    if (r == 0) {
        make_policy(settings);
        r = make_hello(settings);
        if (r < 0)
            fault_set(fault, "out of memory");
    }
    if (r < 0)
        settings_unref(settings);
    else
        *ret = settings;
    return r;
}

struct settings *settings_ref(struct settings *settings)
{
    assert(settings->references > 0); /* a freed one cannot be had back */
    settings->references++;
    return settings;
}

struct settings *settings_unref(struct settings *settings)
{
    assert(!settings || settings->references > 0);
    if (settings && --settings->references == 0) {
        json_decref(settings->hello_limits);
        json_decref(settings->hello_interpreter);
        languages_free(settings->languages);
        isolation_deinit(&settings->isolation);
        confinement_unref(settings->confinement);
        close_fd(settings->checker);
        config_deinit(&settings->config);
        free(settings);
    }
    return NULL;
}
