/* SPDX-License-Identifier: MIT */
/* Fuzz target: the configuration file and --set.
 *
 * The input is the text of a file; behind two NULs in a row, settings of a command line follow,
 * each with its NUL. Holds for any bytes: what loads has each value within the bounds of its key,
 * and is the same when it is written as a file and loaded again; what does not load names its
 * mistakes, each with its file and a line that exists, in one printable line. */
#include "tests/fuzz/fuzz.h"

#include "conf/change.h"
#include "conf/config.h"
#include "conf/keys.h"
#include "conf/lines.h"
#include "conf/value.h"
#include "proto/utf8.h"

#include <string.h>
#include <sys/mman.h>

#define SETTINGS_MAX 8

struct source {
    int fd;
    char path[40];
};

/* Makes a file of the N bytes at TEXT, which needs no place on a disk. */
static struct source source_of(const void *text, size_t n)
{
    struct source source = {.fd = memfd_create("fuzz.conf", MFD_CLOEXEC)};
    CHECK(source.fd >= 0 && (n == 0 || write(source.fd, text, n) == (ssize_t)n));
    (void)snprintf(source.path, sizeof(source.path), "/proc/self/fd/%d", source.fd);
    return source;
}

/* --- writing a configuration ----------------------------------------------------------------- */

static void write_list(FILE *stream, const struct config_key *key, const struct string_list *list)
{
    if (key->type->repeatable) {
        (void)fprintf(stream, "%s =\n", key->name); /* what is there by default goes first */
        for (size_t i = 0; i < list->count; i++)
            (void)fprintf(stream, "%s = %s\n", key->name, list->item[i]);
        return;
    }
    (void)fprintf(stream, "%s =", key->name);
    for (size_t i = 0; i < list->count; i++)
        (void)fprintf(stream, " %s", list->item[i]);
    (void)fputc('\n', stream);
}

static void write_number(FILE *stream, const struct config_key *key, uint64_t number)
{
    char text[VALUE_TEXT_MAX];
    if (number == 0 && key->type->zero_word)
        (void)snprintf(text, sizeof(text), "%s", key->type->zero_word);
    else
        key->type->write(number, text);
    (void)fprintf(stream, "%s = %s\n", key->name, text);
}

static void write_key(FILE *stream, const struct config_key *key, const struct config *config)
{
    const void *field = (const char *)config + key->offset;
    (void)fprintf(stream, "[%s]\n", key->section);
    switch (key->type->kind) {
    case CONFIG_NUMBER:
        write_number(stream, key, config_key_number(key, config));
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

/* A setting of the command line may be longer than a line of a file, and hold what begins a comment
 * there. */
static bool fits_in_lines(const char *text)
{
    if (strstr(text, " ;") || strstr(text, "\t;"))
        return false;
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") > LINES_LINE_MAX)
            return false;
    return true;
}

static void check_round_trip(const struct config *config)
{
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    _cleanup_config_change_ struct config_change change = CONFIG_CHANGE_NULL;
    _cleanup_config_ struct config again = CONFIG_NULL;
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream);
    for (size_t i = 0; i < config_key_count(); i++)
        write_key(stream, config_key_at(i), config);
    CHECK(fclose(stream) == 0);
    if (!fits_in_lines(text))
        return;

    struct source source = source_of(text, length);
    CHECK(config_init(&again) == 0);
    int r = config_load(&again, source.path, true, NULL, 0, &problems);
    for (size_t i = 0; i < problems.count; i++)
        config_print_problem(stderr, &problems.item[i]);
    CHECK(r == 0);
    for (size_t i = 0; i < config_key_count(); i++)
        CHECK(config_key_equal(config_key_at(i), config, &again));
    CHECK(config_change_find(config, &again, &change) == 0);
    CHECK(change.live.count == 0 && change.fixed.count == 0);
    close_fd(source.fd);
}

/* --- oracles --------------------------------------------------------------------------------- */

static void check_bounds(const struct config *config)
{
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        const void *field = (const char *)config + key->offset;
        uint64_t n = 0;
        if (key->type->kind == CONFIG_BOOLEAN)
            continue;
        if (key->type->kind == CONFIG_NUMBER)
            n = config_key_number(key, config);
        else if (key->type->kind == CONFIG_STRING)
            n = strlen(*(const char *const *)field);
        else
            n = ((const struct string_list *)field)->count;
        if (n == 0 && key->type->kind == CONFIG_NUMBER && key->type->zero_word)
            continue;
        CHECK(n >= key->bounds.min && n <= key->bounds.max);
    }
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

static void check_problems(const struct config_problems *problems, const char *path, unsigned lines,
                           size_t settings)
{
    CHECK(problems->count > 0);
    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *problem = &problems->item[i];
        bool in_file = strcmp(problem->file, path) == 0;
        CHECK(in_file || strncmp(problem->file, "--set", 5) == 0);
        CHECK(problem->line <= (in_file ? lines : settings));
        CHECK(is_printable(problem->text) && (!problem->key || is_printable(problem->key)));
    }
}

/* Splits the N bytes at TEXT at their NULs. What stands behind the last one is left out. */
static size_t split(const char *text, size_t n, const char *settings[SETTINGS_MAX])
{
    size_t count = 0;
    while (count < SETTINGS_MAX && n > 0 && memchr(text, '\0', n)) {
        size_t length = strlen(text) + 1;
        settings[count++] = text;
        text += length;
        n -= length;
    }
    return count;
}

static unsigned count_lines(const uint8_t *data, size_t n)
{
    unsigned lines = 1;
    for (size_t i = 0; i < n; i++)
        lines += data[i] == '\n';
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    _cleanup_config_ struct config config = CONFIG_NULL;
    const char *settings[SETTINGS_MAX];
    const uint8_t *end = size > 0 ? memmem(data, size, "\0", 2) : NULL;
    size_t n = end ? (size_t)(end - data) : size;
    size_t count = end ? split((const char *)end + 2, size - n - 2, settings) : 0;

    struct source source = source_of(data, n);
    CHECK(config_init(&config) == 0);
    int r = config_load(&config, source.path, true, settings, count, &problems);
    CHECK(r == 0 || r == -EINVAL);
    close_fd(source.fd);
    if (r < 0) {
        check_problems(&problems, source.path, count_lines(data, n), count);
        return 0;
    }
    CHECK(problems.count == 0);
    check_bounds(&config);
    check_round_trip(&config);
    return 0;
}
