/* SPDX-License-Identifier: MIT */
#include "tree_time.h"
#include "proc_files.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Without a pid namespace, /proc shows the whole host. What lies beyond these bounds is not
 * counted; a job has far fewer processes. */
#define PROCESSES_MAX 8192
#define THREADS_MAX 8192

struct process {
    pid_t pid, parent;
    uint64_t alive_ns; /* CPU time of its threads, past and present */
    uint64_t dead_ns;  /* of the children that it has waited for, and of theirs */
    size_t threads;
    bool is_ours;
};

/* Returns the number that NAME is, 0 if it is none. */
static pid_t number_of(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);
    return number > 0 && *end == '\0' ? (pid_t)number : 0;
}

/* Fields of a file `stat`, counted from the one after the name. */
enum {
    STATE,
    PARENT,
    USER = 11,
    SYSTEM,
    DEAD_USER,
    DEAD_SYSTEM,
    NICE = 16,
    THREADS,
    POLICY = 38,
    FIELDS
};

/* Reads the file `stat` at PATH: the state is a letter, the others are numbers. Returns false if
 * the process or thread is gone. */
static bool read_stat(int at, const char *path, int64_t ret_fields[FIELDS])
{
    char text[1024];
    if (!read_text(at, path, text, sizeof(text)))
        return false;
    /* "42 (name) S 1 ...": the name may contain anything, even ')'. */
    char *next = strrchr(text, ')');
    if (!next || strlen(next) < 4)
        return false;
    ret_fields[STATE] = (unsigned char)next[2];
    next += 3;
    for (size_t i = PARENT; i < FIELDS; i++) /* some may be beyond INT64_MAX; none of these */
        ret_fields[i] = strtoll(next, &next, 10);
    return true;
}

/* Reads process PID. Returns false if it is gone. */
static bool read_process(int proc, pid_t pid, struct process *ret)
{
    const uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    int64_t fields[FIELDS];
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (!read_stat(proc, path, fields))
        return false;
    *ret = (struct process){
        .pid = pid,
        .parent = (pid_t)fields[PARENT],
        .alive_ns = (uint64_t)(fields[USER] + fields[SYSTEM]) * tick_ns,
        .dead_ns = (uint64_t)(fields[DEAD_USER] + fields[DEAD_SYSTEM]) * tick_ns,
        .threads = (size_t)fields[THREADS],
    };
    return true;
}

/* Reads all processes, at most PROCESSES_MAX. Returns how many. */
static size_t read_processes(DIR *proc, struct process *processes)
{
    size_t n = 0;
    for (const struct dirent *entry; n < PROCESSES_MAX && (entry = readdir(proc));) {
        pid_t pid = number_of(entry->d_name);
        if (pid > 0 && read_process(dirfd(proc), pid, &processes[n]))
            n++;
    }
    return n;
}

/* Marks the children of PARENT. Returns whether there are any. */
static bool mark_children(struct process *processes, size_t n, pid_t parent)
{
    bool found = false;
    for (size_t i = 0; i < n; i++)
        if (processes[i].parent == parent && !processes[i].is_ours)
            found = processes[i].is_ours = true;
    return found;
}

/* Marks the descendants of this process. */
static void mark_ours(struct process *processes, size_t n)
{
    bool found = mark_children(processes, n, getpid());
    while (found) {
        found = false;
        for (size_t i = 0; i < n; i++)
            if (processes[i].is_ours)
                found = mark_children(processes, n, processes[i].pid) || found;
    }
}

/* How urgent a thread is to the scheduler. */
struct urgency {
    bool is_idle; /* policy SCHED_IDLE */
    int nice;
};

static struct urgency own_urgency(void)
{
    return (struct urgency){
        .is_idle = sched_getscheduler(0) == SCHED_IDLE,
        .nice = getpriority(PRIO_PROCESS, 0),
    };
}

struct thread {
    uint64_t run_ns, wait_ns, slices; /* as the kernel counts them: "run wait timeslices" */
    bool is_ready;                    /* it runs or could run */
    bool is_urgent; /* it has not made itself less urgent than USUAL. No thread can take that back:
                       a job has no right to raise its priority. */
};

/* Reads thread NAME. Returns false if it is gone. */
static bool read_thread(int tasks, const char *name, struct urgency usual, struct thread *ret)
{
    int64_t fields[FIELDS];
    char path[32], text[80], *end;
    (void)snprintf(path, sizeof(path), "%.15s/schedstat", name);
    if (!read_text(tasks, path, text, sizeof(text)))
        return false;
    (void)snprintf(path, sizeof(path), "%.15s/stat", name);
    if (!read_stat(tasks, path, fields))
        return false;
    ret->run_ns = strtoull(text, &end, 10);
    ret->wait_ns = strtoull(end, &end, 10);
    ret->slices = strtoull(end, NULL, 10);
    ret->is_ready = fields[STATE] == 'R';
    ret->is_urgent = fields[NICE] <= usual.nice && (fields[POLICY] != SCHED_IDLE || usual.is_idle);
    return true;
}

/* Adds the times of the threads of PROCESS, and takes their number from *THREADS: how many threads
 * may still be read. */
static void add_threads(int proc, const struct process *process, struct urgency usual,
                        size_t *threads, struct tree_time *time)
{
    char path[32];
    uint64_t run_ns = 0;
    struct thread thread;
    (void)snprintf(path, sizeof(path), "%d/task", (int)process->pid);
    _cleanup_(closedir_pointer) DIR *tasks = open_directory(proc, path);
    for (const struct dirent *entry; tasks && *threads > 0 && (entry = readdir(tasks));) {
        if (number_of(entry->d_name) == 0)
            continue;
        (*threads)--;
        if (!read_thread(dirfd(tasks), entry->d_name, usual, &thread)) {
            time->is_partial = true;
            continue;
        }
        run_ns += thread.run_ns;
        time->is_running |= thread.is_ready;
        if (!thread.is_urgent)
            continue;
        time->wait_ns += thread.wait_ns;
        if (!thread.is_ready)
            continue;
        time->is_ready = true;
        time->usual_wait_ns =
            MAX(time->usual_wait_ns, thread.wait_ns / MAX(thread.slices, UINT64_C(1)));
    }
    time->is_partial |= !tasks || *threads == 0;
    time->living_run_ns += run_ns;
    /* Ticks are coarse; but they include the threads that have ended. */
    time->run_ns += MAX(run_ns, process->alive_ns) + process->dead_ns;
}

int tree_time_read(int proc, struct tree_time_except except, struct tree_time *ret)
{
    /* Static because it is too large for the stack; this function is not called twice at once. */
    static struct process processes[PROCESSES_MAX];
    _cleanup_(closedir_pointer) DIR *dir = open_directory(proc, proc < 0 ? "/proc" : ".");
    if (!dir)
        return -errno;
    struct tree_time time = {0};
    const struct urgency usual = own_urgency();
    size_t threads = THREADS_MAX, n = read_processes(dir, processes);
    mark_ours(processes, n);
    for (size_t i = 0; i < n; i++)
        time.tasks += processes[i].threads;
    for (size_t i = 0; i < n; i++)
        if (processes[i].is_ours && processes[i].pid == except.pid)
            time.run_ns += processes[i].dead_ns - MIN(processes[i].dead_ns, except.earlier_ns);
        else if (processes[i].is_ours && processes[i].pid != except.inner)
            add_threads(dirfd(dir), &processes[i], usual, &threads, &time);
    *ret = time;
    return 0;
}

/* Whether a wait that matters may be under way: something could run, and either waits were long
 * before, or much of the time is not accounted for. */
static bool is_in_doubt(const struct tree_time *time, uint64_t elapsed_ns)
{
    return time->is_ready && (time->wait_ns >= time->run_ns / 2 ||
                              time->run_ns + time->wait_ns < elapsed_ns / 10 * 9);
}

int tree_time_read_settled(int proc, uint64_t elapsed_ns, struct tree_time_except except,
                           struct tree_time *ret)
{
    struct tree_time time = {0};
    uint64_t began_ns = clock_now_ns(), settling_ns = 0;
    int r = tree_time_read(proc, except, &time);
    uint64_t run_ns = r == 0 ? time.run_ns : 0;
    while (r == 0 && is_in_doubt(&time, elapsed_ns) && time.run_ns <= run_ns &&
           settling_ns < TREE_TIME_SETTLE_MS * NS_PER_MS) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000L}, NULL);
        r = tree_time_read(proc, except, &time);
        settling_ns = clock_now_ns() - began_ns;
    }
    if (r < 0)
        return r;
    if (is_in_doubt(&time, elapsed_ns)) {
        uint64_t now_ns = elapsed_ns + settling_ns;
        uint64_t rest_ns = now_ns - MIN(now_ns, time.run_ns + time.wait_ns);
        time.wait_ns += time.run_ns <= run_ns ? rest_ns : MIN(rest_ns, time.usual_wait_ns);
    }
    *ret = time;
    return 0;
}
