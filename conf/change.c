/* SPDX-License-Identifier: MIT */
#include "change.h"
#include "keys.h"
#include "language.h"

#include <string.h>

/* Keys that the daemon uses only once, before it drops privileges or takes the first job. */
static const struct {
    const char *section, *name;
} fixed[] = {
    {"daemon", "user"},         {"daemon", "socket"},   {"daemon", "socket_mode"},
    {"daemon", "socket_group"}, {"daemon", "work_dir"}, {"daemon", "log_format"},
    {"metrics", "listen"},
};

static bool is_fixed(const struct config_key *key)
{
    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        if (config_key_find(fixed[i].section, fixed[i].name) == key)
            return true;
    return false;
}

static int add(struct string_list *list, const struct config_key *key)
{
    char name[128];
    (void)snprintf(name, sizeof(name), "%s.%s", key->section, key->name);
    return string_list_add(list, name);
}

/* The same directory may have other files. */
static int find_languages(const struct config *current, const struct config *next,
                          struct config_change *change)
{
    static const char name[] = "languages.directory";
    return language_lists_equal(&current->languages, &next->languages) ||
                   string_list_contains(&change->live, name)
               ? 0
               : string_list_add(&change->live, name);
}

int config_change_find(const struct config *current, struct config *next, struct config_change *ret)
{
    *ret = (struct config_change)CONFIG_CHANGE_NULL;
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        if (config_key_equal(key, current, next))
            continue;
        int r = add(is_fixed(key) ? &ret->fixed : &ret->live, key);
        if (r == 0 && is_fixed(key))
            r = config_key_copy(key, next, current);
        if (r < 0)
            return r;
    }
    return find_languages(current, next, ret);
}

void config_change_deinit(struct config_change *change)
{
    string_list_deinit(&change->live);
    string_list_deinit(&change->fixed);
}
