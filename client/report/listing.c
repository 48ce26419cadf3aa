/* SPDX-License-Identifier: MIT */
#include "listing.h"
#include "evidence.h"
#include "failures.h"

#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

#define NAME_INDENT 2
#define REASON_INDENT 6

/* Writes what a job wrote, each line in at most COLUMNS. */
static void put_output(FILE *out, const char *output, size_t columns)
{
    while (*output) {
        size_t length = strcspn(output, "\n");
        _cleanup_free_ char *line = strndup(output, length);
        (void)fprintf(out, "%*s", REASON_INDENT, "");
        (void)text_put_fit(out, line, columns - REASON_INDENT - 1);
        (void)fputc('\n', out);
        output += length + (output[length] == '\n');
    }
}

static int put_result(FILE *out, const struct report_view *view, uint32_t item)
{
    const struct result *result = &view->results->items[item];
    _cleanup_json_ json_t *name = results_name(view->results, item);
    _cleanup_free_ char *codes = failures_codes(view->results, result), *detail = NULL,
                        *output = NULL;
    if (!name || !codes)
        return -ENOMEM;
    int r = spool_get(view->results->spool, result->said, &detail, &output);
    if (r < 0)
        return r;
    (void)fprintf(out, "%*s", NAME_INDENT, "");
    text_put(out, json_string_value(name), json_string_length(name));
    (void)fputs("  ", out);
    text_put(out, codes, strlen(codes));
    (void)fputc('\n', out);
    if (detail && !evidence_replaces(detail, output))
        text_put_block(out, detail, REASON_INDENT, view->columns - 1);
    if (evidence_adds(detail, output))
        put_output(out, output, view->columns);
    return 0;
}

int listing_put(FILE *out, const struct report_view *view)
{
    const struct results *results = view->results;
    uint64_t n = 0;
    int r = 0;
    for (size_t i = 0; i < results->n; i++)
        n += results->items[i].state != LINE_PASSED;
    (void)fprintf(out, "\n%" PRIu64 " result%s that did not pass\n", n, text_plural(n));
    for (size_t i = 0; r == 0 && i < results->n; i++)
        if (results->items[i].state != LINE_PASSED)
            r = put_result(out, view, (uint32_t)i);
    return r;
}
