/* SPDX-License-Identifier: MIT */
#pragma once
/* The table of the keys in a language's file. Private to conf/ and its tests. */

#include "language_data.h"
#include "types.h"

struct language_key {
    const char *section;
    const char *name;
    const struct config_type *type;
    size_t offset; /* of the field in struct language */
    size_t size;
    struct config_bounds bounds;
    const char *preset; /* the default, as a file would set it; NULL: 0, or the empty list */
    bool required;
};

/* Names of languages, with blanks between. */
extern const struct config_type type_languages;

/* The sections that hold a program instead of keys. */
#define LANGUAGE_HELLO "hello"
#define LANGUAGE_SUM "sum"
#define LANGUAGE_COMPILER "compiler"

size_t language_key_count(void);
const struct language_key *language_key_at(size_t index);

/* Returns NULL if there is no such key. */
const struct language_key *language_key_find(const char *section, const char *name);

/* What was probably meant by a NAME that SECTION does not have; NULL. */
const char *language_key_suggest(const char *section, const char *name);

/* Returns the table's own copy of a section's name; NULL if there is no such section. */
const char *language_section_find(const char *name);
const char *language_section_suggest(const char *name);

/* What a placeholder stands for. */
enum language_placeholder {
    PLACEHOLDER_SOURCE,
    PLACEHOLDER_CLASS,
    PLACEHOLDER_PYTHON,
    PLACEHOLDER_MEMORY,
    PLACEHOLDER_HEAP,
    PLACEHOLDER_COUNT,
    PLACEHOLDER_UNKNOWN = PLACEHOLDER_COUNT,
};

/* Returns the length of the placeholder, {name}, at the head of TEXT; 0 if there is none. *ret is
 * PLACEHOLDER_UNKNOWN if no placeholder has that name. */
size_t language_placeholder(const char *text, enum language_placeholder *ret);

/* Whether NAME can be a language's name or alias. */
bool language_is_name(const char *name);
