/* SPDX-License-Identifier: MIT */
#include "statusview_languages.h"
#include "member.h"
#include "text.h"

#include "proto/util.h"

#include <stdbool.h>

#define NAME_COLUMNS 12

static bool is_available(const json_t *language)
{
    return json_is_true(json_object_get(language, "available"));
}

static void put_one(FILE *out, const json_t *language, size_t columns)
{
    const json_t *version = json_object_get(language, "version");
    text_put_cell(out, member_text(language, "name"), NAME_COLUMNS);
    (void)fputs("  ", out);
    (void)text_put_fit(out,
                       version ? member_text(language, "version") : "not asked for its version yet",
                       columns - NAME_COLUMNS - 2);
    (void)fputc('\n', out);
}

/* Writes the names of the languages that the host lacks. */
static void put_missing(FILE *out, const json_t *languages, size_t columns)
{
    _cleanup_free_ char *text = NULL;
    size_t length = 0, count = 0;
    FILE *line = open_memstream(&text, &length);
    if (!line)
        return;
    for (size_t i = 0; i < json_array_size(languages); i++) {
        const json_t *language = json_array_get(languages, i);
        if (!is_available(language))
            (void)fprintf(line, "%s%s", count++ ? ", " : "", member_text(language, "name"));
    }
    if (fclose(line) != 0 || count == 0)
        return;
    (void)fprintf(out, "%-*s", NAME_COLUMNS + 2, "not here");
    text_put_wrapped(out, text, NAME_COLUMNS + 2, NAME_COLUMNS + 2, columns);
}

void statusview_put_languages(FILE *out, const json_t *languages, size_t columns)
{
    if (json_array_size(languages) == 0)
        return;
    (void)fprintf(out, "\n%-*s%s\n", NAME_COLUMNS + 2, "language", "version");
    for (size_t i = 0; i < json_array_size(languages); i++)
        if (is_available(json_array_get(languages, i)))
            put_one(out, json_array_get(languages, i), columns);
    put_missing(out, languages, columns);
}
