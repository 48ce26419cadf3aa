/* SPDX-License-Identifier: MIT */
#include "evidence.h"

#include "client/terminal/member.h"
#include "client/terminal/text.h"
#include "proto/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes of what a compiler wrote, whose first lines say most, and of one side of a difference. */
#define COMPILE_MAX 1500
#define SIDE_MAX 400
#define NAME_MAX_BYTES 100

static void put_tail(FILE *out, const json_t *text, size_t lines, size_t bytes)
{
    size_t n;
    const char *tail =
        text_tail(json_string_value(text), json_string_length(text), lines, bytes, &n);
    (void)fwrite(tail, 1, n, out);
}

static bool has_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && text[strspn(text, " \t\r\n")] != '\0';
}

/* Writes BEFORE and the string VALUE, cut to MAX bytes, with the rest of the line; nothing of what
 * is no string. */
static void put_text(FILE *out, const char *before, const json_t *value, size_t max,
                     const char *behind)
{
    const char *text = json_string_value(value);
    if (text)
        (void)fprintf(out, "%s%.*s%s", before, (int)utf8_cut(text, json_string_length(value), max),
                      text, behind);
}

static void put_test(FILE *out, size_t number, const json_t *test)
{
    const json_t *difference = json_object_get(test, "difference"),
                 *err = json_object_get(test, "stderr");
    (void)fprintf(out, "test %zu", number);
    put_text(out, " (", json_object_get(test, "name"), NAME_MAX_BYTES, ")");
    put_text(out, ": ", json_object_get(test, "verdict"), NAME_MAX_BYTES, "");
    put_text(out, "\n", json_object_get(difference, "why"), SIDE_MAX, "");
    if (json_is_integer(json_object_get(difference, "line")))
        (void)fprintf(out, ", line %" PRId64, member_integer(difference, "line"));
    put_text(out, "\ngot       ", json_object_get(difference, "got"), SIDE_MAX, "");
    put_text(out, "\nexpected  ", json_object_get(difference, "expected"), SIDE_MAX, "");
    put_text(out, "\nchecker: ", json_object_get(test, "checker"), SIDE_MAX, "");
    put_text(out, "\ninteractor: ", json_object_get(test, "interactor"), SIDE_MAX, "");
    if (has_text(err)) {
        (void)fputc('\n', out);
        put_tail(out, err, EVIDENCE_LINES_MAX - 4, EVIDENCE_BYTES_MAX / 4);
    }
}

/* Writes the first test that did not pass. */
static void put_tests(FILE *out, const json_t *tests)
{
    for (size_t i = 0; i < json_array_size(tests); i++) {
        const json_t *test = json_array_get(tests, i);
        const char *verdict = json_string_value(json_object_get(test, "verdict"));
        if (!verdict || strcmp(verdict, "pass") == 0)
            continue;
        put_test(out, i + 1, test);
        return;
    }
}

static void put_evidence(FILE *out, const struct line *line)
{
    const json_t *err = json_object_get(line->outcome, "stderr"),
                 *compiler = json_object_get(line->compile, "output");
    if (json_is_array(line->tests) && json_array_size(line->tests) > 0)
        put_tests(out, line->tests);
    else if (has_text(compiler))
        put_text(out, "", compiler, COMPILE_MAX, "");
    else if (has_text(err))
        put_tail(out, err, EVIDENCE_LINES_MAX, EVIDENCE_BYTES_MAX);
    else if (has_text(line->std_out))
        put_tail(out, line->std_out, EVIDENCE_LINES_MAX, EVIDENCE_BYTES_MAX);
}

int evidence_of(const struct line *line, char **ret)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return -ENOMEM;
    put_evidence(out, line);
    if (fclose(out) != 0) {
        free(text);
        return -ENOMEM;
    }
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    if (length == 0) {
        free(text);
        text = NULL;
    }
    *ret = text;
    return 0;
}

const char *evidence_last_line(const char *output)
{
    const char *last = strrchr(output, '\n');
    return last ? last + 1 : output;
}

bool evidence_adds(const char *detail, const char *output)
{
    return output && (!detail || !strstr(detail, evidence_last_line(output)));
}

bool evidence_replaces(const char *detail, const char *output)
{
    static const char start[] = "Traceback (most recent call last)";
    return output && detail && strncmp(detail, start, sizeof(start) - 1) == 0;
}
