/* SPDX-License-Identifier: MIT */
#include "markup.h"

#include "proto/printable.h"

#include <string.h>

static const char *reference_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void put(FILE *out, const char *text, size_t n, enum printable_lines lines)
{
    for (size_t i = 0; i < n;) {
        char shown[PRINTABLE_CHARACTER_MAX];
        i += printable_character(text + i, n - i, lines, shown);
        /* U+FFFE and U+FFFF are valid UTF-8, but XML does not allow them. */
        const char *as = strcmp(shown, "\xEF\xBF\xBE") == 0 || strcmp(shown, "\xEF\xBF\xBF") == 0
                             ? "\xEF\xBF\xBD"
                             : shown;
        const char *reference = as[1] ? NULL : reference_of(as[0]);
        (void)fputs(reference ? reference : as, out);
    }
}

void markup_put(FILE *out, const char *text, size_t n)
{
    put(out, text, n, PRINTABLE_ESCAPED);
}

void markup_put_lines(FILE *out, const char *text, size_t n)
{
    put(out, text, n, PRINTABLE_KEPT);
}
