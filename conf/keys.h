/* SPDX-License-Identifier: MIT */
#pragma once
/* The table of all keys of the configuration: names, types, bounds and defaults. Private to conf/
 * and its tests. */

#include "config_data.h"
#include "types.h"

struct config_key {
    const char *section;
    const char *name;
    const struct config_type *type;
    size_t offset; /* of the field in struct config */
    size_t size;
    struct config_bounds bounds;
    const char *preset; /* the default, as a file would set it; NULL: config_init() sets it */
};

/* The table, in the order of rubricd.conf. */
size_t config_key_count(void);
const struct config_key *config_key_at(size_t index);

/* Returns NULL if there is no such key. */
const struct config_key *config_key_find(const char *section, const char *name);

/* These work on the field of KEY as the functions of types.h of the same name do. */
int config_key_set(const struct config_key *key, struct config *config, const char *text,
                   struct fault *why);
void config_key_clear(const struct config_key *key, struct config *config);
bool config_key_equal(const struct config_key *key, const struct config *config,
                      const struct config *other);
int config_key_copy(const struct config_key *key, struct config *config,
                    const struct config *other);
uint64_t config_key_number(const struct config_key *key, const struct config *config);

/* Returns the table's own copy of a section's name; NULL if there is no such section. */
const char *config_section_find(const char *name);

/* Return what was probably meant by a NAME that does not exist, or NULL. Suggest a key of another
 * section only if its name is exactly right. */
const char *config_section_suggest(const char *name);
const struct config_key *config_key_suggest(const char *section, const char *name);
