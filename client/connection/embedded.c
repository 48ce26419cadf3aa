/* SPDX-License-Identifier: MIT */
#include "embedded.h"

#include "beside.h"

#include "client/terminal/text.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SERVE_FD 3
/* After its connection is closed, the daemon kills its jobs and ends. That takes milliseconds, but
 * many times that where a loaded host lets daemon and jails wait for a CPU: the user is told after
 * the first time, and the daemon killed only after the second. */
#define STOP_NOTICE_MS 10000
#define STOP_TIMEOUT_MS 120000

/* --- where rubricd is --------------------------------------------------------------------- */

static bool is_executable(const char *path)
{
    return access(path, X_OK) == 0;
}

static int find_daemon(char out[PATH_MAX], struct fault *fault)
{
    static const char *const beside[] = {"rubricd", "../daemon/rubricd"};
    const char *chosen = getenv("RUBRICD");
    if (chosen && *chosen) {
        (void)snprintf(out, PATH_MAX, "%s", chosen);
        if (is_executable(out))
            return 0;
        int error = errno;
        (void)fault_set(fault, "RUBRICD=%s cannot be executed: %s", chosen, strerror(error));
        return -error;
    }
    if (beside_find(beside, ARRAY_SIZE(beside), out) == 0)
        return 0;
    (void)snprintf(out, PATH_MAX, "%s", RUBRICD_PATH);
    if (is_executable(out))
        return 0;
    (void)fault_set(
        fault,
        "no rubricd to start: found none beside this program and none at %s; install the "
        "package rubricd, or name one with RUBRICD=/path/to/rubricd",
        RUBRICD_PATH);
    return -ENOENT;
}

/* --- starting ----------------------------------------------------------------------------- */

/* Gives the daemon FD as descriptor 3, and our stderr for both its outputs: our stdout may be a
 * pipe, which the daemon must not keep open. */
static int plan_descriptors(posix_spawn_file_actions_t *actions, int fd)
{
    int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, fd, SERVE_FD);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(actions, SERVE_FD + 1);
    return r;
}

/* Puts the daemon into a session of its own: Ctrl-C goes to the client alone, which decides what
 * becomes of the jobs. */
static int plan_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, defaults;
    (void)sigemptyset(&none);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    int r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (r == 0)
        r = posix_spawnattr_setflags(
            attributes,
            (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
    return r;
}

static int spawn(char *const argv[], int fd, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawnattr_init(&attributes);
    if (r == 0) {
        r = plan_descriptors(&actions, fd);
        if (r == 0)
            r = plan_signals(&attributes);
        if (r == 0)
            r = posix_spawn(ret, argv[0], &actions, &attributes, argv, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int spawn_daemon(char *path, const char *config, long slots, const char *set, int fd,
                        pid_t *ret)
{
    char serve[] = "--serve-fd=3", slots_option[64];
    _cleanup_free_ char *config_option = NULL, *set_option = NULL;
    char *argv[6] = {path, serve};
    size_t n = 2;
    if (config) {
        if (asprintf(&config_option, "--config=%s", config) < 0) {
            config_option = NULL;
            return -ENOMEM;
        }
        argv[n++] = config_option;
    }
    if (slots > 0) {
        (void)snprintf(slots_option, sizeof(slots_option), "--set=daemon.slots=%ld", slots);
        argv[n++] = slots_option;
    }
    if (set) {
        if (asprintf(&set_option, "--set=%s", set) < 0) {
            set_option = NULL;
            return -ENOMEM;
        }
        argv[n++] = set_option;
    }
    return spawn(argv, fd, ret);
}

int embedded_start(const char *config, long slots, const char *set, struct embedded *ret,
                   int *ret_fd, struct fault *fault)
{
    char path[PATH_MAX];
    int r = find_daemon(path, fault);
    if (r < 0)
        return r;

    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        r = -errno;
        (void)fault_set(fault, "cannot make a socket pair: %s", strerror(-r));
        return r;
    }
    _cleanup_close_ int ours = pair[0];
    _cleanup_close_ int theirs = pair[1];

    struct embedded daemon = EMBEDDED_NULL;
    r = spawn_daemon(path, config, slots, set, theirs, &daemon.pid);
    if (r < 0) {
        (void)fault_set(fault, "cannot start %s: %s", path, strerror(-r));
        return r;
    }
    daemon.pidfd = pidfd_open(daemon.pid, 0);
    (void)fcntl(ours, F_SETFL, O_NONBLOCK);
    *ret = daemon;
    *ret_fd = TAKE_FD(ours);
    return 0;
}

/* --- ending ------------------------------------------------------------------------------- */

static int reap(struct embedded *daemon, struct fault *fault)
{
    int status = 0;
    assert(daemon->pid > 0);
    while (waitpid(daemon->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close_fd(daemon->pidfd);
    *daemon = (struct embedded)EMBEDDED_NULL;
    if (WIFSIGNALED(status))
        (void)fault_set(fault, "killed by signal %d (SIG%s)", WTERMSIG(status),
                        sigabbrev_np(WTERMSIG(status)));
    else
        (void)fault_set(fault, "exit status %d", WEXITSTATUS(status));
    return status;
}

int embedded_wait(struct embedded *daemon, int timeout_ms, struct fault *fault)
{
    struct pollfd ended = {.fd = daemon->pidfd, .events = POLLIN};
    int64_t deadline = monotonic_ms() + timeout_ms;
    for (;;) {
        int64_t left = MAX(deadline - monotonic_ms(), 0);
        int n = poll(&ended, 1, (int)left);
        if (n > 0)
            return reap(daemon, fault);
        if (n == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

void embedded_stop(struct embedded *daemon)
{
    if (daemon->pid <= 0)
        return;
    struct fault how = FAULT_NULL;
    const char *name = embedded_name(daemon);
    int r = embedded_wait(daemon, STOP_NOTICE_MS, &how);
    if (r == -ETIMEDOUT) {
        complain("%s has not ended yet; waiting for it up to %d s", name, STOP_TIMEOUT_MS / 1000);
        r = embedded_wait(daemon, STOP_TIMEOUT_MS - STOP_NOTICE_MS, &how);
    }
    if (r < 0) {
        (void)kill(daemon->pid, SIGKILL);
        (void)reap(daemon, &how);
        complain("%s did not end within %d s and was killed", name, STOP_TIMEOUT_MS / 1000);
    } else if (r != 0) {
        complain("%s ended badly: %s", name, how.text);
    }
}
