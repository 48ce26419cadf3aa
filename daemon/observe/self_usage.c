/* SPDX-License-Identifier: MIT */
#include "self_usage.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>

/* Converts the line NAME of /proc/self/status, in kB, to bytes. 0 if there is no such line. */
static uint64_t memory_line(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

/* Not getrusage(): its maximum includes the program before execve. */
static void measure_memory(struct self_usage *usage)
{
    char text[4096];
    _cleanup_close_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[MAX(n, 0)] = '\0';
    usage->rss_bytes = memory_line(text, "\nVmRSS:");
    usage->max_rss_bytes = MAX(memory_line(text, "\nVmHWM:"), usage->rss_bytes);
}

static unsigned count_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;
    if (!directory)
        return 0;
    for (const struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    (void)closedir(directory);
    return count - 1; /* without the one used here */
}

void self_usage_measure(struct self_usage *ret)
{
    struct self_usage usage = {.open_fds = count_fds()};
    struct rlimit files;
    measure_memory(&usage);
    usage.cpu_ns = clock_cpu_ns();
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        usage.max_fds = (unsigned)MIN(files.rlim_cur, (rlim_t)UINT_MAX);
    *ret = usage;
}
