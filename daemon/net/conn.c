/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "daemon/base/reserve.h"
#include "daemon/jobs/settings.h"
#include "proto/frame.h"

#include <assert.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A closing connection ends when its client does not take another step of its last replies for this
 * long. */
#define FLUSH_MS 10000
/* How long what the client sends is then still read and discarded. */
#define LINGER_MS 2000
#define READ_AGAIN_MS 50 /* after there was no memory to read */

static void pump(struct conn *conn);

/* --- parking ------------------------------------------------------------------------------- */

/* What is not read would not take its turn in the line, and is not to blame for sending nothing. */
static void settle_share(struct conn *conn)
{
    bool is_whole = conn->is_parked || conn->turn.is_waiting;
    receive_share_pause(&conn->receiving, is_whole || conn->is_choked, is_whole);
}

/* The one function that moves CONN into and out of env->parked, and REQUEST with it: in from
 * *REQUEST (taken), out to it. */
static void set_parked(struct conn *conn, bool parked, struct parked_request *request)
{
    struct conn_list *list = &conn->env->parked;
    assert(conn->is_parked != parked);
    conn->is_parked = parked;
    settle_share(conn);
    if (parked) {
        assert(conn_is_served(conn));
        TAILQ_INSERT_TAIL(list, conn, of_parked);
        conn->parked = *request;
    } else {
        TAILQ_REMOVE(list, conn, of_parked);
        *request = TAKE_STRUCT(conn->parked, PARKED_REQUEST_NULL);
    }
}

static void free_parked(struct parked_request *parked)
{
    request_deinit(&parked->request);
    parked->settings = settings_unref(parked->settings);
}

static void drop_parked(struct conn *conn)
{
    struct parked_request dropped = PARKED_REQUEST_NULL;
    if (conn->is_parked)
        set_parked(conn, false, &dropped);
    free_parked(&dropped);
}

/* --- the way out --------------------------------------------------------------------------- */

/* Takes a choked connection out of the list, and ends the time that it has to read. */
static void leave_choked(struct conn *conn)
{
    TAILQ_REMOVE(&conn->env->choked, conn, of_choked);
    (void)event_del(conn->unread_timer);
}

/* The one function that changes the state. */
static void enter(struct conn *conn, enum conn_state next)
{
    bool was_served = conn_is_served(conn);
    assert(conn_may_follow(conn->state, next));
    conn->state = next;
    if (was_served && !conn_is_served(conn)) {
        frame_turn_leave(&conn->turn);
        receive_share_give_back(&conn->receiving);
        drop_parked(conn);
        if (conn->is_choked)
            leave_choked(conn);
        conn->env->ops->gone(conn, conn->env->userdata);
    }
}

/* Brings env->unsent up to date. Returns how much CONN may leave unsent. */
static size_t count_unsent(struct conn *conn)
{
    size_t unsent = conn->state == CONN_CLOSED ? 0 : conn_unsent(conn);
    outgoing_count(&conn->env->unsent, &conn->user->unsent, &conn->unsent, unsent);
    return outgoing_mark(conn->high_water, conn->env->unsent - unsent);
}

/* Neither sends nor receives any more; the event loop calls `closed`. */
static void end(struct conn *conn)
{
    if (conn->state == CONN_CLOSED)
        return;
    enter(conn, CONN_CLOSED);
    (void)count_unsent(conn);
    (void)bufferevent_disable(conn->bev, EV_READ | EV_WRITE);
    (void)event_del(conn->hangup_event);
    event_active(conn->timer, EV_TIMEOUT, 0);
}

/* Shuts our side down. Closing at once would make the client's last writes fail before it has read
 * why. */
static void linger(struct conn *conn)
{
    enter(conn, CONN_LINGERING);
    (void)shutdown(bufferevent_getfd(conn->bev), SHUT_WR);
    (void)evbuffer_drain(bufferevent_get_input(conn->bev), SIZE_MAX);
    (void)bufferevent_enable(conn->bev, EV_READ);
    start_timer(conn->timer, LINGER_MS);
}

void conn_close(struct conn *conn)
{
    if (!conn_is_served(conn))
        return;
    enter(conn, CONN_FLUSHING);
    (void)bufferevent_disable(conn->bev, EV_READ);
    (void)event_del(conn->timer);
    start_timer(conn->timer, FLUSH_MS);
    last_replies_begin(&conn->last, conn_unsent(conn));
    bufferevent_setwatermark(conn->bev, EV_WRITE, SIZE_MAX, 0); /* tells of each write */
    if (conn_unsent(conn) == 0)
        linger(conn);
}

/* --- sending ------------------------------------------------------------------------------- */

size_t conn_unsent(const struct conn *conn)
{
    return evbuffer_get_length(conn->fresh) +
           evbuffer_get_length(bufferevent_get_output(conn->bev));
}

static void set_choked(struct conn *conn, bool choked)
{
    if (conn->is_choked == choked)
        return;
    conn->is_choked = choked;
    settle_share(conn);
    if (choked) {
        TAILQ_INSERT_TAIL(&conn->env->choked, conn, of_choked);
        if (conn->env->reply_timeout_ms > 0)
            start_timer(conn->unread_timer, conn->env->reply_timeout_ms);
    } else {
        leave_choked(conn);
    }
    conn->env->ops->choked(conn, choked, conn->env->userdata);
    if (!choked)
        pump(conn);
}

void conn_send(struct conn *conn, struct bytes *payload)
{
    struct bytes taken = TAKE_STRUCT(*payload, BYTES_NULL);
    if (!conn_is_served(conn)) {
        bytes_deinit(&taken);
        return;
    }
    if (outgoing_add(conn->fresh, &taken) < 0) {
        /* A part of the frame may be in the buffer for good. */
        log_write(conn->env->log, LOG_ERR, "client %" PRIu64 ": out of memory", conn->number);
        end(conn);
        return;
    }
    event_active(conn->flush_event, EV_WRITE, 0);
    if (count_unsent(conn) < conn->unsent)
        set_choked(conn, true);
}

void conn_send_error(struct conn *conn, const struct bytes *id, uint64_t job_no,
                     enum error_code code, const char *message)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    int r = reply_error(id, job_no, code, message, &payload);
    if (r < 0 && reserve_give_up())
        r = reply_error(id, job_no, code, message, &payload);
    if (r == 0)
        conn_send(conn, &payload);
    else
        conn_close(conn); /* its client learns that there is no answer */
}

/* Dismisses a client whose next message cannot be found or received. */
_printf_(3, 4) static void refuse(struct conn *conn, enum error_code code, const char *format, ...)
{
    char message[160];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    log_event(conn->env->log, LOG_INFO, LOG_MESSAGE_CLIENT_DISMISSED,
              "client %" PRIu64 " (uid %d, pid %d) is dismissed: %s", conn->number,
              (int)conn->peer.uid, (int)conn->peer.pid, message);
    conn_send_error(conn, NULL, 0, code, message);
    conn_close(conn);
}

/* epoll refuses to watch the socket (fs.epoll.max_user_watches): a client that is neither read from
 * nor sent away would wait for ever. */
static void refuse_unwatched(struct conn *conn)
{
    log_write(conn->env->log, LOG_WARNING, "client %" PRIu64 " cannot be watched: %s", conn->number,
              strerror(errno));
    refuse(conn, ERROR_INTERNAL, "the daemon cannot watch one more connection");
}

void conn_dismiss_choked(struct conn *conn)
{
    assert(conn_is_served(conn) && conn->is_choked);
    conn->env->ops->left_unread(conn, conn->env->userdata);
    conn_close(conn);
}

void conn_drop(struct conn *conn)
{
    if (conn_is_served(conn))
        conn->env->ops->left_unread(conn, conn->env->userdata);
    end(conn);
}

static void on_unread(_unused_ evutil_socket_t fd, _unused_ short what, void *userdata)
{
    conn_dismiss_choked(userdata);
}

/* --- receiving ----------------------------------------------------------------------------- */

/* Returns the length of the next frame with its header; 0 if the frame is not whole yet, or was
 * refused and the connection with it. */
static size_t next_frame(struct conn *conn, struct evbuffer *input)
{
    uint8_t header[FRAME_HEADER_SIZE];
    uint32_t length;
    if (evbuffer_copyout(input, header, sizeof(header)) < (ssize_t)sizeof(header))
        return 0;
    switch (frame_read_header(header, conn->max_frame, &length)) {
    case FRAME_OK:
        break;
    case FRAME_EMPTY:
        refuse(conn, ERROR_BAD_REQUEST, "frame: length 0");
        return 0;
    case FRAME_TOO_LARGE:
        refuse(conn, ERROR_FRAME_TOO_LARGE,
               "frame: length %" PRIu32 " is above the maximum of %" PRIu32 " bytes", length,
               conn->max_frame);
        return 0;
    }
    size_t size = (size_t)length + FRAME_HEADER_SIZE;
    size_t arrived = evbuffer_get_length(input);
    if (arrived >= size)
        return size;
    (void)receive_share_take(&conn->receiving, size, arrived);
    return 0;
}

static bool may_read(const struct conn *conn)
{
    return conn_is_served(conn) && !conn->is_parked && !conn->is_choked && !conn->turn.is_waiting;
}

/* Lets the timeout run exactly while a frame is incomplete and the client could complete it. */
static void settle_frame_timer(struct conn *conn, struct evbuffer *input, bool progressed)
{
    if (conn->state != CONN_OPEN)
        return;
    bool wanted = evbuffer_get_length(input) > 0 && may_read(conn) && !conn->receiving.is_waiting;
    bool armed = event_pending(conn->timer, EV_TIMEOUT, NULL);
    if (!wanted || progressed)
        (void)event_del(conn->timer);
    if (wanted && (!armed || progressed))
        start_timer(conn->timer, conn->frame_timeout_ms);
}

/* What is left of a client that sends no more is a part of a frame. */
static void settle_end_of_file(struct conn *conn, struct evbuffer *input)
{
    size_t left = evbuffer_get_length(input);
    if (left > 0 && may_read(conn))
        refuse(conn, ERROR_BAD_REQUEST, "frame: the connection ended after %zu bytes of it", left);
    else
        conn_job_finished(conn);
}

/* Handles the frame of SIZE bytes with its header that INPUT begins with. False: it could not. */
static bool handle_frame(struct conn *conn, struct evbuffer *input, size_t size)
{
    uint64_t began_ns = clock_now_ns();
    const char *frame = (const char *)evbuffer_pullup(input, (ssize_t)size);
    if (!frame) {
        refuse(conn, ERROR_INTERNAL, "out of memory");
        return false;
    }
    conn_read_request(conn, frame + FRAME_HEADER_SIZE, size - FRAME_HEADER_SIZE);
    if (conn_is_served(conn))
        (void)evbuffer_drain(input, size);
    if (!conn->is_parked)
        receive_share_give_back(&conn->receiving);
    frame_turn_spend(&conn->turn, size, began_ns);
    return true;
}

/* Handles every whole frame in the input buffer, until something pauses the connection. */
static void pump(struct conn *conn)
{
    struct evbuffer *input = bufferevent_get_input(conn->bev);
    bool progressed = false;
    size_t size;
    while (may_read(conn) && (size = next_frame(conn, input)) > 0) {
        if (!frame_turn_take(&conn->turn, size)) {
            settle_share(conn);
            break;
        }
        if (!handle_frame(conn, input, size))
            return;
        progressed = true;
    }
    settle_frame_timer(conn, input, progressed);
    if (conn->state == CONN_HALF_CLOSED)
        settle_end_of_file(conn, input);
    else if (conn->state == CONN_OPEN && (!may_read(conn) || conn->receiving.is_waiting))
        (void)bufferevent_disable(conn->bev, EV_READ);
    else if (conn->state == CONN_OPEN && bufferevent_enable(conn->bev, EV_READ) < 0)
        refuse_unwatched(conn);
}

void conn_park(struct conn *conn, struct request *request, size_t size, struct settings *settings)
{
    struct parked_request parked = {
        .request = TAKE_STRUCT(*request, REQUEST_NULL),
        .size = size,
        .settings = settings_ref(settings),
    };
    set_parked(conn, true, &parked);
}

void conn_unpark(struct conn *conn)
{
    struct parked_request parked;
    set_parked(conn, false, &parked);
    conn->env->ops->request(conn, &parked.request, parked.size, parked.settings,
                            conn->env->userdata);
    free_parked(&parked);
    if (!conn->is_parked) {
        receive_share_give_back(&conn->receiving);
        pump(conn);
    }
}

void conn_take_turn(struct frame_turn *turn)
{
    struct conn *conn = container_of(turn, struct conn, turn);
    settle_share(conn);
    pump(conn);
}

/* --- events -------------------------------------------------------------------------------- */

static void on_readable(struct bufferevent *bev, void *userdata)
{
    struct conn *conn = userdata;
    if (conn->state == CONN_LINGERING || conn->state == CONN_FLUSHING)
        (void)evbuffer_drain(bufferevent_get_input(bev), SIZE_MAX);
    else if (conn->state != CONN_CLOSED)
        pump(conn);
}

/* Unsent replies have fallen to half the high-water mark or below, or by anything while it closes.
 */
static void on_writable(_unused_ struct bufferevent *bev, void *userdata)
{
    struct conn *conn = userdata;
    size_t most = count_unsent(conn);
    if (conn->state == CONN_FLUSHING && conn_unsent(conn) == 0)
        linger(conn);
    else if (conn->state == CONN_FLUSHING && last_replies_go_on(&conn->last, conn->unsent))
        start_timer(conn->timer, FLUSH_MS);
    else if (conn_is_served(conn) && conn->unsent <= most / 2)
        set_choked(conn, false);
    conn_job_finished(conn);
}

/* Runs after the callbacks of all that was ready. Writes the replies that those made without asking
 * epoll first, because the socket nearly always takes them. The bufferevent gets the rest, and
 * finds out why. */
static void on_flush(_unused_ evutil_socket_t fd, _unused_ short what, void *userdata)
{
    struct conn *conn = userdata;
    if (conn->state == CONN_CLOSED)
        return;
    if (evbuffer_get_length(bufferevent_get_output(conn->bev)) == 0)
        (void)evbuffer_write(conn->fresh, bufferevent_getfd(conn->bev));
    bool is_lost = outgoing_move(conn->bev, conn->fresh) < 0;
    if (!is_lost && conn_unsent(conn) > 0)
        is_lost = bufferevent_enable(conn->bev, EV_WRITE) < 0; /* epoll does not watch it */
    if (is_lost)
        end(conn);
    else if (conn_unsent(conn) <= conn->high_water / 2)
        on_writable(conn->bev, conn);
}

static void on_end_of_file(struct conn *conn)
{
    if (conn->state != CONN_OPEN || outgoing_is_gone(conn->hangup_fd)) {
        end(conn);
        return;
    }
    enter(conn, CONN_HALF_CLOSED);
    (void)event_del(conn->timer);
    (void)bufferevent_disable(conn->bev, EV_READ);
    pump(conn);
}

/* A socket whose client is there has no errors: libevent had no memory for what came, has left it
 * there, and has stopped reading. */
static void on_event(_unused_ struct bufferevent *bev, short what, void *userdata)
{
    struct conn *conn = userdata;
    bool is_short = what & BEV_EVENT_ERROR && what & BEV_EVENT_READING && conn_is_served(conn) &&
                    !outgoing_is_gone(conn->hangup_fd);
    if (is_short)
        start_timer(conn->again_timer, READ_AGAIN_MS);
    if (what & BEV_EVENT_ERROR && !(is_short && event_pending(conn->again_timer, EV_TIMEOUT, NULL)))
        end(conn);
    else if (what & BEV_EVENT_EOF)
        on_end_of_file(conn);
}

static void on_again(_unused_ evutil_socket_t fd, _unused_ short what, void *userdata)
{
    struct conn *conn = userdata;
    if (conn_is_served(conn))
        pump(conn);
}

/* Edge-triggered: data arrived, the client shut down its sending side, or it is gone. */
static void on_hangup(_unused_ evutil_socket_t fd, _unused_ short what, void *userdata)
{
    struct conn *conn = userdata;
    if (outgoing_is_gone(conn->hangup_fd))
        end(conn);
}

void conn_lose_share(struct receive_share *share)
{
    struct conn *conn = container_of(share, struct conn, receiving);
    if (conn->state == CONN_OPEN)
        refuse(conn, ERROR_BAD_REQUEST,
               "frame: incomplete, with %zu bytes received and no more in time, while others wait "
               "for the memory",
               evbuffer_get_length(bufferevent_get_input(conn->bev)));
}

static void on_timer(evutil_socket_t fd, short what, void *userdata)
{
    struct conn *conn = userdata;
    (void)fd;
    (void)what;
    switch (conn->state) {
    case CONN_OPEN:
        refuse(conn, ERROR_BAD_REQUEST, "frame: incomplete after %g s, with %zu bytes received",
               (double)conn->frame_timeout_ms / 1000,
               evbuffer_get_length(bufferevent_get_input(conn->bev)));
        break;
    case CONN_FLUSHING:
    case CONN_LINGERING:
        end(conn);
        break;
    case CONN_CLOSED:
        conn->env->ops->closed(conn, conn->env->userdata);
        break;
    case CONN_HALF_CLOSED:
        break;
    }
}

void conn_job_finished(struct conn *conn)
{
    if (conn->state == CONN_HALF_CLOSED && TAILQ_EMPTY(&conn->jobs.list) && !conn->is_parked &&
        conn_unsent(conn) == 0 && evbuffer_get_length(bufferevent_get_input(conn->bev)) == 0)
        conn_close(conn);
}

/* --- set-up and tear-down ------------------------------------------------------------------ */

static int set_up_events(struct conn *conn, int fd)
{
    struct event_base *base = conn->env->base;
    conn->hangup_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (conn->hangup_fd < 0)
        return -errno;
    /* EV_READ: when a client closes with replies unread epoll reports an error, which libevent
     * passes to readers only. */
    conn->hangup_event =
        event_new(base, conn->hangup_fd, EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, on_hangup, conn);
    conn->timer = event_new(base, -1, 0, on_timer, conn);
    conn->unread_timer = event_new(base, -1, 0, on_unread, conn);
    conn->flush_event = event_new(base, -1, 0, on_flush, conn);
    conn->again_timer = event_new(base, -1, 0, on_again, conn);
    conn->fresh = evbuffer_new();
    if (!conn->hangup_event || !conn->timer || !conn->unread_timer || !conn->flush_event ||
        !conn->again_timer || !conn->fresh)
        return -ENOMEM;
    bufferevent_setcb(conn->bev, on_readable, on_writable, on_event, conn);
    bufferevent_setwatermark(conn->bev, EV_WRITE, conn->high_water / 2, 0);
    conn->turn.line = &conn->env->line;
    conn->turn.user = &conn->user->frames;
    receive_share_init(&conn->receiving, &conn->env->budget, conn->user, conn->bev);
    (void)bufferevent_set_max_single_read(conn->bev, SMALL_FRAME_MAX);
    return 0;
}

int conn_new(struct conn_env *env, int fd, uint64_t number, struct conn **ret)
{
    _cleanup_close_ int taken = fd;
    struct conn *conn = calloc(1, sizeof(*conn));
    if (!conn)
        return -ENOMEM;
    conn->env = env;
    conn->number = number;
    conn->max_frame = env->max_frame;
    conn->frame_timeout_ms = env->frame_timeout_ms;
    conn->high_water = env->high_water;
    conn->hangup_fd = -1;
    job_set_init(&conn->jobs);
    put_set_init(&conn->puts);
    socklen_t length = sizeof(conn->peer);
    int r = 0;
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &conn->peer, &length) < 0)
        r = -errno;
    if (r == 0 && !(conn->user = users_join(&env->users, conn->peer.uid, NULL)))
        r = -ENOMEM;
    if (r == 0) {
        queue_lane_init(&conn->lane, &conn->user->queue);
        conn->bev = bufferevent_socket_new(env->base, fd, BEV_OPT_CLOSE_ON_FREE);
        if (conn->bev)
            (void)TAKE_FD(taken);
        else
            r = -ENOMEM;
    }
    if (r == 0)
        r = set_up_events(conn, fd);
    if (r < 0)
        conn_free(conn);
    else
        *ret = conn;
    return r;
}

void conn_start(struct conn *conn)
{
    if (event_add(conn->hangup_event, NULL) < 0 ||
        bufferevent_enable(conn->bev, EV_READ | EV_WRITE) < 0)
        refuse_unwatched(conn);
}

struct conn *conn_free(struct conn *conn)
{
    if (!conn)
        return NULL;
    assert(TAILQ_EMPTY(&conn->jobs.list));
    assert(queue_lane_count(&conn->lane) == 0);
    frame_turn_leave(&conn->turn);
    receive_share_give_back(&conn->receiving);
    drop_parked(conn);
    put_set_deinit(&conn->puts);
    if (conn->user)
        outgoing_count(&conn->env->unsent, &conn->user->unsent, &conn->unsent, 0);
    if (conn_is_served(conn) && conn->is_choked)
        leave_choked(conn);
    conn->hangup_event = consume_event(conn->hangup_event);
    conn->timer = consume_event(conn->timer);
    conn->unread_timer = consume_event(conn->unread_timer);
    conn->flush_event = consume_event(conn->flush_event);
    conn->again_timer = consume_event(conn->again_timer);
    if (conn->fresh)
        evbuffer_free(conn->fresh);
    conn->user = user_leave(conn->user);
    close_fd(conn->hangup_fd);
    if (conn->bev)
        bufferevent_free(conn->bev);
    free(conn);
    return NULL;
}
