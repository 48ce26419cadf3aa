/* SPDX-License-Identifier: MIT */
#include "frame_line.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/util.h"

#include <assert.h>

static bool has_budget(const struct frame_line *line)
{
    return line->spent_ns < FRAME_BUDGET_MS * NS_PER_MS;
}

/* A timer that is due at once goes off in the next turn, behind what is ready by then. */
static void call_again(const struct frame_line *line)
{
    const struct timeval now = {0};
    if (!event_pending(line->timer, EV_TIMEOUT, NULL) && event_add(line->timer, &now) < 0)
        event_active(line->timer, EV_TIMEOUT, 0); /* takes no memory */
}

static void on_timer(evutil_socket_t fd, short what, void *userdata)
{
    struct frame_line *line = userdata;
    struct frame_turn *turn;
    (void)fd;
    (void)what;
    line->spent_ns = 0;
    while (has_budget(line) && (turn = TAILQ_FIRST(&line->waiting))) {
        frame_turn_leave(turn);
        turn->is_granted = true;
        line->handle(turn);
        turn->is_granted = false;
    }
    if (!TAILQ_EMPTY(&line->waiting))
        call_again(line);
}

int frame_line_init(struct frame_line *line, struct event_base *base,
                    void (*handle)(struct frame_turn *turn))
{
    *line = (struct frame_line){.handle = handle};
    TAILQ_INIT(&line->waiting);
    line->timer = event_new(base, -1, 0, on_timer, line);
    return line->timer ? 0 : -ENOMEM;
}

void frame_line_deinit(struct frame_line *line)
{
    line->timer = consume_event(line->timer);
}

bool frame_turn_take(struct frame_turn *turn, size_t size)
{
    struct frame_line *line = turn->line;
    assert(!turn->is_waiting);
    bool is_granted = turn->is_granted;
    if (size <= LIGHT_FRAME_MAX)
        return true;
    turn->is_granted = false;
    if (is_granted || (TAILQ_EMPTY(&line->waiting) && has_budget(line)))
        return true;
    turn->is_waiting = true;
    TAILQ_INSERT_TAIL(&line->waiting, turn, of_waiting);
    call_again(line);
    return false;
}

void frame_turn_spend(struct frame_turn *turn, size_t size, uint64_t began_ns)
{
    if (size > LIGHT_FRAME_MAX)
        turn->line->spent_ns += clock_now_ns() - began_ns;
}

void frame_turn_leave(struct frame_turn *turn)
{
    if (turn->is_waiting)
        TAILQ_REMOVE(&turn->line->waiting, turn, of_waiting);
    turn->is_waiting = false;
}
