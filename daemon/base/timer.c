/* SPDX-License-Identifier: MIT */
#include "timer.h"
#include "clock.h"
#include "events.h"

#include "proto/util.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void arm(struct timer *timer)
{
    uint64_t due_ns = timer->due_ns;
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(due_ns / NS_PER_S), .tv_nsec = (long)(due_ns % NS_PER_S)}};
    timer->armed_ns = due_ns;
    (void)timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void on_expired(evutil_socket_t fd, short what, void *userdata)
{
    struct timer *timer = userdata;
    uint64_t expirations;
    (void)what;
    if (read(fd, &expirations, sizeof(expirations)) != (ssize_t)sizeof(expirations))
        return; /* it has been set again meanwhile */
    timer->armed_ns = UINT64_MAX;
    if (timer->due_ns == UINT64_MAX)
        return;
    if (clock_now_ns() < timer->due_ns) {
        arm(timer);
        return;
    }
    timer->due_ns = UINT64_MAX;
    timer->callback(timer->userdata);
}

int timer_init(struct timer *timer, struct event_base *base, void (*callback)(void *userdata),
               void *userdata)
{
    *timer = (struct timer)TIMER_NULL;
    timer->callback = callback;
    timer->userdata = userdata;
    timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer->fd < 0)
        return -errno;
    timer->event = event_new(base, timer->fd, EV_READ | EV_PERSIST, on_expired, timer);
    if (!timer->event || event_add(timer->event, NULL) < 0) {
        timer_deinit(timer);
        return -ENOMEM;
    }
    return 0;
}

void timer_set(struct timer *timer, uint64_t timeout_ms)
{
    timer->due_ns = timeout_ms > 0 ? clock_now_ns() + timeout_ms * NS_PER_MS : UINT64_MAX;
    if (timer->due_ns < timer->armed_ns)
        arm(timer);
    assert(timer->armed_ns <= timer->due_ns); /* else it would expire too late */
}

void timer_deinit(struct timer *timer)
{
    timer->event = consume_event(timer->event);
    timer->fd = close_fd(timer->fd);
}
