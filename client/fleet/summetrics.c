/* SPDX-License-Identifier: MIT */
#include "summetrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Integers up to this are printed as such. */
#define EXACT_MAX 9007199254740992.0

enum rule {
    RULE_SUM,
    RULE_MAX,
    RULE_MIN,
};

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), of_end = strlen(end);
    return n >= of_end && strcmp(text + n - of_end, end) == 0;
}

static enum rule rule_of(const char *family, const char *type)
{
    if (ends_in(family, "start_time_seconds") || ends_in(family, "uptime_seconds") ||
        ends_in(family, "_healthy"))
        return RULE_MIN;
    if (strcmp(type, "info") == 0 || strcmp(type, "stateset") == 0 ||
        ends_in(family, "_generation"))
        return RULE_MAX;
    return strcmp(type, "gauge") == 0 && ends_in(family, "_seconds") ? RULE_MAX : RULE_SUM;
}

/* Families are objects in the order in which they came: {"head": text, "rule", "samples": {}}. */
struct reading {
    json_t *families;
    json_t *family; /* borrowed; that of the lines which are read */
};

static void add_sample(struct reading *reading, const char *line, size_t n)
{
    const char *blank = memrchr(line, ' ', n);
    if (!blank || !reading->family)
        return;
    json_t *samples = json_object_get(reading->family, "samples");
    enum rule rule = (enum rule)json_integer_value(json_object_get(reading->family, "rule"));
    _cleanup_free_ char *name = strndup(line, (size_t)(blank - line));
    double value = strtod(blank + 1, NULL);
    const json_t *old = name ? json_object_get(samples, name) : NULL;
    if (!name)
        return;
    if (old && rule == RULE_SUM)
        value += json_real_value(old);
    else if (old && rule == RULE_MAX)
        value = fmax(value, json_real_value(old));
    else if (old)
        value = fmin(value, json_real_value(old));
    (void)json_object_set_new(samples, name, json_real(value));
}

/* Begins with the family of "# TYPE NAME TYPE", or goes on with it. */
static void begin_family(struct reading *reading, const char *line, size_t n)
{
    char name[128] = "", type[32] = "";
    _cleanup_free_ char *text = strndup(line, n);
    if (!text || sscanf(text, "# TYPE %127s %31s", name, type) != 2)
        return;
    reading->family = json_object_get(reading->families, name);
    if (reading->family)
        return;
    reading->family = json_pack("{s:s,s:i,s:{},s:b}", "head", "", "rule", (int)rule_of(name, type),
                                "samples", "is_new", 1);
    if (reading->family)
        (void)json_object_set_new(reading->families, name, reading->family);
}

/* Keeps the comments that the first daemon writes about a family. */
static void add_comment(struct reading *reading, const char *line, size_t n)
{
    json_t *head = json_object_get(reading->family, "head");
    const char *old = json_string_value(head);
    char *text = NULL;
    if (!old || !json_is_true(json_object_get(reading->family, "is_new")) ||
        asprintf(&text, "%s%.*s\n", old, (int)n, line) < 0)
        return;
    (void)json_string_set(head, text);
    free(text);
}

static void read_text(struct reading *reading, const char *text)
{
    static const char type[] = "# TYPE ", eof[] = "# EOF";
    const char *end;
    for (const char *line = text; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t n = (size_t)(end - line);
        if (n == 0 || strncmp(line, eof, strlen(eof)) == 0)
            continue;
        if (strncmp(line, type, strlen(type)) == 0)
            begin_family(reading, line, n);
        if (*line == '#')
            add_comment(reading, line, n);
        else
            add_sample(reading, line, n);
    }
}

/* The comments of a family are those of the text in which it came first. */
static void close_heads(const json_t *families)
{
    const char *name;
    json_t *family;
    json_object_foreach((json_t *)(uintptr_t)families, name, family)(void)
        json_object_set_new(family, "is_new", json_false());
}

static void print_value(FILE *out, double value)
{
    if (isinf(value))
        (void)fprintf(out, "%sInf\n", value < 0 ? "-" : "+");
    else if (value == floor(value) && fabs(value) < EXACT_MAX)
        (void)fprintf(out, "%.0f\n", value);
    else
        (void)fprintf(out, "%.12g\n", value);
}

static void print_family(FILE *out, const json_t *family)
{
    const char *name;
    json_t *value;
    (void)fputs(json_string_value(json_object_get(family, "head")), out);
    json_object_foreach(json_object_get(family, "samples"), name, value)
    {
        (void)fprintf(out, "%s ", name);
        print_value(out, json_real_value(value));
    }
}

int summetrics_make(const json_t *texts, const char *more, struct bytes *ret)
{
    struct reading reading = {.families = json_object()};
    struct bytes text = BYTES_NULL;
    const char *name;
    json_t *family;
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const char *of_daemon = json_string_value(json_array_get(texts, i));
        reading.family = NULL;
        read_text(&reading, of_daemon ? of_daemon : "");
        close_heads(reading.families);
    }
    FILE *out = open_memstream(&text.data, &text.length);
    if (!out || !reading.families) {
        if (out)
            (void)fclose(out);
        bytes_deinit(&text);
        json_decref(reading.families);
        return -ENOMEM;
    }
    json_object_foreach(reading.families, name, family) print_family(out, family);
    (void)fprintf(out, "%s# EOF\n", more ? more : "");
    json_decref(reading.families);
    bool failed = ferror(out);
    failed |= fclose(out) != 0;
    if (failed) {
        bytes_deinit(&text);
        return -ENOMEM;
    }
    *ret = text;
    return 0;
}
