/* SPDX-License-Identifier: MIT */
#include "session.h"
#include "hostinfo.h"

#include "client/terminal/text.h"
#include "proto/frame.h"
#include "proto/reply.h"
#include "proto/utf8.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sysexits.h>

#define READ_SIZE ((size_t)65536)
/* The most bytes to read in one go, so that a busy connection does not starve the rest of a loop.
 */
#define PUMP_MAX (16 * READ_SIZE)
#define CONNECT_TIMEOUT_S 10
/* A private daemon probes the host before it says hello. */
#define HELLO_TIMEOUT_MS 30000
/* A private daemon that closed the connection exits within this time. */
#define LAST_WORDS_MS 3000
#define UNEXPECTED_SHOWN_MAX 160

/* --- opening and closing ------------------------------------------------------------------ */

int session_prepare(const char *path, struct session *ret)
{
    struct session session = {
        .fd = -1,
        .daemon = EMBEDDED_NULL,
        .in = evbuffer_new(),
        .out = evbuffer_new(),
        .where = strdup(path),
    };
    if (!session.in || !session.out || !session.where) {
        session_deinit(&session);
        return -ENOMEM;
    }
    *ret = session;
    return 0;
}

int session_adopt(int fd, struct embedded daemon, const char *where, struct session *ret,
                  struct fault *fault)
{
    struct session session = SESSION_NULL;
    assert(fd >= 0);
    int r = session_prepare(where, &session);
    session.fd = fd;
    session.daemon = daemon;
    if (r < 0) {
        (void)fault_set(fault, "out of memory");
        session_deinit(&session);
        return r;
    }
    *ret = session;
    return 0;
}

/* Waits for room in the daemon's backlog for a while if it WAITS. */
static int connect_socket(const char *path, bool waits, int *ret)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, n);

    _cleanup_close_ int fd =
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK), 0);
    if (fd < 0)
        return -errno;
    /* Without room in the backlog, connect() fails with EAGAIN. */
    struct timeval patience = {.tv_sec = CONNECT_TIMEOUT_S};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    *ret = TAKE_FD(fd);
    return 0;
}

static const char *connect_error(int error)
{
    if (error == EAGAIN)
        return "the daemon does not accept connections";
    return error == ENAMETOOLONG ? "too long for a socket's path" : strerror(error);
}

int session_connect(const char *path, struct session *ret, struct fault *fault)
{
    int fd = -1;
    int r = connect_socket(path, true, &fd);
    if (r < 0) {
        (void)fault_set(fault, "%s: %s", path, connect_error(-r));
        return r;
    }
    return session_adopt(fd, (struct embedded)EMBEDDED_NULL, path, ret, fault);
}

int session_embed(const char *config, long slots, const char *set, struct session *ret,
                  struct fault *fault)
{
    int fd = -1;
    struct embedded daemon = EMBEDDED_NULL;
    int r = embedded_start(config, slots, set, &daemon, &fd, fault);
    return r < 0 ? r : session_adopt(fd, daemon, "a private rubricd", ret, fault);
}

/* Forgets what the daemon said when it ended the connection. */
static void drop_bye(struct session *session)
{
    free(session->bye);
    free(session->bye_message);
    session->bye = session->bye_message = NULL;
}

void session_disconnect(struct session *session)
{
    drop_bye(session); /* it explains the end of no other connection */
    session->fd = close_fd(session->fd);
    session->read_ended = session->write_ended = false;
    (void)evbuffer_drain(session->in, evbuffer_get_length(session->in));
    (void)evbuffer_drain(session->out, evbuffer_get_length(session->out));
}

int session_reconnect(struct session *session, struct fault *fault)
{
    assert(session->fd < 0);
    assert(evbuffer_get_length(session->in) == 0 && evbuffer_get_length(session->out) == 0);
    int r = connect_socket(session->where, !session->connects_at_once, &session->fd);
    if (r < 0)
        (void)fault_set(fault, "%s: %s", session->where, connect_error(-r));
    return r;
}

void session_deinit(struct session *session)
{
    session->fd = close_fd(session->fd);
    embedded_stop(&session->daemon);
    if (session->in)
        evbuffer_free(session->in);
    if (session->out)
        evbuffer_free(session->out);
    free(session->where);
    free(session->version);
    json_decref(session->host);
    drop_bye(session);
    message_tail_deinit(&session->tail);
    *session = (struct session)SESSION_NULL;
}

/* --- hello -------------------------------------------------------------------------------- */

static int take_limits(struct session *session, const struct message *hello, struct fault *fault)
{
    const json_t *limits = json_object_get(hello->object, "limits");
    const json_t *max_frame = json_object_get(limits, "max_frame");
    const json_t *jobs = json_object_get(limits, "jobs_per_client");
    int64_t protocol = message_integer(hello, "protocol");

    if (protocol != PROTOCOL_VERSION) {
        (void)fault_set(fault, "rubricd %s speaks protocol %lld, this rubricctl protocol %d",
                        message_text(hello, "version"), (long long)protocol, PROTOCOL_VERSION);
        return -EPROTO;
    }
    if (json_integer_value(max_frame) < 1 || json_integer_value(max_frame) > UINT32_MAX ||
        json_integer_value(jobs) < 1) {
        (void)fault_set(fault, "rubricd's hello has no usable limits.max_frame and "
                               "limits.jobs_per_client");
        return -EPROTO;
    }
    session->max_frame = (uint32_t)json_integer_value(max_frame);
    session->jobs_per_client = json_integer_value(jobs);
    session->slots = json_integer_value(json_object_get(limits, "slots"));
    session->may_share = json_is_true(json_object_get(hello->object, "shares"));
    session->warms_modules = json_is_true(json_object_get(hello->object, "warm_modules"));
    session->reruns_starved = json_is_true(json_object_get(hello->object, "reruns_starved"));
    free(session->version);
    json_decref(session->host);
    session->version = strdup(message_text(hello, "version"));
    session->host = hostinfo_make(hello);
    return session->version && session->host ? 0 : -ENOMEM;
}

int session_take_hello(struct session *session, const struct message *hello, struct fault *fault)
{
    if (hello->type == MESSAGE_ERROR) {
        (void)fault_set(fault, "%s: refused: %s: %s", session->where, message_text(hello, "code"),
                        message_text(hello, "message"));
        return -ECONNREFUSED;
    }
    if (hello->type != MESSAGE_HELLO) {
        (void)fault_set(fault,
                        "%s: the program that listens there is not rubricd (its first message is "
                        "no hello)",
                        session->where);
        return -EPROTO;
    }
    return take_limits(session, hello, fault);
}

int session_greet(struct session *session, struct fault *fault)
{
    _cleanup_message_ struct message hello = MESSAGE_NULL;
    int r = session_wait(session, monotonic_ms() + HELLO_TIMEOUT_MS, -1, &hello, fault);
    if (r == -ETIMEDOUT)
        (void)fault_set(fault, "%s: connected, but no hello came within %d s", session->where,
                        HELLO_TIMEOUT_MS / 1000);
    return r < 0 ? r : session_take_hello(session, &hello, fault);
}

/* --- bytes -------------------------------------------------------------------------------- */

short session_events(const struct session *session, bool hold)
{
    short events = 0;
    if (!hold && !session->read_ended)
        events |= POLLIN;
    if (session_unsent(session) > 0)
        events |= POLLOUT;
    return events;
}

static int pump_in(struct session *session)
{
    for (size_t total = 0; total < PUMP_MAX;) {
        struct evbuffer_iovec space;
        if (evbuffer_reserve_space(session->in, READ_SIZE, &space, 1) < 1)
            return -ENOMEM;
        ssize_t n = read(session->fd, space.iov_base, MIN(space.iov_len, READ_SIZE));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            session->read_ended = true;
            return 0;
        }
        space.iov_len = (size_t)n;
        (void)evbuffer_commit_space(session->in, &space, 1);
        total += (size_t)n;
        if ((size_t)n < READ_SIZE)
            return 0;
    }
    return 0;
}

/* Writes what the socket accepts. After an error only the output is dropped: the daemon may have
 * sent something before it stopped reading. If it has not stopped, it must not wait for the rest:
 * at the end of what it gets it answers what is whole, and closes. */
static void pump_out(struct session *session)
{
    while (evbuffer_get_length(session->out) > 0) {
        int n = evbuffer_write(session->out, session->fd);
        if (n > 0 || (n < 0 && errno == EINTR))
            continue;
        if (n < 0 && errno != EAGAIN) {
            session->write_ended = true;
            (void)shutdown(session->fd, SHUT_WR);
            (void)evbuffer_drain(session->out, evbuffer_get_length(session->out));
        }
        return;
    }
}

int session_pump(struct session *session, short revents)
{
    if (revents & POLLOUT)
        pump_out(session);
    if (revents & (POLLIN | POLLHUP | POLLERR))
        return pump_in(session);
    return 0;
}

int session_send(struct session *session, const char *payload, size_t n)
{
    uint8_t header[FRAME_HEADER_SIZE];
    if (n > session->max_frame)
        return -EMSGSIZE;
    if (session->write_ended)
        return 0; /* session_next() reports the loss with its reason */
    frame_write_header(header, (uint32_t)n);
    if (evbuffer_expand(session->out, sizeof(header) + n) < 0 ||
        evbuffer_add(session->out, header, sizeof(header)) < 0 ||
        evbuffer_add(session->out, payload, n) < 0)
        return -ENOMEM;
    return 0;
}

size_t session_unsent(const struct session *session)
{
    return evbuffer_get_length(session->out);
}

/* --- messages ----------------------------------------------------------------------------- */

/* Says in FAULT how the connection ended. Returns -ECONNRESET, or -ENOEXEC if a private daemon did
 * not take its configuration. */
static int say_lost(struct session *session, struct fault *fault)
{
    const char *reason = session->bye ? session->bye : "";
    const char *colon = session->bye_message ? ": " : "";
    const char *message = session->bye_message ? session->bye_message : "";
    struct fault how = FAULT_NULL;
    int status = 0;

    const char *private = embedded_name(&session->daemon);
    if (session->daemon.pid > 0 &&
        (status = embedded_wait(&session->daemon, LAST_WORDS_MS, &how)) >= 0)
        (void)fault_set(fault, "%s is gone: %s%s%s%s%s%s", private, how.text,
                        session->bye ? " (" : "", reason, colon, message, session->bye ? ")" : "");
    else if (session->bye)
        (void)fault_set(fault, "rubricd ended the connection: %s%s%s", reason, colon, message);
    else if (evbuffer_get_length(session->in) > 0)
        (void)fault_set(fault, "rubricd closed the connection in the middle of a message");
    else
        (void)fault_set(fault, "rubricd closed the connection");
    return status > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EX_CONFIG ? -ENOEXEC
                                                                               : -ECONNRESET;
}

/* Takes the next whole payload out of the buffer. 1; 0 if it is incomplete; -EPROTO with FAULT;
 * -ENOMEM. */
static int take_payload(struct session *session, struct bytes *ret, struct fault *fault)
{
    uint8_t header[FRAME_HEADER_SIZE];
    uint32_t length;
    if (evbuffer_copyout(session->in, header, sizeof(header)) < (ssize_t)sizeof(header))
        return 0;
    switch (frame_read_header(header, SESSION_FRAME_MAX, &length)) {
    case FRAME_OK:
        break;
    case FRAME_EMPTY:
        (void)fault_set(fault, "rubricd sent an empty frame");
        return -EPROTO;
    case FRAME_TOO_LARGE:
        (void)fault_set(fault, "rubricd announced a frame of %u bytes; the limit is %u", length,
                        SESSION_FRAME_MAX);
        return -EPROTO;
    }
    if (evbuffer_get_length(session->in) < sizeof(header) + length)
        return 0;
    char *data = malloc((size_t)length + 1);
    if (!data)
        return -ENOMEM;
    (void)evbuffer_drain(session->in, sizeof(header));
    (void)evbuffer_remove(session->in, data, length);
    data[length] = '\0';
    *ret = (struct bytes){.data = data, .length = length};
    return 1;
}

static void keep_bye(struct session *session, const struct message *bye)
{
    const char *text = message_text(bye, "message");
    drop_bye(session);
    session->bye = strdup(message_text(bye, "reason"));
    session->bye_message = text ? strdup(text) : NULL;
}

int session_next(struct session *session, struct message *ret, struct fault *fault)
{
    for (;;) {
        _cleanup_bytes_ struct bytes payload = BYTES_NULL;
        int r = take_payload(session, &payload, fault);
        if (r == 0)
            return session->read_ended ? say_lost(session, fault) : 0;
        if (r == -ENOMEM)
            (void)fault_set(fault, "out of memory");
        if (r < 0)
            return r;

        struct message message = MESSAGE_NULL;
        struct fault why = FAULT_NULL;
        r = message_decode(&payload, &session->tail, &message, &why);
        if (r < 0) {
            (void)fault_set(fault, "rubricd sent a malformed message: %s", why.text);
            return -EPROTO;
        }
        if (message.type != MESSAGE_BYE) {
            *ret = message;
            return 1;
        }
        keep_bye(session, &message);
        message_deinit(&message);
    }
}

int session_wait(struct session *session, int64_t deadline, int interrupt_fd, struct message *ret,
                 struct fault *fault)
{
    for (;;) {
        int r = session_next(session, ret, fault);
        if (r != 0)
            return r;
        int64_t left = deadline < 0 ? -1 : deadline - monotonic_ms();
        if (deadline >= 0 && left <= 0) {
            (void)fault_set(fault, "no answer from rubricd");
            return -ETIMEDOUT;
        }
        struct pollfd fds[] = {
            {.fd = session->fd, .events = session_events(session, false)},
            {.fd = interrupt_fd, .events = POLLIN},
        };
        if (poll(fds, ARRAY_SIZE(fds), (int)left) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents)
            return -EINTR;
        if ((r = session_pump(session, fds[0].revents)) < 0)
            return r;
    }
}

int session_ask(struct session *session, const char *payload, enum message_type wanted,
                int64_t deadline, struct message *ret, struct fault *fault)
{
    int r = session_send(session, payload, strlen(payload));
    if (r < 0) {
        (void)fault_set(fault, "cannot send the request: %s", strerror(-r));
        return r;
    }
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        r = session_wait(session, deadline, -1, &message, fault);
        if (r < 0)
            return r;
        if (message.type == wanted || message.type == MESSAGE_ERROR) {
            *ret = TAKE_STRUCT(message, MESSAGE_NULL);
            return 0;
        }
        session_unexpected(&message);
    }
}

void session_unexpected(const struct message *message)
{
    const struct bytes *payload = &message->payload;
    size_t shown = utf8_cut(payload->data, payload->length, UNEXPECTED_SHOWN_MAX);
    complain("ignored an unexpected message from rubricd: %.*s%s", (int)shown, payload->data,
             shown < payload->length ? "..." : "");
}
