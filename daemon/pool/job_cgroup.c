/* SPDX-License-Identifier: MIT */
#include "job_cgroup.h"

#include "proto/util.h"

#include <fcntl.h>

static bool is_open(const struct leaf *leaf)
{
    return leaf->leaf.fd >= 0;
}

void leaf_deinit(struct leaf *leaf)
{
    (void)leaf_close(leaf);
    leaf->leaf.fd = close_fd(leaf->leaf.fd);
}

int leaf_open(struct leaf *leaf, const struct cgroup_tree *tree, uint64_t job_no,
              const struct limits *limits, unsigned cpu_percent, int *ret_fd)
{
    leaf_deinit(leaf); /* one that was given up with its jail */
    *leaf = (struct leaf){.tree = tree, .leaf = CGROUP_LEAF_NULL};
    *ret_fd = -1;
    if (!tree || tree->fd < 0)
        return 0;
    struct cgroup_limits bounds = {
        .memory_max = limits->of[LIMIT_MEMORY],
        .pids_max = limits->of[LIMIT_PROCESSES],
        .cpu_percent = cpu_percent,
    };
    int r = cgroup_leaf_create(tree, job_no, &bounds, &leaf->leaf);
    if (r < 0)
        return r;
    *ret_fd = fcntl(leaf->leaf.fd, F_DUPFD_CLOEXEC, 3);
    if (*ret_fd < 0) {
        r = -errno;
        (void)leaf_close(leaf);
    }
    return r;
}

bool leaf_counts_processes(const struct leaf *leaf)
{
    return is_open(leaf) && leaf->tree->has[CGROUP_PIDS];
}

void leaf_kill(const struct leaf *leaf)
{
    if (is_open(leaf))
        (void)cgroup_leaf_kill(&leaf->leaf);
}

/* A single process gets SIGXCPU at its limit in whole seconds, and may say a last word: what a tree
 * has used up together is looked at just behind that. */
#define CPU_SLACK_MS 250

uint64_t leaf_cpu_remaining_ms(const struct leaf *leaf, uint64_t limit_ms)
{
    uint64_t cpu_ms = (limit_ms + 999) / 1000 * 1000 + CPU_SLACK_MS;
    uint64_t used_us;
    if (!is_open(leaf) || cgroup_leaf_read_cpu(&leaf->leaf, &used_us) < 0)
        return UINT64_MAX;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (used_us / 1000 >= cpu_ms)
        return 0;
    return (cpu_ms - used_us / 1000) / (uint64_t)MAX(cpus, 1L) + 1;
}

void leaf_collect(const struct leaf *leaf, struct slot_result *result)
{
    struct cgroup_usage usage;
    if (!is_open(leaf) || cgroup_leaf_read(leaf->tree, &leaf->leaf, &usage) < 0)
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

bool leaf_close(struct leaf *leaf)
{
    if (!is_open(leaf))
        return true;
    bool is_busy = cgroup_leaf_remove(leaf->tree, &leaf->leaf) == -EBUSY;
    leaf->is_left = is_busy && ++leaf->looks > LEAF_LOOKS_MAX;
    if (is_busy && !leaf->is_left) {
        leaf_kill(leaf);
        return false;
    }
    /* Whatever else keeps it from being removed, waiting would not help. */
    leaf->leaf.fd = close_fd(leaf->leaf.fd);
    return true;
}
