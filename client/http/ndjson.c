/* SPDX-License-Identifier: MIT */
#include "ndjson.h"

#include "proto/util.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Looks at up to BUDGET more bytes of the line, of which REST are there with what follows it.
 * Returns how many it was; *RET_ENDS says whether the line ends there. */
static size_t look(struct ndjson *reader, const char *from, size_t rest, size_t budget,
                   bool *ret_ends)
{
    size_t step = MIN(rest, budget);
    const char *end = memchr(from, '\n', step);
    size_t n = end ? (size_t)(end - from) : step, filled = n;
    while (filled > 0 && is_blank(from[filled - 1]))
        filled--;
    if (filled > 0)
        reader->filled = reader->looked + filled;
    reader->looked += n;
    *ret_ends = end || n == rest;
    return n + (end ? 1 : 0);
}

bool ndjson_next(struct ndjson *reader, const char *body, size_t length, size_t *budget,
                 const char **ret, size_t *ret_n)
{
    while (*budget > 0 && reader->at < length) {
        const char *line = body + reader->at;
        size_t looked = reader->looked;
        bool ends;
        size_t n = look(reader, line + looked, length - reader->at - looked, *budget, &ends);
        *budget -= n;
        if (!ends)
            continue; /* the budget is over */
        size_t filled = reader->filled;
        reader->at += looked + n;
        reader->looked = reader->filled = 0;
        reader->line++;
        if (filled == 0)
            continue;
        *ret = line;
        *ret_n = filled;
        return true;
    }
    return false;
}

bool ndjson_at_end(const struct ndjson *reader, size_t length)
{
    return reader->at >= length;
}

void ndjson_go_back(struct ndjson *reader, size_t at)
{
    *reader = (struct ndjson){.at = at, .line = reader->line - 1};
}
