/* SPDX-License-Identifier: MIT */
/* Theory of operation. What processes have resident is known at once, but counts a page that
 * several share for each of them. What each has in proportion takes the kernel a walk through its
 * memory. So the second is asked for only when the first exceeds the limit.
 *
 * Neither contains page tables, of which a process can have any amount by reading pages of zeros
 * here and there in a large mapping. Each process has its own.
 *
 * A child that is to become another program runs in its parent's memory until it does (vfork,
 * posix_spawn). Each of the two has all of that memory then, also in proportion, which looks at
 * memories and not at processes. So such a child does not count; its parent does. The kernel is
 * asked before the child's memory is read: in the meantime the child may get one of its own, but
 * two memories never become one. Nobody but the kernel is believed, or a job could have two count
 * as one. A process that runs in the memory of any other than its parent counts once more; no
 * program needs such. */
#include "tree_memory.h"
#include "proc_files.h"

#include "daemon/base/clock.h"
#include "proto/limits.h"
#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its longest line before those of memory has the job's groups. */
#define STATUS_MAX 8192

/* Reads FILE of the process or thread PID. Returns false if it is gone. */
static bool read_of(int proc, long pid, const char *file, char *text, size_t size)
{
    char path[48];
    (void)snprintf(path, sizeof(path), "%ld/%s", pid, file);
    return read_text(proc, path, text, size);
}

/* The line NAME of TEXT, "Pss:    123 kB", in bytes. */
static uint64_t line_of(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

/* Reads the status of PID. Returns whether it has memory: a thread that has ended has none. */
static bool read_status(int proc, long pid, char status[STATUS_MAX])
{
    return read_of(proc, pid, "status", status, STATUS_MAX) && strstr(status, "\nVmRSS:");
}

/* Reads the status of a thread of process PID that still has the process's memory. Returns its id;
 * 0: there is none. */
static long read_living(int proc, long pid, char status[STATUS_MAX])
{
    char path[32];
    if (read_status(proc, pid, status))
        return pid;
    /* The first thread may have ended before the others. */
    (void)snprintf(path, sizeof(path), "%ld/task", pid);
    _cleanup_(closedir_pointer) DIR *dir = open_directory(proc, path);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        long thread = strtol(entry->d_name, NULL, 10);
        if (thread > 0 && thread != pid && read_status(proc, thread, status))
            return thread;
    }
    return 0;
}

/* Adds what a process has to *BYTES. Returns whether that is all of it. */
typedef bool (*count_memory)(const struct tree_memory *tree, long thread, char status[STATUS_MAX],
                             uint64_t *bytes);

static bool resident(const struct tree_memory *tree, long thread, char status[STATUS_MAX],
                     uint64_t *bytes)
{
    (void)tree;
    (void)thread;
    *bytes +=
        line_of(status, "\nVmRSS:") + line_of(status, "\nVmPTE:") + line_of(status, "\nVmSwap:");
    return true;
}

/* Whether THREAD, whose status is STATUS, runs in the memory of its parent, which counts. */
static bool is_in_parent(const struct tree_memory *tree, long thread, char status[STATUS_MAX])
{
    static const char name[] = "\nPPid:";
    char of_parent[STATUS_MAX];
    const char *line = strstr(status, name);
    long parent = line ? strtol(line + strlen(name), NULL, 10) : 0;
    if (parent <= 1 || parent == tree->twin || parent == tree->inner)
        return false;
    parent = read_living(tree->proc, parent, of_parent);
    /* Memory that a thread has after the comparison, it had before. */
    return parent > 0 && tree->is_same((pid_t)thread, (pid_t)parent, tree->pass) &&
           read_status(tree->proc, thread, status);
}

static bool in_proportion(const struct tree_memory *tree, long thread, char status[STATUS_MAX],
                          uint64_t *bytes)
{
    char text[2048];
    if (is_in_parent(tree, thread, status))
        return true;
    *bytes += line_of(status, "\nVmPTE:");
    if (!read_of(tree->proc, thread, "smaps_rollup", text, sizeof(text)))
        return false;
    *bytes += line_of(text, "\nPss:") + line_of(text, "\nSwapPss:");
    return true;
}

/* One pass over all processes. */
struct pass {
    count_memory of;
    uint64_t began_ns, began_cpu_ns, most_cpu_ns;
    uint64_t bytes; /* what was found */
};

static struct pass pass_begin(count_memory of)
{
    return (struct pass){.of = of, .began_ns = clock_now_ns(), .began_cpu_ns = clock_cpu_ns()};
}

static uint64_t ms_since(uint64_t ns)
{
    return (clock_now_ns() - ns) / NS_PER_MS;
}

void tree_memory_stop(bool is_held)
{
    if (getpid() == 1)
        (void)kill(-1, is_held ? SIGSTOP : SIGCONT);
}

void tree_memory_hold(struct tree_memory *tree)
{
    if (tree->is_held || !tree->hold)
        return;
    tree->held_since_ns = clock_now_ns();
    tree->is_held = true;
    tree->hold(true);
}

uint64_t tree_memory_let_go(struct tree_memory *tree)
{
    if (!tree->is_held)
        return 0;
    tree->hold(false);
    tree->is_held = false;
    return ms_since(tree->held_since_ns);
}

/* Compares the sum with MOST, and returns as tree_memory_exceeds() does. */
static int compare(struct tree_memory *tree, struct pass *pass, uint64_t most, struct pollfd *until,
                   nfds_t count)
{
    char status[STATUS_MAX];
    bool is_whole = true;
    int proc = tree->proc;
    _cleanup_(closedir_pointer) DIR *dir = open_directory(proc, ".");
    errno = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir)); errno = 0) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid <= 1 || pid == tree->twin || pid == tree->inner)
            continue;
        long thread = read_living(proc, pid, status);
        if (thread == 0 || !pass->of(tree, thread, status, &pass->bytes))
            is_whole = false;
        if (count > 0 && poll(until, count, 0) > 0)
            return -EINTR;
        if (pass->most_cpu_ns > 0 && clock_cpu_ns() - pass->began_cpu_ns > pass->most_cpu_ns)
            return 1;
        if (pass->of == in_proportion && ms_since(pass->began_ns) > TREE_MEMORY_HOLD_MS)
            tree_memory_hold(tree);
    }
    if (pass->bytes > most)
        return 1;
    return is_whole && dir && errno == 0 ? 0 : -EAGAIN;
}

int tree_memory_exceeds(struct tree_memory *tree, uint64_t bytes, struct pollfd *until,
                        nfds_t count)
{
    tree->is_suspect = false;
    struct pass quick = pass_begin(resident);
    int r = compare(tree, &quick, bytes, NULL, 0);
    if (r <= 0)
        return r;
    struct pass pass = pass_begin(in_proportion);
    uint64_t more_ms = quick.bytes / LIMIT_GIB * TREE_MEMORY_CPU_MS_PER_GIB;
    if (tree->cpu_ms > 0)
        pass.most_cpu_ns =
            MIN(tree->cpu_ms + more_ms, (uint64_t)TREE_MEMORY_CPU_MS_MAX) * NS_PER_MS;
    if (ms_since(quick.began_ns) > TREE_MEMORY_SLOW_MS)
        tree_memory_hold(tree);
    r = compare(tree, &pass, bytes, until, count);
    tree->is_suspect = tree->is_held;
    return r;
}
