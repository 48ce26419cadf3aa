/* SPDX-License-Identifier: MIT */
#include "cgroup.h"
#include "cgroup_file.h"
#include "cgroup_text.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

/* Period of cpu.max in microseconds; the kernel's own default. */
#define CPU_PERIOD_US 100000
/* The kernel updates pids.peak without a lock: two forks at once may leave it one or two short. */
#define PIDS_PEAK_SLACK 2

static int write_limit(int leaf_fd, const char *name, uint64_t value)
{
    char text[24];
    if (value == CGROUP_UNLIMITED)
        (void)snprintf(text, sizeof(text), "max");
    else
        (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    return cgroup_file_write(leaf_fd, name, text);
}

static int set_limits(const struct cgroup_tree *tree, int leaf_fd,
                      const struct cgroup_limits *limits)
{
    int r = 0;
    if (tree->has[CGROUP_MEMORY]) {
        r = write_limit(leaf_fd, "memory.max", limits->memory_max);
        /* A job that lost one of its processes can give no verdict any more: kill all of it. */
        if (r == 0)
            r = cgroup_file_write(leaf_fd, "memory.oom.group", "1");
    }
    if (r == 0 && tree->has[CGROUP_PIDS])
        r = write_limit(leaf_fd, "pids.max", limits->pids_max);
    if (r == 0 && tree->has[CGROUP_CPU] && limits->cpu_percent > 0) {
        char text[64];
        (void)snprintf(text, sizeof(text), "%" PRIu64 " %d",
                       (uint64_t)limits->cpu_percent * (CPU_PERIOD_US / 100), CPU_PERIOD_US);
        r = cgroup_file_write(leaf_fd, "cpu.max", text);
    }
    return r;
}

int cgroup_leaf_create(const struct cgroup_tree *tree, uint64_t job_no,
                       const struct cgroup_limits *limits, struct cgroup_leaf *ret)
{
    struct cgroup_leaf leaf = CGROUP_LEAF_NULL;
    assert(tree->fd >= 0);
    (void)snprintf(leaf.name, sizeof(leaf.name), "job-%" PRIu64, job_no);
    if (mkdirat(tree->fd, leaf.name, 0755) < 0)
        return -errno;
    leaf.fd = cgroup_file_open_group(tree->fd, leaf.name);
    int r = leaf.fd < 0 ? leaf.fd : set_limits(tree, leaf.fd, limits);
    if (r < 0) {
        leaf.fd = close_fd(leaf.fd);
        (void)unlinkat(tree->fd, leaf.name, AT_REMOVEDIR);
        return r;
    }
    *ret = leaf;
    return 0;
}

int cgroup_leaf_kill(const struct cgroup_leaf *leaf)
{
    assert(leaf->fd >= 0);
    return cgroup_file_write(leaf->fd, "cgroup.kill", "1");
}

/* Reads the numbers after COUNT keys of a file into RET. -ENOENT: no such file; -EBADMSG: no such
 * key. */
static int read_values(int leaf_fd, const char *name, const char *const keys[], size_t count,
                       uint64_t ret[])
{
    char text[CGROUP_FILE_MAX];
    int r = cgroup_file_read(leaf_fd, name, text, sizeof(text));
    for (size_t i = 0; i < count && r >= 0; i++)
        r = cgroup_text_value(text, keys[i], &ret[i]) < 0 ? -EBADMSG : 0;
    return r < 0 ? r : 0;
}

static int read_number(int leaf_fd, const char *name, uint64_t *ret)
{
    char text[CGROUP_FILE_MAX];
    int r = cgroup_file_read(leaf_fd, name, text, sizeof(text));
    return r < 0 ? r : cgroup_text_number(text, ret);
}

/* `oom_kill` counts every process killed for lack of memory, whoever's limit it was; `oom` counts
 * only where this leaf's own limit was exceeded. `max` says only that pages were reclaimed: reading
 * a large file does that to a healthy job. */
static int read_memory(int leaf_fd, struct cgroup_usage *usage)
{
    static const char *const keys[] = {"oom", "oom_kill"};
    uint64_t values[ARRAY_SIZE(keys)];
    int r = read_values(leaf_fd, "memory.events", keys, ARRAY_SIZE(keys), values);
    if (r < 0)
        return r;
    if (values[1] > 0)
        usage->evidence |= values[0] > 0 ? CGROUP_MEMORY_LIMIT : CGROUP_MEMORY_OUTSIDE;
    r = read_number(leaf_fd, "memory.peak", &usage->memory_peak_bytes);
    return r == -ENOENT ? 0 : r; /* Linux 5.19 introduced it */
}

/* Until Linux 6.11 `max` also counts forks in this leaf that a limit further up refused. In that
 * case the leaf never was full. */
static int read_pids(int leaf_fd, struct cgroup_usage *usage)
{
    static const char *const keys[] = {"max"};
    uint64_t refused, peak, limit;
    int r = read_values(leaf_fd, "pids.events", keys, ARRAY_SIZE(keys), &refused);
    if (r < 0 || refused == 0)
        return r;
    r = read_number(leaf_fd, "pids.max", &limit);
    if (r == 0)
        r = read_number(leaf_fd, "pids.peak", &peak);
    if (r == -ENOENT)
        return 0; /* the kernel does not tell: no evidence */
    if (r == 0)
        usage->evidence |= limit != CGROUP_UNLIMITED && peak + PIDS_PEAK_SLACK >= limit
                               ? CGROUP_PIDS_LIMIT
                               : CGROUP_PIDS_OUTSIDE;
    return r;
}

int cgroup_leaf_read_cpu(const struct cgroup_leaf *leaf, uint64_t *ret_cpu_us)
{
    static const char *const keys[] = {"usage_usec"};
    return read_values(leaf->fd, "cpu.stat", keys, ARRAY_SIZE(keys), ret_cpu_us);
}

int cgroup_leaf_read_cpu_pressure(const struct cgroup_leaf *leaf, uint64_t *ret_us)
{
    char text[CGROUP_FILE_MAX];
    int r = cgroup_file_read(leaf->fd, "cpu.pressure", text, sizeof(text));
    return r < 0 ? r : cgroup_text_pressure(text, "full", ret_us);
}

int cgroup_leaf_read(const struct cgroup_tree *tree, const struct cgroup_leaf *leaf,
                     struct cgroup_usage *ret)
{
    struct cgroup_usage usage = {.memory_peak_bytes = UINT64_MAX};
    int r = cgroup_leaf_read_cpu(leaf, &usage.cpu_us);
    if (r == 0 && tree->has[CGROUP_MEMORY])
        r = read_memory(leaf->fd, &usage);
    if (r == 0 && tree->has[CGROUP_PIDS])
        r = read_pids(leaf->fd, &usage);
    if (r == 0)
        *ret = usage;
    return r;
}

int cgroup_leaf_is_populated(const struct cgroup_leaf *leaf)
{
    static const char *const keys[] = {"populated"};
    uint64_t populated;
    int r = read_values(leaf->fd, "cgroup.events", keys, ARRAY_SIZE(keys), &populated);
    return r < 0 ? r : populated != 0;
}

int cgroup_leaf_remove(const struct cgroup_tree *tree, struct cgroup_leaf *leaf)
{
    assert(leaf->fd >= 0); /* removed once */
    if (unlinkat(tree->fd, leaf->name, AT_REMOVEDIR) < 0)
        return -errno;
    leaf->fd = close_fd(leaf->fd);
    leaf->name[0] = '\0';
    return 0;
}
