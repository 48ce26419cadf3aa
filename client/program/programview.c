/* SPDX-License-Identifier: MIT */
#include "programview.h"
#include "language.h"

#include "client/terminal/member.h"
#include "client/terminal/table.h"
#include "client/terminal/text.h"
#include "proto/printable.h"

#include <ctype.h>
#include <string.h>

#define GREEN "32"
#define RED "31"
#define FAINT "2"

/* Lines of a program's standard error beneath its test. */
#define STDERR_LINES 5
#define INDENT "    "
#define LABEL 10
/* Shorter waits for a CPU explain nothing. */
#define WAIT_SHOWN_MS 100
/* Bytes of a line of somebody else's that are looked at: no terminal is wider. */
#define LINE_SHOWN_MAX 2048

/* --- what others wrote --------------------------------------------------------------------- */

/* Writes TEXT as it was laid out; the terminal obeys none of it. */
static void put_as_written(FILE *out, const char *text, size_t n)
{
    char shown[PRINTABLE_CHARACTER_MAX];
    for (size_t i = 0; i < n;) {
        i += printable_character(text + i, n - i, PRINTABLE_KEPT, shown);
        (void)fputs(shown, out);
    }
    if (n > 0 && text[n - 1] != '\n')
        (void)fputc('\n', out);
}

/* Writes TEXT as one line in at most COLUMNS. It may hold NUL. */
static void put_line(FILE *out, const char *text, size_t n, size_t columns)
{
    char shown[LINE_SHOWN_MAX];
    (void)printable(text, n, PRINTABLE_ESCAPED, shown, sizeof(shown));
    (void)text_put_fit(out, shown, columns);
    (void)fputc('\n', out);
}

/* Writes the last lines of TEXT, each cut to the width. */
static void put_last_lines(FILE *out, const char *text, size_t n, const struct programview *view)
{
    while (n > 0 && text[n - 1] == '\n')
        n--;
    size_t from = n, lines = 0;
    while (from > 0 && (lines += text[from - 1] == '\n') < STDERR_LINES)
        from--;
    if (from > 0)
        (void)fputs(INDENT "...\n", out);
    while (from < n) {
        const char *end = memchr(text + from, '\n', n - from);
        size_t length = end ? (size_t)(end - text) - from : n - from;
        (void)fputs(INDENT, out);
        put_line(out, text + from, length, view->columns - strlen(INDENT));
        from += length + 1;
    }
}

/* --- one test ------------------------------------------------------------------------------ */

/* "wrong_answer" -> "wrong answer" */
static void show_verdict(const char *verdict, char *out, size_t size)
{
    (void)snprintf(out, size, "%s", verdict);
    for (char *c = out; (c = strchr(c, '_'));)
        *c = ' ';
}

/* Whole milliseconds are all that is known. */
static const char *show_time(int64_t ms, char out[TEXT_QUANTITY_MAX])
{
    if (ms >= 1000)
        return text_brief_duration((double)ms, out);
    (void)snprintf(out, TEXT_QUANTITY_MAX, "%dms", (int)ms);
    return out;
}

static void put_side(FILE *out, const char *label, const json_t *text,
                     const struct programview *view)
{
    (void)fprintf(out, INDENT "%-*s", LABEL, label);
    if (json_string_length(text) == 0)
        (void)fputs("(nothing)\n", out);
    else
        put_line(out, json_string_value(text), json_string_length(text),
                 view->columns - strlen(INDENT) - LABEL);
}

/* Returns how many columns of TEXT, as it is shown, its first N bytes take. */
static size_t columns_of(const char *text, size_t n)
{
    char shown[LINE_SHOWN_MAX];
    (void)printable(text, n, PRINTABLE_ESCAPED, shown, sizeof(shown));
    return text_columns(shown, strlen(shown));
}

/* Points at the first character that differs, if both sides begin alike and it is in sight. */
static void put_marker(FILE *out, const json_t *difference, const struct programview *view)
{
    const json_t *got = json_object_get(difference, "got"),
                 *expected = json_object_get(difference, "expected");
    const char *a = json_string_value(got), *b = json_string_value(expected);
    size_t most = MIN(json_string_length(got), json_string_length(expected)), same = 0;
    while (same < most && a[same] == b[same])
        same++;
    /* Continuation bytes belong to the character before them. */
    while (same > 0 && same < json_string_length(got) && ((unsigned char)a[same] & 0xc0) == 0x80)
        same--;
    size_t columns = same > 0 ? columns_of(a, same) : 0;
    if (same == 0 || strlen(INDENT) + LABEL + columns >= view->columns)
        return;
    (void)fprintf(out, "%*s^\n", (int)(strlen(INDENT) + LABEL + columns), "");
}

static void put_difference(FILE *out, const json_t *difference, const struct programview *view)
{
    char line[32] = "", text[512];
    const char *why = json_string_value(json_object_get(difference, "why"));
    if (!difference)
        return;
    if (json_object_get(difference, "line"))
        (void)snprintf(line, sizeof(line), "line %lld",
                       (long long)member_integer(difference, "line"));
    (void)snprintf(text, sizeof(text), "%s%s%.400s", line, *line && why ? ": " : "",
                   why ? why : "");
    (void)fputs(INDENT, out);
    text_put_wrapped(out, text, strlen(INDENT), strlen(INDENT), view->columns);
    if (json_string_length(json_object_get(difference, "got")) == 0 &&
        json_string_length(json_object_get(difference, "expected")) == 0)
        return; /* a newline at the end, which WHY has told, or no text at all */
    if (json_object_get(difference, "got"))
        put_side(out, "got", json_object_get(difference, "got"), view);
    if (json_object_get(difference, "expected"))
        put_side(out, "expected", json_object_get(difference, "expected"), view);
    put_marker(out, difference, view);
}

/* Says why a test took longer than its limit: it had no CPU for a while, and got that time back. */
static void put_wait(FILE *out, const json_t *usage)
{
    char time[TEXT_QUANTITY_MAX];
    int64_t wait = member_integer(usage, "cpu_wait_ms");
    if (wait >= WAIT_SHOWN_MS)
        (void)fprintf(out, INDENT "it waited %s for a CPU, which does not count\n",
                      show_time(wait, time));
}

/* Says how a test's process ended if that is why it did not pass. */
static void put_end(FILE *out, const json_t *test, const struct programview *view)
{
    const json_t *err = json_object_get(test, "stderr"),
                 *limit = json_object_get(test, "limit_exceeded");
    int64_t signal = member_integer(test, "signal"), code = member_integer(test, "exit_code");
    if (json_is_string(limit)) {
        (void)fputs(INDENT "limit exceeded: ", out);
        put_line(out, json_string_value(limit), json_string_length(limit), view->columns - 20);
        put_wait(out, json_object_get(test, "usage"));
    } else if (signal > 0) {
        const char *name = sigabbrev_np((int)signal);
        (void)fprintf(out, INDENT "signal %d", (int)signal);
        (void)fprintf(out, name ? " (SIG%s)\n" : "\n", name);
    } else if (code > 0) {
        (void)fprintf(out, INDENT "exit status %d\n", (int)code);
    }
    if (json_string_length(err) > 0)
        put_last_lines(out, json_string_value(err), json_string_length(err), view);
}

/* Writes what the checker or the interactor, as NAME says, has said of a test. */
static void put_note(FILE *out, const json_t *test, const char *name,
                     const struct programview *view)
{
    const json_t *note = json_object_get(test, name);
    if (json_string_length(note) == 0)
        return;
    (void)fprintf(out, INDENT "%s:\n", name);
    put_last_lines(out, json_string_value(note), json_string_length(note), view);
}

static bool put_test(const struct table *table, const json_t *test, const char *name,
                     const struct programview *view)
{
    char time[TEXT_QUANTITY_MAX], memory[TEXT_QUANTITY_MAX], verdict[64];
    const json_t *usage = json_object_get(test, "usage");
    bool passed = strcmp(member_text(test, "verdict"), "pass") == 0;
    show_verdict(member_text(test, "verdict"), verdict, sizeof(verdict));
    const char *const cells[] = {
        name,
        usage ? show_time(member_integer(usage, "wall_clock_ms"), time) : "",
        usage ? text_size(member_integer(usage, "max_rss_bytes"), memory) : "",
        verdict,
    };
    table_put_row(table, cells, !view->colour ? NULL : passed ? GREEN : RED);
    if (!passed) {
        put_difference(table->out, json_object_get(test, "difference"), view);
        put_end(table->out, test, view);
        put_note(table->out, test, "checker", view);
        put_note(table->out, test, "interactor", view);
    }
    return passed;
}

/* --- all of it ----------------------------------------------------------------------------- */

static size_t widest(const json_t *names)
{
    size_t most = strlen("test");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *name = json_array_get(names, i);
        most = MAX(most, text_columns(json_string_value(name), json_string_length(name)));
    }
    return most;
}

static size_t put_tests(FILE *out, const json_t *tests, const json_t *names,
                        const struct programview *view)
{
    const struct table_column columns[] = {
        {.heading = "test", .width = 4, .most = widest(names)},
        {.heading = "time", .width = 6, .right = true},
        {.heading = "memory", .width = 10, .right = true},
        {.heading = "verdict", .width = 14},
    };
    struct table table;
    size_t passed = 0;
    table_init(&table, out, columns, ARRAY_SIZE(columns), view->columns);
    table_put_headings(&table);
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *test = json_array_get(tests, i);
        const char *name = json_string_value(json_array_get(names, i));
        passed += put_test(&table, test, name ? name : member_text(test, "name"), view);
    }
    return passed;
}

/* Whether C may be a part of a file's name. */
static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("_-./", c));
}

/* Returns where the file NAME is next spoken of in TEXT, as a whole name; NULL: nowhere. */
static const char *find_name(const char *text, const char *from, const char *name)
{
    const char *at = from;
    while ((at = strstr(at, name)) != NULL) {
        const char *end = at + strlen(name);
        bool begins = at == text || !is_of_name(at[-1]) || at[-1] == '/';
        if (begins && !is_of_name(*end))
            return at;
        at = end;
    }
    return NULL;
}

/* Returns TEXT with PATH, the user's name for the source, in place of that which it has at the
 * daemon's, and of the directory before it. The caller frees it; NULL if memory runs out. */
static char *with_users_name(const char *text, const char *path)
{
    const char *name = path ? language_source_of_file(path) : NULL;
    char *made = NULL;
    size_t length = 0;
    FILE *out = name ? open_memstream(&made, &length) : NULL;
    if (!out)
        return strdup(text);
    const char *from = text;
    for (const char *at; (at = find_name(text, from, name)) != NULL; from = at + strlen(name)) {
        const char *begin = at;
        while (begin > from && is_of_name(begin[-1]))
            begin--;
        (void)fwrite(from, 1, (size_t)(begin - from), out);
        (void)fputs(path, out);
    }
    (void)fputs(from, out);
    return fclose(out) == 0 ? made : NULL;
}

void programview_put_words(FILE *out, const char *words, const char *path)
{
    _cleanup_free_ char *text = with_users_name(words, path);
    if (text)
        put_as_written(out, text, strlen(text));
}

static void put_compile(FILE *out, const json_t *compile, const struct programview *view)
{
    const char *output = json_string_value(json_object_get(compile, "output"));
    if (output)
        programview_put_words(out, output, view->source);
}

void programview_put(FILE *out, const json_t *result, const json_t *names,
                     const struct programview *view)
{
    const json_t *tests = json_object_get(result, "tests");
    size_t passed = 0, run = json_array_size(tests), all = MAX(json_array_size(names), run);
    char verdict[64];
    put_compile(out, json_object_get(result, "compile"), view);
    if (run > 0) {
        passed = put_tests(out, tests, names, view);
    } else {
        show_verdict(member_text(result, "verdict"), verdict, sizeof(verdict));
        text_put_coloured(out, view->colour ? RED : NULL, verdict);
        (void)fputc('\n', out);
    }
    if (run > 0 && run < all) {
        char left[96];
        (void)snprintf(left, sizeof(left),
                       "%zu test%s behind the first failure not run; --all runs all", all - run,
                       text_plural(all - run));
        text_put_coloured(out, view->colour ? FAINT : NULL, left);
        (void)fputc('\n', out);
    }
    (void)fprintf(out, "%zu of %zu passed\n", passed, all);
}
