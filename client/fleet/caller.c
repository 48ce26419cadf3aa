/* SPDX-License-Identifier: MIT */
#include "caller.h"

#include "client/terminal/text.h"
#include "proto/fair.h"
#include "proto/frame.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define READ_SIZE 65536
/* Frames of one caller that are handled before it is another one's turn. */
#define FRAMES_PER_TURN 16
/* A caller may buffer so much without a share of the memory for large frames. */
#define SMALL_FRAME_MAX ((size_t)64 << 10)
#define HELD_MAX ((size_t)128 << 20)
/* Replies that one caller, and all of them, may leave unread. */
#define UNSENT_HIGH ((size_t)4 << 20)
#define UNSENT_LOW_MARK ((size_t)64 << 10)
#define UNSENT_ALL_MAX ((size_t)64 << 20)
#define UNSENT_PER_CALLER 4
#define FRAME_TIMEOUT_MS 30000
#define REPLY_TIMEOUT_MS 60000
#define FLUSH_MS 10000
#define LINGER_MS 2000

_unused_ static bool may_follow(enum caller_state from, enum caller_state to)
{
    return to > from;
}

static void arm(struct event *timer, int64_t ms)
{
    const struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (long)(ms % 1000) * 1000};
    (void)event_add(timer, &tv);
}

static void leave_parked(struct caller *caller)
{
    if (caller->is_parked)
        TAILQ_REMOVE(&caller->callers->parked, caller, of_parked);
    caller->is_parked = false;
}

/* Counts what is buffered of a large frame. */
static void count_held(struct caller *caller, size_t now)
{
    size_t large = now > SMALL_FRAME_MAX ? now : 0;
    caller->callers->held += large - caller->held;
    *caller->held_of_user += large - caller->held;
    caller->held = large;
}

static void count_unsent(struct caller *caller)
{
    size_t now = evbuffer_get_length(caller->out);
    caller->callers->unsent += now - caller->unsent;
    caller->unsent = now;
}

static void caller_enter(struct caller *caller, enum caller_state state)
{
    struct callers *callers = caller->callers;
    assert(may_follow(caller->state, state));
    bool was_served = caller->state == CALLER_OPEN;
    caller->state = state;
    if (was_served) {
        leave_parked(caller);
        (void)event_del(caller->unread_timer);
        (void)event_del(caller->timer);
        (void)evbuffer_drain(caller->in, evbuffer_get_length(caller->in));
        count_held(caller, 0);
        callers->ops->gone(caller, callers->arg);
    }
    if (state == CALLER_OVER) {
        (void)event_del(caller->again);
        (void)event_del(caller->readable);
        (void)event_del(caller->writable);
        event_active(callers->reaper, 0, 0);
    }
}

/* --- sending ------------------------------------------------------------------------------ */

/* Our side has said everything. */
static void linger(struct caller *caller)
{
    (void)shutdown(caller->fd, SHUT_WR);
    caller_enter(caller, caller->read_ended ? CALLER_OVER : CALLER_LINGERING);
    if (caller->state == CALLER_LINGERING) {
        arm(caller->timer, LINGER_MS);
        (void)event_add(caller->readable, NULL);
    }
}

void caller_close(struct caller *caller)
{
    if (caller->state != CALLER_OPEN)
        return;
    caller_enter(caller, CALLER_FLUSHING);
    if (evbuffer_get_length(caller->out) == 0) {
        linger(caller);
        return;
    }
    arm(caller->timer, FLUSH_MS);
    (void)event_add(caller->writable, NULL);
}

static void watch_reading(struct caller *caller);

/* Returns how much the caller may leave unread: the less is left for all, the less. */
static size_t mark_of(const struct caller *caller)
{
    size_t others = caller->callers->unsent - caller->unsent;
    size_t left = others < UNSENT_ALL_MAX ? UNSENT_ALL_MAX - others : 0;
    return MAX(MIN(UNSENT_HIGH, left / UNSENT_PER_CALLER), UNSENT_LOW_MARK);
}

static void settle_choke(struct caller *caller)
{
    struct callers *callers = caller->callers;
    size_t mark = mark_of(caller);
    bool choked = caller->unsent > (caller->is_choked ? mark / 2 : mark);
    if (choked == caller->is_choked || caller->state != CALLER_OPEN)
        return;
    caller->is_choked = choked;
    if (choked)
        arm(caller->unread_timer, callers->reply_timeout_ms);
    else
        (void)event_del(caller->unread_timer);
    watch_reading(caller);
    callers->ops->choked(caller, choked, callers->arg);
}

void caller_send(struct caller *caller, struct bytes *take_payload)
{
    _cleanup_bytes_ struct bytes payload = TAKE_STRUCT(*take_payload, BYTES_NULL);
    uint8_t header[FRAME_HEADER_SIZE];
    if (caller->state != CALLER_OPEN)
        return;
    frame_write_header(header, (uint32_t)payload.length);
    if (evbuffer_expand(caller->out, sizeof(header) + payload.length) < 0) {
        /* Nobody waits for an answer that does not come. */
        complain("out of memory: client %" PRIu64 " is dismissed", caller->number);
        caller_close(caller);
        return;
    }
    (void)evbuffer_add(caller->out, header, sizeof(header));
    (void)evbuffer_add(caller->out, payload.data, payload.length);
    (void)event_add(caller->writable, NULL);
    count_unsent(caller);
    settle_choke(caller);
}

void caller_send_error(struct caller *caller, const struct bytes *id, uint64_t job_no,
                       enum error_code code, const char *message)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (reply_error(id, job_no, code, message, &payload) == 0)
        caller_send(caller, &payload);
    else
        caller_close(caller);
}

/* Says why, and closes. */
_printf_(3, 4) static void refuse(struct caller *caller, enum error_code code, const char *format,
                                  ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    caller_send_error(caller, NULL, 0, code, text);
    caller_close(caller);
}

static void on_writable(_unused_ evutil_socket_t fd, _unused_ short what, void *caller_)
{
    struct caller *caller = caller_;
    if (evbuffer_write(caller->out, caller->fd) < 0 && errno != EAGAIN && errno != EINTR) {
        (void)evbuffer_drain(caller->out, evbuffer_get_length(caller->out));
        count_unsent(caller);
        caller_enter(caller, CALLER_OVER);
        return;
    }
    count_unsent(caller);
    if (evbuffer_get_length(caller->out) > 0)
        (void)event_add(caller->writable, NULL);
    else if (caller->state == CALLER_FLUSHING)
        linger(caller);
    settle_choke(caller);
    caller_settle(caller);
}

static void on_unread(_unused_ evutil_socket_t fd, _unused_ short what, void *caller_)
{
    struct caller *caller = caller_;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    complain("client %" PRIu64 " (uid %d, pid %d) is dismissed: it has left %zu bytes of replies "
             "unread for too long; its %zu unanswered jobs are taken back",
             caller->number, (int)caller->peer.uid, (int)caller->peer.pid, caller->unsent,
             caller->unanswered);
    if (reply_bye("replies_unread", "too many replies were left unread for too long", &payload) ==
        0)
        caller_send(caller, &payload);
    caller_close(caller);
}

/* --- receiving ---------------------------------------------------------------------------- */

static bool may_handle(const struct caller *caller)
{
    return caller->state == CALLER_OPEN && caller->max_frame > 0 && !caller->is_parked &&
           !caller->is_choked;
}

/* Whether there is memory for more of a large frame. */
static bool may_hold_more(const struct caller *caller)
{
    size_t held = caller->callers->held, left = held < HELD_MAX ? HELD_MAX - held : 0;
    return evbuffer_get_length(caller->in) <= SMALL_FRAME_MAX ||
           (left > 0 && fair_may_have(*caller->held_of_user, 0, left));
}

/* Reads exactly while something may be done with what comes, and lets the timeout run exactly while
 * a frame is incomplete that the client could complete. */
static void watch_reading(struct caller *caller)
{
    bool wanted = may_handle(caller) && !caller->read_ended;
    caller->is_waiting = wanted && !may_hold_more(caller);
    if (caller->state == CALLER_LINGERING)
        return;
    if (wanted && !caller->is_waiting)
        (void)event_add(caller->readable, NULL);
    else
        (void)event_del(caller->readable);
    if (caller->state != CALLER_OPEN)
        return;
    if (!wanted || evbuffer_get_length(caller->in) == 0)
        (void)event_del(caller->timer);
    else if (!event_pending(caller->timer, EV_TIMEOUT, NULL))
        arm(caller->timer, caller->callers->frame_timeout_ms);
}

/* Returns the length of the frame that INPUT begins with; 0 if it is not whole, or was refused. */
static size_t next_frame(struct caller *caller)
{
    uint8_t header[FRAME_HEADER_SIZE];
    uint32_t length;
    if (evbuffer_copyout(caller->in, header, sizeof(header)) < (ssize_t)sizeof(header))
        return 0;
    switch (frame_read_header(header, caller->max_frame, &length)) {
    case FRAME_OK:
        break;
    case FRAME_EMPTY:
        refuse(caller, ERROR_BAD_REQUEST, "frame: length 0");
        return 0;
    case FRAME_TOO_LARGE:
        refuse(caller, ERROR_FRAME_TOO_LARGE,
               "frame: length %" PRIu32 " is above the maximum of %" PRIu32 " bytes", length,
               caller->max_frame);
        return 0;
    }
    size_t size = sizeof(header) + length;
    return evbuffer_get_length(caller->in) >= size ? size : 0;
}

/* Handles the frame of SIZE bytes with its header. Returns whether it could. */
static bool handle_frame(struct caller *caller, size_t size)
{
    struct callers *callers = caller->callers;
    const char *frame = (const char *)evbuffer_pullup(caller->in, (ssize_t)size);
    if (!frame) {
        refuse(caller, ERROR_INTERNAL, "out of memory");
        return false;
    }
    bool taken = callers->ops->request(caller, frame + FRAME_HEADER_SIZE, size - FRAME_HEADER_SIZE,
                                       callers->arg);
    if (caller->state != CALLER_OPEN)
        return false;
    if (!taken) {
        caller->is_parked = true;
        TAILQ_INSERT_TAIL(&callers->parked, caller, of_parked);
        return false;
    }
    (void)evbuffer_drain(caller->in, size);
    (void)event_del(caller->timer); /* the next frame has time of its own */
    return true;
}

/* Handles whole frames, so many that others have their turn. */
static void handle_frames(struct caller *caller)
{
    size_t size, n = 0;
    if (caller->is_handling)
        return; /* a callback has sent something, or resumed it */
    caller->is_handling = true;
    while (may_handle(caller) && n < FRAMES_PER_TURN && (size = next_frame(caller)) > 0 &&
           handle_frame(caller, size))
        n++;
    caller->is_handling = false;
    if (caller->state != CALLER_OPEN)
        return;
    count_held(caller, evbuffer_get_length(caller->in));
    watch_reading(caller);
    if (n == FRAMES_PER_TURN && may_handle(caller)) {
        arm(caller->again, 0); /* once the loop has looked at the others */
        return;
    }
    size_t left = evbuffer_get_length(caller->in);
    if (caller->read_ended && left > 0 && may_handle(caller))
        refuse(caller, ERROR_BAD_REQUEST, "frame: the connection ended after %zu bytes of it",
               left);
    else
        caller_settle(caller);
}

/* Whether nobody reads at the other end any more. */
static bool is_gone(int fd)
{
    struct pollfd hangup = {.fd = fd};
    return poll(&hangup, 1, 0) > 0 && hangup.revents & (POLLHUP | POLLERR);
}

static void discard(struct caller *caller)
{
    char buffer[4096];
    ssize_t n = read(caller->fd, buffer, sizeof(buffer));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        caller_enter(caller, CALLER_OVER);
}

static void on_again(_unused_ evutil_socket_t fd, _unused_ short what, void *caller)
{
    handle_frames(caller);
}

static void on_readable(_unused_ evutil_socket_t fd, _unused_ short what, void *caller_)
{
    struct caller *caller = caller_;
    if (caller->state == CALLER_LINGERING) {
        discard(caller);
        return;
    }
    if (may_handle(caller) && !caller->read_ended) {
        int n = evbuffer_read(caller->in, caller->fd, READ_SIZE);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            caller_enter(caller, CALLER_OVER);
            return;
        }
        caller->read_ended = n == 0;
        if (n == 0 && is_gone(caller->fd)) {
            caller_enter(caller, CALLER_OVER);
            return;
        }
    }
    handle_frames(caller);
}

static void on_timer(_unused_ evutil_socket_t fd, _unused_ short what, void *caller_)
{
    struct caller *caller = caller_;
    size_t n = evbuffer_get_length(caller->in);
    if (caller->state == CALLER_OPEN)
        refuse(caller, ERROR_BAD_REQUEST,
               "frame: incomplete, with %zu bytes received and no more "
               "in time%s",
               n, caller->is_waiting ? ", while others have the memory" : "");
    else if (caller->state != CALLER_OVER)
        caller_enter(caller, CALLER_OVER);
}

void caller_resume(struct caller *caller)
{
    leave_parked(caller);
    handle_frames(caller);
}

void caller_start(struct caller *caller, uint32_t max_frame)
{
    caller->max_frame = max_frame;
    watch_reading(caller);
}

void caller_settle(struct caller *caller)
{
    if (caller->state == CALLER_OPEN && caller->read_ended && caller->unanswered == 0 &&
        caller->owed == 0 && !caller->is_parked && evbuffer_get_length(caller->in) == 0)
        caller_close(caller);
}

/* --- coming and going --------------------------------------------------------------------- */

static void caller_free(struct caller *caller)
{
    struct callers *callers = caller->callers;
    struct event *events[] = {caller->readable, caller->writable, caller->again, caller->timer,
                              caller->unread_timer};
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if (events[i])
            event_free(events[i]);
    callers->unsent -= caller->unsent;
    if (caller->in)
        evbuffer_free(caller->in);
    if (caller->out)
        evbuffer_free(caller->out);
    caller->fd = close_fd(caller->fd);
    free(caller);
}

static void on_reap(_unused_ evutil_socket_t fd, _unused_ short what, void *callers_)
{
    struct callers *callers = callers_;
    struct caller *next;
    for (struct caller *caller = TAILQ_FIRST(&callers->list); caller; caller = next) {
        next = TAILQ_NEXT(caller, of_list);
        if (caller->state != CALLER_OVER)
            continue;
        TAILQ_REMOVE(&callers->list, caller, of_list);
        callers->n--;
        callers->ops->closed(caller, callers->arg);
        caller_free(caller);
    }
}

int caller_new(struct callers *callers, int fd, size_t *held_of_user, struct caller **ret)
{
    socklen_t length = sizeof(struct ucred);
    struct caller *caller = calloc(1, sizeof(*caller));
    if (!caller) {
        (void)close_fd(fd);
        return -ENOMEM;
    }
    caller->callers = callers;
    caller->fd = fd;
    caller->held_of_user = held_of_user;
    caller->since_ms = monotonic_ms();
    caller->in = evbuffer_new();
    caller->out = evbuffer_new();
    caller->readable = event_new(callers->base, fd, EV_READ | EV_PERSIST, on_readable, caller);
    caller->writable = event_new(callers->base, fd, EV_WRITE, on_writable, caller);
    caller->again = event_new(callers->base, -1, 0, on_again, caller);
    caller->timer = event_new(callers->base, -1, 0, on_timer, caller);
    caller->unread_timer = event_new(callers->base, -1, 0, on_unread, caller);
    if (!caller->in || !caller->out || !caller->readable || !caller->writable || !caller->again ||
        !caller->timer || !caller->unread_timer) {
        caller_free(caller);
        return -ENOMEM;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &caller->peer, &length) < 0)
        caller->peer = (struct ucred){.uid = (uid_t)-1};
    caller->number = ++callers->last_number;
    TAILQ_INSERT_TAIL(&callers->list, caller, of_list);
    callers->n++;
    *ret = caller;
    return 0;
}

int callers_init(struct callers *callers, struct event_base *base, const struct caller_ops *ops,
                 void *arg)
{
    *callers = (struct callers){
        .base = base,
        .ops = ops,
        .arg = arg,
        .frame_timeout_ms = FRAME_TIMEOUT_MS,
        .reply_timeout_ms = REPLY_TIMEOUT_MS,
    };
    TAILQ_INIT(&callers->list);
    TAILQ_INIT(&callers->parked);
    callers->reaper = event_new(base, -1, 0, on_reap, callers);
    return callers->reaper ? 0 : -ENOMEM;
}

void callers_deinit(struct callers *callers)
{
    struct caller *caller;
    if (!callers->reaper)
        return;
    TAILQ_FOREACH(caller, &callers->list, of_list)
    if (caller->state != CALLER_OVER)
        caller_enter(caller, CALLER_OVER);
    on_reap(-1, 0, callers);
    event_free(callers->reaper);
    callers->reaper = NULL;
}

void callers_sweep(struct callers *callers)
{
    struct caller *caller;
    TAILQ_FOREACH(caller, &callers->list, of_list)
    {
        if (caller->state != CALLER_OPEN)
            continue;
        bool reads = event_pending(caller->readable, EV_READ, NULL);
        if (!reads && is_gone(caller->fd))
            caller_enter(caller, CALLER_OVER);
        else if (caller->is_waiting)
            watch_reading(caller); /* there may be memory now */
        else if (caller->is_choked)
            settle_choke(caller);
    }
}
