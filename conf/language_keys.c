/* SPDX-License-Identifier: MIT */
#include "language_keys.h"
#include "suggest.h"
#include "value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PLACEHOLDERS "{source} {class} {python} {memory_mb} {heap_mb}"

static const char *const placeholder_names[PLACEHOLDER_COUNT] = {
    [PLACEHOLDER_SOURCE] = "source", [PLACEHOLDER_CLASS] = "class",
    [PLACEHOLDER_PYTHON] = "python", [PLACEHOLDER_MEMORY] = "memory_mb",
    [PLACEHOLDER_HEAP] = "heap_mb",
};

size_t language_placeholder(const char *text, enum language_placeholder *ret)
{
    if (*text != '{')
        return 0;
    size_t n = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
    if (n == 0 || text[n + 1] != '}')
        return 0;
    *ret = PLACEHOLDER_UNKNOWN;
    for (enum language_placeholder i = 0; i < PLACEHOLDER_COUNT; i++)
        if (strlen(placeholder_names[i]) == n && memcmp(placeholder_names[i], text + 1, n) == 0)
            *ret = i;
    return n + 2;
}

/* --- types --------------------------------------------------------------------------------- */

bool language_is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+#-_.");
    return n > 0 && n <= LANGUAGE_NAME_MAX && name[n] == '\0' && name[0] != '.' && name[0] != '-';
}

static bool accept_name(char *name)
{
    return language_is_name(name);
}

static bool has_only(const char *text, unsigned allowed)
{
    enum language_placeholder placeholder = PLACEHOLDER_UNKNOWN;
    for (; *text; text++)
        if (language_placeholder(text, &placeholder) > 0 &&
            (placeholder == PLACEHOLDER_UNKNOWN || !(allowed & 1U << placeholder)))
            return false;
    return true;
}

static bool accept_word(char *word)
{
    return has_only(word, ~0U);
}

/* The version is asked for before there is a program or a limit. */
static bool accept_version(char *word)
{
    return has_only(word, 1U << PLACEHOLDER_PYTHON);
}

static bool accept_source(char *name)
{
    return !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           name[strcspn(name, " \t")] == '\0' && has_only(name, 1U << PLACEHOLDER_CLASS);
}

static bool accept_pattern(char *pattern)
{
    return pattern[0] != '/' &&
           has_only(pattern, 1U << PLACEHOLDER_CLASS | 1U << PLACEHOLDER_SOURCE);
}

static bool accept_class(char *name)
{
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$") ==
               strlen(name) &&
           !(name[0] >= '0' && name[0] <= '9');
}

static bool accept_package(char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == strlen(name);
}

static bool accept_text(char *text)
{
    (void)text;
    return true;
}

/* A decimal fraction as thousandths. */
static int read_factor(const char *text, uint64_t *ret)
{
    return strspn(text, "0123456789.") == strlen(text) ? value_read_duration(text, ret) : -EINVAL;
}

static void write_factor(uint64_t value, char *text)
{
    (void)snprintf(text, VALUE_TEXT_MAX, "%g", (double)value / LANGUAGE_FACTOR_ONE);
}

static const char *const stack_names[] = {
    [LANGUAGE_STACK_USUAL] = "8M",
    [LANGUAGE_STACK_UNLIMITED] = "unlimited",
};

static int read_stack(const char *text, uint64_t *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(stack_names); i++) {
        if (strcmp(text, stack_names[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

static void write_stack(uint64_t value, char *text)
{
    (void)snprintf(text, VALUE_TEXT_MAX, "%s", stack_names[value]);
}

const struct config_type type_languages = {
    .kind = CONFIG_LIST,
    .what = "names with blanks between them",
    .hint = "lower case letters, digits and + # - _ . in each, at most 32",
    .accept = accept_name,
};

static const struct config_type type_source = {
    .kind = CONFIG_STRING,
    .what = "the name of a file",
    .hint = "without blanks and /; {class} is the program's class",
    .accept = accept_source,
};

static const struct config_type type_class = {
    .kind = CONFIG_STRING,
    .what = "the name of a class",
    .hint = "letters, digits, _ and $",
    .accept = accept_class,
};

static const struct config_type type_package = {
    .kind = CONFIG_STRING,
    .what = "the name of a Debian package",
    .accept = accept_package,
};

static const struct config_type type_command = {
    .kind = CONFIG_LIST,
    .what = "a program and its arguments with blanks between them",
    .hint = "there is no shell and there are no quotes; the placeholders are " PLACEHOLDERS,
    .accept = accept_word,
    .repeats = true,
};

static const struct config_type type_version = {
    .kind = CONFIG_LIST,
    .what = "a program and its arguments with blanks between them",
    .hint = "there is no shell and there are no quotes; the only placeholder is {python}",
    .accept = accept_version,
    .repeats = true,
};

static const struct config_type type_patterns = {
    .kind = CONFIG_LIST,
    .what = "patterns of files in the work directory with blanks between them",
    .hint = "as main or *.class; {source} and {class} may be in them",
    .accept = accept_pattern,
};

static const struct config_type type_texts = {
    .kind = CONFIG_LIST,
    .what = "a text",
    .accept = accept_text,
    .repeatable = true,
};

static const struct config_type type_factor = {
    .kind = CONFIG_NUMBER,
    .what = "a factor",
    .hint = "as 1, 1.5 or 3",
    .read = read_factor,
    .write = write_factor,
};

static const struct config_type type_stack = {
    .kind = CONFIG_NUMBER,
    .what = "8M or unlimited",
    .unordered = true,
    .read = read_stack,
    .write = write_stack,
};

/* --- the table ----------------------------------------------------------------------------- */

#define FIELD(member) offsetof(struct language, member), sizeof(((struct language *)NULL)->member)
#define TYPE_TIME &type_duration
#define TYPE_BYTES &type_size
#define TYPE_NUMBER &type_count
/* clang-format off */
#define LIMIT_KEY(ID, name, key, unit, low, high, ceiling, section, member)                \
    {section, key, TYPE_##unit,                                                            \
     offsetof(struct language, member) + offsetof(struct limits, of[LIMIT_##ID]),          \
     sizeof(uint64_t), {low, high}, NULL, false},

static const struct language_key keys[] = {
    {"language", "aliases", &type_languages, FIELD(aliases), {0, 16}, NULL, false},
    {"language", "source", &type_source, FIELD(source), {1, 64}, NULL, true},
    {"language", "class", &type_class, FIELD(file_class), {1, 64}, NULL, false},
    {"language", "package", &type_package, FIELD(package), {0, 64}, NULL, false},
    {"language", "version", &type_version, FIELD(version), {1, 16}, NULL, true},
    {"language", "env", &type_environment, FIELD(env), {0, 32}, NULL, false},
    {"language", "readable", &type_paths, FIELD(readable), {0, 16}, NULL, false},
    {"language", "needs_view", &type_boolean, FIELD(needs_view), {0, 1}, "no", false},

    {"compile", "command", &type_command, FIELD(compile), {1, 64}, NULL, false},
    {"compile", "artefact", &type_patterns, FIELD(artefact), {1, 16}, NULL, false},
    {"compile", "address_space", &type_boolean, FIELD(compile_address_space), {0, 1}, "yes", false},
    LIMIT_ROWS(LIMIT_KEY, "compile", compile_limits)

    {"run", "command", &type_command, FIELD(run), {1, 64}, NULL, true},
    {"run", "address_space", &type_boolean, FIELD(address_space), {0, 1}, "yes", false},
    {"run", "stack", &type_stack, FIELD(stack), {0, LANGUAGE_STACK_UNLIMITED}, "8M", false},
    {"run", "time_factor", &type_factor, FIELD(time_factor), {100, 100000}, "1", false},
    {"run", "memory_overhead", &type_size, FIELD(memory_overhead), {0, LIMIT_GIB}, "0", false},
    {"run", "memory_message", &type_texts, FIELD(memory_messages), {0, 16}, NULL, false},
    {"run", "memory_status", &type_count, FIELD(memory_status), {1, 255}, NULL, false},
    LIMIT_ROWS(LIMIT_KEY, "run", run_limits)
};
/* clang-format on */

static const char *const sections[] = {"language",        "compile",      "run",
                                       LANGUAGE_COMPILER, LANGUAGE_HELLO, LANGUAGE_SUM};

size_t language_key_count(void)
{
    return ARRAY_SIZE(keys);
}

const struct language_key *language_key_at(size_t index)
{
    return index < ARRAY_SIZE(keys) ? &keys[index] : NULL;
}

const struct language_key *language_key_find(const char *section, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

const char *language_key_suggest(const char *section, const char *name)
{
    const char *names[ARRAY_SIZE(keys)];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(keys[i].section, section) == 0)
            names[n++] = keys[i].name;
    return suggest(name, names, n);
}

const char *language_section_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
        if (strcmp(sections[i], name) == 0)
            return sections[i];
    return NULL;
}

const char *language_section_suggest(const char *name)
{
    return suggest(name, sections, ARRAY_SIZE(sections));
}
