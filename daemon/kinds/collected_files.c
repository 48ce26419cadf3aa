/* SPDX-License-Identifier: MIT */
#include "collected_files.h"

#include "daemon/jail/pattern.h"
#include "daemon/pool/collected.h"
#include "proto/base64.h"
#include "proto/printer.h"
#include "proto/utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ENTRIES_MAX (LINK_FILES_MAX + LINK_LEFT_MAX)
/* Steps of comparing names with patterns: some hundredths of a second. Those of honest clients take
 * some millions at most. */
#define MATCHING_MAX (UINT64_C(1) << 24)

/* What was collected, and the two arrays that are printed of it. */
struct account {
    struct collected_file entries[ENTRIES_MAX];
    size_t count;
    size_t left; /* bytes of content that may still be printed */
    struct printer files, left_out;
    bool are_complete;
};

/* The jail has found that it is; here only a jail that lies is found out. A client whose patterns
 * take very long to match has to believe it. */
static bool is_wanted(const struct collected_file *file, char *const *patterns, uint64_t *budget)
{
    char name[LINK_NAME_MAX + 1];
    memcpy(name, file->name, file->name_length);
    name[file->name_length] = '\0';
    for (; *patterns; patterns++)
        if (strcmp(*patterns, name) == 0 || pattern_matches_within(*patterns, name, budget))
            return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    const struct collected_file *x = a, *y = b;
    int order = memcmp(x->name, y->name, MIN(x->name_length, y->name_length));
    return order ? order : (x->name_length > y->name_length) - (x->name_length < y->name_length);
}

static int read_entries(struct account *account, struct collected *collected, char *const *patterns)
{
    struct collected_file file;
    uint64_t budget = MATCHING_MAX;
    int r;
    while ((r = collected_next(collected, &file)) > 0) {
        if (account->count == ENTRIES_MAX)
            return -EPROTO;
        if (is_wanted(&file, patterns, &budget))
            account->entries[account->count++] = file;
    }
    qsort(account->entries, account->count, sizeof(account->entries[0]), compare);
    return r;
}

/* Whether TEXT is UTF-8 that a JSON string takes at no more than twice its length. */
static bool is_text(const char *text, size_t n)
{
    while (n > 0) {
        int length = utf8_sequence(text, n);
        bool is_control = (unsigned char)*text < ' ';
        if (length < 0 || (is_control && *text != '\t' && *text != '\n' && *text != '\r'))
            return false;
        text += length;
        n -= (size_t)length;
    }
    return true;
}

static bool is_utf8(const char *text, size_t n)
{
    for (int length; n > 0; text += length, n -= (size_t)length)
        if ((length = utf8_sequence(text, n)) < 0)
            return false;
    return true;
}

static void name_text(struct printer *printer, const char *name, const char *text, size_t n)
{
    _cleanup_json_ json_t *value = json_text(text, n);
    printer_name(printer, name);
    printer_value(printer, value);
}

static void print_left_out(struct account *account, const struct collected_file *file,
                           const char *why)
{
    struct printer *printer = &account->left_out;
    printer_item(printer);
    printer_open(printer);
    name_text(printer, "name", file->name, file->name_length);
    name_text(printer, "why", why, strlen(why));
    if (file->size > 0) {
        printer_name(printer, "size");
        printer_integer(printer, (int64_t)MIN(file->size, (uint64_t)INT64_MAX));
    }
    printer_close(printer);
}

static int print_content(struct printer *printer, const struct collected_file *file)
{
    _cleanup_bytes_ struct bytes encoded = BYTES_NULL;
    if (is_text(file->content, file->size)) {
        name_text(printer, "content", file->content, file->size);
        return 0;
    }
    int r = base64_encode(file->content, file->size, &encoded);
    if (r < 0)
        return r;
    printer_name(printer, "content_base64");
    printer_string(printer, encoded.data, encoded.length);
    return 0;
}

static int print_file(struct account *account, const struct collected_file *file)
{
    struct printer *printer = &account->files;
    char mode[8];
    if (!is_utf8(file->name, file->name_length)) {
        print_left_out(account, file, "name");
        return 0;
    }
    if (file->size > account->left) {
        account->are_complete = false;
        print_left_out(account, file, collected_why(LINK_LEFT_LARGE));
        return 0;
    }
    account->left -= file->size;
    (void)snprintf(mode, sizeof(mode), "%04o", file->mode);
    printer_item(printer);
    printer_open(printer);
    name_text(printer, "name", file->name, file->name_length);
    name_text(printer, "mode", mode, strlen(mode));
    int r = print_content(printer, file);
    printer_close(printer);
    return r;
}

static int print_entries(struct account *account)
{
    int r = 0;
    for (size_t i = 0; i < account->count && r == 0; i++) {
        const struct collected_file *file = &account->entries[i];
        if (i > 0 && compare(file, file - 1) == 0)
            continue;
        if (file->is_left_out)
            print_left_out(account, file, collected_why(file->why));
        else
            r = print_file(account, file);
    }
    return r;
}

/* A jail says which names are missing, unless it was asked for all files. */
static void print_missing(struct account *account, char *const *patterns)
{
    for (; *patterns; patterns++) {
        struct collected_file key = {.name = *patterns, .name_length = strlen(*patterns)};
        if (pattern_is_name(*patterns) &&
            !bsearch(&key, account->entries, account->count, sizeof(key), compare))
            print_left_out(account, &key, collected_why(LINK_LEFT_MISSING));
    }
}

static int finish(struct account *account, struct reply_files *ret)
{
    printer_close_list(&account->files);
    printer_close_list(&account->left_out);
    int r = printer_finish(&account->files, &ret->files);
    if (r == 0)
        r = printer_finish(&account->left_out, &ret->left_out);
    ret->are_complete = account->are_complete;
    return r;
}

int collected_files_print(int fd, int error, char *const *patterns, size_t max,
                          struct reply_files *ret)
{
    _cleanup_collected_ struct collected collected = COLLECTED_NULL;
    _cleanup_free_ struct account *account = calloc(1, sizeof(*account));
    if (!account)
        return -ENOMEM;
    account->left = max;
    account->are_complete = error == 0;
    printer_open_list(&account->files);
    printer_open_list(&account->left_out);
    int r = collected_init(&collected, fd);
    if (r == 0)
        r = read_entries(account, &collected, patterns);
    if (r == 0)
        r = print_entries(account);
    if (r == 0 && error != ECHILD) /* nobody has looked then */
        print_missing(account, patterns);
    int finished = finish(account, ret);
    return r < 0 ? r : finished;
}

int collected_files_tell(int collected, int error, char *const *patterns,
                         struct judgement *judgement)
{
    int r =
        collected_files_print(collected, error, patterns, SANDBOX_COLLECTED_MAX, &judgement->files);
    if (r == 0 || r == -ENOMEM)
        return r;
    judgement->broken_code = r == -EPROTO ? ERROR_SANDBOX_FAILED : ERROR_INTERNAL;
    return asprintf(&judgement->broken, "the job's files could not be read: %s", strerror(-r)) < 0
               ? -ENOMEM
               : 0;
}
