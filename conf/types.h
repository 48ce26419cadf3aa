/* SPDX-License-Identifier: MIT */
#pragma once
/* What kinds of value a key can have: how each is read from text, what is allowed, how it is told
 * to a person. */

#include "proto/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_kind {
    CONFIG_NUMBER,  /* a field of 4 bytes (unsigned, enum) or of 8 (uint64_t) */
    CONFIG_BOOLEAN, /* bool */
    CONFIG_STRING,  /* char *, on the heap */
    CONFIG_LIST,    /* struct string_list */
};

struct config_type {
    enum config_kind kind;
    const char *what; /* "expected WHAT from MIN to MAX (HINT), got ..." */
    const char *hint;

    /* CONFIG_NUMBER */
    const char *zero_word; /* a word that stands for 0, which the bounds then do not concern */
    bool unordered;        /* "from MIN to MAX" would say nothing */
    int (*read)(const char *text, uint64_t *ret);
    void (*write)(uint64_t value, char *text);

    /* CONFIG_STRING, and each item of a CONFIG_LIST: whether it is allowed. Brings it into its
     * normal form, which is never longer. */
    bool (*accept)(char *text);

    /* CONFIG_LIST: one item for each time that the key is given, rather than all at once with
     * blanks between them; an empty value empties the list. */
    bool repeatable;
};

/* What a value has to keep to: of a number the value, of a string its length in bytes, of a list
 * the number of its items. A minimum of 1 is what forbids an empty string. */
struct config_bounds {
    uint64_t min;
    uint64_t max;
};

extern const struct config_type type_count;
extern const struct config_type type_count_or_auto; /* auto is 0 */
extern const struct config_type type_mode;
extern const struct config_type type_size;
extern const struct config_type type_duration;
extern const struct config_type type_log_level;
extern const struct config_type type_log_format;
extern const struct config_type type_warm;
extern const struct config_type type_modules; /* of Python */
extern const struct config_type type_path;
extern const struct config_type type_paths;
extern const struct config_type type_account;
extern const struct config_type type_group;
extern const struct config_type type_groups;
extern const struct config_type type_address;
extern const struct config_type type_layers;
extern const struct config_type type_environment;
extern const struct config_type type_env_names;
extern const struct config_type type_boolean; /* its bounds mean nothing */

/* Sets FIELD, of SIZE bytes, from TEXT, and frees what it held. Returns 0; or -EINVAL, WHY saying
 * what is allowed, or -ENOMEM, the field being untouched in both cases. */
int config_type_set(const struct config_type *type, struct config_bounds bounds, const char *text,
                    void *field, size_t size, struct fault *why);

/* Frees what FIELD holds. It is then 0, NULL, or an empty list. */
void config_type_clear(const struct config_type *type, void *field, size_t size);

/* Whether FIELD and OTHER, both of SIZE bytes, hold the same. */
bool config_type_equal(const struct config_type *type, const void *field, const void *other,
                       size_t size);

/* Sets FIELD to a copy of what OTHER holds, and frees what it held. Returns 0; or -ENOMEM, the
 * field being untouched. */
int config_type_copy(const struct config_type *type, void *field, const void *other, size_t size);

/* The value of a CONFIG_NUMBER. */
uint64_t config_type_number(const void *field, size_t size);
