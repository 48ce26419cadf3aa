/* SPDX-License-Identifier: MIT */
/* Theory of operation: lines.c turns the text into lines that are whole, short enough and
 * printable. The reader here takes each as a section, as NAME = VALUE of the table in
 * language_keys.c, or, in the sections that hold a program, as a line of it behind a `|`. It goes
 * on after a mistake, so that all are found at once, and looks last at what is missing. */
#include "language.h"
#include "language_keys.h"
#include "lines.h"
#include "suggest.h"

#include "proto/shortage.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <sha2.h>
#include <stdarg.h>
#include <string.h>

#define BLANKS " \t"

struct reader {
    struct language language;
    struct config_problems *problems;
    const char *file;
    struct lines lines;
    const char *section; /* of the table; NULL: none yet, or one that was refused */
    bool is_section_bad; /* its lines are skipped: the section itself was reported */
    unsigned *line_of;   /* one per key of the table: where it was set; 0: nowhere */
    FILE *program;       /* writes the text below; NULL: the section holds no program */
    char *text[3];       /* of [hello], [sum] and [compiler] */
    size_t length[3];
    int error; /* 0; -EINVAL once there is a problem; -ENOMEM or another shortage */
};

static void language_deinit(struct language *language)
{
    for (size_t i = 0; i < language_key_count(); i++) {
        const struct language_key *key = language_key_at(i);
        config_type_clear(key->type, (char *)language + key->offset, key->size);
    }
    free(language->name);
    free(language->file);
    free(language->hello);
    free(language->sum);
    free(language->compiler);
    *language = (struct language){.name = NULL};
}

/* --- mistakes ------------------------------------------------------------------------------ */

/* Adds a mistake at LINE; 0: of the file as a whole. SECTION and NAME may be NULL. */
_printf_(5, 6) static void report(struct reader *reader, unsigned line, const char *section,
                                  const char *name, const char *format, ...)
{
    _cleanup_free_ char *text = NULL, *key = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    int r = section ? asprintf(&key, "[%s]%s%s", section, name ? " " : "", name ? name : "") : 0;
    if (r < 0)
        key = NULL;
    if (!text || r < 0 || config_problems_add(reader->problems, reader->file, line, key, &text) < 0)
        reader->error = -ENOMEM;
    else if (reader->error == 0)
        reader->error = -EINVAL;
}

#define report_here(reader, section, name, ...) \
    report(reader, (reader)->lines.number, section, name, __VA_ARGS__)

/* --- programs ------------------------------------------------------------------------------ */

static int program_of(const char *section)
{
    static const char *const names[] = {LANGUAGE_HELLO, LANGUAGE_SUM, LANGUAGE_COMPILER};
    for (int i = 0; i < (int)ARRAY_SIZE(names); i++)
        if (strcmp(section, names[i]) == 0)
            return i;
    return -1;
}

static void end_program(struct reader *reader)
{
    if (reader->program && fclose(reader->program) != 0)
        reader->error = -ENOMEM;
    reader->program = NULL;
}

static void begin_program(struct reader *reader, int which)
{
    if (reader->text[which]) {
        report_here(reader, reader->section, NULL, "the program is already there");
        reader->is_section_bad = true;
        return;
    }
    reader->program = open_memstream(&reader->text[which], &reader->length[which]);
    if (!reader->program || fflush(reader->program) != 0)
        reader->error = -ENOMEM;
}

static void take_code(struct reader *reader, const char *text)
{
    if (*text != '|')
        report_here(reader, reader->section, NULL, "expected | and a line of the program");
    else if (reader->program && fprintf(reader->program, "%s\n", text + 1) < 0)
        reader->error = -ENOMEM;
}

/* --- keys ---------------------------------------------------------------------------------- */

static void take_section(struct reader *reader, char *text)
{
    char *name = text + 1, *end = strchr(name, ']');
    end_program(reader);
    reader->section = NULL;
    reader->is_section_bad = true;
    if (!end || end[1 + strspn(end + 1, BLANKS)] != '\0') {
        report_here(reader, NULL, NULL, "expected [SECTION] and nothing behind it");
        return;
    }
    *end = '\0';
    reader->section = language_section_find(name);
    reader->is_section_bad = !reader->section;
    if (!reader->section) {
        const char *meant = language_section_suggest(name);
        report_here(reader, name, NULL, "unknown section%s%s%s", meant ? ", did you mean [" : "",
                    meant ? meant : "", meant ? "]?" : "");
    } else if (program_of(reader->section) >= 0) {
        begin_program(reader, program_of(reader->section));
    }
}

/* Cuts the comment that a blank and a semicolon begin, and blanks at the end. */
static void trim(char *value)
{
    for (char *at = value; *at; at++)
        if (*at == ';' && (at == value || strchr(BLANKS, at[-1]))) {
            *at = '\0';
            break;
        }
    for (size_t n = strlen(value); n > 0 && strchr(BLANKS, value[n - 1]); n--)
        value[n - 1] = '\0';
}

static void set_key(struct reader *reader, const struct language_key *key, const char *value)
{
    unsigned *line = &reader->line_of[key - language_key_at(0)];
    struct fault why = FAULT_NULL;
    if (*line > 0 && !key->type->repeatable)
        report_here(reader, key->section, key->name, "already set on line %u", *line);
    int r = config_type_set(key->type, key->bounds, value, (char *)&reader->language + key->offset,
                            key->size, &why);
    if (r == -EINVAL)
        report_here(reader, key->section, key->name, "%s", why.text);
    else if (r < 0)
        reader->error = r;
    *line = reader->lines.number;
}

static void take_pair(struct reader *reader, char *text)
{
    char *value = strchr(text, '=');
    if (!value) {
        report_here(reader, NULL, NULL, "expected NAME = VALUE");
        return;
    }
    *value++ = '\0';
    value += strspn(value, BLANKS);
    trim(value);
    trim(text);
    if (!reader->section) {
        report_here(reader, NULL, NULL, "%s comes before the first [SECTION]", text);
        return;
    }
    const struct language_key *key = language_key_find(reader->section, text);
    const char *meant = key ? NULL : language_key_suggest(reader->section, text);
    if (key)
        set_key(reader, key, value);
    else
        report_here(reader, reader->section, text, "unknown key%s%s%s",
                    meant ? ", did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static void take_line(struct reader *reader)
{
    char *text = reader->lines.text;
    size_t blank = strspn(text, BLANKS);
    if (text[blank] == '\0' || text[blank] == '#' || text[blank] == ';')
        return;
    if (text[0] == '[')
        take_section(reader, text);
    else if (reader->is_section_bad)
        return;
    else if (reader->section && program_of(reader->section) >= 0)
        take_code(reader, text);
    else if (blank > 0)
        report_here(reader, NULL, NULL,
                    "begins with a space or tab; a value cannot be continued on the next line");
    else
        take_pair(reader, text);
}

static void read_lines(struct reader *reader, FILE *stream)
{
    struct fault why = FAULT_NULL;
    int r;
    lines_init(&reader->lines, stream);
    while ((r = lines_next(&reader->lines, &why)) == 1 || r == -EINVAL) {
        if (r == 1)
            take_line(reader);
        else
            report_here(reader, NULL, NULL, "%s", why.text);
    }
    end_program(reader);
    if (r < 0)
        reader->error = r;
}

/* --- the whole ----------------------------------------------------------------------------- */

static bool is_set(const struct reader *reader, const char *section, const char *name)
{
    return reader->line_of[language_key_find(section, name) - language_key_at(0)] > 0;
}

/* The type of variables knows nothing of placeholders. The compiler and the program have the same
 * variables, but not the same limits. */
static void check_env(struct reader *reader)
{
    const struct language_key *key = language_key_find("language", "env");
    const struct string_list *env = &reader->language.env;
    for (size_t i = 0; i < env->count; i++)
        for (const char *at = env->item[i]; *at; at++) {
            enum language_placeholder which = PLACEHOLDER_COUNT;
            size_t n = language_placeholder(at, &which);
            bool is_fixed = which == PLACEHOLDER_SOURCE || which == PLACEHOLDER_CLASS ||
                            which == PLACEHOLDER_PYTHON;
            if (n > 0 && !is_fixed)
                report(reader, reader->line_of[key - language_key_at(0)], key->section, key->name,
                       "%.*s in '%s' is no placeholder of a variable", (int)n, at, env->item[i]);
        }
}

static void check_programs(struct reader *reader)
{
    if (reader->text[2] && !is_set(reader, "compile", "command"))
        report(reader, 0, LANGUAGE_COMPILER, NULL,
               "there is no [compile] command that it could be for");
    if (!reader->text[0] || reader->length[0] == 0)
        report(reader, 0, LANGUAGE_HELLO, NULL,
               "missing: a program that prints hello, each line behind a |");
    if (reader->text[1] && reader->length[1] == 0)
        report(reader, 0, LANGUAGE_SUM, NULL, "has no line: expected | and a line of the program");
}

static void check_whole(struct reader *reader)
{
    bool compiles = is_set(reader, "compile", "command");
    for (size_t i = 0; i < language_key_count(); i++) {
        const struct language_key *key = language_key_at(i);
        bool is_of_compile = strcmp(key->section, "compile") == 0;
        if (key->required && reader->line_of[i] == 0)
            report(reader, 0, key->section, key->name, "missing");
        else if (is_of_compile && !compiles && reader->line_of[i] > 0)
            report(reader, reader->line_of[i], key->section, key->name,
                   "there is no [compile] command that it could be for");
    }
    if (compiles && !is_set(reader, "compile", "artefact"))
        report(reader, 0, "compile", "artefact",
               "missing: the files that the program needs when it runs");
    check_env(reader);
    check_programs(reader);
}

static int init_language(struct language *language, const char *name, const char *file,
                         const char *text, size_t n)
{
    for (size_t i = 0; i < language_key_count(); i++) {
        const struct language_key *key = language_key_at(i);
        char *field = (char *)language + key->offset;
        int r = 0;
        if (key->preset)
            r = config_type_set(key->type, key->bounds, key->preset, field, key->size, NULL);
        else if (key->type->kind == CONFIG_STRING && !(*(char **)(void *)field = strdup("")))
            r = -ENOMEM;
        if (r < 0)
            return r;
    }
    language->name = strdup(name);
    language->file = strdup(file);
    return language->name && language->file &&
                   SHA256Data((const uint8_t *)text, n, language->digest)
               ? 0
               : -ENOMEM;
}

/* Gives the language what its file leaves unsaid. */
static int complete(struct reader *reader)
{
    struct language *language = &reader->language;
    language->hello = TAKE_PTR(reader->text[0]);
    language->sum = reader->text[1] ? TAKE_PTR(reader->text[1]) : strdup("");
    language->compiler = reader->text[2] ? TAKE_PTR(reader->text[2]) : strdup("");
    if (!language->sum || !language->compiler)
        return -ENOMEM;
    return language->artefact.count > 0 ? 0
                                        : string_list_add(&language->artefact, language->source);
}

static int append(struct language_list *list, struct language *take)
{
    struct language *item = reallocarray(list->item, list->count + 1, sizeof(*item));
    if (!item)
        return -ENOMEM;
    list->item = item;
    item[list->count++] = TAKE_STRUCT(*take, {.name = NULL});
    return 0;
}

int language_read(const char *name, const char *file, const char *text, size_t n,
                  struct language_list *list, struct config_problems *problems)
{
    struct reader reader = {.problems = problems, .file = file};
    FILE *stream = n > 0 ? fmemopen((char *)(uintptr_t)text, n, "r") : fopen("/dev/null", "re");
    reader.line_of = calloc(language_key_count(), sizeof(*reader.line_of));
    reader.error =
        !stream || !reader.line_of ? -ENOMEM : init_language(&reader.language, name, file, text, n);
    if (reader.error == 0)
        read_lines(&reader, stream);
    if (reader.error == 0 || reader.error == -EINVAL)
        check_whole(&reader);
    if (reader.error == 0)
        reader.error = complete(&reader);
    if (reader.error == 0)
        reader.error = append(list, &reader.language);
    if (stream)
        (void)fclose(stream);
    language_deinit(&reader.language);
    for (size_t i = 0; i < ARRAY_SIZE(reader.text); i++)
        free(reader.text[i]);
    free(reader.line_of);
    return reader.error;
}

/* --- what is read -------------------------------------------------------------------------- */

/* Shorter names are all near to each other: "x" to "c" and "d". */
#define SUGGEST_TYPED_MIN 3

bool language_is_meant(const char *typed, const char *name)
{
    for (; *typed; typed++) {
        if (*typed == ' ')
            continue;
        if (tolower((unsigned char)*typed) != *name)
            return false;
        name++;
    }
    return *name == '\0';
}

/* The name or alias of LANGUAGE that TYPED stands for; NULL if it stands for none. */
static const char *name_meant(const struct language *language, const char *typed)
{
    if (language_is_meant(typed, language->name))
        return language->name;
    for (size_t i = 0; i < language->aliases.count; i++)
        if (language_is_meant(typed, language->aliases.item[i]))
            return language->aliases.item[i];
    return NULL;
}

/* The name that TYPED is without the version at its end: "c++" for "C++20". */
static const char *suggest_without_version(const struct language_list *list, const char *typed)
{
    char stem[LANGUAGE_NAME_MAX + 1];
    size_t n = strlen(typed);
    while (n > 0 && strchr("0123456789.", typed[n - 1]))
        n--;
    if (n == 0 || n >= sizeof(stem))
        return NULL;
    memcpy(stem, typed, n);
    stem[n] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        const char *name = name_meant(&list->item[i], stem);
        if (name)
            return name;
    }
    return NULL;
}

const char *language_suggest(const struct language_list *list, const char *typed)
{
    const char *meant = NULL;
    char lower[SUGGEST_WORD_MAX + 1] = "";
    size_t least = SIZE_MAX;
    if (strlen(typed) < SUGGEST_TYPED_MIN)
        return NULL;
    for (size_t i = 0; typed[i] && i < SUGGEST_WORD_MAX; i++)
        lower[i] = (char)tolower((unsigned char)typed[i]);
    for (size_t i = 0; i < list->count; i++) {
        const struct language *language = &list->item[i];
        for (size_t k = 0; k <= language->aliases.count; k++) {
            const char *name = k == 0 ? language->name : language->aliases.item[k - 1];
            size_t distance = suggest_distance(lower, name);
            if (distance < least && suggest(lower, &name, 1)) {
                least = distance;
                meant = name;
            }
        }
    }
    return meant ? meant : suggest_without_version(list, typed);
}

const struct language *language_find(const struct language_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (name_meant(&list->item[i], name))
            return &list->item[i];
    return NULL;
}

void language_list_keep(struct language_list *list, const struct string_list *names)
{
    bool is_kept[LANGUAGES_MAX] = {false};
    size_t kept = 0;
    assert(list->count <= LANGUAGES_MAX);
    for (size_t i = 0; i < names->count; i++) {
        const struct language *language = language_find(list, names->item[i]);
        if (language)
            is_kept[language - list->item] = true;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!is_kept[i])
            language_deinit(&list->item[i]);
        else if (kept++ < i)
            list->item[kept - 1] = TAKE_STRUCT(list->item[i], {.name = NULL});
    }
    list->count = kept;
}

bool language_lists_equal(const struct language_list *list, const struct language_list *other)
{
    if (list->count != other->count)
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i].name, other->item[i].name) != 0 ||
            strcmp(list->item[i].digest, other->item[i].digest) != 0)
            return false;
    return true;
}

uint64_t language_time(const struct language *language, uint64_t ms)
{
    return ms > UINT64_MAX / language->time_factor
               ? UINT64_MAX
               : ms * language->time_factor / LANGUAGE_FACTOR_ONE;
}

static void put_value(const struct language *language, enum language_placeholder placeholder,
                      const struct language_values *values, FILE *stream)
{
    uint64_t bytes = values->memory;
    const char *text = NULL;
    switch (placeholder) {
    case PLACEHOLDER_SOURCE:
        text = values->source;
        break;
    case PLACEHOLDER_CLASS:
        text = values->class_name;
        break;
    case PLACEHOLDER_PYTHON:
        text = values->python;
        break;
    case PLACEHOLDER_HEAP: /* a runtime does not start without any */
        bytes = MAX(bytes - MIN(language->memory_overhead, bytes), bytes / 4);
        break;
    case PLACEHOLDER_MEMORY:
    case PLACEHOLDER_UNKNOWN:
        break;
    }
    if (text)
        (void)fputs(text, stream);
    else
        (void)fprintf(stream, "%" PRIu64, MAX(bytes / LIMIT_MIB, UINT64_C(1)));
}

static int add_word(const struct language *language, const char *word,
                    const struct language_values *values, struct string_list *ret)
{
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return -ENOMEM;
    while (*word) {
        enum language_placeholder placeholder = PLACEHOLDER_UNKNOWN;
        size_t n = language_placeholder(word, &placeholder);
        if (n > 0)
            put_value(language, placeholder, values, stream);
        else
            (void)fputc(*word, stream);
        word += n > 0 ? n : 1;
    }
    return fclose(stream) == 0 ? string_list_add(ret, text) : -ENOMEM;
}

int language_words(const struct language *language, const struct string_list *words,
                   const struct language_values *values, struct string_list *ret)
{
    _cleanup_string_list_ struct string_list list = STRING_LIST_NULL;
    for (size_t i = 0; i < words->count; i++) {
        int r = add_word(language, words->item[i], values, &list);
        if (r < 0)
            return r;
    }
    *ret = TAKE_STRUCT(list, STRING_LIST_NULL);
    return 0;
}

void language_list_deinit(struct language_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        language_deinit(&list->item[i]);
    free(list->item);
    *list = (struct language_list)LANGUAGE_LIST_NULL;
}
