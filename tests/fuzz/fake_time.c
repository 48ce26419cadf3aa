/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fake_time.h"
#include "tests/fuzz/fuzz.h"

#include "daemon/base/clock.h"
#include "daemon/base/timer.h"

#include <event2/event.h>
#include <stdbool.h>

#define ALARMS_MAX 256
#define BEGINNING_NS (UINT64_C(1000) * NS_PER_S)
/* What libevent is told instead of a timeout, in seconds: it never comes. */
#define NEVER_S 100000000

/* Either a timer of the daemon or an event of libevent. */
struct alarm {
    struct timer *timer;
    struct event *event;
    uint64_t due_ns, period_ns;
};

/* The functions that stand in for others get nothing to find this by. */
static struct {
    bool stands_still;
    uint64_t now_ns;
    struct alarm alarms[ALARMS_MAX];
    size_t count;
} fake;

/* The linker wants to see them from shared libraries. */
#pragma GCC visibility push(default)
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_event_add(struct event *event, const struct timeval *timeout);
int __wrap_event_add(struct event *event, const struct timeval *timeout);
void __real_event_free(struct event *event);
void __wrap_event_free(struct event *event);
int __wrap_timer_init(struct timer *timer, struct event_base *base,
                      void (*callback)(void *userdata), void *userdata);
void __wrap_timer_set(struct timer *timer, uint64_t timeout_ms);
void __wrap_timer_deinit(struct timer *timer);
#pragma GCC visibility pop

/* --- alarms ---------------------------------------------------------------------------------- */

static void forget(const struct timer *timer, const struct event *event)
{
    size_t kept = 0;
    for (size_t i = 0; i < fake.count; i++)
        if ((!timer || fake.alarms[i].timer != timer) && (!event || fake.alarms[i].event != event))
            fake.alarms[kept++] = fake.alarms[i];
    fake.count = kept;
}

static void remember(const struct alarm *alarm)
{
    forget(alarm->timer, alarm->event);
    CHECK(fake.count < ALARMS_MAX);
    fake.alarms[fake.count++] = *alarm;
}

/* The first that is due by UNTIL_NS; the oldest of those that are due at once. NULL if there is
 * none.
 */
static const struct alarm *next_alarm(uint64_t until_ns)
{
    const struct alarm *next = NULL;
    for (size_t i = 0; i < fake.count; i++)
        if (fake.alarms[i].due_ns <= until_ns && (!next || fake.alarms[i].due_ns < next->due_ns))
            next = &fake.alarms[i];
    return next;
}

static void go_off(struct alarm alarm)
{
    forget(alarm.timer, alarm.event);
    if (fake.now_ns < alarm.due_ns)
        fake.now_ns = alarm.due_ns;
    if (alarm.timer) {
        alarm.timer->due_ns = UINT64_MAX;
        alarm.timer->callback(alarm.timer->userdata);
        return;
    }
    if (!event_pending(alarm.event, EV_TIMEOUT, NULL))
        return; /* it was deleted */
    if (event_get_events(alarm.event) & EV_PERSIST) {
        alarm.due_ns += alarm.period_ns;
        remember(&alarm);
    } else {
        (void)event_del(alarm.event);
    }
    event_active(alarm.event, EV_TIMEOUT, 0);
}

void fake_time_pass(uint64_t ms, void (*turn)(void *userdata), void *userdata)
{
    const uint64_t until_ns = fake.now_ns + ms * NS_PER_MS;
    const struct alarm *alarm;
    while ((alarm = next_alarm(until_ns))) {
        go_off(*alarm);
        turn(userdata);
    }
    fake.now_ns = until_ns;
}

int fake_time_pass_to_next(void (*turn)(void *userdata), void *userdata)
{
    const struct alarm *alarm = next_alarm(UINT64_MAX);
    if (!alarm)
        return 0;
    go_off(*alarm);
    turn(userdata);
    return 1;
}

void fake_time_begin(void)
{
    fake.stands_still = true;
    fake.now_ns = BEGINNING_NS;
    fake.count = 0;
}

void fake_time_end(void)
{
    for (size_t i = 0; i < fake.count; i++)
        CHECK(!fake.alarms[i].timer && !fake.alarms[i].event); /* none is left behind */
    fake.stands_still = false;
}

/* --- in the place of others ------------------------------------------------------------------ */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!fake.stands_still)
        return __real_clock_gettime(clock, ret);
    *ret = (struct timespec){.tv_sec = (time_t)(fake.now_ns / NS_PER_S),
                             .tv_nsec = (long)(fake.now_ns % NS_PER_S)};
    return 0;
}

int __wrap_event_add(struct event *event, const struct timeval *timeout)
{
    const struct timeval never = {.tv_sec = NEVER_S};
    if (!fake.stands_still || !timeout)
        return __real_event_add(event, timeout);
    uint64_t ns = (uint64_t)timeout->tv_sec * NS_PER_S + (uint64_t)timeout->tv_usec * 1000;
    const struct alarm alarm = {.event = event, .due_ns = fake.now_ns + ns, .period_ns = ns};
    remember(&alarm);
    return __real_event_add(event, &never);
}

void __wrap_event_free(struct event *event)
{
    forget(NULL, event);
    __real_event_free(event);
}

int __wrap_timer_init(struct timer *timer, struct event_base *base,
                      void (*callback)(void *userdata), void *userdata)
{
    (void)base;
    *timer = (struct timer)TIMER_NULL;
    timer->callback = callback;
    timer->userdata = userdata;
    return 0;
}

void __wrap_timer_set(struct timer *timer, uint64_t timeout_ms)
{
    const struct alarm alarm = {.timer = timer, .due_ns = fake.now_ns + timeout_ms * NS_PER_MS};
    forget(timer, NULL);
    timer->due_ns = timeout_ms > 0 ? alarm.due_ns : UINT64_MAX;
    if (timeout_ms > 0)
        remember(&alarm);
}

void __wrap_timer_deinit(struct timer *timer)
{
    forget(timer, NULL);
    *timer = (struct timer)TIMER_NULL;
}
