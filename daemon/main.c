/* SPDX-License-Identifier: MIT */
/* rubricd: reads arguments and configuration, prepares the process, gives up root, runs the
 * supervisor. May include every room of the daemon. */
#include "check_host.h"
#include "check_languages.h"
#include "options.h"

#include "conf/config.h"
#include "daemon/base/environment.h"
#include "daemon/base/privileges.h"
#include "daemon/base/reserve.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/version.h"
#include "proto/shortage.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

/* The slice to ask the scheduler for: the shortest that it grants. */
#define TURN_NS 100000

/* --- configuration ------------------------------------------------------------------------- */

static struct config_source find_config(const struct arguments *arguments)
{
    /* A private daemon belongs to its user: the service's configuration is not meant for it. */
    const char *path = arguments->config_path;
    if (!path && arguments->serve_fd < 0)
        path = RUBRICD_CONFIG;
    return (struct config_source){
        .path = path,
        .must_exist = arguments->config_path != NULL,
        .settings = arguments->settings.items,
        .setting_count = arguments->settings.n,
    };
}

static int load_config(const struct arguments *arguments, struct config *config)
{
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    const struct config_source source = find_config(arguments);
    int r = config_init(config);
    if (arguments->serve_fd >= 0) {
        config->log_level = CONFIG_LOG_WARNING; /* its stderr is its client's terminal */
        if (r == 0)
            config->languages_directory[0] = '\0'; /* those that are built in */
    }
    if (r == 0)
        r = config_load(config, source.path, source.must_exist, source.settings,
                        source.setting_count, &problems);
    for (size_t i = 0; i < problems.count; i++) {
        if (log_stderr_is_journal())
            (void)fprintf(stderr, "<%d>", LOG_ERR);
        config_print_problem(stderr, &problems.item[i]);
    }
    if (r == -ENOMEM)
        (void)fprintf(stderr, "rubricd: out of memory\n");
    return r;
}

/* --- the process --------------------------------------------------------------------------- */

/* A thousand clients need more descriptors than the usual soft limit grants. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* This process works for microseconds and then waits; the jobs that it starts may compute for
 * minutes. The scheduler runs a woken task sooner if it has asked for short slices, and this
 * process has to run soon to enforce deadlines while every processor is busy. Kernels before 6.12
 * ignore this. */
static void ask_for_short_turns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attr = {.size = sizeof(attr), .policy = SCHED_OTHER};
    attr.flags = 0x01; /* SCHED_FLAG_RESET_ON_FORK: for this process only */
    attr.nice = getpriority(PRIO_PROCESS, 0);
    attr.runtime_ns = TURN_NS;
    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* Finds rubricd-jail beside this program, as in a build tree, or where it is installed. A negative
 * errno if something is short: another jail, or none that is warm, would change the digest. */
static int find_jail(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n < 0 && is_shortage(errno))
        return -errno;
    char *slash = NULL;
    if (n > 0) {
        path[n] = '\0';
        slash = strrchr(path, '/');
    }
    if (slash) {
        (void)snprintf(slash, size - (size_t)(slash - path), "/rubricd-jail");
        if (access(path, X_OK) == 0)
            return 0;
        if (is_shortage(errno))
            return -errno;
    }
    (void)snprintf(path, size, RUBRICD_LIBEXEC "/rubricd-jail");
    return 0;
}

/* Opens the jail, and the optional one that holds a warm interpreter, or says in its place why
 * there is none. Only the one beside rubricd-jail will do: a jail of another build could
 * misunderstand this daemon. 0 or a negative errno with FAULT; the caller owns what is open. */
static int open_jails(struct supervisor_options *options, struct fault *fault)
{
    char jail[4096], warm[sizeof(jail) + sizeof("-warm")];
    int r = find_jail(jail, sizeof(jail));
    if (r < 0) {
        fault_set(fault, "rubricd-jail cannot be looked for: %s", strerror(-r));
        return r;
    }
    options->jail_program = open(jail, O_PATH | O_CLOEXEC);
    if (options->jail_program < 0) {
        r = -errno;
        fault_set(fault, "%s: %s", jail, strerror(-r));
        return r;
    }
    (void)snprintf(warm, sizeof(warm), "%s-warm", jail);
    options->warm_program = open(warm, O_PATH | O_CLOEXEC);
    if (options->warm_program < 0)
        options->warm_program = -errno;
    if (options->warm_program >= 0 || !is_shortage(-options->warm_program))
        return 0;
    fault_set(fault, "%s: %s", warm, strerror(-options->warm_program));
    return options->warm_program;
}

/* Makes what only root can make, the directories and the socket, then gives up root. */
static int stop_being_root(const struct config *config, struct supervisor_options *options,
                           struct fault *fault)
{
    struct account account;
    struct log log;
    if (!privileges_are_root())
        return 0;
    int r = privileges_find(config->user, CONFIG_DEFAULT_USER, &account, fault);
    if (r == 0)
        r = privileges_make_directory(config->work_dir, 0700, &account, fault);
    if (r == 0 && options->sockets.count == 0 && options->serve_fd < 0) {
        log_init(&log, LOG_WARNING, config->log_format);
        r = listener_bind(config->socket, config->socket_mode, config->socket_group, &account, &log,
                          fault);
        if (r >= 0)
            options->sockets = (struct service_sockets){.fd = {r}, .count = 1};
        options->owns_socket = r >= 0;
        log_deinit(&log);
    }
    if (r >= 0)
        r = privileges_drop(&account, fault);
    /* A change of the account makes a process dumpable again. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    return r;
}

static void tell_of_failure(enum config_log_format format, const struct fault *fault)
{
    struct log log;
    log_init(&log, LOG_CRIT, format);
    log_event(&log, LOG_CRIT, LOG_MESSAGE_NOT_STARTED, "cannot start: %s", fault->text);
    log_deinit(&log);
}

/* Takes what CONFIG holds. Returns the exit status. */
static int run(struct config *config, const struct arguments *arguments,
               const struct service_sockets *sockets)
{
    struct supervisor supervisor;
    const struct config_source source = find_config(arguments);
    _cleanup_free_ char *socket = strdup(config->socket);
    const enum config_log_format log_format = config->log_format;
    struct fault fault = FAULT_NULL;
    struct supervisor_options options = {
        .version = RUBRICD_VERSION,
        .source = arguments->serve_fd < 0 ? &source : NULL,
        .jail_program = -1,
        .warm_program = -ENOENT,
        .serve_fd = (int)arguments->serve_fd,
        .sockets = *sockets,
    };
    if (open_jails(&options, &fault) < 0 || stop_being_root(config, &options, &fault) < 0) {
        tell_of_failure(log_format, &fault);
        if (options.owns_socket && socket)
            (void)unlink(socket);
        return EX_UNAVAILABLE;
    }
    int r = supervisor_init(&supervisor, config, &options, &fault);
    if (r < 0) {
        tell_of_failure(log_format, &fault);
        supervisor_deinit(&supervisor);
        if (options.owns_socket && socket)
            (void)unlink(socket);
        /* The host lacks or forbids this kind of address: a restart cannot help. */
        return r == -EAFNOSUPPORT ? EX_CONFIG : EX_UNAVAILABLE;
    }
    r = supervisor_run(&supervisor);
    supervisor_deinit(&supervisor);
    return r < 0 ? EX_OSERR : 0;
}

/* Runs a private daemon: it has a work directory of its own and leaves its client's terminal. */
static int run_private(struct config *config, const struct arguments *arguments)
{
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/rubricd-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    if (!mkdtemp(path)) {
        (void)fprintf(stderr, "rubricd: cannot make a work directory %s: %s\n", path,
                      strerror(errno));
        return EX_UNAVAILABLE;
    }
    char *work_dir = strdup(path);
    if (!work_dir)
        return EX_OSERR;
    free(config->work_dir);
    config->work_dir = work_dir;
    const struct service_sockets none = {.count = 0};
    (void)setsid();
    (void)fcntl((int)arguments->serve_fd, F_SETFD, FD_CLOEXEC);
    int status = run(config, arguments, &none);
    (void)rmdir(path);
    return status;
}

int main(int argc, char **argv)
{
    _cleanup_arguments_ struct arguments arguments = ARGUMENTS_NULL;
    _cleanup_config_ struct config config = CONFIG_NULL;

    if (reserve_init() < 0) {
        (void)fprintf(stderr, "rubricd: out of memory\n");
        return EX_OSERR;
    }
    int r = options_parse(argc, argv, &arguments);
    if (r < 0)
        return r == -ENOMEM ? EX_OSERR : EX_USAGE;
    if (arguments.help) {
        options_help(stdout);
        return 0;
    }
    if (arguments.version) {
        (void)puts("rubricd " RUBRICD_VERSION);
        return 0;
    }
    r = load_config(&arguments, &config);
    if (r < 0)
        return r == -EINVAL ? EX_CONFIG : EX_OSERR; /* the service manager tries again after this */
    if (arguments.check_config) {
        if (check_host(&config, stderr) > 0)
            return EX_CONFIG;
        (void)puts("The configuration is good.");
        (void)fflush(stdout);
        int bad = arguments.check_languages ? check_languages(&arguments, &config, stdout) : 0;
        return bad < 0 ? EX_OSERR : bad > 0 ? EX_CONFIG : 0;
    }
    if (environment_forget() < 0)
        return EX_OSERR;
    /* Other processes of this user must not read this one's memory. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    ask_for_short_turns();
    if (arguments.serve_fd >= 0)
        return run_private(&config, &arguments);

    struct service_sockets sockets = {.count = 0};
    struct fault fault = FAULT_NULL;
    if (service_sockets(&sockets, &fault) < 0) {
        tell_of_failure(config.log_format, &fault);
        return EX_UNAVAILABLE;
    }
    return run(&config, &arguments, &sockets);
}
