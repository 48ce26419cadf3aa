/* SPDX-License-Identifier: MIT */
#include "keys.h"
#include "address.h"
#include "language_keys.h"
#include "suggest.h"

#include <string.h>

#define KIB (UINT64_C(1) << 10)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

#define SECOND UINT64_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

#define FIELD(member) offsetof(struct config, member), sizeof(((struct config *)NULL)->member)

/* The limits in a section: each as jobs of that kind get it, or, in [ceilings], as far as a request
 * may raise it. Their defaults are those of the kind and of proto/limits.h. */
#define TYPE_TIME &type_duration
#define TYPE_BYTES &type_size
#define TYPE_NUMBER &type_count
/* clang-format off */
#define LIMIT_FIELD(member, limit) \
    offsetof(struct config, member) + offsetof(struct limits, of[limit]), sizeof(uint64_t)
#define LIMIT_KEY(ID, name, key, unit, low, high, ceiling, section, member) \
    {section, key, TYPE_##unit, LIMIT_FIELD(member, LIMIT_##ID), {low, high}, NULL},
#define LIMIT_KEYS(section, member) LIMIT_ROWS(LIMIT_KEY, section, member)
#define LIMIT_KEYS_OF_KIND(section, KIND) LIMIT_KEYS(section, limits[KIND])
/* The same for a kind with a ceiling of its own for the wall clock. */
#define LIMIT_KEYS_WITH_CEILING(section, KIND)                                                      \
    LIMIT_ROW_WALL_CLOCK(LIMIT_KEY, section, limits[KIND])                                          \
    {section, "wall_clock_ceiling", &type_duration, FIELD(wall_clock_ceiling_ms[KIND]), {100, DAY}, \
     NULL},                                                                                         \
    LIMIT_ROWS_OTHER(LIMIT_KEY, section, limits[KIND])
#define KIND_KEYS(ID, name, keys) keys(#name, JOB_##ID)

static const struct config_key keys[] = {
    {"daemon", "user", &type_account, FIELD(user), {1, 32}, CONFIG_DEFAULT_USER},
    {"daemon", "socket", &type_path, FIELD(socket), {1, 107}, "/run/rubricd/rubricd.sock"},
    {"daemon", "socket_mode", &type_mode, FIELD(socket_mode), {0, 0777}, "0660"},
    {"daemon", "socket_group", &type_group, FIELD(socket_group), {0, 255}, "rubricd"},
    {"daemon", "work_dir", &type_path, FIELD(work_dir), {1, 1023}, "/run/rubricd/work"},
    {"daemon", "slots", &type_count_or_auto, FIELD(slots), {1, CONFIG_SLOTS_MAX}, "auto"},
    {"daemon", "max_clients", &type_count, FIELD(max_clients), {1, 100000}, "2048"},
    {"daemon", "admin_groups", &type_groups, FIELD(admin_groups), {0, 64}, ""},
    {"daemon", "gateway_users", &type_users, FIELD(gateway_users), {0, 64}, ""},
    {"daemon", "grace_period", &type_duration, FIELD(grace_period_ms), {0, HOUR}, "30s"},
    {"daemon", "log_level", &type_log_level, FIELD(log_level), {0, CONFIG_LOG_DEBUG}, "info"},
    {"daemon", "log_format", &type_log_format, FIELD(log_format), {0, CONFIG_LOG_JSON}, "auto"},

    {"queue", "jobs", &type_count, FIELD(queue_jobs), {1, 1000000}, "1024"},
    {"queue", "bytes", &type_size, FIELD(queue_bytes), {KIB, TIB}, "64M"},
    {"queue", "jobs_per_client", &type_count, FIELD(queue_jobs_per_client), {1, 1000000}, "256"},

    {"protocol", "max_frame", &type_size, FIELD(max_frame), {KIB, GIB}, "16M"},
    {"protocol", "frame_timeout", &type_duration, FIELD(frame_timeout_ms), {100, HOUR}, "30s"},
    {"protocol", "receive_bytes", &type_size, FIELD(receive_bytes), {KIB, TIB}, "64M"},
    {"protocol", "reply_timeout", &type_duration, FIELD(reply_timeout_ms), {100, HOUR}, "60s"},
    {"protocol", "reply_high_water", &type_size, FIELD(reply_high_water), {KIB, GIB}, "4M"},

    {"rubric", "interpreter", &type_path, FIELD(interpreter), {1, 1023}, "/usr/bin/python3"},
    {"rubric", "bench_root", &type_path, FIELD(bench_root), {0, 1023}, ""},
    {"rubric", "allowed_roots", &type_paths, FIELD(allowed_roots), {0, 64}, "/"},

    {"sandbox", "allow_network", &type_boolean, FIELD(sandbox_allow_network), {0, 1}, "no"},
    {"sandbox", "env_names", &type_env_names, FIELD(sandbox_env_names), {0, 64}, ""},
    {"sandbox", "readable_roots", &type_paths, FIELD(sandbox_readable_roots), {0, 64}, ""},

    {"program", "put_bytes", &type_size, FIELD(program_put_bytes), {KIB, TIB}, "256M"},
    {"program", "put_bytes_per_client", &type_size, FIELD(program_put_bytes_per_client), {KIB, TIB},
     "64M"},

    {"session", "max", &type_count_or_auto, FIELD(session_max), {1, CONFIG_SLOTS_MAX}, "auto"},
    {"session", "lease", &type_duration, FIELD(session_lease_ms), {SECOND, 7 * DAY}, "1h"},
    {"session", "lease_ceiling", &type_duration, FIELD(session_lease_ceiling_ms),
     {SECOND, 7 * DAY}, "24h"},
    {"session", "idle", &type_duration, FIELD(session_idle_ms), {SECOND, DAY}, "10min"},
    {"session", "idle_ceiling", &type_duration, FIELD(session_idle_ceiling_ms), {SECOND, DAY},
     "1h"},
    {"session", "output_ceiling", &type_size, FIELD(session_output_ceiling), {KIB, GIB}, "10M"},

    JOB_KINDS(KIND_KEYS)
    LIMIT_KEYS("ceilings", ceilings)

    {"languages", "directory", &type_path, FIELD(languages_directory), {0, 1023},
     "/etc/rubricd/languages.d"},
    {"languages", "enabled", &type_languages, FIELD(languages_enabled), {0, LANGUAGES_MAX}, ""},
    {"languages", "ask_versions", &type_boolean, FIELD(languages_ask), {0, 1}, "yes"},

    {"metrics", "listen", &type_address, FIELD(metrics_listen), {0, ADDRESS_TEXT_MAX}, ""},

    {"isolation", "require", &type_layers, FIELD(require), {0, 64},
     "env tempdir rlimits no_new_privs network filesystem tree_kill"},
    {"isolation", "without", &type_layers, FIELD(without), {0, 64}, ""},
    {"isolation", "cpu_percent", &type_count, FIELD(cpu_percent), {0, 100000}, "0"},
    {"isolation", "readable", &type_paths, FIELD(readable), {0, 32}, ""},
    {"isolation", "env_allow", &type_environment, FIELD(env_allow), {0, 64}, ""},
    {"isolation", "idmap_socket", &type_path, FIELD(idmap_socket), {0, 107},
     "/run/rubricd-idmap.sock"},

    {"warm", "use", &type_warm, FIELD(warm), {0, CONFIG_WARM_YES}, "auto"},
    {"warm", "modules", &type_modules, FIELD(warm_modules), {0, 60},
     "json re math collections dataclasses typing datetime random"},
    {"warm", "classes", &type_size, FIELD(warm_classes), {0, TIB}, "1G"},
};
/* clang-format on */

size_t config_key_count(void)
{
    return ARRAY_SIZE(keys);
}

const struct config_key *config_key_at(size_t index)
{
    return index < ARRAY_SIZE(keys) ? &keys[index] : NULL;
}

const struct config_key *config_key_find(const char *section, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

int config_key_set(const struct config_key *key, struct config *config, const char *text,
                   struct fault *why)
{
    void *field = (char *)config + key->offset;
    return config_type_set(key->type, key->bounds, text, field, key->size, why);
}

void config_key_clear(const struct config_key *key, struct config *config)
{
    config_type_clear(key->type, (char *)config + key->offset, key->size);
}

bool config_key_equal(const struct config_key *key, const struct config *config,
                      const struct config *other)
{
    return config_type_equal(key->type, (const char *)config + key->offset,
                             (const char *)other + key->offset, key->size);
}

int config_key_copy(const struct config_key *key, struct config *config, const struct config *other)
{
    return config_type_copy(key->type, (char *)config + key->offset,
                            (const char *)other + key->offset, key->size);
}

uint64_t config_key_number(const struct config_key *key, const struct config *config)
{
    return config_type_number((const char *)config + key->offset, key->size);
}

const char *config_section_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(keys[i].section, name) == 0)
            return keys[i].section;
    return NULL;
}

/* How far a key or section may be from NAME to be suggested for it: a third of the letters may be
 * wrong, but not all of a short name. A name longer than any key was not mistyped: 0. */
static size_t tolerance(const char *name)
{
    size_t length = strlen(name);
    return length > SUGGEST_WORD_MAX ? 0 : (length + 2) / 3;
}

const char *config_section_suggest(const char *name)
{
    size_t best = tolerance(name) + 1;
    const char *found = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        size_t distance = suggest_distance(name, keys[i].section);
        if (distance < best) {
            best = distance;
            found = keys[i].section;
        }
    }
    return found;
}

const struct config_key *config_key_suggest(const char *section, const char *name)
{
    size_t best = tolerance(name) + 1;
    const struct config_key *found = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        bool here = strcmp(keys[i].section, section) == 0;
        size_t distance = suggest_distance(name, keys[i].name);
        if (distance < best && (here || distance == 0)) {
            best = distance;
            found = &keys[i];
        }
    }
    return found;
}
