/* SPDX-License-Identifier: MIT */
#include "kept.h"
#include "children.h"
#include "tree_memory.h"
#include "tree_time.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between two looks at the processes that live while no command runs; longer if looking takes long,
 * so that it takes no more than one part in LOOK_SHARE of a CPU. */
#define LOOK_MS UINT64_C(100)
#define LOOK_SHARE 20
/* Time that killed processes have to die. */
#define KILL_MS 5000

static const struct tree_time_except nobody = {0, 0};

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

/* Reaps the children that have died. Returns whether any lives. */
static bool reap(void)
{
    pid_t pid;
    do
        pid = waitpid(-1, NULL, WNOHANG);
    while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid == 0;
}

static uint64_t run_ns(const struct enclosure *enclosure)
{
    struct tree_time time;
    return tree_time_read(enclosure->view.proc, nobody, &time) == 0 ? time.run_ns : 0;
}

void kept_end_command(struct kept *kept, const struct enclosure *enclosure)
{
    kept->idle_run_ns = reap() ? run_ns(enclosure) : 0;
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

/* Kills the processes that live if they use too much. Returns after how many milliseconds to look
 * again; -1: never. */
static int look(const struct kept *kept, const struct enclosure *enclosure)
{
    uint64_t began_ns = clock_now_ns();
    if (!reap())
        return -1;
    uint64_t used_ns = run_ns(enclosure);
    bool takes_too_much =
        kept->memory_bytes > 0 && tree_memory_exceeds(enclosure->view.proc, 0, kept->memory_bytes);
    if (takes_too_much || used_ns > kept->idle_run_ns + kept->cpu_ms * NS_PER_MS)
        kept_kill();
    uint64_t took_ms = (clock_now_ns() - began_ns) / NS_PER_MS;
    return (int)MAX(LOOK_MS, took_ms * LOOK_SHARE);
}

void kept_wait(struct kept *kept, const struct enclosure *enclosure, int link)
{
    struct pollfd fd = {.fd = link, .events = POLLIN};
    if (!kept->is_on)
        return;
    for (;;) {
        int n = poll(&fd, 1, look(kept, enclosure));
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
