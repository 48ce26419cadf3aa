/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the results of a run, from the first one on, as they come.
 *
 * Theory of operation. At first only the headers are read, of the results that are there: `known`
 * is called for each, and `ready` when there are no more. From then on `come` is called for each
 * new one, with its body. The reader has a consumer without a name and without acknowledgements at
 * the server. If that falls silent, or the connection was lost, the reader makes another one that
 * begins behind the last result that it has seen: it neither misses one nor gives one twice. If the
 * server has lost the end of the stream since, and counts from there again, results may have come
 * that have numbers which were seen: `lost` is called, and they are to be looked for. */

#include "api.h"

struct reader_ops {
    void (*known)(void *arg, natsMsg *message, uint64_t seq);
    void (*ready)(void *arg);
    void (*come)(void *arg, natsMsg *message, uint64_t seq);
    void (*lost)(void *arg);
};

enum reader_state {
    READER_CREATING, /* waits for the server to make the consumer */
    READER_INDEXING, /* reads headers */
    READER_LIVE,
};

struct reader {
    struct bus *bus;
    const char *run; /* borrowed */
    const struct reader_ops *ops;
    void *arg;
    enum reader_state state;
    bool indexed;
    unsigned epoch;
    char inbox[BUS_INBOX_SIZE], consumer[64];
    uint64_t request, last_seq;
    size_t asked;       /* of these messages some are still to come */
    int64_t silence_ms; /* when the consumer counts as lost */
};

/* READER stays where it is. 0 or a negative errno. */
int reader_init(struct reader *reader, struct bus *bus, const char *run,
                const struct reader_ops *ops, void *arg);
void reader_deinit(struct reader *reader);

/* Asks for more, or for another consumer, if that is due. Returns when to call this again. */
int64_t reader_go_on(struct reader *reader, int64_t now);
