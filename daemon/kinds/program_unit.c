/* SPDX-License-Identifier: MIT */
#include "extraction.h"
#include "program.h"
#include "program_class.h"

#include "daemon/languages/languages.h"

#include <string.h>

/* Only processes of the job reach the file. */
#define SOURCE_MODE 0644

void program_unit_deinit(struct program_unit *unit)
{
    bytes_deinit(&unit->code);
    free(unit->source);
    free(unit->class_name);
    free(unit->envp);
    free(unit->files);
    string_list_deinit(&unit->words);
    unit->artefact = close_fd(unit->artefact);
}

/* --- language ----------------------------------------------------------------------------- */

static int find_language(struct program_unit *unit, const struct program_source *source,
                         const struct kind_host *host, enum error_code *ret_code,
                         struct fault *fault)
{
    const char *why;
    unit->language = languages_find(host->languages, source->language);
    *ret_code = ERROR_LANGUAGE_NOT_FOUND;
    if (!unit->language)
        return fault_set(fault, "%s.language: this daemon knows no language \"%.64s\"",
                         source->path, source->language);
    if (!languages_has(host->languages, unit->language, NULL, &why))
        return fault_set(fault, "%s.language: this host has no %s: %s", source->path,
                         unit->language->name, why);
    return 0;
}

/* --- code --------------------------------------------------------------------------------- */

/* Finds the code in free text: in a block of the language if there is one. */
static int extract(const struct program_unit *unit, const struct bytes *text, struct bytes *ret)
{
    const struct string_list *aliases = &unit->language->aliases;
    bool fenced;
    const char **tags = calloc(aliases->count + 2, sizeof(*tags));
    if (!tags)
        return -ENOMEM;
    tags[0] = unit->language->name;
    for (size_t i = 0; i < aliases->count; i++)
        tags[i + 1] = aliases->item[i];
    int r = extraction_find(text->length > 0 ? text->data : "", text->length, tags, ret, &fenced);
    free(tags);
    return r;
}

/* Puts the prelude before the code, on lines of its own. */
static int join(const struct bytes *prelude, const struct bytes *code, struct bytes *ret)
{
    size_t length = prelude->length;
    bool needs_newline = length > 0 && prelude->data[length - 1] != '\n';
    char *text = malloc(length + needs_newline + code->length + 1);
    if (!text)
        return -ENOMEM;
    if (length > 0)
        memcpy(text, prelude->data, length);
    if (needs_newline)
        text[length++] = '\n';
    if (code->length > 0)
        memcpy(text + length, code->data, code->length);
    length += code->length;
    text[length] = '\0';
    *ret = (struct bytes){.data = text, .length = length};
    return 0;
}

static int make_code(struct program_unit *unit, const struct program_source *source)
{
    static const struct bytes nothing = BYTES_NULL;
    _cleanup_bytes_ struct bytes found = BYTES_NULL;
    int r = source->is_generation ? extract(unit, source->text, &found) : 0;
    if (r < 0)
        return r;
    return join(source->prelude ? source->prelude : &nothing,
                source->is_generation ? &found : source->text, &unit->code);
}

/* --- names -------------------------------------------------------------------------------- */

/* Names the class, and the file after it: in the directory of its package, as Java wants it. */
static int name_class(struct program_unit *unit, char **ret_path)
{
    _cleanup_free_ char *package = NULL, *name = NULL;
    int r = program_class_find(unit->code.data, unit->code.length, &package, &name);
    if (r < 0)
        return r;
    if (!package) {
        unit->class_name = TAKE_PTR(name);
        *ret_path = strdup(unit->class_name);
        return *ret_path ? 0 : -ENOMEM;
    }
    if (asprintf(&unit->class_name, "%s.%s", package, name) < 0) {
        unit->class_name = NULL;
        return -ENOMEM;
    }
    *ret_path = strdup(unit->class_name);
    if (!*ret_path)
        return -ENOMEM;
    for (char *p = *ret_path; *p; p++)
        *p = *p == '.' ? '/' : *p;
    return 0;
}

static int name_source(struct program_unit *unit)
{
    _cleanup_free_ char *path = NULL;
    const struct language *language = unit->language;
    if (!strstr(language->source, "{class}")) {
        unit->source = strdup(language->source);
        return unit->source ? 0 : -ENOMEM;
    }
    int r = name_class(unit, &path);
    if (r < 0)
        return r;
    char *item[] = {language->source, NULL};
    const struct string_list words = {.item = item, .count = 1};
    const struct language_values values = {.class_name = path};
    _cleanup_string_list_ struct string_list named = STRING_LIST_NULL;
    r = language_words(language, &words, &values, &named);
    if (r < 0)
        return r;
    unit->source = TAKE_PTR(named.item[0]);
    return 0;
}

/* --- files, environment, limits ------------------------------------------------------------- */

/* Tells whether one of the names is the other, or a directory of it. */
static bool collide(const char *a, const char *b)
{
    size_t n = MIN(strlen(a), strlen(b));
    return strncmp(a, b, n) == 0 && (a[n] == '\0' || a[n] == '/') && (b[n] == '\0' || b[n] == '/');
}

static int make_files(struct program_unit *unit, const struct program_source *source,
                      enum error_code *ret_code, struct fault *fault)
{
    unit->files = calloc(source->file_count + 1 + PROGRAM_EXTRA_FILES, sizeof(*unit->files));
    if (!unit->files)
        return -ENOMEM;
    unit->files[unit->file_count++] =
        (struct launch_file){.name = unit->source, .mode = SOURCE_MODE, .content = &unit->code};
    for (size_t i = 0; i < source->file_count; i++) {
        const struct sandbox_file *file = &source->files[i];
        if (collide(file->name, unit->source)) {
            *ret_code = ERROR_BAD_REQUEST;
            return fault_set(fault, "%s.files.%.64s: the program itself stands there", source->path,
                             file->name);
        }
        unit->files[unit->file_count++] =
            (struct launch_file){.name = file->name, .mode = file->mode, .content = &file->content};
    }
    return 0;
}

/* A language's own variables come first: they are found before those of every job. */
static int make_environment(struct program_unit *unit, const struct kind_host *host)
{
    const struct string_list *own = &unit->language->env;
    size_t common = 0, n = 0;
    while (host->environment[common])
        common++;
    unit->envp = calloc(own->count + common + 1, sizeof(*unit->envp));
    if (!unit->envp)
        return -ENOMEM;
    for (size_t i = 0; i < own->count; i++)
        unit->envp[n++] = own->item[i];
    for (size_t i = 0; i < common; i++) {
        const char *entry = host->environment[i];
        size_t name = strcspn(entry, "=") + 1;
        bool is_set = false;
        for (size_t k = 0; k < own->count; k++)
            is_set |= strncmp(own->item[k], entry, name) == 0;
        if (!is_set)
            unit->envp[n++] = entry;
    }
    return 0;
}

int program_unit_init(struct program_unit *unit, const struct program_source *source,
                      const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    int r = find_language(unit, source, host, ret_code, fault);
    if (r == 0)
        r = make_code(unit, source);
    if (r == 0)
        r = name_source(unit);
    if (r == 0)
        r = make_files(unit, source, ret_code, fault);
    return r == 0 ? make_environment(unit, host) : r;
}

/* --- commands ----------------------------------------------------------------------------- */

int program_unit_compiler(const struct program_unit *unit, const struct kind_host *host,
                          struct string_list *ret)
{
    const struct language_values values = {
        .source = unit->source,
        .class_name = unit->class_name,
        .python = host->interpreter,
        .memory = unit->compile_limits.of[LIMIT_MEMORY],
    };
    return language_words(unit->language, &unit->language->compile, &values, ret);
}

int program_unit_command(const struct program_unit *unit, const struct kind_host *host,
                         const char *source, struct string_list *ret)
{
    const struct language_values values = {
        .source = source ? source : unit->source,
        .class_name = unit->class_name,
        .python = host->interpreter,
        .memory = unit->limits.of[LIMIT_MEMORY],
    };
    return language_words(unit->language, &unit->language->run, &values, ret);
}
