/* SPDX-License-Identifier: MIT */
/* Drives daemon/cgroup/cgroup.h as the daemon does, for tests that check what the kernel makes of
 * it.
 *
 *     cgroup-probe run [OPTION]... -- PROGRAM [ARGUMENT]...
 *
 * opens the tree, runs PROGRAM as a job in a leaf, below a process that plays the jail, and prints
 * a line of JSON: what the tree has, how the job ended, what its leaf reported, and which groups
 * existed. `cgroup-probe bench N` measures the cost of leaves. The other commands are jobs; the
 * comment at each says how it reaches its limit. */
#include "daemon/base/clock.h"
#include "daemon/cgroup/cgroup.h"
#include "daemon/jail/cgroup_fork.h"
#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define MIB ((size_t)1 << 20)
#define DEADLINE_MS 60000
#define OUTPUT_MAX 4096

#define DIE(what)                                                                        \
    do {                                                                                 \
        (void)fprintf(stderr, "cgroup-probe: %s:%d: %s: %s\n", __FILE__, __LINE__, what, \
                      strerror(errno));                                                  \
        _exit(70);                                                                       \
    } while (0)
#define MUST(call)      \
    do {                \
        if ((call) < 0) \
            DIE(#call); \
    } while (0)

struct options {
    struct cgroup_limits limits;
    bool user_namespace;   /* the jail is in a user namespace of its own */
    bool cgroup_namespace; /* and, wrongly, in a cgroup namespace of its own */
    bool hide;             /* the job unshares its cgroup namespace, as it may */
    bool kill_on_output;   /* kill the leaf as soon as the job has printed a line */
    bool abandon;          /* then the probe kills itself */
    bool wait_for_input;   /* wait, with the tree open, for the end of stdin */
    char **argv;
};

/* The jail's notice about its job. */
struct jail_report {
    int error; /* negative errno of cgroup_fork() */
    int wait_status;
    bool must_enter;
};

/* --- printing ----------------------------------------------------------------------------- */

static void print_string(const char *name, const char *text)
{
    printf(", \"%s\": \"", name);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned char)*text);
        else
            putchar(*text);
    putchar('"');
}

static void print_groups(const char *name, int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const char *separator = "";
    if (!stream)
        DIE("opendir");
    printf(", \"%s\": [", name);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            printf("%s\"%s\"", separator, entry->d_name);
            separator = ", ";
        }
    putchar(']');
    (void)closedir(stream);
}

static void print_file(const char *name, int dir, const char *file)
{
    char text[OUTPUT_MAX] = "";
    _cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
        DIE(file);
    print_string(name, text);
}

static void print_evidence(unsigned evidence)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{CGROUP_MEMORY_LIMIT, "memory"},
                 {CGROUP_PIDS_LIMIT, "pids"},
                 {CGROUP_MEMORY_OUTSIDE, "memory-outside"},
                 {CGROUP_PIDS_OUTSIDE, "pids-outside"}};
    const char *separator = "";
    printf(", \"evidence\": [");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (evidence & names[i].bit) {
            printf("%s\"%s\"", separator, names[i].name);
            separator = ", ";
        }
    putchar(']');
}

/* --- the jail and its job ----------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        DIE(path);
}

/* Maps one user id, as in a jail. */
static void unshare_user(void)
{
    char map[40];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    MUST(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET));
    write_file("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof(map), "1000 %u 1", (unsigned)gid);
    write_file("/proc/self/gid_map", map);
    (void)snprintf(map, sizeof(map), "1000 %u 1", (unsigned)uid);
    write_file("/proc/self/uid_map", map);
}

_Noreturn static void run_job(const struct options *options, int leaf_fd, bool must_enter,
                              int output)
{
    if (must_enter) {
        errno = -cgroup_enter(leaf_fd);
        if (errno != 0)
            DIE("cgroup_enter");
    }
    if (options->hide)
        MUST(unshare(CLONE_NEWCGROUP));
    MUST(dup2(output, STDOUT_FILENO));
    (void)close_range(3, ~0U, 0);
    (void)execv(options->argv[0], options->argv);
    DIE(options->argv[0]);
}

_Noreturn static void run_jail(const struct options *options, int leaf_fd, int output,
                               int report_fd)
{
    struct jail_report report = {.wait_status = -1};
    MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
    if (options->user_namespace)
        unshare_user();
    if (options->cgroup_namespace)
        MUST(unshare(CLONE_NEWCGROUP));
    int pidfd = -1;
    pid_t pid = cgroup_fork(leaf_fd, 0, 0, &pidfd, &report.must_enter);
    if (pid == 0)
        run_job(options, leaf_fd, report.must_enter, output);
    (void)close(output);
    if (pid < 0) {
        report.error = pid;
    } else {
        siginfo_t info;
        MUST(waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOWAIT));
        MUST(waitpid(pid, &report.wait_status, 0));
    }
    MUST(write(report_fd, &report, sizeof(report)));
    _exit(0);
}

/* --- the daemon --------------------------------------------------------------------------- */

static void wait_for(int fd, const char *what)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    if (poll(&poll_fd, 1, DEADLINE_MS) <= 0)
        DIE(what);
}

/* Reads the job's output to its end, or one line if ONE_LINE. */
static void read_output(int fd, bool one_line, char text[OUTPUT_MAX])
{
    size_t length = strlen(text);
    while (length < OUTPUT_MAX - 1 && !(one_line && strchr(text, '\n'))) {
        wait_for(fd, "the job prints nothing and does not end");
        ssize_t n = read(fd, text + length, OUTPUT_MAX - 1 - length);
        MUST(n);
        if (n == 0)
            return;
        length += (size_t)n;
        text[length] = '\0';
    }
}

static int remove_leaf(const struct cgroup_tree *tree, struct cgroup_leaf *leaf, unsigned *ret_busy)
{
    uint64_t deadline_ns = clock_now_ns() + DEADLINE_MS * NS_PER_MS;
    int r;
    while ((r = cgroup_leaf_remove(tree, leaf)) == -EBUSY && clock_now_ns() < deadline_ns) {
        ++*ret_busy;
        (void)cgroup_leaf_kill(leaf);
        (void)poll(NULL, 0, 1);
    }
    return r;
}

static void print_result(const struct cgroup_tree *tree, struct cgroup_leaf *leaf,
                         const struct jail_report *report)
{
    struct cgroup_usage usage;
    unsigned busy = 0;
    int populated = cgroup_leaf_is_populated(leaf);
    int r = cgroup_leaf_read(tree, leaf, &usage);
    if (r < 0)
        printf(", \"read_error\": %d", r);
    else
        printf(", \"cpu_us\": %" PRIu64 ", \"memory_peak\": %" PRId64, usage.cpu_us,
               (int64_t)usage.memory_peak_bytes);
    print_evidence(r < 0 ? 0 : usage.evidence);
    print_file("memory_events", leaf->fd, "memory.events");
    print_file("pids_events", leaf->fd, "pids.events");
    r = remove_leaf(tree, leaf, &busy);
    printf(", \"fork_error\": %d, \"must_enter\": %s, \"exit\": %d, \"signal\": %d", report->error,
           report->must_enter ? "true" : "false",
           WIFEXITED(report->wait_status) ? WEXITSTATUS(report->wait_status) : -1,
           WIFSIGNALED(report->wait_status) ? WTERMSIG(report->wait_status) : 0);
    printf(", \"populated\": %d, \"removed\": %d, \"busy\": %u", populated, r, busy);
}

static void run_one(const struct options *options, const struct cgroup_tree *tree)
{
    int output[2], reports[2];
    char text[OUTPUT_MAX] = "";
    struct cgroup_leaf leaf;
    struct jail_report report = {.wait_status = -1};
    int r = cgroup_leaf_create(tree, 1, &options->limits, &leaf);
    if (r < 0) {
        printf(", \"create_error\": %d", r);
        return;
    }
    print_groups("groups", tree->group_fd);
    print_groups("leaves", tree->fd);
    MUST(pipe2(output, O_CLOEXEC));
    MUST(pipe2(reports, O_CLOEXEC));
    uint64_t started_ns = clock_now_ns();
    pid_t jail = fork();
    if (jail == 0)
        run_jail(options, leaf.fd, output[1], reports[1]);
    MUST(jail);
    (void)close(output[1]);
    (void)close(reports[1]);
    if (options->kill_on_output || options->abandon)
        read_output(output[0], true, text);
    if (options->abandon) {
        print_string("output", text);
        printf("}\n");
        (void)fflush(stdout);
        (void)raise(SIGKILL);
    }
    if (options->kill_on_output)
        MUST(cgroup_leaf_kill(&leaf));
    wait_for(reports[0], "the job does not end");
    MUST(read(reports[0], &report, sizeof(report)));
    MUST(waitpid(jail, NULL, 0));
    printf(", \"wall_ms\": %" PRIu64, (clock_now_ns() - started_ns) / NS_PER_MS);
    /* Living descendants may hold the pipe; the leaf knows of them first. */
    if (report.error == 0 && WIFEXITED(report.wait_status))
        read_output(output[0], true, text);
    print_result(tree, &leaf, &report);
    read_output(output[0], false, text);
    print_string("output", text);
}

static int run(const struct options *options)
{
    struct fault fault = FAULT_NULL;
    struct cgroup_tree tree = CGROUP_TREE_NULL;
    int r = cgroup_tree_open(&tree, &fault);
    printf("{\"open\": %d, \"memory\": %d, \"pids\": %d, \"cpu\": %d", r, tree.has[CGROUP_MEMORY],
           tree.has[CGROUP_PIDS], tree.has[CGROUP_CPU]);
    print_string("fault", fault.text);
    print_file("own_group", AT_FDCWD, "/proc/self/cgroup");
    if (r == 0 && options->argv)
        run_one(options, &tree);
    if (r == 0 && options->wait_for_input) {
        char byte;
        printf("}\n");
        (void)fflush(stdout);
        while (read(STDIN_FILENO, &byte, 1) > 0)
            ;
        printf("{\"open\": 0");
    }
    int group = tree.group_fd < 0 ? -1 : fcntl(tree.group_fd, F_DUPFD_CLOEXEC, 3);
    cgroup_tree_close(&tree);
    if (group >= 0) {
        print_groups("groups_after", group);
        print_file("subtree_control_after", group, "cgroup.subtree_control");
        print_file("own_group_after", AT_FDCWD, "/proc/self/cgroup");
    }
    printf("}\n");
    return 0;
}

/* --- cost --------------------------------------------------------------------------------- */

enum { BENCH_PLAIN, BENCH_CLONED, BENCH_ENTERED, BENCH_LEAF, BENCH_COUNT };

/* Runs one program that ends at once: without a leaf, cloned into one, or moved there; or makes a
 * leaf alone. */
static void bench_one(const struct cgroup_tree *tree, uint64_t job_no, int how)
{
    static char *const program[] = {(char *)(uintptr_t) "/bin/true", NULL};
    static const struct cgroup_limits limits = {256 * MIB, 64, 0};
    struct cgroup_leaf leaf = CGROUP_LEAF_NULL;
    struct cgroup_usage usage;
    int pidfd = -1;
    bool must_enter = false;
    if (how != BENCH_PLAIN)
        MUST(cgroup_leaf_create(tree, job_no, &limits, &leaf));
    if (how != BENCH_LEAF) {
        pid_t pid = cgroup_fork(how == BENCH_CLONED ? leaf.fd : -1, 0, 0, &pidfd, &must_enter);
        if (pid == 0) {
            if (how == BENCH_ENTERED)
                MUST(cgroup_enter(leaf.fd));
            (void)execv(program[0], program);
            _exit(127);
        }
        MUST(pid);
        MUST(waitpid(pid, NULL, 0));
        (void)close(pidfd);
    }
    if (how == BENCH_PLAIN)
        return;
    MUST(cgroup_leaf_read(tree, &leaf, &usage));
    MUST(cgroup_leaf_kill(&leaf));
    unsigned busy = 0;
    MUST(remove_leaf(tree, &leaf, &busy));
}

static int bench(unsigned count)
{
    static const char *const names[] = {"plain", "cloned", "entered", "leaf"};
    uint64_t ns[BENCH_COUNT] = {0};
    struct fault fault = FAULT_NULL;
    struct cgroup_tree tree = CGROUP_TREE_NULL;
    if (cgroup_tree_open(&tree, &fault) < 0)
        DIE(fault.text);
    /* In turns, so that other load on the machine affects all of them. */
    for (unsigned i = 0; i < count * BENCH_COUNT; i++) {
        uint64_t started_ns = clock_now_ns();
        bench_one(&tree, i, (int)(i % BENCH_COUNT));
        ns[i % BENCH_COUNT] += clock_now_ns() - started_ns;
    }
    for (size_t i = 0; i < BENCH_COUNT; i++)
        printf("%s\"%s_us\": %" PRIu64, i ? ", " : "{", names[i], ns[i] / count / 1000);
    printf("}\n");
    cgroup_tree_close(&tree);
    return 0;
}

/* --- jobs --------------------------------------------------------------------------------- */

static int touch_memory(size_t mib)
{
    char *memory =
        mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 12;
    for (size_t i = 0; i < mib * MIB; i += 4096)
        memory[i] = (char)(i >> 12 | 1); /* no page is all zeros */
    return 0;
}

/* eat MIB COUNT: COUNT processes allocate MIB each, all at the same time. Exits with 3 if one of
 * them fails. */
static int eat(size_t mib, long count)
{
    int status, result = 0;
    int ready[2], hold[2];
    char byte = 0;
    if (count == 1)
        return touch_memory(mib);
    MUST(pipe(ready));
    MUST(pipe(hold));
    for (long i = 0; i < count; i++)
        if (fork() == 0) {
            int r = touch_memory(mib);
            (void)close(hold[1]);
            (void)!write(ready[1], &byte, 1);
            (void)!read(hold[0], &byte, 1);
            _exit(r);
        }
    (void)close(ready[1]);
    /* A killed process never reports ready. */
    struct pollfd poll_fd = {.fd = ready[0], .events = POLLIN};
    for (long i = 0; i < count && result == 0;) {
        if (poll(&poll_fd, 1, 10) > 0)
            i += read(ready[0], &byte, 1);
        else if (waitpid(-1, &status, WNOHANG) > 0)
            result = 3;
    }
    (void)close(hold[1]);
    while (wait(&status) > 0)
        if (status != 0)
            result = 3;
    return result;
}

/* forks COUNT: starts COUNT children that stay. Exits with 11 if a fork fails. */
static int forks(long count)
{
    int hold[2];
    char byte;
    long made = 0;
    MUST(pipe(hold));
    for (; made < count; made++) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            (void)close(hold[1]);
            (void)!read(hold[0], &byte, 1);
            _exit(0);
        }
    }
    int result = made == count ? 0 : errno == EAGAIN ? 11 : 70;
    (void)close(hold[1]);
    while (wait(NULL) > 0)
        ;
    printf("%ld\n", made);
    return result;
}

/* bomb: forks as long as it lives, and prints a line once its limit must have been reached. */
_Noreturn static void bomb(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    pid_t first = getpid();
    for (unsigned i = 0;; i++)
        if (fork() != 0 && i == 100 && getpid() == first)
            (void)!write(STDOUT_FILENO, "bomb\n", 5);
}

/* strays COUNT STAY: starts COUNT grandchildren in sessions of their own whose parents have exited.
 * Then it stays as well, or exits. */
static int strays(long count, bool stay)
{
    int ready[2];
    char byte;
    MUST(pipe(ready));
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();
        MUST(pid);
        if (pid == 0) {
            MUST(setsid());
            if (fork() != 0)
                _exit(0);
            (void)signal(SIGHUP, SIG_IGN);
            (void)signal(SIGTERM, SIG_IGN);
            (void)!write(ready[1], "", 1);
            for (;;)
                (void)pause();
        }
        MUST(waitpid(pid, NULL, 0));
    }
    for (long i = 0; i < count; i++)
        MUST(read(ready[0], &byte, 1));
    (void)!write(STDOUT_FILENO, "ready\n", 6);
    while (stay)
        (void)pause();
    return 0;
}

static void spin(long ms)
{
    struct timespec now;
    do
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

/* spin MS: burns MS of CPU time itself, and as much in a grandchild that nobody waits for. */
static int spin_twice(long ms)
{
    int done[2];
    char byte;
    MUST(pipe(done));
    if (fork() == 0) {
        (void)setsid();
        if (fork() == 0) {
            spin(ms);
            (void)!write(done[1], "", 1);
        }
        _exit(0);
    }
    (void)close(done[1]);
    spin(ms);
    (void)!read(done[0], &byte, 1);
    return 0;
}

/* --- arguments ---------------------------------------------------------------------------- */

static int usage(void)
{
    (void)fputs(
        "usage: cgroup-probe run|bench|eat|forks|bomb|strays|spin ..., see cgroup_probe.c\n",
        stderr);
    return 64;
}

static int run_command(int argc, char **argv)
{
    static const struct option names[] = {{"memory", required_argument, NULL, 'm'},
                                          {"pids", required_argument, NULL, 'p'},
                                          {"cpu", required_argument, NULL, 'c'},
                                          {"user-namespace", no_argument, NULL, 'u'},
                                          {"cgroup-namespace", no_argument, NULL, 'n'},
                                          {"hide", no_argument, NULL, 'h'},
                                          {"kill-on-output", no_argument, NULL, 'k'},
                                          {"abandon", no_argument, NULL, 'a'},
                                          {"wait", no_argument, NULL, 'w'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.limits = {CGROUP_UNLIMITED, CGROUP_UNLIMITED, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "+", names, NULL)) != -1)
        switch (option) {
        case 'm':
            options.limits.memory_max = strtoull(optarg, NULL, 10) * MIB;
            break;
        case 'p':
            options.limits.pids_max = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            options.limits.cpu_percent = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'u':
            options.user_namespace = true;
            break;
        case 'n':
            options.cgroup_namespace = true;
            break;
        case 'h':
            options.hide = true;
            break;
        case 'k':
            options.kill_on_output = true;
            break;
        case 'a':
            options.abandon = true;
            break;
        case 'w':
            options.wait_for_input = true;
            break;
        default:
            return usage();
        }
    options.argv = optind < argc ? argv + optind : NULL;
    return run(&options);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    long first = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    long second = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
    if (strcmp(command, "run") == 0)
        return run_command(argc - 1, argv + 1);
    if (strcmp(command, "bench") == 0)
        return bench((unsigned)first);
    if (strcmp(command, "eat") == 0)
        return eat((size_t)first, second);
    if (strcmp(command, "forks") == 0)
        return forks(first);
    if (strcmp(command, "strays") == 0)
        return strays(first, second != 0);
    if (strcmp(command, "spin") == 0)
        return spin_twice(first);
    if (strcmp(command, "bomb") == 0)
        bomb();
    return usage();
}
