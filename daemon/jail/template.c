/* SPDX-License-Identifier: MIT */
/* Theory of operation. template_make() forks the jail without an exit signal, as the twin is forked
 * (twin.c): so the jail finds out by one call that a job has left no other process. The fork keeps
 * one descriptor, its end of the link; gets an empty input, and a pipe that shows whether anything
 * is printed; is confined; and loads. Then it says what it has loaded, and waits. Meanwhile the
 * jail looks at it through /proc, while it is still dumpable. If the jail is content, it tells the
 * template to go on. The template makes itself undumpable, which the jail can see, too.
 *
 * For each job the jail sends one message with descriptors. The template clones itself with
 * CLONE_PARENT and tells the pid. If the job has a control group, the new process waits until the
 * jail has moved it there. It takes the descriptors, confines itself once more, closes the pipe by
 * which it would have told a failure, and runs the script.
 *
 * Whatever the template says is believed no more than what a job says. The pid that it tells must
 * be a child of the jail. A class whose modules are hostile can speak for this loop itself: it can
 * spoil its own jobs, and take CPU time and memory that nobody counts, up to the address space of a
 * job, until its slot runs another class. */
#include "template.h"
#include "cgroup_fork.h"
#include "children.h"
#include "identity.h"
#include "idmap.h"
#include "inspect.h"
#include "run_delay.h"
#include "same_memory.h"
#include "template_life.h"
#include "tree_memory.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Between two looks at how much memory a template takes while it loads. */
#define LOOK_MS 50
/* Time that a template has to answer once it has loaded everything. */
#define ANSWER_MS 3000
/* A template is starved if it waits for a CPU for more than one part in this of its time. */
#define STARVED_SHARE 4
/* Time from the end of a process's descriptors to its own. */
#define DYING_MS 100

/* --- messages ------------------------------------------------------------------------------ */

static bool send_fds(int link, const int fds[SENT_COUNT], bool is_second)
{
    uint32_t mask = is_second ? SENT_SECOND : 0;
    int sent[SENT_COUNT];
    size_t count = 0;
    for (unsigned i = 0; i < SENT_COUNT; i++)
        if (fds[i] >= 0) {
            mask |= 1u << i;
            sent[count++] = fds[i];
        }
    struct iovec iov = {&mask, sizeof(mask)};
    return link_send_packet(link, &iov, 1, sent, count) == 0;
}

/* Waits for SIZE bytes of a message from the template, for at most MS. */
static bool hear(const struct template *template, unsigned ms, void *ret, size_t size)
{
    struct pollfd fds[] = {{.fd = template->link, .events = POLLIN},
                           {.fd = template->pidfd, .events = POLLIN}};
    uint64_t until_ns = clock_now_ns() + ms * NS_PER_MS;
    int r;
    do {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= until_ns)
            return false;
        r = poll(fds, ARRAY_SIZE(fds), (int)((until_ns - now_ns) / NS_PER_MS) + 1);
    } while (r < 0 && errno == EINTR);
    return r > 0 && fds[0].revents &&
           recv(template->link, ret, size, MSG_DONTWAIT) == (ssize_t)size;
}

/* --- in the jail: looking at it -------------------------------------------------------------- */

/* Whether it lives, after MS. */
static bool lives(const struct template *template, int ms)
{
    struct pollfd end = {.fd = template->pidfd, .events = POLLIN};
    return template->pid > 0 && poll(&end, 1, ms) == 0;
}

bool template_is_alone(const struct template *template, const struct enclosure *enclosure)
{
    int proc = enclosure->view.proc;
    return lives(template, 0) && inspect_processes(proc) == 2 &&
           inspect_threads(proc, template->pid) == 1;
}

static bool complain(char why[LINK_WHY_SIZE], const char *what)
{
    (void)snprintf(why, LINK_WHY_SIZE, "%s", what);
    return false;
}

/* Looks at a template that has loaded everything and waits. ENDS are those of its streams. */
static bool examine(const struct template *template, const struct template_parts *parts,
                    const struct template_ends *ends, char why[LINK_WHY_SIZE])
{
    int proc = parts->enclosure->view.proc, printed = 0, left = 0;
    pid_t pid = template->pid;
    if (inspect_threads(proc, pid) != 1)
        return complain(why, "threads are left when its modules are loaded");
    if (!template_is_alone(template, parts->enclosure))
        return complain(why, "processes are left when its modules are loaded");
    if (inspect_descriptors(proc, pid) != LINK_STANDARD_FDS + 1)
        return complain(why, "files or sockets are open when its modules are loaded");
    if (enclosure_check_sockets(parts->enclosure, template_sockets(template)) < 0)
        return complain(why, "sockets are left when its modules are loaded");
    if (inspect_shares_memory(proc, pid))
        return complain(why, "its modules have memory that processes share");
    if (ioctl(ends->printed, FIONREAD, &printed) < 0 || printed != 0)
        return complain(why, "its modules print something when they are loaded");
    if (ioctl(ends->input, FIONREAD, &left) < 0 || left != (int)strlen(TEMPLATE_INPUT))
        return complain(why, "its modules read the standard input when they are loaded");
    if (!work_is_clear(parts->work))
        return complain(why, "its modules leave files when they are loaded");
    return true;
}

/* Whether the process is undumpable. Then the kernel gives its /proc to root, and closes it to a
 * jail that has no rights over the user namespace in which its memory was made. */
static bool is_closed(const struct template *template, const struct enclosure *enclosure)
{
    struct stat st;
    char path[16];
    int proc = enclosure->view.proc;
    (void)snprintf(path, sizeof(path), "%d", (int)template->pid);
    bool is_root = fstatat(proc, path, &st, 0) == 0 && st.st_uid != IDMAP_JOB;
    return is_root || (inspect_descriptors(proc, template->pid) < 0 && errno == EACCES);
}

struct lockdown template_lockdown(const struct enclosure *enclosure, const struct rlimit *ceilings,
                                  const struct link_job *request, int cwd, unsigned processes)
{
    return (struct lockdown){
        .layers = enclosure->layers,
        .cwd = cwd,
        .fd_count = LINK_STANDARD_FDS,
        .processes = processes,
        .ruleset = enclosure->ruleset,
        .enter_cgroup = -1,
        .pass = enclosure->pass,
        .gives_up_pass = enclosure->gives_up_pass,
        .cgroup_counts = request->cgroup_counts,
        .account_limit = RLIM_INFINITY, /* templates take a user namespace */
        .any_address_space = request->any_address_space == 1,
        .any_stack = request->any_stack == 1,
        .forks_jobs = true,
        .limits = &request->limits,
        .ceilings = ceilings,
    };
}

/* --- in the jail: its life ------------------------------------------------------------------- */

bool template_is_possible(const struct enclosure *enclosure, char why[LINK_WHY_SIZE])
{
    static const enum layer needed[] = {LAYER_USER_NAMESPACE, LAYER_MOUNT_NAMESPACE,
                                        LAYER_PID_NAMESPACE, LAYER_NO_NEW_PRIVS, LAYER_SECCOMP};
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
        if (!layer_in(enclosure->layers, needed[i])) {
            (void)snprintf(why, LINK_WHY_SIZE, "the layer %s is not in force",
                           layer_name(needed[i]));
            return false;
        }
    if (enclosure->last_pid < 0) /* it could not be given a low pid */
        return complain(why, "this kernel does not let a jail choose pids");
    return true;
}

bool template_is_of(const struct template *template, const char *key)
{
    return strcmp(template->key, key) == 0 && lives(template, 0);
}

void template_dismiss(struct template *template)
{
    siginfo_t info;
    if (lives(template, 0))
        (void)kill(template->pid, SIGKILL);
    /* It may be reaped already, with what a job had left. */
    while (template->pid > 0 &&
           waitid(P_PIDFD, (id_t) template->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        ;
    close_fd(template->pidfd);
    close_fd(template->link);
    explicit_bzero(template, sizeof(*template)); /* the next job may be a copy of this memory */
    *template = (struct template)TEMPLATE_NULL;
}

/* Forks it, with its side of ENDS. A negative errno on failure. */
static pid_t fork_template(struct template *template, const struct template_parts *parts,
                           const struct template_ends *ends)
{
    int link[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
        return -errno;
    enclosure_restart_pids(parts->enclosure, ENCLOSURE_PIDS_OF_JAIL);
    parts->start->interpreter->before_fork();
    pid_t pid = children_fork_quietly(0, parts->enclosure->pass, &template->pidfd);
    if (pid == 0) {
        close_fd(link[0]);
        template_live(parts, link[1], ends);
    }
    parts->start->interpreter->after_fork();
    close_fd(link[1]);
    template->link = link[0];
    template->pid = MAX(pid, 0);
    return pid;
}

/* Whether it has died because somebody killed it: the host, for want of memory, say. */
static bool was_killed(const struct template *template)
{
    siginfo_t info = {.si_pid = 0};
    int flags = WEXITED | WNOHANG | WNOWAIT | __WALL;
    return waitid(P_PIDFD, (id_t) template->pidfd, &info, flags) == 0 && info.si_pid > 0 &&
           info.si_code == CLD_KILLED && info.si_status == SIGKILL;
}

/* Whether it had no CPU for much of the time that it has taken. */
static bool was_starved(const struct template *template, int proc, uint64_t taken_ns)
{
    _cleanup_close_ int schedstat = run_delay_open(proc, template->pid);
    uint64_t waited_ns = run_delay_read(schedstat);
    return waited_ns != UINT64_MAX && waited_ns >= taken_ns / STARVED_SHARE;
}

/* Waits until it has loaded everything, and looks meanwhile how much memory all that it has started
 * takes. Returns NULL, or what was wrong; *ret_error is EAGAIN if that is no fault of the class. */
static const char *await_loaded(struct template *template, const struct template_parts *parts,
                                int *ret_error)
{
    struct link_loaded *loaded = &template->loaded;
    struct pollfd until[] = {{.fd = template->link, .events = POLLIN},
                             {.fd = template->pidfd, .events = POLLIN}};
    const int proc = parts->enclosure->view.proc;
    struct tree_memory tree = {.proc = proc,
                               .pass = parts->enclosure->pass,
                               .is_same = same_memory,
                               .cpu_ms = TREE_MEMORY_CPU_MS};
    uint64_t began_ns = clock_now_ns(), most_ns = parts->load_ms * NS_PER_MS;
    while (!hear(template, LOOK_MS, loaded, sizeof(*loaded))) {
        struct pollfd closed = {.fd =
                                    template->link}; /* no events but POLLHUP: it is about to end */
        if (!lives(template, poll(&closed, 1, 0) > 0 ? DYING_MS : 0)) {
            *ret_error = was_killed(template) ? EAGAIN : EINVAL;
            return "the process that loads its modules has ended";
        }
        if (clock_now_ns() >= began_ns + most_ns) {
            *ret_error = was_starved(template, proc, most_ns) ? EAGAIN : EINVAL;
            return "its modules take too long to load";
        }
        if (tree_memory_exceeds(&tree, parts->memory_bytes, until, ARRAY_SIZE(until)) > 0)
            return "its modules take more memory than a job may have";
    }
    loaded->why[sizeof(loaded->why) - 1] = loaded->digest[sizeof(loaded->digest) - 1] = '\0';
    return loaded->error != 0 ? loaded->why : NULL;
}

/* Has it load everything, and looks at it. Of what is wrong says in *ret_error whose fault it is.
 */
static bool prepare(struct template *template, const struct template_parts *parts,
                    const struct template_ends *ends, char why[LINK_WHY_SIZE], int *ret_error)
{
    char go = 0;
    *ret_error = EINVAL;
    const char *wrong = await_loaded(template, parts, ret_error);
    if (wrong)
        return complain(why, wrong);
    template->loaded.bytes = inspect_memory(parts->enclosure->view.proc, template->pid);
    if (template->loaded.bytes == UINT64_MAX)
        return complain(why, "its memory cannot be measured");
    if (!examine(template, parts, ends, why))
        return false;
    if (send(template->link, &go, 1, MSG_NOSIGNAL) != 1 ||
        !hear(template, ANSWER_MS, &go, sizeof(go)) || !is_closed(template, parts->enclosure))
        return complain(why, "its modules keep the process that loads them from closing itself");
    return true;
}

/* Whether the template has room; otherwise says so in WHY. */
static bool has_room(const struct template *template, const struct template_parts *parts,
                     char why[LINK_WHY_SIZE])
{
    uint64_t bytes = template->loaded.bytes;
    if (bytes <= parts->bytes_max)
        return true;
    (void)snprintf(why, LINK_WHY_SIZE,
                   "its modules take %" PRIu64 " MiB, and [warm] classes has room for %" PRIu64,
                   (bytes >> 20) + 1, parts->bytes_max >> 20);
    return false;
}

static void close_ends(struct template_ends *ends)
{
    close_fd(ends->input);
    close_fd(ends->output);
    close_fd(ends->printed);
}

/* 0 or a negative errno. */
static int open_ends(struct template_ends *ret)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int r = pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0 ||
                    write(in[1], TEMPLATE_INPUT, strlen(TEMPLATE_INPUT)) !=
                        (ssize_t)strlen(TEMPLATE_INPUT)
                ? -errno
                : 0;
    close_fd(in[1]);
    *ret = (struct template_ends){.input = in[0], .output = out[1], .printed = out[0]};
    if (r < 0)
        close_ends(ret);
    return r;
}

int template_make(struct template *template, const struct template_parts *parts,
                  char why[LINK_WHY_SIZE])
{
    struct template_ends ends;
    int error = EINVAL;
    assert(template->pid == 0);
    int r = open_ends(&ends);
    if (r < 0) {
        (void)complain(why, strerror(-r));
        return -r;
    }
    pid_t pid = fork_template(template, parts, &ends);
    if (pid < 0) {
        (void)complain(why, strerror(-pid));
        error = -pid;
    } else if (prepare(template, parts, &ends, why, &error)) {
        error = has_room(template, parts, why) ? 0 : ENOSPC; /* there may be room another time */
    }
    close_ends(&ends);
    if (error == 0)
        (void)snprintf(template->key, sizeof(template->key), "%s", parts->class_parts[0]);
    else
        template_dismiss(template);
    return error;
}

/* --- in the jail: its jobs ------------------------------------------------------------------- */

/* Returns a pidfd of PID if that is a child of this process that is not the template; a negative
 * errno otherwise. */
static int open_child(const struct template *template, pid_t pid)
{
    siginfo_t info;
    if (pid <= 1 || pid == template->pid)
        return -EPROTO;
    _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -errno;
    if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
        return -errno;
    return TAKE_FD(pidfd);
}

/* Waits until the job has begun its program or ended, and reads what it tells of a failure. */
static void await_start(int failure, struct lockdown_error *ret)
{
    ssize_t n;
    do
        n = read(failure, ret, sizeof(*ret));
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(*ret) && ret->stage < LINK_STAGE_COUNT)
        return;
    *ret = (struct lockdown_error){n == 0 ? LINK_STAGE_NONE : LINK_STAGE_FORK, n == 0 ? 0 : EPROTO};
}

/* Has the template fork a job with these descriptors. Returns the pid or a negative errno. */
static pid_t ask(struct template *template, const int fds[SENT_COUNT], bool is_second,
                 int *ret_pidfd)
{
    int32_t pid = 0;
    if (!send_fds(template->link, fds, is_second) || !hear(template, ANSWER_MS, &pid, sizeof(pid)))
        return -EPIPE;
    if (pid < 0)
        return -EAGAIN; /* for whatever reason */
    int pidfd = open_child(template, pid);
    *ret_pidfd = pidfd;
    return pidfd < 0 ? pidfd : pid;
}

/* Moves the job to its group and lets it go on. GATE is closed then, also if that fails: the job
 * waits no longer. */
static int let_go(int gate, int cgroup, pid_t pid)
{
    int r = cgroup_move(cgroup, pid);
    if (r == 0 && write(gate, "", 1) != 1)
        r = -errno;
    close_fd(gate);
    return r;
}

/* Has the template fork a job, and lets it go on if it waits at a gate. FDS are borrowed, GATE (-1:
 * none) is not. */
static pid_t fork_job(struct template *template, const int fds[SENT_COUNT], bool is_second,
                      int gate, int cgroup, int *ret_pidfd, struct lockdown_error *ret_error)
{
    pid_t pid = ask(template, fds, is_second, ret_pidfd);
    if (pid < 0 || gate < 0) {
        close_fd(gate);
        return pid;
    }
    int r = let_go(gate, cgroup, pid);
    if (r < 0)
        *ret_error = (struct lockdown_error){LINK_STAGE_CGROUP, -r};
    return pid;
}

pid_t template_fork(struct template *template, const struct enclosure *enclosure,
                    const struct lockdown *lockdown, int cgroup, bool is_second, int *ret_pidfd,
                    struct start_status *status)
{
    bool is_pair = lockdown->fd_count > LINK_STANDARD_FDS;
    int failure[2] = {-1, -1}, gate[2] = {-1, -1};
    *status = (struct start_status){.error = {LINK_STAGE_NONE, 0}, .warm = 1};
    int r = lockdown_give_pipes(lockdown);
    if (r < 0 || pipe2(failure, O_CLOEXEC) < 0)
        return r < 0 ? r : -errno;
    _cleanup_close_ int told = failure[0];
    pid_t pid = cgroup >= 0 && pipe2(gate, O_CLOEXEC) < 0 ? -errno : 0;
    const int fds[SENT_COUNT] = {
        [SENT_STDOUT] = lockdown->fds[STDOUT_FILENO],
        [SENT_STDERR] = lockdown->fds[STDERR_FILENO],
        [SENT_CWD] = lockdown->cwd,
        [SENT_FAILURE] = failure[1],
        [SENT_RULESET] = lockdown->ruleset,
        [SENT_STDIN] = lockdown->fds[STDIN_FILENO],
        [SENT_GATE] = gate[0],
        [SENT_WIRE_READ] = is_pair ? lockdown->fds[LINK_PAIR_READ] : -1,
        [SENT_WIRE_WRITE] = is_pair ? lockdown->fds[LINK_PAIR_WRITE] : -1,
    };
    if (pid == 0)
        pid = fork_job(template, fds, is_second, gate[1], cgroup, ret_pidfd, &status->error);
    close_fd(failure[1]);
    close_fd(gate[0]);
    if (pid < 0)
        template_dismiss(template);
    /* A job that it had forked would be a child of this process, dead or alive. */
    if (pid == -EPIPE && inspect_processes(enclosure->view.proc) == 1)
        pid = -EAGAIN;
    if (pid > 0 && status->error.stage == LINK_STAGE_NONE)
        await_start(told, &status->error);
    return pid;
}
