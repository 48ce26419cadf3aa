/* SPDX-License-Identifier: MIT */
#include "passes.h"

#include <stdlib.h>

void passes_init(struct passes *passes)
{
    TAILQ_INIT(passes);
}

static void drop(struct passes *passes, struct pass *pass)
{
    TAILQ_REMOVE(passes, pass, link);
    free(pass);
}

void passes_deinit(struct passes *passes)
{
    while (!TAILQ_EMPTY(passes))
        drop(passes, TAILQ_FIRST(passes));
}

static void drop_old(struct passes *passes, int64_t now)
{
    struct pass *last;
    while ((last = TAILQ_LAST(passes, passes)) != NULL && now - last->since_ms > PASSES_KEEP_MS)
        drop(passes, last);
}

static struct pass *find(const struct passes *passes, uint64_t seq)
{
    struct pass *pass;
    TAILQ_FOREACH(pass, passes, link)
    if (pass->seq == seq)
        return pass;
    return NULL;
}

bool passes_by(struct passes *passes, uint64_t seq, size_t n, int64_t now)
{
    drop_old(passes, now);
    struct pass *pass = find(passes, seq);
    if (pass && pass->n == n)
        return now - pass->since_ms < PASSES_MS;
    if (pass)
        drop(passes, pass);
    pass = malloc(sizeof(*pass));
    if (!pass)
        return false;
    *pass = (struct pass){.seq = seq, .n = n, .since_ms = now};
    TAILQ_INSERT_HEAD(passes, pass, link);
    return true;
}
