/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
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

/* Writes the escaped form of the character at TEXT into OUT and returns how many bytes of TEXT it
 * was; an ordinary character is copied. Malformed UTF-8 goes through byte by byte. */
static size_t escape_character(const char *text, size_t n, char out[8])
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] == '\n' || s[0] == '\t' || s[0] == '\r') {
        (void)snprintf(out, 8, "\\%c", s[0] == '\n' ? 'n' : s[0] == '\t' ? 't' : 'r');
        return 1;
    }
    if (s[0] < 0x20 || s[0] == 0x7F) {
        (void)snprintf(out, 8, "\\x%02x", s[0]);
        return 1;
    }
    if (s[0] == 0xC2 && n > 1 && s[1] >= 0x80 && s[1] <= 0x9F) {
        (void)snprintf(out, 8, "\\u%04x", s[1]);
        return 2;
    }
    size_t length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC0 ? 2 : 1;
    length = MIN(length, n);
    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

void text_put(FILE *out, const char *text, size_t n)
{
    char shown[8];
    for (size_t i = 0; i < n;) {
        i += escape_character(text + i, n - i, shown);
        (void)fputs(shown, out);
    }
}

/* Characters that SHOWN, one character or its escaped form, takes on a line. */
static size_t shown_columns(const char *shown)
{
    return (unsigned char)shown[0] >= 0x80 ? 1 : strlen(shown);
}

static size_t columns_of(const char *text, size_t n)
{
    size_t columns = 0;
    char shown[8];
    for (size_t i = 0; i < n;) {
        i += escape_character(text + i, n - i, shown);
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
    bool cut = columns_of(text, n) > columns;
    size_t room = cut ? columns - MIN(columns, sizeof(more) - 1) : columns;
    char shown[8];
    for (size_t i = 0; i < n;) {
        i += escape_character(text + i, n - i, shown);
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
    size_t at = first;
    bool line_begins = true;
    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " "), width = columns_of(text, n);
        if (!line_begins && at + 1 + width > columns) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
            line_begins = true;
        }
        if (!line_begins)
            (void)fputc(' ', out);
        text_put(out, text, n);
        at += width + (line_begins ? 0 : 1);
        line_begins = false;
        text += n;
    }
    (void)fputc('\n', out);
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
    (void)fputs("rubricctl: ", out);
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
