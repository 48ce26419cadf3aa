/* SPDX-License-Identifier: MIT */
/* Theory of operation. A score means something only together with the confinement under which it
 * came about. isolation_init() takes what the probe has found and
 *
 *  1. refuses to go on if a layer that the configuration requires is missing, if jobs would not see
 *     the interpreter, or if [warm] use demands an interpreter that does not wait;
 *  2. makes the environment of every job, of fixed entries and [isolation] env_allow;
 *  3. writes down the policy in force as canonical JSON: layers, limits, environment, interpreter
 *     with its version, readable paths, preloaded modules, POLICY_REVISION;
 *  4. hashes that text with SHA-256. The digest accompanies every score: two scores are comparable
 *     if class and digest agree.
 *
 * Jobs that may use the network have fewer layers and so a digest of their own. The interpreter's
 * version comes from running it once, with a deadline and without trusting what it prints. */
#include "isolation.h"

#include "conf/language.h"
#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/base/roots.h"
#include "proto/jobkinds.h"
#include "proto/json.h"
#include "proto/printer.h"
#include "proto/reply.h"
#include "proto/utf8.h"

#include <fcntl.h>
#include <sha2.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Increase when the code's confinement changes in a way that no other part of the digest shows. */
#define POLICY_REVISION 14

#define VERSION_TIMEOUT_MS UINT64_C(10000)

const char *const isolation_scrubbed_env[5] = {
    "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONHASHSEED=0", "PYTHONIOENCODING=utf-8", NULL,
};

/* --- the interpreter ----------------------------------------------------------------------- */

/* Starts PROGRAM with -V in the scrubbed environment, with stdout and stderr connected to
 * OUTPUT. */
static int spawn_version(const char *program, int output, pid_t *ret_pid)
{
    char *argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "-V", NULL};
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    if (r == 0)
        r = posix_spawn(ret_pid, program, &actions, NULL, argv,
                        (char *const *)(uintptr_t)isolation_scrubbed_env);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Reads until end of file and keeps what fits into TEXT. Returns false if end of file does not come
 * in time. */
static bool read_to_end(int fd, uint64_t deadline_ns, char *text, size_t size)
{
    size_t length = 0;
    for (;;) {
        char data[256];
        text[length] = '\0';
        if (!await_readable(fd, deadline_ns) || clock_now_ns() >= deadline_ns)
            return false;
        ssize_t n = read(fd, data, sizeof(data));
        if (n <= 0)
            return true;
        size_t kept = MIN((size_t)n, size - 1 - length);
        memcpy(text + length, data, kept);
        length += kept;
    }
}

/* Waits for the exit of PID until the deadline, then kills it. Returns whether it exited with 0. */
static bool ends_well(pid_t pid, uint64_t deadline_ns)
{
    int status = 0;
    _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (!await_readable(pidfd, deadline_ns))
        (void)kill(pid, SIGKILL);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int isolation_version_begin(const char *interpreter, struct version_query *ret, struct fault *fault)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        int r = -errno;
        fault_set(fault, "pipe: %s", strerror(-r));
        return r;
    }
    struct version_query query = {
        .output = pipe_fds[0],
        .deadline_ns = clock_now_ns() + VERSION_TIMEOUT_MS * NS_PER_MS,
    };
    int r = spawn_version(interpreter, pipe_fds[1], &query.pid);
    close_fd(pipe_fds[1]);
    if (r < 0) {
        close_fd(pipe_fds[0]);
        fault_set(fault, "[rubric] interpreter: cannot run %s: %s", interpreter, strerror(-r));
        return -EINVAL;
    }
    *ret = query;
    return 0;
}

char *isolation_version_end(struct version_query *query, const char *interpreter,
                            struct fault *fault)
{
    char text[256] = "";
    size_t length;
    bool good = read_to_end(query->output, query->deadline_ns, text, sizeof(text));
    query->output = close_fd(query->output);
    /* If the end of its output did not come in time, do not wait any longer. */
    good = ends_well(query->pid, good ? query->deadline_ns : 0) && good;
    text[strcspn(text, "\r\n")] = '\0';
    _cleanup_free_ char *version = utf8_replace(text, strlen(text), &length);
    if (!good || !version) {
        fault_set(fault, "[rubric] interpreter: %s -V failed: %.200s", interpreter, text);
        return NULL;
    }
    return TAKE_PTR(version);
}

/* --- layers -------------------------------------------------------------------------------- */

int isolation_without(const struct config *config, uint32_t *ret, struct fault *fault)
{
    /* Layers that no job can run without. */
    const uint32_t fixed = LAYER_BIT(LAYER_ENV) | LAYER_BIT(LAYER_TEMPDIR);
    uint32_t without = 0;
    for (size_t i = 0; i < config->without.count; i++) {
        enum layer layer = layer_from_name(config->without.item[i]);
        if (layer == LAYER_COUNT || (fixed & LAYER_BIT(layer))) {
            fault_set(fault, "[isolation] without: %s: %s", config->without.item[i],
                      layer == LAYER_COUNT ? "there is no such layer" : "it is always there");
            return -EINVAL;
        }
        without |= LAYER_BIT(layer);
    }
    *ret = without;
    return 0;
}

static int check_required(const struct probe *probe, const struct config *config,
                          struct fault *fault)
{
    for (size_t i = 0; i < config->require.count; i++) {
        const char *name = config->require.item[i];
        enum layer layer = layer_from_name(name);
        if (layer < LAYER_COUNT && layer_in(probe->layers, layer))
            continue;
        fault_set(fault,
                  "[isolation] require: the layer %s cannot be had: %s; take it out of the list to "
                  "do without",
                  name,
                  layer < LAYER_COUNT ? probe->missing_because[layer] : "there is no such layer");
        return -EPERM;
    }
    return 0;
}

/* A view holds the interpreter only if that lies in a directory that views show. */
static int check_interpreter(const struct probe *probe, const struct config *config,
                             struct fault *fault)
{
    static const char *const shown[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"};
    if (!layer_in(probe->layers, LAYER_FILESYSTEM))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
        if (roots_contain(shown[i], config->interpreter))
            return 0;
    for (size_t i = 0; i < config->readable.count; i++)
        if (roots_contain(config->readable.item[i], config->interpreter))
            return 0;
    fault_set(fault,
              "[rubric] interpreter: jobs do not see %s; name it, or the directory of its "
              "installation, in [isolation] readable",
              config->interpreter);
    return -EINVAL;
}

/* WHAT names PATH: jobs must be able to see it. */
static int check_path(const char *what, const char *path, struct fault *fault)
{
    const char *cover = roots_covered(path);
    if (!cover)
        return 0;
    fault_set(fault,
              "%s: %s: jobs have a %s of their own, which hides it; move it, or bind-mount it "
              "elsewhere",
              what, path, cover);
    return -EINVAL;
}

/* Each view has directories of its own that lie over what the host has there. */
static int check_readable(const struct probe *probe, const struct config *config,
                          struct fault *fault)
{
    if (!layer_in(probe->layers, LAYER_MOUNT_NAMESPACE))
        return 0;
    for (size_t i = 0; i < config->readable.count; i++) {
        int r = check_path("[isolation] readable", config->readable.item[i], fault);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < config->languages.count; i++) {
        const struct language *language = &config->languages.item[i];
        char what[FAULT_MAX];
        (void)snprintf(what, sizeof(what), "%.256s: [language] readable", language->file);
        for (size_t j = 0; j < language->readable.count; j++) {
            int r = check_path(what, language->readable.item[j], fault);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

int isolation_readable(const struct config *config, struct string_list *ret)
{
    _cleanup_string_list_ struct string_list needed = STRING_LIST_NULL;
    int r = language_list_readable(&config->languages, &needed);
    for (size_t i = 0; i < config->readable.count && r == 0; i++)
        r = string_list_add(ret, config->readable.item[i]);
    for (size_t i = 0; i < needed.count && r == 0; i++)
        if (!string_list_contains(ret, needed.item[i]))
            r = string_list_add(ret, needed.item[i]);
    return r;
}

static int check_warm(const struct probe *probe, const struct config *config, struct fault *fault)
{
    if (config->warm != CONFIG_WARM_YES || probe->is_warm)
        return 0;
    fault_set(
        fault,
        "[warm] use: no interpreter can wait in a jail: %s; install rubricd-warm, or say auto",
        probe->cold_because);
    return -EPERM;
}

/* Returns the names of the layers in SET; NULL if memory runs out. */
static json_t *layers_json(uint32_t set)
{
    json_t *names = json_array();
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (layer_in(set, layer) &&
            json_array_append_new(names, json_string(layer_name(layer))) < 0)
            return json_decref(names), NULL;
    return names;
}

static json_t *missing_json(const struct probe *probe)
{
    json_t *missing = json_array();
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (!layer_in(probe->layers, layer) &&
            json_array_append_new(missing, json_pack("{s:s,s:s}", "layer", layer_name(layer),
                                                     "reason", probe->missing_because[layer])) < 0)
            return json_decref(missing), NULL;
    return missing;
}

/* --- the digest ---------------------------------------------------------------------------- */

/* An array of STRINGS, which end with a NULL (NULL: none); NULL if memory runs out. */
static json_t *strings_json(char *const *strings)
{
    _cleanup_json_ json_t *array = json_array();
    for (; strings && *strings; strings++)
        if (json_array_append_new(array, json_string(*strings)) < 0)
            return NULL;
    return TAKE_PTR(array);
}

/* Adds to POLICY what the configuration says of each kind: its limits, and its own ceiling for the
 * wall clock if it has one. */
static int add_kinds(json_t *policy, const struct config *config)
{
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        char name[64];
        if (id == JOB_SESSION) /* its commands have no scores to compare */
            continue;
        (void)snprintf(name, sizeof(name), "%s_limits", job_kind_name(id));
        if (json_object_set_new(policy, name,
                                limits_json(&config->limits[id], LIMITS_IN_MILLISECONDS)) < 0)
            return -ENOMEM;
        uint64_t ceiling_ms = config->wall_clock_ceiling_ms[id];
        (void)snprintf(name, sizeof(name), "%s_wall_clock_ceiling", job_kind_name(id));
        if (ceiling_ms > 0 &&
            json_object_set_new(policy, name, json_integer((json_int_t)ceiling_ms)) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* The canonical policy: keys sorted, no white space, nothing that differs between jobs. Its bytes
 * are hashed: any change here changes the digest of every score. */
static char *canonical_policy(const struct isolation *isolation, const struct config *config,
                              const char *interpreter_version, json_t *layers)
{
    _cleanup_string_list_ struct string_list readable = STRING_LIST_NULL;
    if (isolation_readable(config, &readable) < 0)
        return NULL;
    _cleanup_json_ json_t *policy = json_pack(
        "{s:i,s:o,s:O,s:o,s:I,s:s,s:s,s:o,s:o}", "revision", POLICY_REVISION, "environment",
        strings_json(isolation->environment), "layers", layers, "ceilings",
        limits_json(&config->ceilings, LIMITS_IN_MILLISECONDS), "cpu_percent",
        (json_int_t)config->cpu_percent, "interpreter", config->interpreter, "interpreter_version",
        interpreter_version, "readable", strings_json(readable.item), "preloads",
        strings_json(isolation->is_warm ? config->warm_modules.item : NULL));
    if (!policy || add_kinds(policy, config) < 0)
        return NULL;
    return json_dumps(policy, JSON_COMPACT | JSON_SORT_KEYS);
}

/* Returns {class, layers, digest} for jobs for which the layers in SET are in force; NULL if memory
 * runs out. */
static json_t *summarise(const struct isolation *isolation, const struct config *config,
                         const char *interpreter_version, uint32_t set)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    _cleanup_json_ json_t *layers = layers_json(set);
    _cleanup_free_ char *policy =
        layers ? canonical_policy(isolation, config, interpreter_version, layers) : NULL;
    if (!policy || !SHA256Data((const uint8_t *)policy, strlen(policy), digest))
        return NULL;
    return json_pack("{s:s,s:O,s:s}", "class", "subprocess", "layers", layers, "digest", digest);
}

char **isolation_environment(const struct config *config)
{
    size_t fixed = ARRAY_SIZE(isolation_scrubbed_env) - 1;
    char **environment = calloc(fixed + config->env_allow.count + 1, sizeof(*environment));
    for (size_t i = 0; environment && i < fixed + config->env_allow.count; i++) {
        const char *entry =
            i < fixed ? isolation_scrubbed_env[i] : config->env_allow.item[i - fixed];
        environment[i] = strdup(entry);
        if (!environment[i])
            environment = isolation_environment_free(environment);
    }
    return environment;
}

char **isolation_environment_free(char **environment)
{
    for (char **entry = environment; entry && *entry; entry++)
        free(*entry);
    free(environment);
    return NULL;
}

static void copy_digests(struct isolation *isolation, const json_t *networked)
{
    (void)snprintf(isolation->digest, sizeof(isolation->digest), "%s",
                   json_string_value(json_object_get(isolation->summary, "digest")));
    (void)snprintf(isolation->networked_digest, sizeof(isolation->networked_digest), "%s",
                   json_string_value(json_object_get(networked, "digest")));
}

int isolation_init(struct isolation *isolation, const struct config *config,
                   const char *interpreter_version, const struct probe *probe, struct fault *fault)
{
    *isolation = (struct isolation){.layers = probe->layers, .is_warm = probe->is_warm};
    int r = check_required(probe, config, fault);
    if (r == 0)
        r = check_readable(probe, config, fault);
    if (r == 0)
        r = check_interpreter(probe, config, fault);
    if (r == 0)
        r = check_warm(probe, config, fault);
    if (r == 0 && !(isolation->environment = isolation_environment(config)))
        r = -ENOMEM;
    if (r == 0) {
        isolation->summary = summarise(isolation, config, interpreter_version, probe->layers);
        _cleanup_json_ json_t *networked =
            summarise(isolation, config, interpreter_version, probe->networked.layers);
        isolation->missing = missing_json(probe);
        if (!isolation->summary || !networked || !isolation->missing ||
            json_print(isolation->summary, &isolation->of_jobs) < 0 ||
            json_print(networked, &isolation->of_networked_jobs) < 0)
            r = -ENOMEM;
        else
            copy_digests(isolation, networked);
    }
    if (r == -ENOMEM)
        fault_set(fault, "out of memory");
    return r;
}

void isolation_deinit(struct isolation *isolation)
{
    isolation_environment_free(isolation->environment);
    json_decref(isolation->summary);
    bytes_deinit(&isolation->of_jobs);
    bytes_deinit(&isolation->of_networked_jobs);
    json_decref(isolation->missing);
    *isolation = (struct isolation){.summary = NULL};
}
