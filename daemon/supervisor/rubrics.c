/* SPDX-License-Identifier: MIT */
#include "rubrics.h"
#include "state.h"

#include "daemon/base/events.h"
#include "rubricdir/digests.h"

/* Some milliseconds of reading. */
#define PORTION ((uint64_t)512 << 10)

int rubrics_init(struct supervisor *supervisor)
{
    return digests_new(&supervisor->digests);
}

/* Sets the event to come after WAIT_MS: with 0 in the next turn, after what others have to do. */
static void wait_for(struct supervisor *supervisor, int64_t wait_ms)
{
    const struct timeval tv = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    (void)event_add(supervisor->read_rubrics, &tv);
    supervisor->read_rubrics_at_once = wait_ms == 0;
}

static void on_due(evutil_socket_t fd, short what, void *userdata)
{
    struct supervisor *supervisor = userdata;
    bool is_ready;
    (void)fd;
    (void)what;
    supervisor->read_rubrics_at_once = false;
    int64_t wait_ms = digests_work(supervisor->digests, PORTION, &is_ready);
    if (is_ready)
        event_active(supervisor->turn, 0, 0); /* requests may wait for it */
    if (wait_ms >= 0)
        wait_for(supervisor, wait_ms);
}

void rubrics_go_on(struct supervisor *supervisor)
{
    if (!supervisor->digests || supervisor->read_rubrics_at_once)
        return;
    int64_t wait_ms = digests_wait_ms(supervisor->digests);
    if (wait_ms < 0)
        return;
    if (!supervisor->read_rubrics)
        supervisor->read_rubrics = event_new(supervisor->base, -1, 0, on_due, supervisor);
    if (supervisor->read_rubrics)
        wait_for(supervisor, wait_ms);
}

void rubrics_deinit(struct supervisor *supervisor)
{
    supervisor->read_rubrics = consume_event(supervisor->read_rubrics);
    supervisor->digests = digests_free(supervisor->digests);
}
