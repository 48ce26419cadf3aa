/* SPDX-License-Identifier: MIT */
#include "pulls.h"

#include "api.h"

#include <string.h>

/* How long to wait at an empty feed: the jobs of a run that begins meanwhile wait for so long. With
 * more feeds than free slots, the slots go round. */
#define WAIT_MS 1000
#define WAIT_SHORT_MS 250
/* A job that is left to other hosts comes again within that time. */
#define YIELD_MS 3000
/* The answer of the server takes no longer than that. */
#define GRACE_MS 2000

void pulls_init(struct pulls *pulls, struct bus *bus, struct lane *lane)
{
    pulls->bus = bus;
    pulls->lane = lane;
    LIST_INIT(&pulls->open);
    bus_new_inbox(bus, pulls->inbox);
}

static void drop(struct pulls *pulls, struct pull *pull)
{
    LIST_REMOVE(pull, link);
    pulls->lane->reserved -= pull->left;
    free(pull);
}

void pulls_clear(struct pulls *pulls)
{
    while (!LIST_EMPTY(&pulls->open))
        drop(pulls, LIST_FIRST(&pulls->open));
}

static struct pull *find(const struct pulls *pulls, const char *feed)
{
    struct pull *pull;
    LIST_FOREACH(pull, &pulls->open, link)
    if (strcmp(pull->feed, feed) == 0)
        return pull;
    return NULL;
}

/* Whether the daemon may run the jobs of FEED, and nothing is asked of it yet. */
static bool suits(void *arg, const struct feed *feed)
{
    const struct pulls *pulls = arg;
    return feeds_allow(feed->digest, lane_digest(pulls->lane)) && !find(pulls, feed->name);
}

/* Asks for N jobs of FEED. Waits for WAIT_MS if it has none; 0: not at all. */
static bool ask(struct pulls *pulls, const struct feed *feed, size_t n, int64_t wait_ms,
                int64_t now)
{
    char subject[API_SUBJECT_SIZE], reply[BUS_INBOX_SIZE + NAMES_RUN_MAX + 16], text[96];
    struct pull *pull = calloc(1, sizeof(*pull));
    if (!pull)
        return false;
    api_subject("CONSUMER.MSG.NEXT", bus_fleet(pulls->bus), STREAM_JOBS, feed->name, subject,
                sizeof(subject));
    (void)snprintf(reply, sizeof(reply), "%s.%s", pulls->inbox, feed->name);
    int length = wait_ms > 0 ? snprintf(text, sizeof(text), "{\"batch\":%zu,\"expires\":%lld}", n,
                                        (long long)wait_ms * 1000000)
                             : snprintf(text, sizeof(text), "{\"batch\":%zu,\"no_wait\":true}", n);
    if (!bus_publish(pulls->bus, subject, reply, text, (size_t)length)) {
        free(pull);
        return false;
    }
    (void)snprintf(pull->feed, sizeof(pull->feed), "%s", feed->name);
    pull->left = pull->asked = n;
    pull->waits = wait_ms > 0;
    pull->until_ms = now + wait_ms + GRACE_MS;
    pulls->lane->reserved += n;
    LIST_INSERT_HEAD(&pulls->open, pull, link);
    return true;
}

/* Forgets the requests at feeds that are gone: nobody answers them. */
static void forget_gone(struct pulls *pulls, struct feeds *feeds)
{
    struct pull *pull, *next;
    for (pull = LIST_FIRST(&pulls->open); pull; pull = next) {
        next = LIST_NEXT(pull, link);
        if (!feeds_find(feeds, pull->feed))
            drop(pulls, pull);
    }
}

/* Lets slots go that wait at an empty feed while another one has jobs. If a job comes for one of
 * them all the same, it is handed back before it has begun. */
static void stop_waiting(struct pulls *pulls, struct feeds *feeds)
{
    struct pull *pull, *next;
    if (lane_free(pulls->lane) > 0 || feeds_count_runs(feeds, suits, pulls) == 0)
        return;
    for (pull = LIST_FIRST(&pulls->open); pull; pull = next) {
        next = LIST_NEXT(pull, link);
        if (pull->waits)
            drop(pulls, pull);
    }
}

void pulls_fill(struct pulls *pulls, struct feeds *feeds, int64_t now)
{
    struct feed *feed;
    size_t n;
    forget_gone(pulls, feeds);
    stop_waiting(pulls, feeds);
    while ((n = lane_free(pulls->lane)) > 0) {
        size_t runs = feeds_count_runs(feeds, suits, pulls);
        if (runs == 0)
            break;
        feed = feeds_next(feeds, suits, pulls);
        if (!ask(pulls, feed, (n + runs - 1) / runs, 0, now))
            return;
    }
    bool is_short = feeds->n > n;
    while ((n = lane_free(pulls->lane)) > 0 &&
           (feed = feeds_next_idle(feeds, suits, pulls)) != NULL)
        if (!ask(pulls, feed, MAX(n / MAX(feeds->n, (size_t)1), (size_t)1),
                 is_short || now < feed->yields_until_ms ? WAIT_SHORT_MS : WAIT_MS, now))
            return;
}

void pulls_yield(struct feeds *feeds, const struct names_job *job, int64_t now)
{
    char name[NAMES_SUBJECT_SIZE];
    names_consumer(job->run, job->priority, name);
    struct feed *feed = feeds_find(feeds, name);
    if (feed)
        feed->yields_until_ms = now + YIELD_MS;
}

bool pulls_take_job(struct pulls *pulls, const char *feed)
{
    struct pull *pull = find(pulls, feed);
    if (!pull)
        return false;
    pull->left--;
    pulls->lane->reserved--;
    if (pull->left == 0)
        drop(pulls, pull);
    return true;
}

void pulls_end(struct pulls *pulls, struct feed *feed, const char *name, int status)
{
    struct pull *pull = find(pulls, name);
    if (!pull)
        return;
    /* A request that does not wait ends when the feed has nothing more; 409: it is gone, or full of
     * requests. */
    if (feed && (!pull->waits || status == 409))
        feeds_miss(feed, !pull->waits && pull->left == pull->asked);
    drop(pulls, pull);
}

int64_t pulls_expire(struct pulls *pulls, int64_t now)
{
    int64_t due = INT64_MAX;
    struct pull *pull, *next;
    for (pull = LIST_FIRST(&pulls->open); pull; pull = next) {
        next = LIST_NEXT(pull, link);
        if (now >= pull->until_ms)
            drop(pulls, pull);
        else
            due = MIN(due, pull->until_ms);
    }
    return due;
}
