/* SPDX-License-Identifier: MIT */
/* Where languages come from: the files of a directory, or those that are built in. */
#include "language.h"
#include "language_builtin.h"
#include "language_keys.h"

#include "proto/bytes.h"
#include "proto/shortage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX ".conf"

/* Where a list is being read from. */
struct source {
    struct language_list *list;
    struct config_problems *problems;
};

/* Adds a mistake to PROBLEMS: -EINVAL; -ENOMEM. */
_printf_(4, 5) static int report(struct config_problems *problems, const char *file,
                                 const char *key, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;
    va_start(args, format);
    int r = vasprintf(&text, format, args);
    va_end(args);
    if (r < 0)
        text = NULL;
    return !text || config_problems_add(problems, file, 0, key, &text) < 0 ? -ENOMEM : -EINVAL;
}

/* --- one file ------------------------------------------------------------------------------ */

static int read_all(int fd, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    text.data = malloc(LANGUAGE_FILE_MAX + 1);
    if (!text.data)
        return -ENOMEM;
    for (;;) {
        ssize_t n = read(fd, text.data + text.length, LANGUAGE_FILE_MAX + 1 - text.length);
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        text.length += (size_t)n;
        if (text.length > LANGUAGE_FILE_MAX)
            return -EFBIG;
    }
    *ret = TAKE_STRUCT(text, BYTES_NULL);
    return 0;
}

/* Reads the file at PATH: 0; 1 if it is masked; -EINVAL with a mistake added; a shortage. */
static int read_file(const char *path, struct bytes *ret, struct config_problems *problems)
{
    struct stat st;
    /* Non-blocking: a FIFO without a writer would hold us here. */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return is_shortage(errno)
                   ? -errno
                   : report(problems, path, NULL, "cannot be opened: %s", strerror(errno));
    if (S_ISCHR(st.st_mode))
        return 1;
    if (!S_ISREG(st.st_mode))
        return report(problems, path, NULL, "is not a regular file");
    int r = read_all(fd, ret);
    if (r == -EFBIG)
        return report(problems, path, NULL, "larger than %u bytes", LANGUAGE_FILE_MAX);
    return r < 0 && !is_shortage(-r)
               ? report(problems, path, NULL, "cannot be read: %s", strerror(-r))
               : r;
}

static int take_file(struct source *source, const char *directory, const char *file)
{
    _cleanup_free_ char *path = NULL, *name = strdup(file);
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!name || asprintf(&path, "%s/%s", directory, file) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    name[strlen(name) - strlen(SUFFIX)] = '\0';
    if (!language_is_name(name))
        return report(source->problems, path, NULL,
                      "no language can have this name: expected lower case letters, digits and + # "
                      "- _ . before " SUFFIX ", at most %d of them",
                      LANGUAGE_NAME_MAX);
    int r = read_file(path, &text, source->problems);
    return r == 0
               ? language_read(name, path, text.data, text.length, source->list, source->problems)
               : MIN(r, 0);
}

/* --- the list ------------------------------------------------------------------------------ */

static int is_language_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && n >= sizeof(SUFFIX) &&
           strcmp(entry->d_name + n - strlen(SUFFIX), SUFFIX) == 0;
}

/* Keeps the worse of two results: a shortage, then a mistake. */
static int worse(int r, int other)
{
    return r == 0 || (r == -EINVAL && other < 0) ? other : r;
}

static int read_directory(struct source *source, const char *directory)
{
    struct dirent **entry = NULL;
    int r = 0, count = scandir(directory, &entry, is_language_file, versionsort);
    if (count < 0)
        return errno == ENOENT || is_shortage(errno)
                   ? -errno
                   : report(source->problems, directory, NULL, "cannot be listed: %s",
                            strerror(errno));
    if (count > LANGUAGES_MAX)
        r = report(source->problems, directory, NULL,
                   "has %d languages, and there may be at most %d", count, LANGUAGES_MAX);
    for (int i = 0; i < count; i++) {
        if (i < LANGUAGES_MAX)
            r = worse(r, take_file(source, directory, entry[i]->d_name));
        free(entry[i]);
    }
    free(entry);
    return r;
}

static int read_builtin(struct source *source)
{
    int r = 0;
    for (size_t i = 0; i < language_builtin_count; i++) {
        const struct language_builtin *of = &language_builtin[i];
        char file[128];
        (void)snprintf(file, sizeof(file), "(built in)/%s" SUFFIX, of->name);
        r = worse(
            r, language_read(of->name, file, of->text, of->length, source->list, source->problems));
    }
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct language *)a)->name, ((const struct language *)b)->name);
}

/* Who else than LANGUAGE answers to NAME. */
static const struct language *find_other(const struct language_list *list, const char *name,
                                         const struct language *language)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct language *other = &list->item[i];
        if (other != language &&
            (strcmp(other->name, name) == 0 || string_list_contains(&other->aliases, name)))
            return other;
    }
    return NULL;
}

static int check_names(const struct language_list *list, struct config_problems *problems)
{
    int r = 0;
    for (size_t n = 0; n < list->count; n++) {
        const struct language *of = &list->item[n];
        for (size_t i = 0; i < of->aliases.count; i++) {
            const struct language *other = find_other(list, of->aliases.item[i], of);
            if (other)
                r = worse(r, report(problems, of->file, "[language] aliases",
                                    "%s is a name of %s, too", of->aliases.item[i], other->file));
        }
    }
    return r;
}

int language_list_load(struct language_list *list, const char *directory,
                       struct config_problems *problems)
{
    struct source source = {list, problems};
    int r = *directory ? read_directory(&source, directory) : read_builtin(&source);
    if (list->count > 0)
        qsort(list->item, list->count, sizeof(*list->item), by_name);
    return worse(r, r == 0 || r == -EINVAL ? check_names(list, problems) : 0);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int language_list_readable(const struct language_list *list, struct string_list *ret)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < list->item[i].readable.count; j++) {
            const char *path = list->item[i].readable.item[j];
            int r = string_list_contains(ret, path) ? 0 : string_list_add(ret, path);
            if (r < 0)
                return r;
        }
    if (ret->count > 0)
        qsort(ret->item, ret->count, sizeof(*ret->item), by_text);
    return 0;
}
