/* SPDX-License-Identifier: MIT */
#include "run_delay.h"
#include "children.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool run_delay_is_possible(pid_t pid, uint64_t took_ns)
{
    if (took_ns < NS_PER_MS)
        return false;
    uint64_t cpu_ns = children_cpu_us(pid) * 1000;
    return MAX(took_ns, cpu_ns) - MIN(took_ns, cpu_ns) >= NS_PER_MS;
}

int run_delay_open(int proc, pid_t pid)
{
    char path[40];
    (void)snprintf(path, sizeof(path), "%s%d/schedstat", proc < 0 ? "/proc/" : "", (int)pid);
    return openat(proc, path, O_RDONLY | O_CLOEXEC);
}

uint64_t run_delay_read(int schedstat)
{
    char text[80];
    ssize_t n = schedstat < 0 ? -1 : read(schedstat, text, sizeof(text) - 1);
    if (n <= 0)
        return UINT64_MAX;
    text[n] = '\0';
    char *end; /* "run_ns delay_ns timeslices" */
    (void)strtoull(text, &end, 10);
    return *end == ' ' ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
}

uint64_t run_delay_sum(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}
