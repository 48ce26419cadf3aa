/* SPDX-License-Identifier: MIT */
#include "program.h"

#include "proto/utf8.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Most bytes that are told, and most lines that are joined to one that only announces them. */
#define WORDS_SHOWN_BYTES 300
#define WORDS_JOINED_MAX 5

/* Part of a text, without the line feed. */
struct span {
    const char *data;
    size_t length;
};

/* Takes the next line of REST, without blanks at its end. */
static bool next_line(struct span *rest, struct span *ret)
{
    if (rest->length == 0)
        return false;
    const char *feed = memchr(rest->data, '\n', rest->length);
    size_t n = feed ? (size_t)(feed - rest->data) : rest->length;
    *ret = (struct span){rest->data, n};
    n += feed != NULL;
    *rest = (struct span){rest->data + n, rest->length - n};
    while (ret->length > 0 && isspace((unsigned char)ret->data[ret->length - 1]))
        ret->length--;
    return true;
}

static struct span without_indent(struct span line)
{
    while (line.length > 0 && isspace((unsigned char)*line.data)) {
        line.data++;
        line.length--;
    }
    return line;
}

static bool holds(struct span text, const char *word)
{
    return text.length > 0 && memmem(text.data, text.length, word, strlen(word));
}

static bool skip(struct span *text, const char *word)
{
    size_t n = strlen(word);
    if (text->length < n || memcmp(text->data, word, n) != 0)
        return false;
    *text = (struct span){text->data + n, text->length - n};
    return true;
}

static bool starts_with(struct span text, const char *word)
{
    return skip(&text, word);
}

static bool ends_with(struct span text, const char *word)
{
    size_t n = strlen(word);
    return text.length >= n && memcmp(text.data + text.length - n, word, n) == 0;
}

/* --- what a line is ----------------------------------------------------------------------- */

/* Tells whether LINE names an exception, as those of Python, JavaScript, Java, C#, D and Ruby do:
 * "pkg.SomeError: why", "Error [CODE]: why", "... (SomeError)". */
static bool names_exception(struct span line)
{
    struct span rest = line, name = line;
    if (ends_with(line, "Error)") || ends_with(line, "Exception)"))
        return true;
    if (skip(&rest, "Exception in thread \"")) {
        const char *quote = memchr(rest.data, '"', rest.length);
        size_t n = quote ? (size_t)(quote + 1 - rest.data) : 0;
        rest = (struct span){rest.data + n, rest.length - n};
        (void)skip(&rest, " ");
    }
    (void)skip(&rest, "Caused by: ");
    (void)skip(&rest, "Uncaught ");
    name = (struct span){rest.data, 0};
    while (name.length < rest.length && (isalnum((unsigned char)name.data[name.length]) ||
                                         strchr("._$", name.data[name.length])))
        name.length++;
    rest = (struct span){rest.data + name.length, rest.length - name.length};
    return (ends_with(name, "Error") || ends_with(name, "Exception")) &&
           (rest.length == 0 || *rest.data == ':' || *rest.data == '@' || starts_with(rest, " [") ||
            starts_with(rest, " in "));
}

static bool is_warning(struct span line)
{
    return holds(line, "warning") || holds(line, "Warning");
}

/* Tells whether LINE may be the one by which a program that ends, or a compiler, says why. */
static bool tells_failure(struct span line, bool is_compiler)
{
    static const char *const words[] = {"panic", "xception", "ssertion", "terminate called"};
    if (is_warning(line))
        return false;
    if (holds(line, "error") || holds(line, "Error"))
        return true;
    for (size_t i = 0; !is_compiler && i < ARRAY_SIZE(words); i++)
        if (holds(line, words[i]))
            return true;
    return false;
}

/* Tells whether LINE says nothing by itself: it is a place ("/work/main.js:11"), or a heading. */
static bool says_nothing(struct span line)
{
    struct span place = line;
    while (place.length > 0 && isdigit((unsigned char)place.data[place.length - 1]))
        place.length--;
    bool is_place = place.length < line.length && ends_with(place, ":") && !holds(line, " ");
    return line.length == 0 || is_place || is_warning(line) || starts_with(line, "# ");
}

/* --- which line it is --------------------------------------------------------------------- */

/* Finds the exception of the last traceback of Python in TEXT: the first line that is not indented
 * again. What a program writes after an exception that it has caught may hide it, no more. */
static struct span of_traceback(struct span text, struct span *ret_rest)
{
    struct span line, found = {NULL, 0};
    bool is_inside = false;
    while (next_line(&text, &line)) {
        if (starts_with(line, "Traceback (most recent call last)")) {
            is_inside = true;
        } else if (is_inside && line.length > 0 && !isspace((unsigned char)*line.data)) {
            is_inside = false;
            found = line;
            *ret_rest = text;
        }
    }
    return found;
}

/* Finds the last line that names an exception: of several the last is the cause. */
static struct span of_exception(struct span text, struct span *ret_rest)
{
    struct span line, found = {NULL, 0};
    while (next_line(&text, &line))
        if (names_exception(line)) {
            found = line;
            *ret_rest = text;
        }
    return found;
}

/* Finds the first line that speaks of a failure; else the first that says something; else the first
 * that is not blank. */
static struct span of_failure(struct span text, bool is_compiler, struct span *ret_rest)
{
    struct span line, best = {NULL, 0}, rest = {NULL, 0};
    bool says = false;
    while (next_line(&text, &line)) {
        bool is_failure = tells_failure(line, is_compiler), is_telling = !says_nothing(line);
        if (is_failure || (line.length > 0 && best.length == 0) || (is_telling && !says)) {
            best = line;
            rest = text;
            says = is_telling;
        }
        if (is_failure)
            break;
    }
    *ret_rest = rest;
    return best;
}

/* --- how it is told ----------------------------------------------------------------------- */

static void append(struct span line, char *out, size_t *length)
{
    line = without_indent(line);
    if (*length > 0 && *length < WORDS_SHOWN_BYTES)
        out[(*length)++] = ' ';
    size_t n = utf8_cut(line.data, line.length, WORDS_SHOWN_BYTES - *length);
    memcpy(out + *length, line.data, n);
    *length += n;
}

/* Tells whether LINE, behind one that announces something, belongs to it no more. */
static bool is_aside(struct span line)
{
    line = without_indent(line);
    return starts_with(line, "at ") || starts_with(line, "|") || starts_with(line, "note:");
}

/* "main.hs:1:1: error:", "Expected values to be strictly equal:" and "terminate called after ..."
 * only announce what the next lines say. */
static void tell(struct span line, struct span rest, char *out)
{
    size_t length = 0;
    bool announces = ends_with(line, ":");
    append(line, out, &length);
    for (size_t i = 0; i < WORDS_JOINED_MAX && next_line(&rest, &line);) {
        bool is_what = starts_with(without_indent(line), "what():");
        if (line.length == 0)
            continue;
        if (is_aside(line) || !(announces || is_what))
            break;
        append(line, out, &length);
        i++;
    }
    out[length] = '\0';
}

void program_words(const struct bytes *text, bool is_compiler, char out[PROGRAM_WORDS_MAX])
{
    const struct span whole = {text->data, text->length};
    struct span line = {NULL, 0}, rest = {NULL, 0};
    static_assert(WORDS_SHOWN_BYTES < PROGRAM_WORDS_MAX, "there is room for a NUL");
    *out = '\0';
    if (!is_compiler)
        line = of_traceback(whole, &rest);
    if (!is_compiler && line.length == 0)
        line = of_exception(whole, &rest);
    if (line.length == 0)
        line = of_failure(whole, is_compiler, &rest);
    if (line.length > 0)
        tell(line, rest, out);
}

/* Tells whether LINE is PATTERN. Of all that a `*` may stand for the shortest will do, and only the
 * last one is ever made longer: the time is bounded by the product of both lengths. */
static bool is_like(struct span line, const char *pattern)
{
    const char *star = NULL;
    size_t at = 0, starred = 0;
    while (at < line.length) {
        if (*pattern == '*') {
            star = ++pattern;
            starred = at;
        } else if (*pattern && *pattern == line.data[at]) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star;
            at = ++starred;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

bool program_has_line(const struct bytes *text, const char *pattern)
{
    struct span rest = {text->data, text->length}, line;
    while (next_line(&rest, &line))
        if (is_like(line, pattern))
            return true;
    return false;
}
