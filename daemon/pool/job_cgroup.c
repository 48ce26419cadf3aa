/* SPDX-License-Identifier: MIT */
#include "job_cgroup.h"

#include "proto/shortage.h"
#include "proto/util.h"

#include <fcntl.h>

void job_cgroup_deinit(struct job_cgroup *cgroup)
{
    (void)job_cgroup_close(cgroup);
    cgroup_leaf_close(&cgroup->leaf);
}

int job_cgroup_open(struct job_cgroup *cgroup, const struct cgroup_tree *tree, uint64_t job_no,
                    const struct limits *limits, unsigned cpu_percent, int *ret_fd)
{
    job_cgroup_deinit(cgroup); /* one that a jail which is gone was given */
    *cgroup = (struct job_cgroup){.tree = tree, .leaf = CGROUP_LEAF_NULL};
    *ret_fd = -1;
    if (!tree || tree->fd < 0)
        return 0;
    struct cgroup_limits bounds = {
        .memory_max = limits->of[LIMIT_MEMORY],
        .pids_max = limits->of[LIMIT_PROCESSES],
        .cpu_percent = cpu_percent,
    };
    int r = cgroup_leaf_create(tree, job_no, &bounds, &cgroup->leaf);
    if (r < 0)
        return r;
    *ret_fd = fcntl(cgroup->leaf.fd, F_DUPFD_CLOEXEC, 3);
    if (*ret_fd < 0) {
        r = -errno;
        (void)job_cgroup_close(cgroup);
    }
    return r;
}

int job_cgroup_share(struct job_cgroup *cgroup, const struct cgroup_tree *tree, uint64_t job_no,
                     const struct limits *limits, unsigned cpu_percent, int *ret_fd)
{
    if (!job_cgroup_is_open(cgroup))
        return job_cgroup_open(cgroup, tree, job_no, limits, cpu_percent, ret_fd);
    cgroup->earlier_cpu_us = job_cgroup_cpu_us(cgroup);
    *ret_fd = fcntl(cgroup->leaf.fd, F_DUPFD_CLOEXEC, 3);
    return *ret_fd < 0 ? -errno : 0;
}

bool job_cgroup_counts_processes(const struct job_cgroup *cgroup)
{
    return job_cgroup_is_open(cgroup) && cgroup->tree->has[CGROUP_PIDS];
}

bool job_cgroup_bounds_memory(const struct job_cgroup *cgroup)
{
    return job_cgroup_is_open(cgroup) && cgroup->tree->has[CGROUP_MEMORY];
}

void job_cgroup_kill(const struct job_cgroup *cgroup)
{
    if (job_cgroup_is_open(cgroup))
        (void)cgroup_leaf_kill(&cgroup->leaf);
}

/* A single process gets SIGXCPU at its limit, in whole seconds, and may say a last word. So the
 * tree gets a little more than that limit before it is killed. */
#define CPU_SLACK_MS 250

uint64_t job_cgroup_cpu_remaining_ms(const struct job_cgroup *cgroup, uint64_t limit_ms)
{
    uint64_t cpu_ms = (limit_ms + 999) / 1000 * 1000 + CPU_SLACK_MS;
    uint64_t used_us;
    if (!job_cgroup_is_open(cgroup) || cgroup_leaf_read_cpu(&cgroup->leaf, &used_us) < 0)
        return UINT64_MAX;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (used_us / 1000 >= cpu_ms)
        return 0;
    return (cpu_ms - used_us / 1000) / (uint64_t)MAX(cpus, 1L) + 1;
}

uint64_t job_cgroup_cpu_us(const struct job_cgroup *cgroup)
{
    uint64_t used_us;
    bool is_known =
        job_cgroup_is_open(cgroup) && cgroup_leaf_read_cpu(&cgroup->leaf, &used_us) == 0;
    return is_known ? used_us : 0;
}

uint64_t job_cgroup_pressure_us(const struct job_cgroup *cgroup)
{
    uint64_t stalled_us;
    bool is_known = job_cgroup_is_open(cgroup) &&
                    cgroup_leaf_read_cpu_pressure(&cgroup->leaf, &stalled_us) == 0;
    return is_known ? stalled_us : 0;
}

void job_cgroup_collect(const struct job_cgroup *cgroup, struct slot_result *result)
{
    struct cgroup_usage usage;
    if (!job_cgroup_is_open(cgroup))
        return;
    int r = cgroup_leaf_read(cgroup->tree, &cgroup->leaf, &usage);
    /* Without the evidence a limit that ended the job would look like a failure of the job. */
    if (is_shortage(-r) && result->wait_status != 0) {
        result->lost = "control group";
        result->lost_error = r;
    }
    if (r < 0)
        return;
    result->cpu_us = MAX(result->cpu_us, usage.cpu_us);
    if (usage.memory_peak_bytes != UINT64_MAX)
        result->max_rss_bytes = usage.memory_peak_bytes;
    if (usage.evidence & CGROUP_MEMORY_LIMIT)
        result->evidence |= 1u << LIMIT_MEMORY;
    if (usage.evidence & CGROUP_PIDS_LIMIT)
        result->evidence |= 1u << LIMIT_PROCESSES;
    result->starved = usage.evidence & CGROUP_MEMORY_OUTSIDE;
}

void job_cgroup_collect_new(struct job_cgroup *cgroup, struct slot_result *result)
{
    struct cgroup_usage usage;
    if (!job_cgroup_is_open(cgroup) || cgroup_leaf_read(cgroup->tree, &cgroup->leaf, &usage) < 0)
        return;
    unsigned is_new = usage.evidence & ~cgroup->earlier_evidence;
    cgroup->earlier_evidence |= usage.evidence;
    result->cpu_us = MAX(result->cpu_us, usage.cpu_us - MIN(cgroup->earlier_cpu_us, usage.cpu_us));
    if (is_new & CGROUP_MEMORY_LIMIT)
        result->evidence |= 1u << LIMIT_MEMORY;
    if (is_new & CGROUP_PIDS_LIMIT)
        result->evidence |= 1u << LIMIT_PROCESSES;
    result->starved = is_new & CGROUP_MEMORY_OUTSIDE;
}

bool job_cgroup_close(struct job_cgroup *cgroup)
{
    if (!job_cgroup_is_open(cgroup))
        return true;
    bool is_busy = cgroup_leaf_remove(cgroup->tree, &cgroup->leaf) == -EBUSY;
    cgroup->is_left = is_busy && ++cgroup->looks > JOB_CGROUP_LOOKS_MAX;
    if (is_busy && !cgroup->is_left) {
        job_cgroup_kill(cgroup);
        return false;
    }
    /* Another error than -EBUSY does not go away by waiting. */
    cgroup_leaf_close(&cgroup->leaf);
    return true;
}
