/* SPDX-License-Identifier: MIT */
#include "program.h"

#include "daemon/languages/source.h"
#include "proto/extraction.h"

#include <string.h>

/* Only processes of the job reach the file. */
#define SOURCE_MODE 0644

void program_unit_deinit(struct program_unit *unit)
{
    bytes_deinit(&unit->code);
    free(unit->source);
    free(unit->class_name);
    unit->envp = language_strings_free(unit->envp);
    free(unit->files);
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
    if (!unit->language) {
        const char *meant = languages_suggest(host->languages, source->language);
        return fault_set(fault, "%s.language: this daemon knows no language \"%.64s\"; %s%s%s",
                         source->path, source->language,
                         meant ? "did you mean " : "its status lists those that it knows",
                         meant ? meant : "", meant ? "?" : "");
    }
    if (!languages_has(host->languages, unit->language, NULL, &why))
        return fault_set(fault, "%s.language: this host cannot run %s: %s", source->path,
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

/* --- files -------------------------------------------------------------------------------- */

/* Tells whether one of the names is the other, or a directory of it. */
static bool collide(const char *a, const char *b)
{
    size_t n = MIN(strlen(a), strlen(b));
    return strncmp(a, b, n) == 0 && (a[n] == '\0' || a[n] == '/') && (b[n] == '\0' || b[n] == '/');
}

/* Says why no file NAME may stand beside the program; NULL: it may. */
static const char *why_not(const struct program_unit *unit, const struct program_source *source,
                           const char *name)
{
    if (collide(name, unit->source))
        return "the program itself stands there";
    bool reaches_tests = !program_unit_is_compiled(unit);
    for (const char *const *taken = source->taken; reaches_tests && taken && *taken; taken++)
        if (collide(name, *taken))
            return "a file of each test stands there";
    return NULL;
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
        const char *why = why_not(unit, source, file->name);
        if (why) {
            *ret_code = ERROR_BAD_REQUEST;
            return fault_set(fault, "%s.files.%.64s: %s", source->path, file->name, why);
        }
        unit->files[unit->file_count++] =
            (struct launch_file){.name = file->name, .mode = file->mode, .content = &file->content};
    }
    return 0;
}

/* --- commands ----------------------------------------------------------------------------- */

static struct language_values values_of(const struct program_unit *unit,
                                        enum language_command command, const struct kind_host *host,
                                        const char *source)
{
    bool compiles = command == LANGUAGE_COMPILE;
    return (struct language_values){
        .source = source ? source : unit->source,
        .class_name = unit->class_name,
        .python = host->interpreter,
        .memory = compiles ? unit->compile_limits.of[LIMIT_MEMORY] : unit->limits.of[LIMIT_MEMORY],
    };
}

int program_unit_init(struct program_unit *unit, const struct program_source *source,
                      const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    int r = find_language(unit, source, host, ret_code, fault);
    if (r == 0) {
        unit->script = (struct bytes){.data = unit->language->compiler,
                                      .length = strlen(unit->language->compiler)};
        r = make_code(unit, source);
    }
    if (r == 0)
        r = language_source_name(unit->language, &unit->code, &unit->source, &unit->class_name);
    if (r == 0)
        r = make_files(unit, source, ret_code, fault);
    const struct language_values values = values_of(unit, LANGUAGE_RUN, host, NULL);
    return r == 0 ? language_environment(host->languages, unit->language, &values, &unit->envp) : r;
}

int program_unit_command(const struct program_unit *unit, enum language_command command,
                         const struct kind_host *host, const char *source, char ***ret)
{
    const struct language_values values = values_of(unit, command, host, source);
    return language_argv(host->languages, unit->language, command, &values, ret);
}
