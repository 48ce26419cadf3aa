/* SPDX-License-Identifier: MIT */
#include "printable.h"
#include "utf8.h"
#include "util.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* C1 controls, line and paragraph separators, and characters that reverse the text around them. */
static bool is_control(unsigned point)
{
    return (point >= 0x80 && point <= 0x9F) || point == 0x61C || point == 0x200E ||
           point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void put_break(char c, enum printable_lines lines, char out[PRINTABLE_CHARACTER_MAX])
{
    if (lines == PRINTABLE_ESCAPED || (lines == PRINTABLE_KEPT && c == '\r'))
        (void)snprintf(out, PRINTABLE_CHARACTER_MAX, "\\%c",
                       c == '\n'   ? 'n'
                       : c == '\t' ? 't'
                                   : 'r');
    else
        (void)snprintf(out, PRINTABLE_CHARACTER_MAX, "%c", lines == PRINTABLE_KEPT ? c : ' ');
}

size_t printable_character(const char *text, size_t n, enum printable_lines lines,
                           char out[PRINTABLE_CHARACTER_MAX])
{
    int length = utf8_sequence(text, n);
    if (length < 0) {
        (void)snprintf(out, PRINTABLE_CHARACTER_MAX, "\xEF\xBF\xBD");
        return (size_t)-length;
    }
    unsigned point = utf8_code_point(text, (size_t)length);
    if (point == '\n' || point == '\t' || point == '\r') {
        put_break(text[0], lines, out);
    } else if (point < ' ' || point == 0x7F) {
        (void)snprintf(out, PRINTABLE_CHARACTER_MAX, "\\x%02x", point);
    } else if (is_control(point)) {
        (void)snprintf(out, PRINTABLE_CHARACTER_MAX, "\\u%04x", point & 0xFFFF);
    } else {
        memcpy(out, text, (size_t)length);
        out[length] = '\0';
    }
    return (size_t)length;
}

size_t printable(const char *text, size_t n, enum printable_lines lines, char *out, size_t size)
{
    size_t length = 0;
    char shown[PRINTABLE_CHARACTER_MAX];
    for (size_t i = 0; i < n;) {
        i += printable_character(text + i, n - i, lines, shown);
        size_t more = strlen(shown);
        if (length + more >= size)
            break;
        memcpy(out + length, shown, more);
        length += more;
    }
    out[length] = '\0';
    return length;
}
