/* SPDX-License-Identifier: MIT */
#include "query.h"

#include "daemon/base/await.h"
#include "daemon/base/events.h"
#include "proto/utf8.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Of a query for which nobody waits. */
#define BACKGROUND_NICE 10

struct query {
    pid_t pid; /* 0: reaped */
    int pidfd, output;
    struct event *on_exit, *on_output, *on_timeout;
    bool is_late;
    query_end *end;
    void *userdata;
    size_t length;
    char text[QUERY_OUTPUT_MAX];
};

/* Starts the program with stdout and stderr connected to OUTPUT. */
static int spawn(char *const *argv, char *const *envp, int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    if (r == 0)
        r = posix_spawn(ret_pid, argv[0], &actions, NULL, argv, envp);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* Takes what has been written, keeps what fits. Returns false at end of file. */
static bool read_some(struct query *query)
{
    char data[4096];
    ssize_t n;
    while ((n = read(query->output, data, sizeof(data))) > 0) {
        size_t kept = MIN((size_t)n, sizeof(query->text) - 1 - query->length);
        memcpy(query->text + query->length, data, kept);
        query->length += kept;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void on_output(evutil_socket_t fd, short what, void *userdata)
{
    struct query *query = userdata;
    (void)fd;
    (void)what;
    if (!read_some(query))
        query->on_output = consume_event(query->on_output);
}

/* What else is in the text does not matter; a program may begin with an empty line. */
static char *first_line(struct query *query)
{
    size_t length;
    char *line = query->text + strspn(query->text, " \t\r\n");
    line[strcspn(line, "\r\n")] = '\0';
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return utf8_replace(line, strlen(line), &length);
}

static void on_exit_(evutil_socket_t fd, short what, void *userdata)
{
    struct query *query = userdata;
    int status = 0;
    (void)fd;
    (void)what;
    (void)waitpid(query->pid, &status, 0); /* does not block: the pidfd has told the exit */
    query->pid = 0;
    query->on_exit = consume_event(query->on_exit);
    (void)read_some(query);
    query->text[query->length] = '\0';
    _cleanup_free_ char *line = first_line(query);
    query->end(query->is_late ? -1 : status, line ? line : "", query->userdata);
}

static void on_timeout(evutil_socket_t fd, short what, void *userdata)
{
    struct query *query = userdata;
    (void)fd;
    (void)what;
    query->is_late = true;
    kill_by_pidfd(query->pidfd); /* on_exit_() follows */
}

static int watch(struct query *query, struct event_base *base, uint64_t timeout_ms)
{
    query->on_exit = watch_fd(base, query->pidfd, on_exit_, query);
    query->on_output = watch_fd(base, query->output, on_output, query);
    query->on_timeout = event_new(base, -1, 0, on_timeout, query);
    if (!query->on_exit || !query->on_output || !query->on_timeout)
        return -ENOMEM;
    start_timer(query->on_timeout, timeout_ms);
    return 0;
}

static int start(struct query *query, char *const *argv, char *const *envp)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    query->output = fds[0];
    _cleanup_close_ int output = fds[1];
    /* Only our end must not block. */
    if (fcntl(output, F_SETFL, 0) < 0)
        return -errno;
    int r = spawn(argv, envp, output, &query->pid);
    if (r < 0)
        return r;
    query->pidfd = (int)syscall(SYS_pidfd_open, query->pid, 0);
    return query->pidfd < 0 ? -errno : 0;
}

int query_start(struct event_base *base, char *const *argv, char *const *envp, bool urgent,
                uint64_t timeout_ms, query_end *end, void *userdata, struct query **ret)
{
    struct query *query = calloc(1, sizeof(*query));
    if (!query)
        return -ENOMEM;
    *query = (struct query){.pidfd = -1, .output = -1, .end = end, .userdata = userdata};
    int r = start(query, argv, envp);
    if (r == 0)
        r = watch(query, base, timeout_ms);
    if (r < 0) {
        query_free(query);
        return r;
    }
    if (!urgent)
        (void)setpriority(PRIO_PROCESS, (id_t)query->pid, BACKGROUND_NICE);
    *ret = query;
    return 0;
}

struct query *query_free(struct query *query)
{
    if (!query)
        return NULL;
    consume_event(query->on_exit);
    consume_event(query->on_output);
    consume_event(query->on_timeout);
    if (query->pid > 0) {
        (void)kill(query->pid, SIGKILL);
        (void)waitpid(query->pid, NULL, 0);
    }
    close_fd(query->pidfd);
    close_fd(query->output);
    free(query);
    return NULL;
}
