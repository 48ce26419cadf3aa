/* SPDX-License-Identifier: MIT */
#include "text.h"

#include "conf/layout.h"
#include "proto/printable.h"
#include "proto/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

const char *text_duration(int64_t ms, char out[TEXT_QUANTITY_MAX])
{
    int64_t s = ms / 1000;
    if (ms < 1000)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%" PRId64 " ms", ms);
    else if (s < 60)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%" PRId64 ".%d s", s, (int)(ms % 1000 / 100));
    else if (s < 3600)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%" PRId64 " min %02d s", s / 60, (int)(s % 60));
    else if (s < 86400)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%" PRId64 " h %02d min", s / 3600,
                       (int)(s % 3600 / 60));
    else
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%" PRId64 " d %d h", s / 86400,
                       (int)(s % 86400 / 3600));
    return out;
}

const char *text_brief_duration(double ms, char out[TEXT_QUANTITY_MAX])
{
    int64_t s = ms < 1e15 ? (int64_t)(ms / 1000) : INT64_C(1000000000000);
    if (ms < 0.995)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%.2fms", MAX(ms, 0.0));
    else if (ms < 9.95)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%.1fms", ms);
    else if (ms < 999.5)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%.0fms", ms);
    else if (s < 60)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%.1fs", MIN(ms / 1000, 59.9));
    else if (s < 3600)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%dh%02dm", (int)(s / 3600), (int)(s % 3600 / 60));
    else if (s < INT64_C(100) * 86400)
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%dd%02dh", (int)(s / 86400),
                       (int)(s % 86400 / 3600));
    else
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%dd", (int)MIN(s / 86400, INT64_C(99999)));
    return out;
}

const char *text_brief_count(double count, char out[TEXT_QUANTITY_MAX])
{
    static const char units[] = {'k', 'M', 'G', 'T', 'P'};
    if (count < 999999.5) {
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%.0f", count);
        return out;
    }
    size_t unit = 0;
    for (count /= 1000; count >= 999.95 && unit + 1 < sizeof(units); unit++)
        count /= 1000;
    (void)snprintf(out, TEXT_QUANTITY_MAX, "%.*f%c", count < 99.95 ? 1 : 0, MIN(count, 99999.0),
                   units[unit]);
    return out;
}

const char *text_size(int64_t bytes, char out[TEXT_QUANTITY_MAX])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        (void)snprintf(out, TEXT_QUANTITY_MAX, "%" PRId64 " B", bytes);
        return out;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(out, TEXT_QUANTITY_MAX, "%.1f %s", value, units[unit]);
    return out;
}

void text_put(FILE *out, const char *text, size_t n)
{
    char shown[PRINTABLE_CHARACTER_MAX];
    for (size_t i = 0; i < n;) {
        i += printable_character(text + i, n - i, PRINTABLE_ESCAPED, shown);
        (void)fputs(shown, out);
    }
}

/* Characters that terminals show two columns wide (UAX #11), or on top of the previous one.
 * wcwidth() knows only those of the locale, and rubricctl sets none. */
static const struct {
    unsigned first, last;
    size_t columns;
} odd_widths[] = {
    {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x200B, 0x200D, 0},   {0x20D0, 0x20FF, 0},
    {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},
    {0xFE00, 0xFE0F, 0},   {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},
    {0xFFE0, 0xFFE6, 2},   {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2},
    {0x20000, 0x3FFFD, 2},
};

/* Returns the columns that SHOWN, one character or its escaped form, takes. */
static size_t shown_columns(const char *shown)
{
    if ((unsigned char)shown[0] < 0x80)
        return strlen(shown);
    unsigned point = utf8_code_point(shown, strlen(shown));
    for (size_t i = 0; i < ARRAY_SIZE(odd_widths); i++)
        if (point >= odd_widths[i].first && point <= odd_widths[i].last)
            return odd_widths[i].columns;
    return 1;
}

size_t text_columns(const char *text, size_t n)
{
    size_t columns = 0;
    char shown[PRINTABLE_CHARACTER_MAX];
    for (size_t i = 0; i < n;) {
        i += printable_character(text + i, n - i, PRINTABLE_ESCAPED, shown);
        columns += shown_columns(shown);
    }
    return columns;
}

size_t text_put_fit(FILE *out, const char *text, size_t columns)
{
    static const char more[] = "...";
    if (!text)
        text = "?";
    size_t n = strlen(text), used = 0;
    bool cut = text_columns(text, n) > columns;
    size_t room = cut ? columns - MIN(columns, sizeof(more) - 1) : columns;
    char shown[PRINTABLE_CHARACTER_MAX];
    for (size_t i = 0; i < n;) {
        i += printable_character(text + i, n - i, PRINTABLE_ESCAPED, shown);
        if (used + shown_columns(shown) > room)
            break;
        used += shown_columns(shown);
        (void)fputs(shown, out);
    }
    if (cut && columns >= sizeof(more) - 1) {
        (void)fputs(more, out);
        used += sizeof(more) - 1;
    }
    return used;
}

void text_put_cell(FILE *out, const char *text, size_t columns)
{
    size_t used = text_put_fit(out, text, columns);
    (void)fprintf(out, "%*s", (int)(columns - used), "");
}

void text_put_wrapped(FILE *out, const char *text, size_t first, size_t indent, size_t columns)
{
    static const struct layout_writer foreign = {.columns = text_columns, .put = text_put};
    layout_words_with(out, text, first, indent, columns, &foreign);
}

/* Returns how many bytes of TEXT go on a line of COLUMNS, at least a character. */
static size_t line_length(const char *text, size_t n, size_t columns)
{
    size_t fits = 0, space = 0;
    while (fits < n) {
        size_t next = fits + 1;
        while (next < n && ((unsigned char)text[next] & 0xc0) == 0x80)
            next++;
        if (fits > 0 && text_columns(text, next) > columns)
            return space > 0 ? space : fits;
        if (text[fits] == ' ')
            space = fits;
        fits = next;
    }
    return fits;
}

void text_put_block(FILE *out, const char *text, size_t indent, size_t columns)
{
    size_t left = strlen(text);
    do {
        size_t n = line_length(text, left, columns > indent ? columns - indent : 1);
        (void)fprintf(out, "%*s", (int)indent, "");
        text_put(out, text, n);
        (void)fputc('\n', out);
        n += text[n] == ' ';
        text += n;
        left -= n;
    } while (left > 0);
}

void text_vput_wrapped(FILE *out, size_t indent, size_t columns, const char *format, va_list args)
{
    char text[2048];
    (void)vsnprintf(text, sizeof(text), format, args);
    text_put_wrapped(out, text, indent, indent, columns);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char *text_tail(const char *text, size_t n, size_t lines, size_t bytes, size_t *ret_n)
{
    while (n > 0 && is_blank(text[n - 1]))
        n--;
    size_t at = n;
    for (; at > 0 && n - at < bytes; at--)
        if (text[at - 1] == '\n' && --lines == 0)
            break;
    if (at > 0 && text[at - 1] != '\n') {
        const char *next = memchr(text + at, '\n', n - at);
        at = next ? (size_t)(next - text) + 1 : at;
        while (!next && at < n && ((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
    }
    *ret_n = n - at;
    return text + at;
}

void text_put_coloured(FILE *out, const char *colour, const char *text)
{
    if (colour)
        (void)fprintf(out, "\033[%sm", colour);
    text_put(out, text, strlen(text));
    if (colour)
        (void)fputs("\033[0m", out);
}

static const char *complaining = "rubricctl";

void complain_as(const char *program)
{
    complaining = program;
}

void complain(const char *format, ...)
{
    _cleanup_free_ char *message = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&message, format, args);
    va_end(args);
    if (n < 0) {
        message = NULL; /* undefined after a failure */
        return;
    }
    _cleanup_free_ char *line = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);
    if (!out)
        return;
    (void)fprintf(out, "%s: ", complaining);
    text_put(out, message, (size_t)n);
    (void)fputc('\n', out);
    if (fclose(out) == 0)
        (void)fwrite(line, 1, length, stderr);
}

const char *text_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

int64_t monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
