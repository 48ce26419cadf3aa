/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include "client/terminal/text.h"

#include <string.h>
#include <sys/ioctl.h>

#define COLUMNS_MIN 32
#define COLUMNS_MAX 80

size_t layout_columns(FILE *out)
{
    struct winsize size = {.ws_col = 0};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return COLUMNS_MAX;
    return MIN(MAX((size_t)size.ws_col, (size_t)COLUMNS_MIN), (size_t)COLUMNS_MAX);
}

static size_t indent_of(const char *line)
{
    return strspn(line, " ");
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* The column where the text of an item begins; 0 where LINE is none. */
static size_t item_text(const char *line)
{
    size_t at = indent_of(line);
    if (at == 0)
        return 0;
    at += strcspn(line + at, " \n");
    size_t blanks = strspn(line + at, " ");
    return blanks >= 2 && line[at + blanks] && line[at + blanks] != '\n' ? at + blanks : 0;
}

/* Whether LINE goes on with what stands at INDENT. */
static bool continues(const char *line, size_t indent)
{
    return *line && *line != '\n' && indent_of(line) == indent && !item_text(line);
}

/* Writes the lines from TEXT on that belong together as one paragraph, and returns what follows. */
static const char *put_paragraph(FILE *out, const char *text, size_t columns)
{
    size_t item = item_text(text), indent = item ? item : indent_of(text);
    const char *end = next_line(text);
    while (continues(end, indent))
        end = next_line(end);
    size_t first = item ? item : indent;
    (void)fprintf(out, "%.*s", (int)first, text);
    _cleanup_free_ char *words = strndup(text + first, (size_t)(end - text) - first);
    if (!words)
        return end;
    for (char *p = words; (p = strchr(p, '\n'));)
        *p = ' ';
    text_put_wrapped(out, words, first, indent, columns - 1);
    return end;
}

void layout_put(FILE *out, const char *text, bool prose, size_t columns)
{
    while (*text) {
        bool blank = *text == '\n';
        if (!blank && (prose || indent_of(text) == 0 || item_text(text))) {
            text = put_paragraph(out, text, columns);
        } else {
            const char *end = next_line(text);
            (void)fwrite(text, 1, (size_t)(end - text), out);
            text = end;
        }
    }
}
