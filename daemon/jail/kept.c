/* SPDX-License-Identifier: MIT */
#include "kept.h"
#include "children.h"
#include "pace.h"
#include "same_memory.h"
#include "tree_memory.h"
#include "tree_time.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between two looks at the processes that live while no command runs, unless these take long. */
#define LOOK_MS UINT64_C(100)
/* Time that killed processes have to die. */
#define KILL_MS 5000

static const struct tree_time_except nobody = {.pid = 0};

static uint64_t nanoseconds(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_usec * 1000;
}

int kept_begin(struct kept *kept, struct enclosure *enclosure, const struct link_job *request,
               int cgroup, int *ret_cwd)
{
    struct work *work = &enclosure->work;
    if (kept->is_on) {
        *ret_cwd = work_resume(work);
        return 0;
    }
    int r = work_begin(work, request->job_no, request->limits.of[LIMIT_DISK], ret_cwd);
    if (r < 0)
        return r;
    /* After the disk was bounded, which this forbids. */
    r = enclosure_share_domain(enclosure, cgroup);
    if (r < 0)
        return r;
    kept->shares_domain = r > 0;
    kept->is_on = true;
    kept->cpu_ms = request->limits.of[LIMIT_CPU];
    return 0;
}

/* Reaps the children that have died, and counts what they have used. Returns whether any lives. */
static bool reap(struct kept *kept)
{
    for (;;) {
        struct rusage of_one = {0};
        pid_t pid = wait4(-1, NULL, WNOHANG, &of_one);
        if (pid > 0)
            kept->reaped_ns += nanoseconds(&of_one.ru_utime) + nanoseconds(&of_one.ru_stime);
        else if (pid == 0 || errno != EINTR)
            return pid == 0;
    }
}

/* What the processes of the session have used: those that live, those that they have waited for,
 * and those that the jail has. */
static uint64_t used_ns(const struct kept *kept, const struct enclosure *enclosure)
{
    struct tree_time time = {0};
    (void)tree_time_read(enclosure->view.proc, nobody, &time);
    return time.run_ns + kept->reaped_ns;
}

void kept_end_command(struct kept *kept, const struct enclosure *enclosure)
{
    kept->idle_used_ns = reap(kept) ? used_ns(kept, enclosure) : kept->reaped_ns;
}

void kept_kill(void)
{
    struct children_usage ignored = {0};
    (void)children_kill_all(KILL_MS, 0, &ignored);
}

void kept_stop_all(void)
{
    if (getpid() == 1)
        (void)kill(-1, SIGKILL);
}

/* Kills the processes that live if they use too much; does not look for long once UNTIL is ready.
 * Returns after how many milliseconds to look again; -1: never. */
static int look(struct kept *kept, const struct enclosure *enclosure, struct pollfd *until)
{
    const struct pace pace = pace_begin();
    if (!reap(kept))
        return -1;
    uint64_t idle_ns = used_ns(kept, enclosure) - kept->idle_used_ns;
    struct tree_memory tree = {.proc = enclosure->view.proc,
                               .pass = enclosure->pass,
                               .is_same = same_memory,
                               .cpu_ms = TREE_MEMORY_CPU_MS,
                               .hold = tree_memory_stop};
    bool takes_too_much =
        kept->memory_bytes > 0 && tree_memory_exceeds(&tree, kept->memory_bytes, until, 1) > 0;
    (void)tree_locks_look(&kept->locks, enclosure->view.proc);
    bool holds_too_many = kept->locks.is_exceeded;
    if (holds_too_many) /* what comes after them begins anew */
        kept->locks = (struct tree_locks){.is_bounded = true};
    if (takes_too_much || holds_too_many || (int64_t)idle_ns > (int64_t)(kept->cpu_ms * NS_PER_MS))
        kept_kill();
    uint64_t held_ms = tree_memory_let_go(&tree);
    return pace_next_ms(&pace, MAX(LOOK_MS, held_ms));
}

void kept_wait(struct kept *kept, const struct enclosure *enclosure, int link)
{
    struct pollfd fd = {.fd = link, .events = POLLIN};
    if (!kept->is_on)
        return;
    for (;;) {
        int n = poll(&fd, 1, look(kept, enclosure, &fd));
        if (n > 0 || (n < 0 && errno != EINTR))
            return;
    }
}

void kept_end(struct kept *kept, struct enclosure *enclosure)
{
    if (!kept->is_on)
        return;
    kept_kill();
    (void)work_empty(&enclosure->work);
}
