/* SPDX-License-Identifier: MIT */
#include "frame_line.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/util.h"

#include <assert.h>

static enum frame_weight weigh(size_t size)
{
    return size <= LIGHT_FRAME_MAX ? FRAME_LIGHT : FRAME_HEAVY;
}

static bool has_budget(const struct frame_line *line, enum frame_weight weight)
{
    return line->spent_ns[weight] < FRAME_BUDGET_MS * NS_PER_MS;
}

/* A timer that is due at once goes off in the next turn, behind what is ready by then. */
static void call_again(const struct frame_line *line)
{
    const struct timeval now = {0};
    if (!event_pending(line->timer, EV_TIMEOUT, NULL) && event_add(line->timer, &now) < 0)
        event_active(line->timer, EV_TIMEOUT, 0); /* takes no memory */
}

/* Takes the next frame out of the line, and moves its user to the back. NULL: none waits. */
static struct frame_turn *next(struct frame_line *line, enum frame_weight weight)
{
    struct frame_user *user = TAILQ_FIRST(&line->waiting[weight]);
    if (!user)
        return NULL;
    struct frame_turn *turn = TAILQ_FIRST(&user->waiting[weight]);
    TAILQ_REMOVE(&line->waiting[weight], user, of_waiting[weight]);
    TAILQ_INSERT_TAIL(&line->waiting[weight], user, of_waiting[weight]);
    frame_turn_leave(turn);
    return turn;
}

/* Grants frames of one weight their turns. Returns whether others wait for the next turn. */
static bool grant(struct frame_line *line, enum frame_weight weight)
{
    struct frame_turn *turn;
    line->spent_ns[weight] = 0;
    while (has_budget(line, weight) && (turn = next(line, weight))) {
        turn->is_granted = true;
        line->handle(turn);
        turn->is_granted = false;
    }
    return !TAILQ_EMPTY(&line->waiting[weight]);
}

static void on_timer(evutil_socket_t fd, short what, void *userdata)
{
    struct frame_line *line = userdata;
    (void)fd;
    (void)what;
    bool light = grant(line, FRAME_LIGHT), heavy = grant(line, FRAME_HEAVY);
    if (light || heavy)
        call_again(line);
}

int frame_line_init(struct frame_line *line, struct event_base *base,
                    void (*handle)(struct frame_turn *turn))
{
    *line = (struct frame_line){.handle = handle};
    for (size_t i = 0; i < FRAME_WEIGHTS; i++)
        TAILQ_INIT(&line->waiting[i]);
    line->timer = event_new(base, -1, 0, on_timer, line);
    return line->timer ? 0 : -ENOMEM;
}

void frame_user_init(struct frame_user *user)
{
    for (size_t i = 0; i < FRAME_WEIGHTS; i++)
        TAILQ_INIT(&user->waiting[i]);
}

void frame_line_deinit(struct frame_line *line)
{
    line->timer = consume_event(line->timer);
}

bool frame_turn_take(struct frame_turn *turn, size_t size)
{
    struct frame_line *line = turn->line;
    enum frame_weight weight = weigh(size);
    assert(!turn->is_waiting);
    bool is_granted = turn->is_granted;
    turn->is_granted = false;
    if (is_granted || (TAILQ_EMPTY(&line->waiting[weight]) && has_budget(line, weight)))
        return true;
    turn->is_waiting = true;
    turn->weight = weight;
    if (TAILQ_EMPTY(&turn->user->waiting[weight]))
        TAILQ_INSERT_TAIL(&line->waiting[weight], turn->user, of_waiting[weight]);
    TAILQ_INSERT_TAIL(&turn->user->waiting[weight], turn, of_waiting);
    call_again(line);
    return false;
}

void frame_turn_spend(struct frame_turn *turn, size_t size, uint64_t began_ns)
{
    turn->line->spent_ns[weigh(size)] += clock_now_ns() - began_ns;
}

void frame_turn_leave(struct frame_turn *turn)
{
    struct frame_user *user = turn->user;
    enum frame_weight weight = turn->weight;
    if (!turn->is_waiting)
        return;
    TAILQ_REMOVE(&user->waiting[weight], turn, of_waiting);
    if (TAILQ_EMPTY(&user->waiting[weight]))
        TAILQ_REMOVE(&turn->line->waiting[weight], user, of_waiting[weight]);
    turn->is_waiting = false;
}
