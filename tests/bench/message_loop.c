/* SPDX-License-Identifier: MIT */
/* A client that costs next to nothing, so that the figures are the daemon's. It encodes the request
 * once and only searches each answer for a text.
 *
 *     message-loop [-c CLIENTS] [-w WINDOW] [-p PAUSE_US] [-C PID]... [-g [-s SKIP]] SOCKET COUNT
 * REQUEST ANSWER
 *
 * Each of CLIENTS connections keeps WINDOW requests in flight. ######## in REQUEST becomes a number
 * that no other request has. A frame that contains ANSWER is an answer. The loop skips `hello` and
 * `started`; any other frame makes it exit with 1.
 *
 * Without -g, the loop sends COUNT requests. With -g it keeps the windows full: it prints `full`
 * once they are, continues until a line comes on its standard input, skips SKIP answers, and then
 * measures COUNT answers.
 *
 * Prints {"seconds": ..., "answer_bytes": ..., "cpu_ns": [...], "latencies_ns": [...]}. cpu_ns is
 * the CPU time of each PID meanwhile. The latencies are present if one request is in flight at a
 * time; -p waits before each request, and the pause does not count. */
#include "measured.h"

#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BUFFER_SIZE (64u << 10)
#define PIDS_MAX 64
#define NUMBER "########"

struct client {
    int fd;
    uint64_t owed; /* requests to send */
    char in[BUFFER_SIZE], out[BUFFER_SIZE];
    size_t in_length, out_at, out_length;
};

struct loop {
    const char *socket, *answer;
    uint64_t count, clients_count, window;
    useconds_t pause_us;
    bool gated, single; /* single: one request in flight at a time */
    int cpu_fds[PIDS_MAX];
    size_t cpu_count;

    char *frame; /* one encoded request */
    size_t frame_size;
    char *number; /* its place in the frame, or NULL */

    struct client *clients;
    int epoll;
    uint64_t numbered, left_to_send, to_fill, to_skip, answered, answer_bytes;
    bool told, measuring;
    uint64_t began_ns, sent_ns, base;
    uint64_t cpu_began_ns[PIDS_MAX], *latencies_ns;
};

_Noreturn static void die(const char *what)
{
    (void)fprintf(stderr, "message-loop: %s%s%s\n", what, errno ? ": " : "",
                  errno ? strerror(errno) : "");
    exit(1);
}

/* --- measurements -------------------------------------------------------------------------- */

static uint64_t cpu_ns(int fd)
{
    char text[64] = "";
    if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
        die("a process whose CPU time is asked for is gone");
    return strtoull(text, NULL, 10);
}

static void add_pid(struct loop *loop, const char *pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%.20s/schedstat", pid);
    if (loop->cpu_count == PIDS_MAX)
        die("too many processes");
    loop->cpu_fds[loop->cpu_count] = open(path, O_RDONLY | O_CLOEXEC);
    if (loop->cpu_fds[loop->cpu_count++] < 0)
        die(path);
}

static void begin(struct loop *loop)
{
    loop->measuring = true;
    loop->base = loop->answered;
    loop->answer_bytes = 0;
    for (size_t i = 0; i < loop->cpu_count; i++)
        loop->cpu_began_ns[i] = cpu_ns(loop->cpu_fds[i]);
    loop->began_ns = clock_now_ns();
}

static void print(const struct loop *loop)
{
    uint64_t cpu[PIDS_MAX];
    double seconds = measured_seconds(loop->began_ns);
    for (size_t i = 0; i < loop->cpu_count; i++)
        cpu[i] = cpu_ns(loop->cpu_fds[i]) - loop->cpu_began_ns[i];
    (void)printf("{\"seconds\": %.6f, \"answer_bytes\": %" PRIu64, seconds,
                 loop->answer_bytes / (loop->answered - loop->base));
    measured_print_list("cpu_ns", cpu, loop->cpu_count);
    measured_print_list("latencies_ns", loop->latencies_ns, loop->single ? loop->count : 0);
    (void)printf("}\n");
}

/* --- sending ------------------------------------------------------------------------------- */

static void encode(struct loop *loop, const char *request)
{
    size_t n = strlen(request);
    loop->frame_size = FRAME_HEADER_SIZE + n;
    loop->frame = calloc(1, loop->frame_size + 1);
    if (!loop->frame || loop->frame_size > BUFFER_SIZE)
        die("no room for the request");
    frame_write_header((uint8_t *)loop->frame, (uint32_t)n);
    memcpy(loop->frame + FRAME_HEADER_SIZE, request, n);
    loop->number = strstr(loop->frame + FRAME_HEADER_SIZE, NUMBER);
}

static void put_frame(struct loop *loop, struct client *client)
{
    uint64_t number = loop->numbered++;
    if (loop->number)
        for (size_t i = strlen(NUMBER); i > 0; i--, number /= 10)
            loop->number[i - 1] = (char)('0' + number % 10);
    memcpy(client->out + client->out_length, loop->frame, loop->frame_size);
    client->out_length += loop->frame_size;
    client->owed--;
    if (loop->to_fill > 0)
        loop->to_fill--;
}

/* Sends owed requests until the socket is full. */
static void flush(struct loop *loop, struct client *client)
{
    for (;;) {
        while (client->owed > 0 && client->out_length + loop->frame_size <= BUFFER_SIZE)
            put_frame(loop, client);
        size_t n = client->out_length - client->out_at;
        if (n == 0)
            return;
        ssize_t sent = send(client->fd, client->out + client->out_at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0)
            die("send");
        client->out_at += (size_t)sent;
        if (client->out_at == client->out_length)
            client->out_at = client->out_length = 0;
    }
}

/* Owes the daemon one more request, if any are left. */
static void owe(struct loop *loop, struct client *client)
{
    if (loop->left_to_send == 0)
        return;
    loop->left_to_send--;
    client->owed++;
}

/* --- receiving ----------------------------------------------------------------------------- */

static bool holds(const char *payload, size_t n, const char *text)
{
    return memmem(payload, n, text, strlen(text)) != NULL;
}

static void on_answer(struct loop *loop, struct client *client, size_t size)
{
    loop->answered++;
    loop->answer_bytes += size;
    owe(loop, client);
    if (loop->single) {
        loop->latencies_ns[loop->answered - 1] = clock_now_ns() - loop->sent_ns;
        if (loop->pause_us > 0)
            (void)usleep(loop->pause_us);
        loop->sent_ns = clock_now_ns();
    }
}

static void on_frame(struct loop *loop, struct client *client, const char *payload, size_t n)
{
    if (holds(payload, n, loop->answer)) {
        on_answer(loop, client, n + FRAME_HEADER_SIZE);
    } else if (!holds(payload, n, "\"type\":\"started\"") &&
               !holds(payload, n, "\"type\":\"hello\"")) {
        (void)fprintf(stderr, "message-loop: not the answer: %.*s\n", (int)n, payload);
        exit(1);
    }
}

static void take_frames(struct loop *loop, struct client *client)
{
    size_t at = 0;
    uint32_t length;
    while (client->in_length - at >= FRAME_HEADER_SIZE) {
        if (frame_read_header((uint8_t *)client->in + at, BUFFER_SIZE - FRAME_HEADER_SIZE,
                              &length) != FRAME_OK)
            die("a frame of no use");
        if (client->in_length - at - FRAME_HEADER_SIZE < length)
            break;
        on_frame(loop, client, client->in + at + FRAME_HEADER_SIZE, length);
        at += FRAME_HEADER_SIZE + length;
    }
    client->in_length -= at;
    memmove(client->in, client->in + at, client->in_length);
}

/* Reads until the socket is empty; a short read means that it is. */
static void receive(struct loop *loop, struct client *client)
{
    size_t room;
    ssize_t n;
    do {
        room = BUFFER_SIZE - client->in_length;
        n = recv(client->fd, client->in + client->in_length, room, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            die("the daemon has closed the connection");
        client->in_length += (size_t)n;
        take_frames(loop, client);
        flush(loop, client);
    } while ((size_t)n == room);
}

/* --- the loop ------------------------------------------------------------------------------ */

static void connect_client(struct loop *loop, struct client *client)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", loop->socket);
    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        fcntl(client->fd, F_SETFL, O_NONBLOCK) < 0)
        die(loop->socket);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = client};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, client->fd, &event) < 0)
        die("epoll");
}

static void set_up(struct loop *loop)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->latencies_ns = calloc(loop->count, sizeof(*loop->latencies_ns));
    loop->clients = calloc(loop->clients_count, sizeof(*loop->clients));
    if (loop->epoll < 0 || !loop->latencies_ns || !loop->clients)
        die("set-up");
    loop->single = loop->clients_count == 1 && loop->window == 1 && !loop->gated;
    loop->left_to_send = loop->gated ? UINT64_MAX : loop->count;
    loop->to_fill = loop->gated ? loop->clients_count * loop->window : 0;
    for (uint64_t i = 0; i < loop->clients_count; i++) {
        connect_client(loop, &loop->clients[i]);
        for (uint64_t j = 0; j < loop->window; j++)
            owe(loop, &loop->clients[i]);
    }
}

/* Announces that the windows are full, and waits for a line on standard input. */
static void open_gate(struct loop *loop)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    loop->gated = false;
    (void)printf("full\n");
    (void)fflush(stdout);
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0)
        die("standard input");
}

static void on_told(struct loop *loop)
{
    char line[16];
    if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
        die("never told to begin");
    if (epoll_ctl(loop->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL) < 0)
        die("standard input");
    loop->told = true;
    loop->to_skip += loop->answered;
}

static void run(struct loop *loop)
{
    struct epoll_event events[256];
    loop->told = !loop->gated;
    if (loop->single)
        loop->sent_ns = clock_now_ns();
    while (!loop->measuring || loop->answered - loop->base < loop->count) {
        if (loop->told && !loop->measuring && loop->answered >= loop->to_skip)
            begin(loop);
        int n = epoll_wait(loop->epoll, events, 256, -1);
        if (n < 0)
            die("epoll");
        for (int i = 0; i < n; i++) {
            struct client *client = events[i].data.ptr;
            if (!client) {
                on_told(loop);
                continue;
            }
            if (events[i].events & EPOLLOUT)
                flush(loop, client);
            receive(loop, client);
        }
        if (loop->gated && loop->to_fill == 0)
            open_gate(loop);
    }
}

static bool parse(struct loop *loop, int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "c:w:p:C:gs:")) >= 0) {
        switch (option) {
        case 'c':
            loop->clients_count = strtoull(optarg, NULL, 10);
            break;
        case 'w':
            loop->window = strtoull(optarg, NULL, 10);
            break;
        case 'p':
            loop->pause_us = (useconds_t)strtoul(optarg, NULL, 10);
            break;
        case 'C':
            add_pid(loop, optarg);
            break;
        case 'g':
            loop->gated = true;
            break;
        case 's':
            loop->to_skip = strtoull(optarg, NULL, 10);
            break;
        default:
            return false;
        }
    }
    if (argc - optind != 4)
        return false;
    loop->socket = argv[optind];
    loop->count = strtoull(argv[optind + 1], NULL, 10);
    encode(loop, argv[optind + 2]);
    loop->answer = argv[optind + 3];
    return loop->count > 0 && loop->clients_count > 0 && loop->window > 0 &&
           (loop->gated || loop->to_skip == 0);
}

int main(int argc, char **argv)
{
    struct loop loop = {.clients_count = 1, .window = 1};
    if (!parse(&loop, argc, argv)) {
        (void)fprintf(stderr, "usage: message-loop [-c CLIENTS] [-w WINDOW] [-p PAUSE_US] "
                              "[-C PID]... [-g [-s SKIP]] SOCKET COUNT REQUEST ANSWER\n");
        return 2;
    }
    set_up(&loop);
    run(&loop);
    print(&loop);
    free(loop.clients);
    free(loop.latencies_ns);
    free(loop.frame);
    return 0;
}
