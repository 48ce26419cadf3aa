/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the lines of a body that is NDJSON, a bounded number of bytes at a time: a line may be as
 * long as the body, and a body may have no line that says anything. Pure. */

#include <stdbool.h>
#include <stddef.h>

/* Zero at first. */
struct ndjson {
    size_t at;     /* the first byte of the next line */
    size_t looked; /* bytes of that line that have been looked at ... */
    size_t filled; /* ... of which so many are there without the blanks behind them */
    size_t line;   /* lines that are behind it */
};

/* Looks for the next line of BODY, of LENGTH bytes, that is not blank. Looks at no more than
 * *BUDGET bytes, and takes off how many it was. True with the line, without blanks at its end,
 * which borrows BODY and whose number is reader->line; false at the end of the budget, or of the
 * body (ndjson_at_end() tells which). BODY is the same at each call. */
bool ndjson_next(struct ndjson *reader, const char *body, size_t length, size_t *budget,
                 const char **ret, size_t *ret_n);

/* Whether nothing of a body of LENGTH bytes is left. */
bool ndjson_at_end(const struct ndjson *reader, size_t length);

/* Goes back to the line that ndjson_next() has just found, once: AT is its offset in the body. */
void ndjson_go_back(struct ndjson *reader, size_t at);
