/* SPDX-License-Identifier: MIT */
#pragma once
/* The types of values that keys have: how to read each from text, which values are allowed, and how
 * to describe them to people. */

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
    const char *zero_word; /* a word for 0, exempt from the bounds */
    bool unordered;        /* "from MIN to MAX" would be meaningless in a complaint */
    int (*read)(const char *text, uint64_t *ret);
    void (*write)(uint64_t value, char *text);

    /* CONFIG_STRING, and each item of a CONFIG_LIST: returns whether TEXT is allowed, and brings it
     * into its normal form, which is never longer. */
    bool (*accept)(char *text);

    /* CONFIG_LIST: each occurrence of the key adds one item, and an empty value empties the list.
     * Otherwise one occurrence gives all items, separated by spaces. */
    bool repeatable;
    bool repeats; /* CONFIG_LIST: the same item may come twice */
};

/* Bounds of a number, of the bytes of a string, or of the items of a list. A minimum of 1 forbids
 * an empty string. */
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
extern const struct config_type type_modules; /* Python modules */
extern const struct config_type type_path;
extern const struct config_type type_paths;
extern const struct config_type type_account;
extern const struct config_type type_group;
extern const struct config_type type_groups;
extern const struct config_type type_users;
extern const struct config_type type_address;
extern const struct config_type type_layers;
extern const struct config_type type_environment;
extern const struct config_type type_env_names;
extern const struct config_type type_boolean; /* ignores its bounds */

/* Sets FIELD, of SIZE bytes, from TEXT and frees its former value. Returns 0; -EINVAL with WHY,
 * which says what is allowed; or -ENOMEM. FIELD is untouched on failure. */
int config_type_set(const struct config_type *type, struct config_bounds bounds, const char *text,
                    void *field, size_t size, struct fault *why);

/* Frees the value of FIELD, which becomes 0, NULL, or an empty list. */
void config_type_clear(const struct config_type *type, void *field, size_t size);

/* Returns whether FIELD and OTHER, both of SIZE bytes, hold equal values. */
bool config_type_equal(const struct config_type *type, const void *field, const void *other,
                       size_t size);

/* Sets FIELD to a copy of the value of OTHER and frees its former value. Returns 0; or -ENOMEM with
 * FIELD untouched. */
int config_type_copy(const struct config_type *type, void *field, const void *other, size_t size);

/* Returns the value of a CONFIG_NUMBER. */
uint64_t config_type_number(const void *field, size_t size);
