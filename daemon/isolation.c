/* SPDX-License-Identifier: MIT */
#include "isolation.h"
#include "clock.h"

#include "proto/json.h"
#include "proto/utf8.h"

#include <fcntl.h>
#include <poll.h>
#include <sha2.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Goes up when the code's confinement changes in a way that the other parts of the digest do not
 * show. */
#define POLICY_REVISION 1

#define VERSION_TIMEOUT_MS UINT64_C(10000)

const char *const isolation_scrubbed_env[5] = {
    "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONHASHSEED=0", "PYTHONIOENCODING=utf-8", NULL,
};

static const char *const layer_names[LAYER_COUNT] = {
    [LAYER_ENV] = "env",
    [LAYER_TEMPDIR] = "tempdir",
    [LAYER_RLIMITS] = "rlimits",
    [LAYER_NO_NEW_PRIVS] = "no_new_privs",
    [LAYER_TREE_KILL] = "tree_kill",
    [LAYER_USER_NAMESPACE] = "user_namespace",
    [LAYER_PID_NAMESPACE] = "pid_namespace",
    [LAYER_NETWORK] = "network",
    [LAYER_FILESYSTEM] = "filesystem",
    [LAYER_LANDLOCK] = "landlock",
    [LAYER_SECCOMP] = "seccomp",
    [LAYER_CGROUP] = "cgroup",
};

/* --- the interpreter ----------------------------------------------------------------------- */

/* Starts PROGRAM with -V in the scrubbed environment; its stdout and stderr go to OUTPUT. */
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

/* Milliseconds from now to DEADLINE_NS, for poll(). */
static int remaining_ms(uint64_t deadline_ns)
{
    uint64_t now_ns = clock_now_ns();
    return now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* Reads until end of file and keeps what fits; false if the end does not come in time. */
static bool read_to_end(int fd, uint64_t deadline_ns, char *text, size_t size)
{
    size_t length = 0;
    for (;;) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        char data[256];
        text[length] = '\0';
        if (poll(&poll_fd, 1, remaining_ms(deadline_ns)) != 1 || remaining_ms(deadline_ns) == 0)
            return false;
        ssize_t n = read(fd, data, sizeof(data));
        if (n <= 0)
            return true;
        size_t kept = MIN((size_t)n, size - 1 - length);
        memcpy(text + length, data, kept);
        length += kept;
    }
}

/* Waits for the exit of PID until the deadline, then kills it. Whether it exited with 0. */
static bool ends_well(pid_t pid, uint64_t deadline_ns)
{
    int status = 0;
    struct pollfd poll_fd = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (poll_fd.fd < 0 || poll(&poll_fd, 1, remaining_ms(deadline_ns)) != 1)
        (void)kill(pid, SIGKILL);
    close_fd(poll_fd.fd);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

char *isolation_interpreter_version(const char *interpreter, struct fault *fault)
{
    uint64_t deadline_ns = clock_now_ns() + VERSION_TIMEOUT_MS * NS_PER_MS;
    int pipe_fds[2];
    char text[256] = "";
    size_t length;
    pid_t pid = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        fault_set(fault, "pipe: %s", strerror(errno));
        return NULL;
    }
    int r = spawn_version(interpreter, pipe_fds[1], &pid);
    close_fd(pipe_fds[1]);
    bool good = r == 0 && read_to_end(pipe_fds[0], deadline_ns, text, sizeof(text));
    close_fd(pipe_fds[0]);
    if (r < 0) {
        fault_set(fault, "[rubric] interpreter: cannot run %s: %s", interpreter, strerror(-r));
        return NULL;
    }
    /* With the pipe closed, or given up, a deadline of now will do. */
    good = ends_well(pid, good ? deadline_ns : 0) && good;
    text[strcspn(text, "\r\n")] = '\0';
    _cleanup_free_ char *version = utf8_replace(text, strlen(text), &length);
    if (!good || !version) {
        fault_set(fault, "[rubric] interpreter: %s -V failed: %.200s", interpreter, text);
        return NULL;
    }
    return TAKE_PTR(version);
}

/* --- layers -------------------------------------------------------------------------------- */

static void probe(struct isolation *isolation)
{
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        isolation->missing_because[layer] = "this version does not have it";

    /* These three are made by code that cannot fail without failing the job. */
    isolation->in_force[LAYER_ENV] = true;
    isolation->in_force[LAYER_TEMPDIR] = true;
    isolation->in_force[LAYER_RLIMITS] = true;

    isolation->in_force[LAYER_NO_NEW_PRIVS] = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0;
    isolation->missing_because[LAYER_NO_NEW_PRIVS] = "the kernel does not have PR_SET_NO_NEW_PRIVS";

    int subreaper;
    isolation->in_force[LAYER_TREE_KILL] =
        prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && access("/proc/self/stat", R_OK) == 0;
    isolation->missing_because[LAYER_TREE_KILL] =
        "it needs /proc and PR_SET_CHILD_SUBREAPER; mount /proc where the daemon runs";
}

static int check_required(const struct isolation *isolation, const struct config *config,
                          struct fault *fault)
{
    for (size_t i = 0; i < config->require.count; i++) {
        const char *name = config->require.item[i];
        enum layer layer = 0;
        while (layer < LAYER_COUNT && strcmp(name, layer_names[layer]) != 0)
            layer++;
        if (layer < LAYER_COUNT && isolation->in_force[layer])
            continue;
        fault_set(fault,
                  "[isolation] require: the layer %s cannot be had: %s; take it out of the list to "
                  "do without",
                  name,
                  layer < LAYER_COUNT ? isolation->missing_because[layer]
                                      : "there is no such layer");
        return -EPERM;
    }
    return 0;
}

static int list_layers(struct isolation *isolation, json_t *layers)
{
    isolation->missing = json_array();
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        int r = isolation->in_force[layer]
                    ? json_array_append_new(layers, json_string(layer_names[layer]))
                    : json_array_append_new(isolation->missing,
                                            json_pack("{s:s,s:s}", "layer", layer_names[layer],
                                                      "reason", isolation->missing_because[layer]));
        if (r < 0)
            return -ENOMEM;
    }
    return 0;
}

/* --- the digest ---------------------------------------------------------------------------- */

static json_t *limits_json(const struct limits *limits)
{
    json_t *object = json_object();
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        if (json_object_set_new(object, limit_key(limit),
                                json_integer((json_int_t)limits->of[limit])) < 0)
            return NULL;
    return object;
}

static json_t *environment_json(char *const *environment)
{
    json_t *array = json_array();
    for (; *environment; environment++)
        if (json_array_append_new(array, json_string(*environment)) < 0)
            return NULL;
    return array;
}

/* The canonical policy: keys sorted, no white space. What differs from job to job is not in it. */
static char *canonical_policy(const struct isolation *isolation, const struct config *config,
                              const char *interpreter_version, json_t *layers)
{
    _cleanup_json_ json_t *policy = json_pack(
        "{s:i,s:o,s:O,s:o,s:o,s:I,s:s,s:s,s:[]}", "revision", POLICY_REVISION, "environment",
        environment_json(isolation->environment), "layers", layers, "rubric_limits",
        limits_json(&config->rubric_limits), "ceilings", limits_json(&config->ceilings),
        "rubric_wall_clock_ceiling", (json_int_t)config->rubric_wall_clock_ceiling_ms,
        "interpreter", config->interpreter, "interpreter_version", interpreter_version, "preloads");
    return policy ? json_dumps(policy, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
}

static int summarise(struct isolation *isolation, const struct config *config,
                     const char *interpreter_version)
{
    char digest[SHA256_DIGEST_STRING_LENGTH];
    _cleanup_json_ json_t *layers = json_array();
    if (list_layers(isolation, layers) < 0)
        return -ENOMEM;
    _cleanup_free_ char *policy = canonical_policy(isolation, config, interpreter_version, layers);
    if (!policy || !SHA256Data((const uint8_t *)policy, strlen(policy), digest))
        return -ENOMEM;
    isolation->summary =
        json_pack("{s:s,s:O,s:s}", "class", "subprocess", "layers", layers, "digest", digest);
    return isolation->summary ? 0 : -ENOMEM;
}

static int build_environment(struct isolation *isolation, const struct config *config)
{
    size_t fixed = ARRAY_SIZE(isolation_scrubbed_env) - 1;
    isolation->environment =
        calloc(fixed + config->env_allow.count + 1, sizeof(*isolation->environment));
    if (!isolation->environment)
        return -ENOMEM;
    for (size_t i = 0; i < fixed + config->env_allow.count; i++) {
        const char *entry =
            i < fixed ? isolation_scrubbed_env[i] : config->env_allow.item[i - fixed];
        isolation->environment[i] = strdup(entry);
        if (!isolation->environment[i])
            return -ENOMEM;
    }
    return 0;
}

int isolation_init(struct isolation *isolation, const struct config *config,
                   const char *interpreter_version, struct fault *fault)
{
    *isolation = (struct isolation){.summary = NULL};
    probe(isolation);
    int r = check_required(isolation, config, fault);
    if (r == 0)
        r = build_environment(isolation, config);
    if (r == 0)
        r = summarise(isolation, config, interpreter_version);
    if (r == -ENOMEM)
        fault_set(fault, "out of memory");
    return r;
}

void isolation_deinit(struct isolation *isolation)
{
    for (char **entry = isolation->environment; entry && *entry; entry++)
        free(*entry);
    free(isolation->environment);
    json_decref(isolation->summary);
    json_decref(isolation->missing);
    *isolation = (struct isolation){.summary = NULL};
}
