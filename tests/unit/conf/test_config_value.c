/* SPDX-License-Identifier: MIT */
/* The values of the configuration: how each kind is read and written, and what a refusal says. */
#include "conf/config.h"
#include "conf/keys.h"
#include "conf/value.h"
#include "tests/unit/limit_table.h"

static int setup(void **state)
{
    struct config *config = calloc(1, sizeof(*config));
    assert_non_null(config);
    assert_int_equal(config_init(config), 0);
    *state = config;
    return 0;
}

static int teardown(void **state)
{
    config_deinit(*state);
    free(*state);
    return 0;
}

/* NAME of SECTION is set to TEXT, or refused with exactly the words EXPECTED. */
static void assert_set(struct config *config, const char *section, const char *name,
                       const char *text, const char *expected)
{
    struct fault why = FAULT_NULL;
    const struct config_key *key = config_key_find(section, name);
    assert_non_null(key);
    assert_int_equal(config_key_set(key, config, text, &why), expected ? -EINVAL : 0);
    assert_string_equal(why.text, expected ? expected : "");
}

struct reading {
    int (*read)(const char *text, uint64_t *ret);
    const char *text;
    int result;
    uint64_t value;
};

static void test_value_reading(void **state)
{
    static const struct reading readings[] = {
        {value_read_count, "0", 0, 0},
        {value_read_count, "18446744073709551615", 0, UINT64_MAX},
        {value_read_count, "18446744073709551616", -ERANGE, 0},
        {value_read_count, "99999999999999999999999", -ERANGE, 0},
        {value_read_count, "", -EINVAL, 0},
        {value_read_count, "-1", -EINVAL, 0},
        {value_read_count, "+1", -EINVAL, 0},
        {value_read_count, " 1", -EINVAL, 0},
        {value_read_count, "1 ", -EINVAL, 0},
        {value_read_count, "1e3", -EINVAL, 0},
        {value_read_count, "0x10", -EINVAL, 0},
        {value_read_count, "1.0", -EINVAL, 0},
        {value_read_count, "1K", -EINVAL, 0},
        {value_read_octal, "0660", 0, 0660},
        {value_read_octal, "660", 0, 0660},
        {value_read_octal, "0o660", -EINVAL, 0},
        {value_read_octal, "0680", -EINVAL, 0},
        {value_read_octal, "", -EINVAL, 0},
        {value_read_size, "65536", 0, 65536},
        {value_read_size, "64K", 0, 65536},
        {value_read_size, "64KiB", 0, 65536},
        {value_read_size, "3M", 0, UINT64_C(3) << 20},
        {value_read_size, "3MiB", 0, UINT64_C(3) << 20},
        {value_read_size, "2G", 0, UINT64_C(2) << 30},
        {value_read_size, "2GiB", 0, UINT64_C(2) << 30},
        {value_read_size, "1T", 0, UINT64_C(1) << 40},
        {value_read_size, "16777215TiB", 0, UINT64_C(16777215) << 40},
        {value_read_size, "16777216T", -ERANGE, 0},
        {value_read_size, "1.5G", -EINVAL, 0},
        {value_read_size, "64k", -EINVAL, 0},
        {value_read_size, "64KB", -EINVAL, 0},
        {value_read_size, "64 K", -EINVAL, 0},
        {value_read_size, "64KK", -EINVAL, 0},
        {value_read_size, "K", -EINVAL, 0},
        {value_read_size, "-64K", -EINVAL, 0},
        {value_read_size, "", -EINVAL, 0},
        {value_read_duration, "0", 0, 0},
        {value_read_duration, "30", 0, 30000},
        {value_read_duration, "0.25", 0, 250},
        {value_read_duration, "500ms", 0, 500},
        {value_read_duration, "30s", 0, 30000},
        {value_read_duration, "1.5s", 0, 1500},
        {value_read_duration, "1.500000000s", 0, 1500},
        {value_read_duration, "5min", 0, 300000},
        {value_read_duration, "5m", 0, 300000},
        {value_read_duration, "0.5h", 0, 1800000},
        {value_read_duration, "1.0ms", 0, 1},
        {value_read_duration, "1.5ms", -EINVAL, 0},
        {value_read_duration, "0.0001s", -EINVAL, 0},
        {value_read_duration, "1.5000000000s", -EINVAL, 0},
        {value_read_duration, "1.99999999999999999999999s", -ERANGE, 0},
        {value_read_duration, "1.s", -EINVAL, 0},
        {value_read_duration, ".5s", -EINVAL, 0},
        {value_read_duration, "1.-5s", -EINVAL, 0},
        {value_read_duration, "1,5s", -EINVAL, 0},
        {value_read_duration, "s", -EINVAL, 0},
        {value_read_duration, "-1s", -EINVAL, 0},
        {value_read_duration, "1e3", -EINVAL, 0},
        {value_read_duration, "1S", -EINVAL, 0},
        {value_read_duration, "1d", -EINVAL, 0},
        {value_read_duration, "1min30s", -EINVAL, 0},
        {value_read_duration, "30 s", -EINVAL, 0},
        {value_read_duration, "18446744073709551.615s", 0, UINT64_MAX},
        {value_read_duration, "18446744073709551.616s", -ERANGE, 0},
        {value_read_duration, "18446744073709552s", -ERANGE, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
        uint64_t value = 4711;
        int r = readings[i].read(readings[i].text, &value);
        if (r != readings[i].result)
            fail_msg("'%s' gives %d", readings[i].text, r);
        assert_int_equal(value, r == 0 ? readings[i].value : 4711);
    }
}

static void test_value_writing(void **state)
{
    static const uint64_t values[] = {0,        1,        999,       1000,       1023,
                                      1024,     60000,    90000,     3600000,    (1 << 20) + 1024,
                                      16 << 20, 86400000, 1ul << 40, UINT64_MAX, 0777};
    static const struct {
        int (*read)(const char *text, uint64_t *ret);
        void (*write)(uint64_t value, char text[VALUE_TEXT_MAX]);
    } types[] = {
        {value_read_count, value_write_count},
        {value_read_octal, value_write_octal},
        {value_read_size, value_write_size},
        {value_read_duration, value_write_duration},
    };
    char text[VALUE_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(values); j++) {
            uint64_t back = 4711;
            types[i].write(values[j], text);
            assert_int_equal(types[i].read(text, &back), 0);
            assert_int_equal(back, values[j]);
        }
    }
    value_write_size(UINT64_C(16) << 20, text);
    assert_string_equal(text, "16M");
    value_write_duration(90000, text);
    assert_string_equal(text, "90s");
    value_write_duration(300000, text);
    assert_string_equal(text, "5min");
    value_write_octal(0660, text);
    assert_string_equal(text, "0660");
}

static void test_limit_keys_are_those_of_requests(void **state)
{
    const struct limit_table *table = limit_table();
    (void)state;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        const struct config_key *rubric = config_key_find("rubric", limit_key(limit));
        const struct config_key *ceiling = config_key_find("ceilings", limit_key(limit));
        assert_non_null(rubric);
        assert_non_null(ceiling);
        assert_int_equal(rubric->bounds.min, table->least.of[limit]);
        assert_int_equal(rubric->bounds.max, table->most.of[limit]);
        assert_memory_equal(&ceiling->bounds, &rubric->bounds, sizeof(ceiling->bounds));
        for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
            const struct config_key *key = config_key_find(job_kind_name(kind), limit_key(limit));
            assert_non_null(key);
            assert_int_equal(key->offset, offsetof(struct config, limits[kind].of[limit]));
            assert_memory_equal(&key->bounds, &rubric->bounds, sizeof(key->bounds));
            assert_ptr_equal(key->type, rubric->type);
        }
        assert_int_equal(ceiling->offset, offsetof(struct config, ceilings.of[limit]));
        assert_int_equal(limit_is_time(limit), rubric->type == &type_duration);
    }
}

#define SIZE_HINT "(bytes, or with K, M, G or T behind the number)"
#define DURATION_HINT "(as 500ms, 1.5s, 30s, 5min or 1h; seconds without a unit)"
#define LAYERS_HINT                                                             \
    "(env tempdir rlimits no_new_privs tree_kill user_namespace pid_namespace " \
    "mount_namespace net_namespace network filesystem landlock seccomp cgroup " \
    "own_uid)"
#define PATH_HINT "an absolute path without . and .. in it"

static void test_refusals(void **state)
{
    static const struct {
        const char *section;
        const char *name;
        const char *text;
        const char *expected;
    } refusals[] = {
        {"daemon", "slots", "0", "expected auto or a whole number from 1 to 1024, got '0'"},
        {"daemon", "slots", "1025", "expected auto or a whole number from 1 to 1024, got '1025'"},
        {"daemon", "slots", "", "expected auto or a whole number from 1 to 1024, got nothing"},
        {"daemon", "slots", "4 #", "expected auto or a whole number from 1 to 1024, got '4 #'"},
        {"daemon", "max_clients", "auto", "expected a whole number from 1 to 100000, got 'auto'"},
        {"daemon", "socket_mode", "01000", "expected an octal mode from 0 to 0777, got '01000'"},
        {"daemon", "socket_mode", "rw", "expected an octal mode from 0 to 0777, got 'rw'"},
        {"daemon", "socket", "", "expected " PATH_HINT ", got nothing"},
        {"daemon", "socket", "run/a", "expected " PATH_HINT ", got 'run/a'"},
        {"daemon", "work_dir", "/run/../etc", "expected " PATH_HINT ", got '/run/../etc'"},
        {"daemon", "work_dir", "/run/.", "expected " PATH_HINT ", got '/run/.'"},
        {"daemon", "socket_group", "a:b", "expected the name of a group, got 'a:b'"},
        {"daemon", "socket_group", "a b", "expected the name of a group, got 'a b'"},
        {"daemon", "socket_group", "-a", "expected the name of a group, got '-a'"},
        {"daemon", "socket_group", "100", "expected the name of a group, got '100'"},
        {"daemon", "user", "", "expected the name of an account, got nothing"},
        {"daemon", "user", "a b", "expected the name of an account, got 'a b'"},
        {"daemon", "user", "0", "expected the name of an account, got '0'"},
        {"daemon", "user", "-r", "expected the name of an account, got '-r'"},
        {"daemon", "admin_groups", "a a/b",
         "expected names of groups with blanks between them, got 'a/b'"},
        {"daemon", "admin_groups", "a b a", "'a' is given twice"},
        {"daemon", "gateway_users", "a/b",
         "expected names of accounts, or uids, with blanks between them, got 'a/b'"},
        {"daemon", "gateway_users", "a 4294967295",
         "expected names of accounts, or uids, with blanks between them, got '4294967295'"},
        {"daemon", "gateway_users", "0 0", "'0' is given twice"},
        {"daemon", "grace_period", "61min",
         "expected a duration from 0 to 1h " DURATION_HINT ", got '61min'"},
        {"daemon", "grace_period", "-1",
         "expected a duration from 0 to 1h " DURATION_HINT ", got '-1'"},
        {"daemon", "log_level", "loud",
         "expected a level from error to debug (error, warning, info or debug), got 'loud'"},
        {"daemon", "log_format", "syslog",
         "expected a format (auto, journal, plain or json), got 'syslog'"},
        {"queue", "bytes", "1e3", "expected a size from 1K to 1T " SIZE_HINT ", got '1e3'"},
        {"rubric", "allowed_roots", "/a b",
         "expected absolute paths without . and .. in them, with blanks between, got 'b'"},
        {"rubric", "allowed_roots", "/a /b //a/", "'/a' is given twice"},
        {"sandbox", "allow_network", "true", "expected yes or no, got 'true'"},
        {"sandbox", "allow_network", "Yes", "expected yes or no, got 'Yes'"},
        {"sandbox", "allow_network", "", "expected yes or no, got nothing"},
        {"sandbox", "readable_roots", "/a ../b",
         "expected absolute paths without . and .. in them, with blanks between, got '../b'"},
        {"isolation", "readable", "/a b",
         "expected absolute paths without . and .. in them, with blanks between, got 'b'"},
        {"isolation", "readable", "/a /b/../c",
         "expected absolute paths without . and .. in them, with blanks between, got '/b/../c'"},
        {"isolation", "readable", "/a /a/", "'/a' is given twice"},
        {"isolation", "without", "seccomp jail",
         "expected names of layers with blanks between them " LAYERS_HINT ", got 'jail'"},
        {"isolation", "without", "seccomp seccomp", "'seccomp' is given twice"},
        {"isolation", "require", "env, network",
         "expected names of layers with blanks between them " LAYERS_HINT ", got 'env,'"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
        assert_set(*state, refusals[i].section, refusals[i].name, refusals[i].text,
                   refusals[i].expected);
}

/* A refused value leaves the one before. */
static void test_refusal_changes_nothing(void **state)
{
    struct config *config = *state;
    assert_set(config, "daemon", "admin_groups", "a b", NULL);
    assert_set(config, "daemon", "admin_groups", "c c", "'c' is given twice");
    assert_int_equal(config->admin_groups.count, 2);
    assert_set(config, "daemon", "socket", "x", "expected " PATH_HINT ", got 'x'");
    assert_string_equal(config->socket, "/run/rubricd/rubricd.sock");
    assert_set(config, "daemon", "slots", "5", NULL);
    assert_set(config, "daemon", "slots", "x",
               "expected auto or a whole number from 1 to 1024, got 'x'");
    assert_int_equal(config->slots, 5);
    assert_set(config, "daemon", "slots", "auto", NULL);
    assert_int_equal(config->slots, 0);
}

static void test_paths_in_normal_form(void **state)
{
    static const char *const paths[][2] = {
        {"/", "/"},
        {"///", "/"},
        {"/a/", "/a"},
        {"//a///b//", "/a/b"},
        {"/.a/..b", "/.a/..b"},
        {"/a b", "/a b"},
        {"/...", "/..."},
    };
    struct config *config = *state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        assert_set(config, "daemon", "work_dir", paths[i][0], NULL);
        assert_string_equal(config->work_dir, paths[i][1]);
    }
}

static void test_socket_length(void **state)
{
    struct config *config = *state;
    char text[128] = "/", expected[256];

    memset(text + 1, 's', 106);
    assert_set(config, "daemon", "socket", text, NULL);
    assert_int_equal(strlen(config->socket), 107);
    text[107] = 's';
    (void)snprintf(expected, sizeof(expected),
                   "expected " PATH_HINT ", at most 107 bytes, got '%s'", text);
    assert_set(config, "daemon", "socket", text, expected);
}

/* How long a text may be: one byte more is too long. */
static void test_lengths(void **state)
{
    static const struct {
        const char *section, *name;
        size_t most;
    } cases[] = {
        {"daemon", "user", 32},         {"daemon", "socket_group", 255},
        {"daemon", "work_dir", 1023},   {"rubric", "interpreter", 1023},
        {"rubric", "bench_root", 1023}, {"isolation", "idmap_socket", 107},
    };
    struct config *config = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct config_key *key = config_key_find(cases[i].section, cases[i].name);
        char text[1200] = {0}, expected[40];
        struct fault why = FAULT_NULL;
        memset(text, 'a', cases[i].most);
        text[0] = key->type == &type_path ? '/' : 'a';
        assert_int_equal(config_key_set(key, config, text, NULL), 0);
        text[cases[i].most] = 'a';
        assert_int_equal(config_key_set(key, config, text, &why), -EINVAL);
        (void)snprintf(expected, sizeof(expected), "at most %zu bytes", cases[i].most);
        assert_non_null(strstr(why.text, expected));
    }
}

#define ADDRESS_WHAT "expected unix:PATH, or a loopback address with a port"
#define ADDRESS_HINT " (as unix:/run/rubricd/metrics.sock, 127.0.0.1:9643 or [::1]:9643), got "

static void test_addresses(void **state)
{
    static const char *const good[][2] = {
        {"127.0.0.1:1", "127.0.0.1:1"}, {"127.255.0.9:65535", "127.255.0.9:65535"},
        {"[::1]:9643", "[::1]:9643"},   {"[0:0::0:1]:9643", "[0:0::0:1]:9643"},
        {"unix:/run/m", "unix:/run/m"}, {"unix://run///m/", "unix:/run/m"},
        {"unix:/a b:c", "unix:/a b:c"}, {"", ""},
    };
    static const char *const bad[] = {
        "0.0.0.0:9643",
        "192.168.1.1:9643",
        "128.0.0.1:9643",
        "126.255.255.255:1",
        "[::]:9643",
        "[fe80::1]:9643",
        "[::ffff:127.0.0.1]:9643",
        "[::2]:9643",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:09643",
        "127.0.0.1:+1",
        "127.0.0.1: 1",
        "127.0.0.1:1x",
        "127.0.0.1:100000",
        "127.1:9643",
        "0x7f.0.0.1:9643",
        "0177.0.0.1:9643",
        "localhost:9643",
        ":9643",
        "9643",
        "::1:9643",
        "[::1]",
        "[::1]9643",
        "[::1]:",
        "[::1:9643",
        "[]:1",
        "[127.0.0.1]:9643",
        "[::1%lo]:9643",
        "unix:",
        "unix:/",
        "unix:run/m",
        "unix:/run/../m",
        "unix:@m",
        "/run/m",
        "tcp:127.0.0.1:1",
        "http://127.0.0.1:9643",
        "UNIX:/run/m",
    };
    struct config *config = *state;
    char expected[512];
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_set(config, "metrics", "listen", good[i][0], NULL);
        assert_string_equal(config->metrics_listen, good[i][1]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        (void)snprintf(expected, sizeof(expected), ADDRESS_WHAT ADDRESS_HINT "'%s'", bad[i]);
        assert_set(config, "metrics", "listen", bad[i], expected);
    }
}

static void test_address_length(void **state)
{
    struct config *config = *state;
    char text[128] = "unix:/", expected[512];
    memset(text + 6, 's', 106);
    assert_set(config, "metrics", "listen", text, NULL);
    text[112] = 's';
    (void)snprintf(expected, sizeof(expected),
                   ADDRESS_WHAT ", at most 112 bytes" ADDRESS_HINT "'%s'", text);
    assert_set(config, "metrics", "listen", text, expected);
}

/* The bounds of every number: both ends are allowed, what lies beyond is not. */
static void test_bounds(void **state)
{
    struct config *config = *state;
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        const struct config_bounds *b = &key->bounds;
        char text[VALUE_TEXT_MAX];
        if (key->type->kind != CONFIG_NUMBER || key->type == &type_log_level ||
            key->type == &type_log_format)
            continue;
        key->type->write(b->min, text);
        assert_int_equal(config_key_set(key, config, text, NULL), 0);
        assert_int_equal(config_key_number(key, config), b->min);
        key->type->write(b->max, text);
        assert_int_equal(config_key_set(key, config, text, NULL), 0);
        assert_int_equal(config_key_number(key, config), b->max);
        key->type->write(b->max + 1, text);
        assert_int_equal(config_key_set(key, config, text, NULL), -EINVAL);
        if (b->min > 0) {
            key->type->write(b->min - 1, text);
            assert_int_equal(config_key_set(key, config, text, NULL), -EINVAL);
        }
        assert_int_equal(config_key_number(key, config), b->max);
        assert_true(key->size == 8 || (key->size == 4 && b->max <= UINT32_MAX));
    }
}

static void test_environment(void **state)
{
    static const char *const refused[] = {"PATH=/x",
                                          "LANG=",
                                          "PYTHONHASHSEED=1",
                                          "PYTHONIOENCODING=x",
                                          "LD_PRELOAD=x",
                                          "LD_=",
                                          "NAME",
                                          "=x",
                                          "1A=x",
                                          "A-B=x",
                                          "A =x",
                                          "\xC3\xA4=x"};
    static const char *const allowed[] = {"LDX=1", "PATHS=1", "PYTHONPATH=/x", "a1_=", "_=x=y z"};
    struct config *config = *state;
    char expected[FAULT_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        (void)snprintf(expected, sizeof(expected),
                       "expected NAME=VALUE (NAME of letters, digits and _, none of PATH LANG "
                       "PYTHONHASHSEED PYTHONIOENCODING, nor one that begins with LD_), got '%s'",
                       refused[i]);
        assert_set(config, "isolation", "env_allow", refused[i], expected);
    }
    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
        assert_set(config, "isolation", "env_allow", allowed[i], NULL);
        assert_string_equal(config->env_allow.item[i], allowed[i]);
    }
    assert_set(config, "isolation", "env_allow", "a1_=2", "a1_ is already set, as 'a1_='");
    assert_set(config, "isolation", "env_allow", "", NULL);
    assert_int_equal(config->env_allow.count, 0);
}

static void test_boolean(void **state)
{
    struct config *config = *state;
    assert_set(config, "sandbox", "allow_network", "yes", NULL);
    assert_true(config->sandbox_allow_network);
    assert_set(config, "sandbox", "allow_network", "maybe", "expected yes or no, got 'maybe'");
    assert_true(config->sandbox_allow_network);
    assert_set(config, "sandbox", "allow_network", "no", NULL);
    assert_false(config->sandbox_allow_network);
}

static void test_names_of_variables(void **state)
{
    static const char *const refused[] = {"PATH",
                                          "LANG",
                                          "PYTHONHASHSEED",
                                          "PYTHONIOENCODING",
                                          "LD_",
                                          "LD_PRELOAD",
                                          "LD_LIBRARY_PATH",
                                          "A=x",
                                          "1A",
                                          "A-B",
                                          "A,",
                                          "\xC3\xA4"};
    struct config *config = *state;
    char expected[FAULT_MAX], text[64];

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        (void)snprintf(expected, sizeof(expected),
                       "expected names of variables with blanks between them (letters, digits and "
                       "_, none of PATH LANG PYTHONHASHSEED PYTHONIOENCODING, nor one that begins "
                       "with LD_), got '%s'",
                       refused[i]);
        (void)snprintf(text, sizeof(text), "HOME %s", refused[i]);
        assert_set(config, "sandbox", "env_names", text, expected);
    }
    assert_int_equal(config->sandbox_env_names.count, 0);
    assert_set(config, "sandbox", "env_names", "HOME PATHS LDX _ a1_ PYTHONPATH", NULL);
    assert_int_equal(config->sandbox_env_names.count, 6);
}

/* Sets NAME of SECTION to COUNT items, which begin with START. */
static int set_items(struct config *config, const char *section, const char *name,
                     const char *start, int count)
{
    char text[1024] = "";
    for (int i = 0; i < count; i++)
        (void)snprintf(text + strlen(text), 16, "%s%s%d", i > 0 ? " " : "", start, i);
    return config_key_set(config_key_find(section, name), config, text, NULL);
}

static void test_lengths_of_lists(void **state)
{
    static const struct {
        const char *section, *name, *start;
        int most;
    } cases[] = {
        {"rubric", "allowed_roots", "/r", 64},
        {"sandbox", "env_names", "N", 64},
        {"sandbox", "readable_roots", "/r", 64},
        {"isolation", "readable", "/r", 32},
        {"warm", "modules", "m", 60},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *section = cases[i].section, *name = cases[i].name, *start = cases[i].start;
        assert_int_equal(set_items(*state, section, name, start, cases[i].most), 0);
        assert_int_equal(set_items(*state, section, name, start, cases[i].most + 1), -EINVAL);
    }
}

static void test_number_of_items(void **state)
{
    struct config *config = *state;
    char text[1024] = "";

    for (int i = 0; i < 65; i++)
        (void)snprintf(text + strlen(text), 16, " g%d", i);
    assert_set(config, "daemon", "admin_groups", text,
               "expected names of groups with blanks between them, from 0 to 64 of them, got 65");
    *strrchr(text, ' ') = '\0';
    assert_set(config, "daemon", "admin_groups", text, NULL);
    assert_int_equal(config->admin_groups.count, 64);

    for (int i = 0; i < 65; i++) {
        (void)snprintf(text, sizeof(text), "V%d=x", i);
        assert_set(config, "isolation", "env_allow", text,
                   i < 64 ? NULL : "expected NAME=VALUE, from 0 to 64 of them, got 65");
    }
}

/* Settings of a command line, without a file. */
static void test_settings(void **state)
{
    /* Of a key that is given twice the last counts, as is usual for options. */
    static const char *const good[] = {"daemon.slots=2", "isolation.env_allow=A=b.c",
                                       "rubric.bench_root=", "daemon.slots=3"};
    static const char *const bad[] = {"daemon.slots", "slots=3", "daemon.slot=3", "demon.slots=3",
                                      "queue.jobs=0"};
    static const char *const texts[] = {
        "expected SECTION.KEY=VALUE, got 'daemon.slots'",
        "expected SECTION.KEY=VALUE, got 'slots=3'",
        "unknown key, did you mean slots?",
        "unknown section",
        "expected a whole number from 1 to 1000000, got '0'",
    };
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    struct config *config = *state;

    assert_int_equal(config_load(config, NULL, false, good, ARRAY_SIZE(good), &problems), 0);
    assert_int_equal(config->slots, 3);
    assert_string_equal(config->env_allow.item[0], "A=b.c");
    assert_int_equal(config_load(config, NULL, false, bad, ARRAY_SIZE(bad), &problems), -EINVAL);
    assert_int_equal(problems.count, ARRAY_SIZE(texts));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        assert_string_equal(problems.item[i].file, "--set");
        assert_int_equal(problems.item[i].line, i + 1);
        assert_string_equal(problems.item[i].text, texts[i]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_reading),
        cmocka_unit_test(test_value_writing),
        cmocka_unit_test(test_limit_keys_are_those_of_requests),
        TEST(test_refusals),
        TEST(test_refusal_changes_nothing),
        TEST(test_paths_in_normal_form),
        TEST(test_socket_length),
        TEST(test_addresses),
        TEST(test_address_length),
        TEST(test_lengths),
        TEST(test_bounds),
        TEST(test_environment),
        TEST(test_boolean),
        TEST(test_names_of_variables),
        TEST(test_lengths_of_lists),
        TEST(test_number_of_items),
        TEST(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
