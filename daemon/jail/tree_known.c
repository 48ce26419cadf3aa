/* SPDX-License-Identifier: MIT */
#include "tree_known.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a longer time a job could use up all pids, so that the last one is the same again. A jail that
 * looks so late was itself without a CPU, and a job that hides as much work as this takes would
 * have to start tens of thousands of processes besides. */
#define LAP_NS (5 * NS_PER_S)
#define PROBE_STACK 4096

void tree_known_begin(struct tree_known *known, uint64_t started_ns, int64_t last_pid, size_t tasks)
{
    *known = (struct tree_known){
        .is_on = true,
        .looked_ns = started_ns,
        .gap_until_ns = started_ns,
        .last_pid = last_pid,
        .tasks = tasks,
        .is_exact = last_pid >= 0,
        .is_calm = true,
        .has_stirred = true,
    };
}

static int end_at_once(void *unused)
{
    (void)unused;
    return 0;
}

/* Takes a pid, and returns it. A negative errno on failure. */
static int64_t take_pid(void)
{
    /* Static because the kernel has the child run on it; only this function uses it, and waits. */
    static _Alignas(16) char stack[PROBE_STACK];
    pid_t pid = clone(end_at_once, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    if (pid < 0)
        return -errno;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return pid;
}

/* Returns the pid that the namespace gave out last. A negative errno if that is not known. */
static int64_t read_last_pid(struct tree_known *known, int proc)
{
    char text[80];
    _cleanup_close_ int fd = openat(proc, "loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n > 0) { /* "0.00 0.01 0.05 1/234 5678" */
        text[n] = '\0';
        const char *last = strrchr(text, ' ');
        return last ? strtoll(last, NULL, 10) - known->probes : -EPROTO;
    }
    int64_t pid = take_pid(); /* some hosts grant no /proc that has more than processes */
    if (pid < 0)
        return pid;
    return pid - ++known->probes;
}

/* Enters what was seen at NOW_NS. */
static void enter(struct tree_known *known, uint64_t now_ns, const struct tree_time *time,
                  int64_t last_pid, bool is_exact)
{
    uint64_t interval_ns = now_ns - known->looked_ns;
    int64_t given = last_pid - known->last_pid;
    int64_t more = (int64_t)time->tasks - (int64_t)known->tasks;
    bool is_calm = known->is_exact && is_exact && given == more && interval_ns < LAP_NS;
    bool is_still = is_calm && given == 0 && time->living_run_ns == known->living_run_ns &&
                    !time->is_running && !time->is_partial;
    if (is_calm && known->is_calm) {
        known->known_run_ns += time->run_ns - MIN(known->run_ns, time->run_ns);
        known->known_wait_ns += time->wait_ns - MIN(known->wait_ns, time->wait_ns);
    } else {
        known->gap_ns += interval_ns;
        known->gap_until_ns = now_ns;
    }
    known->looked_ns = now_ns;
    known->last_pid = last_pid;
    known->tasks = time->tasks;
    known->run_ns = time->run_ns;
    known->wait_ns = time->wait_ns;
    known->living_run_ns = time->living_run_ns;
    known->is_exact = is_exact;
    known->is_calm = is_calm;
    known->has_stirred |= !is_still;
}

void tree_known_look(struct tree_known *known, int proc, struct tree_time_except except)
{
    struct tree_time time = {0};
    int64_t before = read_last_pid(known, proc);
    int r = tree_time_read(proc, except, &time);
    int64_t after = read_last_pid(known, proc);
    enter(known, clock_now_ns(), &time, after, r == 0 && before >= 0 && before == after);
}

uint32_t tree_known_tell(struct tree_known *known, int proc, struct tree_time_except except,
                         struct tree_time *time)
{
    tree_known_look(known, proc, except);
    /* Of a wait that is not over yet, what lies in a gap does not count. */
    uint64_t under_way_ns = time->wait_ns - MIN(time->wait_ns, known->wait_ns);
    uint64_t most_ns = known->looked_ns - known->gap_until_ns;
    time->run_ns = known->known_run_ns;
    time->wait_ns = known->known_wait_ns + MIN(under_way_ns, most_ns);
    return (uint32_t)MIN((known->gap_ns + NS_PER_MS - 1) / NS_PER_MS, (uint64_t)UINT32_MAX);
}
