/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "keys.h"
#include "language.h"
#include "loader.h"
#include "value.h"

#include "proto/jobkinds.h"

#include <assert.h>
#include <string.h>

int config_init(struct config *config)
{
    *config = (struct config){.ceilings = limits_ceiling_default};
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        config->limits[id] = job_kind_get(id)->defaults;
        config->wall_clock_ceiling_ms[id] = job_kind_get(id)->wall_clock_ceiling;
    }
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        int r = key->preset ? config_key_set(key, config, key->preset, NULL) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

void config_deinit(struct config *config)
{
    for (size_t i = 0; i < config_key_count(); i++)
        config_key_clear(config_key_at(i), config);
    language_list_deinit(&config->languages);
}

/* Pairs of keys of which the first may be at most the second. */
static const struct {
    const char *section;
    const char *name;
    const char *most_section;
    const char *most_name;
} ordered[] = {
    {"queue", "jobs_per_client", "queue", "jobs"},
    {"protocol", "max_frame", "protocol", "receive_bytes"},
    {"protocol", "max_frame", "queue", "bytes"},
    {"program", "put_bytes_per_client", "program", "put_bytes"},
    {"session", "lease", "session", "lease_ceiling"},
    {"session", "idle", "session", "idle_ceiling"},
};

/* Returns whether KEY was set after OTHER: of two keys that contradict each other, the later is
 * blamed.
 */
static bool is_later(struct loader *loader, const struct config_key *key,
                     const struct config_key *other)
{
    return loader_origin(loader, key)->order >= loader_origin(loader, other)->order;
}

/* Returns whether both keys hold what the operator wrote; a refused value left the default behind.
 */
static bool are_comparable(struct loader *loader, const struct config_key *key,
                           const struct config_key *other)
{
    return !loader_origin(loader, key)->refused && !loader_origin(loader, other)->refused;
}

/* Writes where KEY was set, "(FILE:LINE)", or "by default". */
static void describe_origin(struct loader *loader, const struct config_key *key, char *text,
                            size_t size)
{
    const struct origin *origin = loader_origin(loader, key);
    if (origin->file)
        (void)snprintf(text, size, "(%s:%u)", origin->file, origin->line);
    else
        (void)snprintf(text, size, "by default");
}

static void report_pair(struct loader *loader, const struct config_key *key,
                        const struct config_key *other, const char *relation)
{
    const struct origin *origin = loader_origin(loader, key);
    char value[VALUE_TEXT_MAX], other_value[VALUE_TEXT_MAX], where[FAULT_MAX];

    key->type->write(config_key_number(key, loader->config), value);
    other->type->write(config_key_number(other, loader->config), other_value);
    describe_origin(loader, other, where, sizeof(where));
    loader_report(loader, origin->file ? origin->file : loader->files.item[0], origin->line,
                  key->section, key->name, "%s is %s than [%s] %s, which is %s %s", value, relation,
                  other->section, other->name, other_value, where);
}

static void check_pair(struct loader *loader, const struct config_key *low,
                       const struct config_key *high)
{
    assert(low && high);
    if (!are_comparable(loader, low, high) ||
        config_key_number(low, loader->config) <= config_key_number(high, loader->config))
        return;
    if (is_later(loader, low, high))
        report_pair(loader, low, high, "more");
    else
        report_pair(loader, high, low, "less");
}

/* No default of KIND may be above its ceiling: the one of its own, or that of all kinds. A
 * session's output comes as it is written, so it may be more than fits into a result. */
static void check_limits(struct loader *loader, const struct job_kind *kind)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        const char *key = limit_key(limit);
        const struct config_key *ceiling = config_key_find("ceilings", key);
        if (limit == LIMIT_WALL_CLOCK && kind->wall_clock_ceiling > 0)
            ceiling = config_key_find(kind->name, "wall_clock_ceiling");
        if (limit == LIMIT_OUTPUT && config_key_find(kind->name, "output_ceiling"))
            ceiling = config_key_find(kind->name, "output_ceiling");
        check_pair(loader, config_key_find(kind->name, key), ceiling);
    }
}

static void check_order(struct loader *loader)
{
    for (size_t i = 0; i < ARRAY_SIZE(ordered); i++)
        check_pair(loader, config_key_find(ordered[i].section, ordered[i].name),
                   config_key_find(ordered[i].most_section, ordered[i].most_name));
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++)
        check_limits(loader, job_kind_get(id));
}

/* PATH and ROOT are in their normal form. */
static bool is_beneath(const char *path, const char *root)
{
    size_t length = strlen(root);
    if (length == 1)
        return true;
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static void check_bench_root(struct loader *loader)
{
    const struct config *config = loader->config;
    const struct config_key *root = config_key_find("rubric", "bench_root");
    const struct config_key *allowed = config_key_find("rubric", "allowed_roots");

    if (config->bench_root[0] == '\0' || !are_comparable(loader, root, allowed))
        return;
    for (size_t i = 0; i < config->allowed_roots.count; i++)
        if (is_beneath(config->bench_root, config->allowed_roots.item[i]))
            return;

    const struct config_key *key = is_later(loader, root, allowed) ? root : allowed;
    const struct origin *origin = loader_origin(loader, key);
    loader_report(loader, origin->file ? origin->file : loader->files.item[0], origin->line,
                  key->section, key->name, "bench_root %s lies under none of allowed_roots",
                  config->bench_root);
}

/* Reports at the last place that set KEY, which has a default otherwise. */
#define report_key(loader, key, ...)                                                  \
    loader_report(loader,                                                             \
                  loader_origin(loader, key)->file ? loader_origin(loader, key)->file \
                                                   : loader->files.item[0],           \
                  loader_origin(loader, key)->line, (key)->section, (key)->name, __VA_ARGS__)

/* Reads the files of languages: those of the directory, or the ones that are built in where that is
 * the default one and the host has none. */
static void load_languages(struct loader *loader)
{
    struct config *config = loader->config;
    const struct config_key *key = config_key_find("languages", "directory");
    language_list_deinit(&config->languages);
    int r = language_list_load(&config->languages, config->languages_directory, loader->problems);
    if (r == -ENOENT && strcmp(config->languages_directory, key->preset) != 0)
        report_key(loader, key, "%s: %s", config->languages_directory, strerror(ENOENT));
    else if (r == -ENOENT)
        r = language_list_load(&config->languages, "", loader->problems);
    if (r < 0 && r != -ENOENT && loader->error != -ENOMEM)
        loader->error = r;
}

/* Leaves the languages that [languages] enabled names, or all if it names none. */
static void choose_languages(struct loader *loader)
{
    struct config *config = loader->config;
    const struct config_key *key = config_key_find("languages", "enabled");
    const struct string_list *names = &config->languages_enabled;
    for (size_t i = 0; i < names->count; i++)
        if (!language_find(&config->languages, names->item[i]))
            report_key(loader, key, "there is no file for the language %s", names->item[i]);
    if (names->count > 0)
        language_list_keep(&config->languages, names);
}

int config_load(struct config *config, const char *path, bool must_exist,
                const char *const *settings, size_t n, struct config_problems *problems)
{
    _cleanup_loader_ struct loader loader;
    int r = loader_init(&loader, config, problems);
    if (r < 0)
        return r;
    if (path) {
        loader_read_file(&loader, path, must_exist);
        loader_read_drop_ins(&loader, path);
    }
    loader_read_settings(&loader, settings, n);
    if (loader.error == -ENOMEM)
        return -ENOMEM;
    check_order(&loader);
    check_bench_root(&loader);
    load_languages(&loader);
    if (loader.error == 0)
        choose_languages(&loader);
    return loader.error;
}
