/* SPDX-License-Identifier: MIT */
/* Fuzz target: the file of a programming language.
 *
 * Holds for any bytes: a language that is read has each value within the bounds of its key, has no
 * placeholder left in a command or variable once that is filled in, and is the same when it is
 * written as a file and read again; what is not read names its mistakes, each with its file and a
 * line that exists, in one printable line, and leaves the list as it was. */
#include "tests/fuzz/fuzz.h"

#include "conf/language.h"
#include "conf/language_keys.h"
#include "conf/lines.h"
#include "conf/value.h"
#include "proto/utf8.h"

#include <string.h>

#define FILE_NAME "/etc/rubricd/languages.d/some.conf"

static const void *field_of(const struct language_key *key, const struct language *language)
{
    return (const char *)language + key->offset;
}

/* --- writing a file -------------------------------------------------------------------------- */

static void write_list(FILE *stream, const struct language_key *key, const struct string_list *list)
{
    if (key->type->repeatable) {
        for (size_t i = 0; i < list->count; i++)
            (void)fprintf(stream, "%s = %s\n", key->name, list->item[i]);
        return;
    }
    (void)fprintf(stream, "%s =", key->name);
    for (size_t i = 0; i < list->count; i++)
        (void)fprintf(stream, " %s", list->item[i]);
    (void)fputc('\n', stream);
}

static void write_key(FILE *stream, const struct language_key *key, const struct language *language)
{
    char text[VALUE_TEXT_MAX];
    const void *field = field_of(key, language);
    (void)fprintf(stream, "[%s]\n", key->section);
    switch (key->type->kind) {
    case CONFIG_NUMBER:
        key->type->write(config_type_number(field, key->size), text);
        (void)fprintf(stream, "%s = %s\n", key->name, text);
        break;
    case CONFIG_BOOLEAN:
        (void)fprintf(stream, "%s = %s\n", key->name, *(const bool *)field ? "yes" : "no");
        break;
    case CONFIG_STRING:
        (void)fprintf(stream, "%s = %s\n", key->name, *(const char *const *)field);
        break;
    case CONFIG_LIST:
        write_list(stream, key, field);
        break;
    }
}

static void write_program(FILE *stream, const char *section, const char *text)
{
    if (*text)
        (void)fprintf(stream, "[%s]\n", section);
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n") + 1;
        (void)fprintf(stream, "|%.*s", (int)n, text);
    }
}

/* Whether the key is one that the file of LANGUAGE may have, with a value other than none. */
static bool is_written(const struct language_key *key, const struct language *language)
{
    const void *field = field_of(key, language);
    if (strcmp(key->section, "compile") == 0 && language->compile.count == 0)
        return false;
    if (key->type->kind == CONFIG_NUMBER)
        return config_type_number(field, key->size) > 0;
    if (key->type->kind == CONFIG_LIST)
        return ((const struct string_list *)field)->count > 0;
    return key->type->kind == CONFIG_BOOLEAN || **(const char *const *)field != '\0';
}

/* Words that were apart by a single blank each may fill a line that others filled. */
static bool fits_in_lines(const char *text)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") > LINES_LINE_MAX)
            return false;
    return true;
}

static void check_round_trip(const struct language *language)
{
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    _cleanup_language_list_ struct language_list again = LANGUAGE_LIST_NULL;
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream);
    for (size_t i = 0; i < language_key_count(); i++)
        if (is_written(language_key_at(i), language))
            write_key(stream, language_key_at(i), language);
    write_program(stream, LANGUAGE_HELLO, language->hello);
    write_program(stream, LANGUAGE_SUM, language->sum);
    write_program(stream, LANGUAGE_COMPILER, language->compiler);
    CHECK(fclose(stream) == 0);
    if (!fits_in_lines(text))
        return;

    int r = language_read("some", FILE_NAME, text, length, &again, &problems);
    for (size_t i = 0; i < problems.count; i++)
        config_print_problem(stderr, &problems.item[i]);
    CHECK(r == 0 && again.count == 1);
    for (size_t i = 0; i < language_key_count(); i++) {
        const struct language_key *key = language_key_at(i);
        CHECK(config_type_equal(key->type, field_of(key, language), field_of(key, again.item),
                                key->size));
    }
    CHECK(strcmp(language->hello, again.item->hello) == 0);
    CHECK(strcmp(language->sum, again.item->sum) == 0);
    CHECK(strcmp(language->compiler, again.item->compiler) == 0);
}

/* --- oracles --------------------------------------------------------------------------------- */

static void check_bounds(const struct language *language)
{
    for (size_t i = 0; i < language_key_count(); i++) {
        const struct language_key *key = language_key_at(i);
        const void *field = field_of(key, language);
        uint64_t n;
        if (key->type->kind == CONFIG_BOOLEAN)
            continue;
        if (key->type->kind == CONFIG_NUMBER)
            n = config_type_number(field, key->size);
        else if (key->type->kind == CONFIG_STRING)
            n = strlen(*(const char *const *)field);
        else
            n = ((const struct string_list *)field)->count;
        CHECK(n <= key->bounds.max && (n >= key->bounds.min || (n == 0 && !key->required)));
    }
    CHECK(language->artefact.count > 0 && language->hello[0]);
    CHECK(language_time(language, UINT64_MAX) >= language_time(language, 1000));
}

/* Fills WORDS in with values that no placeholder can be made of, and with VALUES of which none is
 * missing that WORDS may name. */
static void check_words(const struct language *language, const struct string_list *words,
                        const struct language_values *values)
{
    struct string_list filled = STRING_LIST_NULL;
    CHECK(language_words(language, words, values, &filled) == 0);
    CHECK(filled.count == words->count);
    for (size_t i = 0; i < filled.count; i++)
        for (const char *at = filled.item[i]; *at; at++) {
            enum language_placeholder which = PLACEHOLDER_UNKNOWN;
            CHECK(language_placeholder(at, &which) == 0 || which == PLACEHOLDER_UNKNOWN);
        }
    string_list_deinit(&filled);
}

static bool names_placeholder(const struct string_list *words, unsigned but)
{
    for (size_t i = 0; i < words->count; i++)
        for (const char *at = words->item[i]; *at; at++) {
            enum language_placeholder which = PLACEHOLDER_UNKNOWN;
            if (language_placeholder(at, &which) > 0 && !(but & 1U << which))
                return true;
        }
    return false;
}

static void check_commands(const struct language *language)
{
    const struct language_values values = {
        .source = "MAIN.X", .class_name = "MAIN", .python = "/PYTHON", .memory = LIMIT_MIB};
    check_words(language, &language->run, &values);
    check_words(language, &language->compile, &values);
    check_words(language, &language->env, &values);
    check_words(language, &language->artefact, &values);
    /* It runs before there is any program, and has no limit. */
    CHECK(!names_placeholder(&language->version, 1U << PLACEHOLDER_PYTHON));
}

static bool is_printable(const char *text)
{
    size_t length = strlen(text), n = 0;
    _cleanup_free_ char *valid = utf8_replace(text, length, &n);
    CHECK(valid);
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 && *p != '\t')
            return false;
    return length > 0 && strcmp(valid, text) == 0;
}

static void check_problems(const struct config_problems *problems, const uint8_t *data, size_t size)
{
    unsigned lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    CHECK(problems->count > 0);
    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *problem = &problems->item[i];
        CHECK(strcmp(problem->file, FILE_NAME) == 0 && problem->line <= lines);
        CHECK(is_printable(problem->text) && (!problem->key || is_printable(problem->key)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    _cleanup_language_list_ struct language_list list = LANGUAGE_LIST_NULL;
    if (size > LANGUAGE_FILE_MAX)
        return 0;
    int r = language_read("some", FILE_NAME, (const char *)data, size, &list, &problems);
    CHECK(r == 0 || r == -EINVAL);
    CHECK(list.count == (r == 0 ? 1 : 0));
    if (r < 0) {
        check_problems(&problems, data, size);
        return 0;
    }
    CHECK(problems.count == 0);
    check_bounds(list.item);
    check_commands(list.item);
    check_round_trip(list.item);
    return 0;
}
