/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool at_end(const struct records *records)
{
    return records->at == records->n;
}

static char here(const struct records *records)
{
    return records->text[records->at];
}

static void step(struct records *records)
{
    assert(!at_end(records));
    if (here(records) == '\n')
        records->line++;
    records->at++;
}

static void skip_blanks(struct records *records)
{
    while (!at_end(records) && is_blank(here(records)))
        step(records);
}

void records_init(struct records *records, const char *text, size_t n)
{
    *records = (struct records){.text = text, .n = n, .line = 1};
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        records->at = 3; /* the byte order mark of editors on Windows */
    skip_blanks(records);
    if (!at_end(records) && here(records) == '[') {
        records->is_array = true;
        step(records);
    }
}

static int give_up(struct records *records, struct fault *fault, const char *why)
{
    records->over = true;
    return fault_set(fault, "%" PRIu64 ": %s", records->line, why);
}

static int next_line(struct records *records, struct record *ret)
{
    skip_blanks(records);
    if (at_end(records))
        return 0;
    const char *from = records->text + records->at;
    const char *newline = memchr(from, '\n', records->n - records->at);
    size_t n = newline ? (size_t)(newline - from) : records->n - records->at;
    *ret = (struct record){.text = from, .n = n, .line = records->line};
    records->at += n;
    return 1;
}

/* Skips an element, whatever it is, up to the comma or bracket after it. False if there is none. */
static bool skip_element(struct records *records)
{
    size_t depth = 0;
    bool in_string = false;
    for (; !at_end(records); step(records)) {
        char c = here(records);
        if (in_string && c == '\\' && records->at + 1 < records->n)
            step(records);
        else if (c == '"')
            in_string = !in_string;
        else if (in_string)
            continue;
        else if (depth == 0 && (c == ',' || c == ']'))
            return true;
        else if (c == '[' || c == '{')
            depth++;
        else if ((c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return false;
}

static int end_array(struct records *records, struct fault *fault)
{
    records->over = true;
    step(records);
    skip_blanks(records);
    return at_end(records) ? 0 : give_up(records, fault, "text follows the array");
}

static int next_element(struct records *records, struct record *ret, struct fault *fault)
{
    skip_blanks(records);
    bool ends = !at_end(records) && here(records) == ']';
    if (ends)
        return end_array(records, fault);
    if (records->found > 0 && !at_end(records))
        step(records); /* the comma */
    skip_blanks(records);

    size_t from = records->at;
    uint64_t line = records->line;
    if (!skip_element(records))
        return give_up(records, fault, "the array does not end");
    if (records->at == from)
        return give_up(records, fault, "an element of the array is missing");
    *ret = (struct record){
        .text = records->text + from,
        .n = records->at - from,
        .line = line,
    };
    return 1;
}

int records_next(struct records *records, struct record *ret, struct fault *fault)
{
    if (records->over)
        return 0;
    int r = records->is_array ? next_element(records, ret, fault) : next_line(records, ret);
    if (r > 0)
        records->found++;
    return r;
}
