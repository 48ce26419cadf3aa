/* SPDX-License-Identifier: MIT */
#pragma once
/* Shares the loop's time between frames that take long to handle and everything else.
 *
 * What the connections do in one turn of the event loop delays all others. So frames take their
 * time from a budget for the turn, and stand in line for the next turn once it is spent: there
 * whatever else is ready comes first. A single frame may exceed the budget; its own bounds keep
 * that below a tenth of a second (REQUEST_OVERHEAD_MAX). Light frames have a budget and a line of
 * their own, since a ping must not wait behind what takes long: but thousands of them, or of small
 * requests with large answers, take long as well.
 *
 * Invariants: a frame is in a line exactly while is_waiting; the timer runs while one is. */

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Larger frames are heavy. */
#define LIGHT_FRAME_MAX (4u << 10)
/* Of a turn, for each weight. */
#define FRAME_BUDGET_MS 10

enum frame_weight {
    FRAME_LIGHT,
    FRAME_HEAVY,
    FRAME_WEIGHTS,
};

TAILQ_HEAD(frame_turns, frame_turn);

struct frame_line {
    struct event *timer;
    struct frame_turns waiting[FRAME_WEIGHTS]; /* in the order in which they came */
    uint64_t spent_ns[FRAME_WEIGHTS];          /* since the timer went off */
    void (*handle)(struct frame_turn *turn);
};

/* Embedded in a connection: the frame that it would handle next. */
struct frame_turn {
    struct frame_line *line; /* whoever embeds this sets it, before any function here is called */
    bool is_waiting;
    bool is_granted;          /* it need not wait again */
    enum frame_weight weight; /* while it waits */
    TAILQ_ENTRY(frame_turn) of_waiting;
};

/* HANDLE is called for one that has waited: it may handle one frame. 0 or -ENOMEM. */
int frame_line_init(struct frame_line *line, struct event_base *base,
                    void (*handle)(struct frame_turn *turn));

/* Accepts a zeroed LINE. */
void frame_line_deinit(struct frame_line *line);

/* Whether a frame of SIZE bytes, which has arrived, may be handled now. False: it waits. */
bool frame_turn_take(struct frame_turn *turn, size_t size);

/* Counts the time that it has taken, since BEGAN_NS. */
void frame_turn_spend(struct frame_turn *turn, size_t size, uint64_t began_ns);

/* Leaves the line, if it is there. */
void frame_turn_leave(struct frame_turn *turn);
