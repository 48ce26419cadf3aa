/* SPDX-License-Identifier: MIT */
#pragma once
/* Every key that a configuration may set, in one table: names, types, bounds and defaults. Private
 * to conf/ and its tests. */

#include "config_data.h"
#include "types.h"

struct config_key {
    const char *section;
    const char *name;
    const struct config_type *type;
    size_t offset; /* of the field in struct config */
    size_t size;
    struct config_bounds bounds;
    const char *preset; /* the default, as in a file; NULL: from a table in proto/limits.h */
};

/* The table, in the order of rubricd.conf. */
size_t config_key_count(void);
const struct config_key *config_key_at(size_t index);

/* NULL where there is no such key. */
const struct config_key *config_key_find(const char *section, const char *name);

/* As config_type_set, of the key's field. */
int config_key_set(const struct config_key *key, struct config *config, const char *text,
                   struct fault *why);
void config_key_clear(const struct config_key *key, struct config *config);
bool config_key_equal(const struct config_key *key, const struct config *config,
                      const struct config *other);
/* Sets the key's field in CONFIG to a copy of OTHER's. */
int config_key_copy(const struct config_key *key, struct config *config,
                    const struct config *other);
uint64_t config_key_number(const struct config_key *key, const struct config *config);

/* The table's own copy of a section's name, or NULL where there is no such section. */
const char *config_section_find(const char *name);

/* What was probably meant by a name that does not exist, or NULL. A key of another section is
 * suggested only if its name is exactly right. */
const char *config_section_suggest(const char *name);
const struct config_key *config_key_suggest(const char *section, const char *name);
