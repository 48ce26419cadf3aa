/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include "proto/util.h"

#include <assert.h>
#include <string.h>
#include <sys/ioctl.h>

#define COLUMNS_MIN 32
#define COLUMNS_MAX 80

/* On fewer columns than this, options are explained below their names, from this column on. */
#define NARROW_COLUMNS 60
#define NARROW_COLUMN 8

size_t layout_columns(FILE *out)
{
    struct winsize size = {.ws_col = 0};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return COLUMNS_MAX;
    return MIN(MAX((size_t)size.ws_col, (size_t)COLUMNS_MIN), (size_t)COLUMNS_MAX);
}

/* --- words --------------------------------------------------------------------------------- */

static size_t count_bytes(const char *word, size_t n)
{
    (void)word;
    return n;
}

static void put_bytes(FILE *out, const char *word, size_t n)
{
    (void)fwrite(word, 1, n, out);
}

void layout_words_with(FILE *out, const char *text, size_t first, size_t indent, size_t columns,
                       const struct layout_writer *writer)
{
    size_t at = first;
    bool line_begins = true;
    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " "), width = writer->columns(text, n);
        if (!line_begins && at + 1 + width > columns) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
            line_begins = true;
        }
        if (!line_begins)
            (void)fputc(' ', out);
        writer->put(out, text, n);
        at += width + (line_begins ? 0 : 1);
        line_begins = false;
        text += n;
    }
    (void)fputc('\n', out);
}

void layout_words(FILE *out, const char *text, size_t first, size_t indent, size_t columns)
{
    static const struct layout_writer plain = {.columns = count_bytes, .put = put_bytes};
    layout_words_with(out, text, first, indent, columns, &plain);
}

/* --- paragraphs ---------------------------------------------------------------------------- */

static size_t indent_of(const char *line)
{
    return strspn(line, " ");
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* Returns the column where the text of an item begins; 0 if LINE is no item. */
static size_t item_text(const char *line)
{
    size_t at = indent_of(line);
    if (at == 0)
        return 0;
    at += strcspn(line + at, " \n");
    size_t blanks = strspn(line + at, " ");
    return blanks >= 2 && line[at + blanks] && line[at + blanks] != '\n' ? at + blanks : 0;
}

/* Returns whether LINE continues a paragraph that is indented by INDENT. */
static bool continues(const char *line, size_t indent)
{
    return *line && *line != '\n' && indent_of(line) == indent && !item_text(line);
}

/* Writes the lines at the head of TEXT that form one paragraph, and returns the rest of TEXT. */
static const char *put_paragraph(FILE *out, const char *text, size_t columns)
{
    size_t item = item_text(text), indent = item ? item : indent_of(text);
    const char *end = next_line(text);
    while (continues(end, indent))
        end = next_line(end);
    assert(end > text && (size_t)(end - text) >= indent);
    (void)fprintf(out, "%.*s", (int)indent, text);
    _cleanup_free_ char *words = strndup(text + indent, (size_t)(end - text) - indent);
    if (!words)
        return end;
    for (char *p = words; (p = strchr(p, '\n'));)
        *p = ' ';
    layout_words(out, words, indent, indent, columns - 1);
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

/* --- options ------------------------------------------------------------------------------- */

/* Writes "  -s, --socket PATH" or "      --watch[=SECONDS]" and returns its columns. */
static size_t put_name(FILE *out, const struct option_spec *spec, char separator)
{
    const char letter[] = {'-', spec->letter, ',', ' ', '\0'}, between[] = {separator, '\0'};
    int n = fprintf(out, "  %s--%s", spec->letter ? letter : "    ", spec->name);
    if (spec->argument)
        n += fprintf(out, "%s%s%s", spec->absent ? "[=" : between, spec->argument,
                     spec->absent ? "]" : "");
    return (size_t)MAX(n, 0);
}

void layout_put_options(FILE *out, const struct option_spec *specs, size_t n,
                        const struct layout_style *style, size_t columns)
{
    size_t column = columns < NARROW_COLUMNS ? NARROW_COLUMN : style->column;
    for (size_t i = 0; i < n; i++) {
        size_t used = put_name(out, &specs[i], style->separator);
        if (used >= column - 1) {
            (void)fputc('\n', out);
            used = 0;
        }
        (void)fprintf(out, "%*s", (int)(column - used), "");
        layout_words(out, specs[i].help, column, column, columns - 1);
    }
}
