/* SPDX-License-Identifier: MIT */
/* Tests that the scrubbed environment cannot be changed, that the digest changes with the policy
 * and nothing else, that a missing required layer is named, and that asking for the interpreter's
 * version does not trust the interpreter. */
#include "conf/keys.h"
#include "conf/language.h"
#include "conf/problems.h"
#include "daemon/confine/isolation.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define VERSION "Python 3.11.2"
#define DIGEST_LENGTH 64

static const char *const four[] = {
    "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONHASHSEED=0", "PYTHONIOENCODING=utf-8", NULL,
};

/* The result of a probe if the host grants everything and jobs may use the network. */
#define FOUND (LAYERS_ALL & ~LAYER_BIT(LAYER_CGROUP))
#define FOUND_NETWORKED (FOUND & ~LAYER_BIT(LAYER_NETWORK) & ~LAYER_BIT(LAYER_NET_NAMESPACE))

static void init_probe(struct probe *probe, uint32_t layers, uint32_t networked)
{
    *probe = (struct probe)PROBE_NULL;
    probe->layers = probe->shape.layers = layers;
    probe->networked.layers = networked;
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        (void)snprintf(probe->missing_because[layer], PROBE_REASON_MAX, "no %s here",
                       layer_name(layer));
}

/* The default configuration, with no layer required. */
static void init_config(struct config *config)
{
    assert_int_equal(config_init(config), 0);
    string_list_deinit(&config->require);
}

static void init_isolation_for(struct isolation *isolation, const struct config *config,
                               const char *version, uint32_t layers, uint32_t networked)
{
    struct fault fault = FAULT_NULL;
    struct probe probe;
    init_probe(&probe, layers, networked);
    int r = isolation_init(isolation, config, version, &probe, &fault);
    if (r != 0)
        fail_msg("%d: %s", r, fault.text);
    assert_string_equal(fault.text, "");
    assert_int_equal(isolation->layers, layers);
}

static void init_isolation(struct isolation *isolation, const struct config *config,
                           const char *version)
{
    init_isolation_for(isolation, config, version, FOUND, FOUND_NETWORKED);
}

static void expect_environment(char *const *environment, const char *const *expected)
{
    size_t i = 0;
    for (; expected[i]; i++)
        assert_string_equal(environment[i], expected[i]);
    assert_null(environment[i]);
}

/* --- the environment ---------------------------------------------------------------------- */

static void test_scrubbed_environment_has_four_entries(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(four); i++) {
        if (four[i])
            assert_string_equal(isolation_scrubbed_env[i], four[i]);
        else
            assert_null(isolation_scrubbed_env[i]);
    }
    assert_int_equal(sizeof(isolation_scrubbed_env), sizeof(four));
}

static void test_nothing_of_our_own_environment_gets_in(void **state)
{
    static char home[] = "HOME=/root", path[] = "PATH=/leaked", lang[] = "LANG=leaked";
    static char seed[] = "PYTHONHASHSEED=7", preload[] = "LD_PRELOAD=leaked", key[] = "API_KEY=x";
    static char bad[] = "no equals sign", empty[] = "";
    char *full[] = {home, path, lang, seed, preload, key, bad, empty, NULL}, *none[] = {NULL};
    char **const environments[] = {full, none}, **ours = environ;
    struct config config;
    (void)state;
    init_config(&config);
    for (size_t i = 0; i < ARRAY_SIZE(environments); i++) {
        struct isolation isolation;
        environ = environments[i];
        init_isolation(&isolation, &config, VERSION);
        environ = ours;
        expect_environment(isolation.environment, four);
        isolation_deinit(&isolation);
    }
    config_deinit(&config);
}

static void test_allowed_entries_come_behind_the_four(void **state)
{
    static const char *const expected[] = {
        "PATH=/usr/bin:/bin",
        "LANG=C.UTF-8",
        "PYTHONHASHSEED=0",
        "PYTHONIOENCODING=utf-8",
        "TZ=UTC",
        "EMPTY=",
        "A=b=c",
        NULL,
    };
    struct config config;
    struct isolation isolation;
    (void)state;
    init_config(&config);
    for (size_t i = ARRAY_SIZE(four) - 1; expected[i]; i++)
        assert_int_equal(string_list_add(&config.env_allow, expected[i]), 0);
    init_isolation(&isolation, &config, VERSION);
    expect_environment(isolation.environment, expected);
    /* It is a copy: the table is unchanged, and the copy outlives the configuration. */
    assert_null(isolation_scrubbed_env[ARRAY_SIZE(four) - 1]);
    config_deinit(&config);
    expect_environment(isolation.environment, expected);
    isolation_deinit(&isolation);
}

/* Writes a byte without the compiler knowing. */
static void write_to(const void *address)
{
    volatile char *target = (volatile char *)(uintptr_t)address;
    *target = 'X';
}

static void expect_read_only(const void *address)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        /* No handler, a sanitizer's for example, may report the fault instead. */
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
            (void)signal(signals[i], SIG_DFL);
        write_to(address);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void test_scrubbed_environment_is_read_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(four); i++) {
        expect_read_only(&isolation_scrubbed_env[i]);
        if (isolation_scrubbed_env[i]) {
            expect_read_only(isolation_scrubbed_env[i]);
            expect_read_only(isolation_scrubbed_env[i] + strlen(isolation_scrubbed_env[i]));
        }
    }
    /* The check detects writable memory. */
    static char probe;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        write_to(&probe);
        _exit(probe == 'X' ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* --- the digest --------------------------------------------------------------------------- */

struct digest {
    char text[DIGEST_LENGTH + 1];
};

static struct digest digest_in(const json_t *summary)
{
    struct digest digest;
    const char *text = json_string_value(json_object_get(summary, "digest"));
    assert_non_null(text);
    assert_int_equal(strlen(text), DIGEST_LENGTH);
    assert_int_equal(strspn(text, "0123456789abcdef"), DIGEST_LENGTH);
    strcpy(digest.text, text);
    return digest;
}

static json_t *read_printed(const struct bytes *printed)
{
    json_t *summary = NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(json_read_object(printed->data, printed->length, &summary, &fault), 0);
    return summary;
}

static struct digest digest_in_printed(const struct bytes *printed)
{
    _cleanup_json_ json_t *summary = read_printed(printed);
    return digest_in(summary);
}

static struct digest digest_of(const struct config *config, const char *version)
{
    struct isolation isolation;
    init_isolation(&isolation, config, version);
    struct digest digest = digest_in(isolation.summary);
    isolation_deinit(&isolation);
    return digest;
}

static void replace(char **text, const char *other)
{
    free(*text);
    *text = strdup(other);
    assert_non_null(*text);
}

static void change_env_allow(struct config *config)
{
    assert_int_equal(string_list_add(&config->env_allow, "TZ=UTC"), 0);
}

static void change_env_allow_value(struct config *config)
{
    assert_int_equal(string_list_add(&config->env_allow, "TZ=CET"), 0);
}

static void change_env_allow_to_two(struct config *config)
{
    assert_int_equal(string_list_add(&config->env_allow, "TZ=UTC"), 0);
    assert_int_equal(string_list_add(&config->env_allow, "A=b"), 0);
}

static void change_readable(struct config *config)
{
    assert_int_equal(string_list_add(&config->readable, "/opt"), 0);
}

static void change_readable_to_two(struct config *config)
{
    assert_int_equal(string_list_add(&config->readable, "/opt"), 0);
    assert_int_equal(string_list_add(&config->readable, "/srv"), 0);
}

static void change_readable_to_two_in_one(struct config *config)
{
    assert_int_equal(string_list_add(&config->readable, "/opt /srv"), 0);
}

static void change_interpreter(struct config *config)
{
    replace(&config->interpreter, "/usr/local/bin/python3");
}

static void change_wall_clock_ceiling(struct config *config)
{
    config->wall_clock_ceiling_ms[JOB_RUBRIC]++;
}

static void change_wall_clock_ceiling_of_code(struct config *config)
{
    config->wall_clock_ceiling_ms[JOB_CODE_EXEC]++;
}

static void change_socket(struct config *config)
{
    replace(&config->socket, "/run/other.sock");
    replace(&config->socket_group, "other");
    config->socket_mode = 0600;
}

static void change_work_dir(struct config *config)
{
    replace(&config->work_dir, "/var/tmp/elsewhere");
}

static void change_numbers_of_the_daemon(struct config *config)
{
    config->slots += 7;
    config->max_clients++;
    config->grace_period_ms++;
    config->log_level = CONFIG_LOG_DEBUG;
}

static void change_queue_and_protocol(struct config *config)
{
    config->queue_jobs++;
    config->queue_bytes++;
    config->queue_jobs_per_client++;
    config->max_frame++;
    config->frame_timeout_ms++;
    config->receive_bytes++;
    config->reply_high_water++;
    config->reply_timeout_ms++;
}

static void change_roots(struct config *config)
{
    replace(&config->bench_root, "/srv/bench");
    assert_int_equal(string_list_add(&config->allowed_roots, "/srv"), 0);
}

static void change_accounts(struct config *config)
{
    assert_int_equal(string_list_add(&config->admin_groups, "wheel"), 0);
    assert_int_equal(string_list_add(&config->gateway_users, "rubricd-http"), 0);
}

static void change_user(struct config *config)
{
    replace(&config->user, "somebody");
}

/* Not part of the digest: the layers in force are. */
static void change_without(struct config *config)
{
    assert_int_equal(string_list_add(&config->without, "seccomp"), 0);
}

static void change_what_sandbox_jobs_may_ask_for(struct config *config)
{
    config->sandbox_allow_network = true;
    assert_int_equal(string_list_add(&config->sandbox_env_names, "HOME"), 0);
    assert_int_equal(string_list_add(&config->sandbox_readable_roots, "/srv"), 0);
}

/* An available layer is in force, required or not. */
static void change_require(struct config *config)
{
    assert_int_equal(string_list_add(&config->require, "env"), 0);
}

static struct digest digest_with(void (*change)(struct config *config))
{
    struct config config;
    init_config(&config);
    if (change)
        change(&config);
    struct digest digest = digest_of(&config, VERSION);
    config_deinit(&config);
    return digest;
}

static void test_digest_is_repeatable(void **state)
{
    struct digest first = digest_with(NULL), second = digest_with(NULL);
    (void)state;
    assert_string_equal(first.text, second.text);
    assert_int_equal(setenv("HOME", "/somewhere/else", 1), 0);
    assert_int_equal(chdir("/"), 0);
    second = digest_with(NULL);
    assert_string_equal(first.text, second.text);
}

static void test_digest_does_not_depend_on_the_service(void **state)
{
    static void (*const changes[])(struct config * config) = {
        change_socket,
        change_work_dir,
        change_numbers_of_the_daemon,
        change_queue_and_protocol,
        change_roots,
        change_accounts,
        change_require,
        change_user,
        change_without,
        change_what_sandbox_jobs_may_ask_for,
    };
    struct digest first = digest_with(NULL);
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        struct digest digest = digest_with(changes[i]);
        if (strcmp(digest.text, first.text) != 0)
            fail_msg("change %zu changes the digest", i);
    }
}

/* Digests that must all differ. */
struct digests {
    struct digest item[64];
    size_t count;
};

static void add_digest(struct digests *digests, struct digest digest)
{
    assert_true(digests->count < ARRAY_SIZE(digests->item));
    for (size_t i = 0; i < digests->count; i++)
        if (strcmp(digests->item[i].text, digest.text) == 0)
            fail_msg("digests %zu and %zu are the same", i, digests->count);
    digests->item[digests->count++] = digest;
}

static void test_digest_changes_with_the_configuration(void **state)
{
    static void (*const changes[])(struct config * config) = {
        NULL,
        change_env_allow,
        change_env_allow_value,
        change_env_allow_to_two,
        change_readable,
        change_readable_to_two,
        change_readable_to_two_in_one,
        change_interpreter,
        change_wall_clock_ceiling,
        change_wall_clock_ceiling_of_code,
    };
    struct digests digests = {.count = 0};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
        add_digest(&digests, digest_with(changes[i]));
}

static void test_digest_changes_with_every_limit(void **state)
{
    struct digests digests = {.count = 0};
    struct config config;
    (void)state;
    init_config(&config);
    add_digest(&digests, digest_of(&config, VERSION));
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
            config.limits[kind].of[limit]--;
            struct digest digest = digest_of(&config, VERSION);
            config.limits[kind].of[limit]++;
            if (kind != JOB_SESSION)
                add_digest(&digests, digest);
            else /* no score comes from a session */
                assert_string_equal(digest.text, digests.item[0].text);
        }
        config.ceilings.of[limit]++;
        add_digest(&digests, digest_of(&config, VERSION));
        config.ceilings.of[limit]--;
    }
    config_deinit(&config);
}

static void test_digest_changes_with_the_version(void **state)
{
    static const char *const versions[] = {VERSION, "Python 3.11.20", "Python 3.11.2 ", "", "x"};
    struct digests digests = {.count = 0};
    struct config config;
    (void)state;
    init_config(&config);
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
        add_digest(&digests, digest_of(&config, versions[i]));
    config_deinit(&config);
}

/* --- the layers --------------------------------------------------------------------------- */

/* Both summaries name the layers that the jobs really have. */
static void expect_summary(const json_t *summary, uint32_t layers)
{
    const json_t *listed = json_object_get(summary, "layers");
    size_t next = 0;
    assert_int_equal(json_object_size(summary), 3);
    assert_string_equal(json_string_value(json_object_get(summary, "class")), "subprocess");
    assert_true(json_is_array(listed));
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        if (layer_in(layers, layer))
            assert_string_equal(json_string_value(json_array_get(listed, next++)),
                                layer_name(layer));
    assert_int_equal(json_array_size(listed), next);
}

static void expect_printed(const struct bytes *printed, uint32_t layers)
{
    _cleanup_json_ json_t *summary = read_printed(printed);
    expect_summary(summary, layers);
}

static void expect_missing(const json_t *missing, uint32_t layers)
{
    size_t next = 0;
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        char reason[100];
        if (layer_in(layers, layer))
            continue;
        const json_t *entry = json_array_get(missing, next++);
        (void)snprintf(reason, sizeof(reason), "no %s here", layer_name(layer));
        assert_int_equal(json_object_size(entry), 2);
        assert_string_equal(json_string_value(json_object_get(entry, "layer")), layer_name(layer));
        assert_string_equal(json_string_value(json_object_get(entry, "reason")), reason);
    }
    assert_int_equal(json_array_size(missing), next);
}

static void test_summaries(void **state)
{
    static const struct {
        uint32_t layers, networked;
    } cases[] = {
        {FOUND, FOUND_NETWORKED},
        {LAYERS_ALL, LAYERS_ALL & ~LAYER_BIT(LAYER_NETWORK)},
        {LAYER_BIT(LAYER_ENV) | LAYER_BIT(LAYER_NETWORK), LAYER_BIT(LAYER_ENV)},
        {0, 0},
    };
    struct config config;
    struct isolation isolation;
    (void)state;
    init_config(&config);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        init_isolation_for(&isolation, &config, VERSION, cases[i].layers, cases[i].networked);
        expect_summary(isolation.summary, cases[i].layers);
        expect_printed(&isolation.of_jobs, cases[i].layers);
        expect_printed(&isolation.of_networked_jobs, cases[i].networked);
        expect_missing(isolation.missing, cases[i].layers);
        isolation_deinit(&isolation);
        assert_null(isolation.summary);
        assert_null(isolation.of_jobs.data);
        assert_null(isolation.of_networked_jobs.data);
        assert_null(isolation.missing);
        assert_null(isolation.environment);
        isolation_deinit(&isolation); /* accepts an empty one */
    }
    config_deinit(&config);
}

/* A layer that is not in force shows in the summary of either sort of jobs; nothing else does. */
static void test_digest_changes_with_every_layer(void **state)
{
    struct digests digests = {.count = 0};
    struct config config;
    struct isolation isolation;
    (void)state;
    init_config(&config);
    for (enum layer layer = 0; layer <= LAYER_COUNT; layer++) {
        uint32_t layers = layer < LAYER_COUNT ? LAYERS_ALL & ~LAYER_BIT(layer) : LAYERS_ALL;
        init_isolation_for(&isolation, &config, VERSION, layers, 0);
        add_digest(&digests, digest_in(isolation.summary));
        struct digest digest = digest_in(isolation.summary),
                      none = digest_in_printed(&isolation.of_networked_jobs);
        isolation_deinit(&isolation);
        init_isolation_for(&isolation, &config, VERSION, 0, layers);
        assert_string_equal(digest_in_printed(&isolation.of_networked_jobs).text, digest.text);
        assert_string_equal(digest_in(isolation.summary).text, none.text);
        isolation_deinit(&isolation);
    }
    config_deinit(&config);
}

static void expect_refused(const struct config *config, uint32_t layers, const char *layer,
                           const char *reason)
{
    struct isolation isolation;
    struct probe probe;
    struct fault fault = FAULT_NULL;
    char expected[300];
    init_probe(&probe, layers, layers);
    assert_int_equal(isolation_init(&isolation, config, VERSION, &probe, &fault), -EPERM);
    (void)snprintf(expected, sizeof(expected),
                   "[isolation] require: the layer %s cannot be had: %s; take it out of the list "
                   "to do without",
                   layer, reason);
    assert_string_equal(fault.text, expected);
    isolation_deinit(&isolation);
}

static void test_unknown_layer_is_required(void **state)
{
    static const char *const names[] = {"no-such-layer", "", "ENV", "env ", "tempdir,env"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct config config;
        init_config(&config);
        assert_int_equal(string_list_add(&config.require, "env"), 0);
        assert_int_equal(string_list_add(&config.require, names[i]), 0);
        expect_refused(&config, LAYERS_ALL, names[i], "there is no such layer");
        config_deinit(&config);
    }
}

/* Each layer: required and available, required and missing. */
static void test_required_layers(void **state)
{
    (void)state;
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        struct config config;
        struct isolation isolation;
        char reason[100];
        init_config(&config);
        assert_int_equal(string_list_add(&config.require, layer_name(layer)), 0);
        (void)snprintf(reason, sizeof(reason), "no %s here", layer_name(layer));
        expect_refused(&config, LAYERS_ALL & ~LAYER_BIT(layer), layer_name(layer), reason);
        init_isolation_for(&isolation, &config, VERSION, LAYER_BIT(layer), 0);
        isolation_deinit(&isolation);
        config_deinit(&config);
    }
}

/* The layers required by default are those on which comparable scores rely. */
static void test_default_requirements(void **state)
{
    static const enum layer required[] = {LAYER_ENV,      LAYER_TEMPDIR,    LAYER_RLIMITS,
                                          LAYER_NETWORK,  LAYER_FILESYSTEM, LAYER_NO_NEW_PRIVS,
                                          LAYER_TREE_KILL};
    struct config config;
    struct isolation isolation;
    uint32_t set = 0;
    (void)state;
    assert_int_equal(config_init(&config), 0);
    assert_int_equal(config.require.count, ARRAY_SIZE(required));
    for (size_t i = 0; i < ARRAY_SIZE(required); i++)
        set |= LAYER_BIT(required[i]);
    /* The required layers alone suffice: none of them is a particular means. */
    init_isolation_for(&isolation, &config, VERSION, set, 0);
    isolation_deinit(&isolation);
    for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
        const char *name = layer_name(required[i]);
        char reason[100];
        (void)snprintf(reason, sizeof(reason), "no %s here", name);
        expect_refused(&config, LAYERS_ALL & ~LAYER_BIT(required[i]), name, reason);
    }
    config_deinit(&config);
}

/* The configuration accepts the name of every layer. */
static void test_every_layer_can_be_configured(void **state)
{
    static const char *const keys[] = {"require", "without"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct config_key *key = config_key_find("isolation", keys[i]);
        assert_non_null(key);
        for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
            struct config config;
            struct fault fault = FAULT_NULL;
            init_config(&config);
            if (config_key_set(key, &config, layer_name(layer), &fault) < 0)
                fail_msg("%s = %s: %s", keys[i], layer_name(layer), fault.text);
            config_deinit(&config);
        }
    }
}

/* --- what is to be left out --------------------------------------------------------------- */

static void expect_without(const char *const *names, uint32_t expected)
{
    struct config config;
    struct fault fault = FAULT_NULL;
    uint32_t without = 0x5A5A5A5A;
    init_config(&config);
    for (; *names; names++)
        assert_int_equal(string_list_add(&config.without, *names), 0);
    assert_int_equal(isolation_without(&config, &without, &fault), 0);
    assert_int_equal(without, expected);
    assert_string_equal(fault.text, "");
    config_deinit(&config);
}

static void expect_not_without(const char *first, const char *second, const char *message)
{
    struct config config;
    struct fault fault = FAULT_NULL;
    uint32_t without = 0x5A5A5A5A;
    init_config(&config);
    assert_int_equal(string_list_add(&config.without, first), 0);
    assert_int_equal(string_list_add(&config.without, second), 0);
    assert_int_equal(isolation_without(&config, &without, &fault), -EINVAL);
    assert_int_equal(without, 0x5A5A5A5A);
    assert_string_equal(fault.text, message);
    config_deinit(&config);
}

static void test_without(void **state)
{
    const uint32_t fixed = LAYER_BIT(LAYER_ENV) | LAYER_BIT(LAYER_TEMPDIR);
    const char *names[LAYER_COUNT + 1] = {NULL};
    size_t count = 0;
    (void)state;
    expect_without(names, 0);
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        if (layer_in(fixed, layer))
            continue;
        names[count++] = layer_name(layer);
        expect_without((const char *const[]){layer_name(layer), NULL}, LAYER_BIT(layer));
        expect_without((const char *const[]){layer_name(layer), layer_name(layer), NULL},
                       LAYER_BIT(layer));
    }
    expect_without(names, LAYERS_ALL & ~fixed);
}

static void test_what_cannot_be_left_out(void **state)
{
    (void)state;
    expect_not_without("env", "seccomp", "[isolation] without: env: it is always there");
    expect_not_without("landlock", "tempdir", "[isolation] without: tempdir: it is always there");
    expect_not_without("landlock", "jail", "[isolation] without: jail: there is no such layer");
    expect_not_without("", "seccomp", "[isolation] without: : there is no such layer");
    expect_not_without("Seccomp", "seccomp",
                       "[isolation] without: Seccomp: there is no such layer");
}

/* --- the interpreter ---------------------------------------------------------------------- */

struct fixture {
    char directory[64];
    char program[128];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    strcpy(f->directory, "/tmp/test_isolation.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->program, sizeof(f->program), "%s/program", f->directory);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    remove_tree(f->directory);
    free(f);
    return 0;
}

/* A shell script in place of the interpreter. */
static void write_program(const struct fixture *f, const char *script, mode_t mode)
{
    FILE *stream = fopen(f->program, "we");
    assert_non_null(stream);
    assert_true(fputs(script, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(f->program, mode), 0);
}

/* Asks for the version and waits for it. */
static char *ask_version(const char *program, struct fault *fault)
{
    struct version_query query;
    return isolation_version_begin(program, &query, fault) < 0
               ? NULL
               : isolation_version_end(&query, program, fault);
}

/* Asks for the version and checks that no descriptor and no child is left. */
static char *version_of(const char *program, struct fault *fault)
{
    size_t descriptors = count_descriptors();
    char *version = ask_version(program, fault);
    assert_int_equal(count_descriptors(), descriptors);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0);
    return version;
}

static void expect_version(const char *program, const char *expected)
{
    struct fault fault = FAULT_NULL;
    _cleanup_free_ char *version = version_of(program, &fault);
    if (!version)
        fail_msg("%s: %s", program, fault.text);
    assert_string_equal(version, expected);
}

/* The fault must begin with EXPECTED unless that is NULL. */
static void expect_no_version(const char *program, const char *expected)
{
    struct fault fault = FAULT_NULL;
    _cleanup_free_ char *version = version_of(program, &fault);
    assert_null(version);
    assert_true(strlen(fault.text) > 0);
    if (strncmp(fault.text, expected, strlen(expected)) != 0)
        fail_msg("\"%s\", expected \"%s...\"", fault.text, expected);
    assert_null(version_of(program, NULL));
}

static void test_version_of_the_default(void **state)
{
    struct config config;
    struct fault fault = FAULT_NULL;
    (void)state;
    init_config(&config);
    if (access(config.interpreter, X_OK) < 0) {
        print_message("# %s is not installed\n", config.interpreter);
        config_deinit(&config);
        skip();
    }
    _cleanup_free_ char *version = version_of(config.interpreter, &fault);
    assert_non_null(version);
    assert_int_equal(strncmp(version, "Python 3.", 9), 0);
    assert_null(strpbrk(version, "\r\n"));
    config_deinit(&config);
}

static void test_version_is_the_first_line(void **state)
{
    static const struct {
        const char *script, *version;
    } cases[] = {
        {"#!/bin/sh\necho Python 3.99\n", "Python 3.99"},
        {"#!/bin/sh\nprintf 'Python 3.99'\n", "Python 3.99"},
        {"#!/bin/sh\necho Python 2.7 >&2\n", "Python 2.7"},
        {"#!/bin/sh\nprintf 'a\\r\\nb\\r\\n'\n", "a"},
        {"#!/bin/sh\nprintf 'a\\nb\\n'\n", "a"},
        {"#!/bin/sh\nprintf 'a '; printf b\n", "a b"},
        {"#!/bin/sh\necho \"$#:$1\"\n", "1:-V"},
        {"#!/bin/sh\nread line; echo \"<$line>\"\n", "<>"},
    };
    const struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        write_program(f, cases[i].script, 0700);
        expect_version(f->program, cases[i].version);
    }
}

static void test_version_runs_in_the_scrubbed_environment(void **state)
{
    const struct fixture *f = *state;
    assert_int_equal(setenv("LEAKED", "yes", 1), 0);
    assert_int_equal(setenv("HOME", "/root", 1), 0);
    write_program(f, "#!/bin/sh\necho \"$PATH|$LANG|$PYTHONHASHSEED|$LEAKED|$HOME\"\n", 0700);
    expect_version(f->program, "/usr/bin:/bin|C.UTF-8|0||");
}

static void test_version_inherits_no_descriptor(void **state)
{
    const struct fixture *f = *state;
    assert_int_equal(dup2(STDIN_FILENO, 200), 200);
    assert_int_equal(dup2(STDIN_FILENO, 55), 55);
    write_program(f,
                  "#!/bin/sh\nfor n in 55 200; do\n[ -e /proc/$$/fd/$n ] && echo inherited $n\n"
                  "done\necho none\n",
                  0700);
    expect_version(f->program, "none");
    (void)close(200);
    (void)close(55);
}

static void test_version_is_bounded(void **state)
{
    const struct fixture *f = *state;
    struct fault fault = FAULT_NULL;
    write_program(f, "#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x\n", 0700);
    _cleanup_free_ char *version = version_of(f->program, &fault);
    assert_non_null(version);
    assert_true(strlen(version) > 100 && strlen(version) < 1000);
    assert_int_equal(strspn(version, "x"), strlen(version));
}

static void test_interpreter_cannot_be_run(void **state)
{
    const struct fixture *f = *state;
    expect_no_version(f->program, "[rubric] interpreter: cannot run /tmp/");
    expect_no_version("/no/such/program",
                      "[rubric] interpreter: cannot run /no/such/program: No such file or "
                      "directory");
    expect_no_version("/", "[rubric] interpreter: cannot run /: ");
    write_program(f, "#!/bin/sh\necho Python\n", 0600);
    expect_no_version(f->program, "[rubric] interpreter: cannot run ");
    write_program(f, "#!/no/such/shell\n", 0700);
    expect_no_version(f->program, "[rubric] interpreter: cannot run ");
    write_program(f, "neither a script nor a program\n", 0700);
    expect_no_version(f->program, "[rubric] interpreter: ");
}

static void test_interpreter_fails(void **state)
{
    static const char *const scripts[] = {
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\necho Python 3.99\nexit 3\n",
        "#!/bin/sh\necho Python 3.99\nkill -9 $$\n",
        "#!/bin/sh\nkill -SEGV $$\n",
    };
    const struct fixture *f = *state;
    expect_no_version("/bin/false", "[rubric] interpreter: /bin/false -V failed: ");
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        write_program(f, scripts[i], 0700);
        expect_no_version(f->program, "[rubric] interpreter: ");
    }
    write_program(f, "#!/bin/sh\necho it is broken >&2\nexit 1\n", 0700);
    struct fault fault = FAULT_NULL;
    assert_null(version_of(f->program, &fault));
    assert_non_null(strstr(fault.text, "it is broken"));
}

/* Invalid UTF-8 neither keeps the daemon from starting nor hides the name of the interpreter. */
static void test_version_that_is_no_utf8(void **state)
{
    const struct fixture *f = *state;
    struct config config;
    struct isolation isolation = {.summary = NULL};
    struct probe probe;
    struct fault fault = FAULT_NULL;
    init_probe(&probe, FOUND, FOUND_NETWORKED);
    write_program(f, "#!/bin/sh\nprintf 'Python 3.99 caf\\351\\n'\n", 0700);
    init_config(&config);
    _cleanup_free_ char *version = version_of(f->program, &fault);
    int r = version ? isolation_init(&isolation, &config, version, &probe, &fault) : -EINVAL;
    if (r < 0 && !strstr(fault.text, "interpreter"))
        fail_msg("%d: %s", r, fault.text);
    isolation_deinit(&isolation);
    config_deinit(&config);
}

/* Asks in a process group of its own, to kill whatever is left. */
static pid_t start_asking(const char *program)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)alarm(30);
        _exit(ask_version(program, NULL) == NULL ? 0 : 1);
    }
    assert_true(pid > 0);
    return pid;
}

static bool was_refused_in_time(pid_t pid)
{
    int status;
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    (void)kill(-pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

/* Runs only on request, because it takes as long as the limit. A program that never ends must not
 * keep the daemon from starting (or from saying why it does not), whatever it does meanwhile. */
static void test_version_that_never_comes(void **state)
{
    static const char *const scripts[] = {
        "#!/bin/sh\nexec sleep 1000\n",
        "#!/bin/sh\nexec sleep 1000 >/dev/null 2>&1\n",
        "#!/bin/sh\nwhile :; do echo x; done\n",
        "#!/bin/sh\necho Python 3.99\nexec >/dev/null 2>&1\nwhile :; do :; done\n",
        "#!/bin/sh\nwhile :; do printf x; sleep 1; done\n",
    };
    struct fixture programs[ARRAY_SIZE(scripts)];
    const struct fixture *f = *state;
    pid_t pids[ARRAY_SIZE(scripts)];
    if (!getenv("RUBRICD_SLOW_TESTS")) {
        print_message("# it takes ten seconds; RUBRICD_SLOW_TESTS=1 runs it\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        (void)snprintf(programs[i].program, sizeof(programs[i].program), "%s/program-%zu",
                       f->directory, i);
        write_program(&programs[i], scripts[i], 0700);
    }
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
        pids[i] = start_asking(programs[i].program);
    unsigned late = 0;
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        if (was_refused_in_time(pids[i]))
            continue;
        print_message("# %zu: %s\n", i, strchr(scripts[i], '\n') + 1);
        late++;
    }
    assert_int_equal(late, 0);
}

/* Jobs see what the configuration and the files of languages name, each path once. */
static void test_what_every_job_may_read(void **state)
{
    struct config config;
    struct config_problems problems = CONFIG_PROBLEMS_NULL;
    _cleanup_string_list_ struct string_list needed = STRING_LIST_NULL, readable = STRING_LIST_NULL;
    (void)state;
    init_config(&config);
    assert_int_equal(language_list_load(&config.languages, "", &problems), 0);
    assert_int_equal(language_list_readable(&config.languages, &needed), 0);
    assert_true(needed.count >= 2);
    assert_int_equal(string_list_add(&config.readable, "/srv"), 0);
    assert_int_equal(string_list_add(&config.readable, needed.item[1]), 0);
    assert_int_equal(isolation_readable(&config, &readable), 0);
    assert_int_equal(readable.count, needed.count + 1);
    assert_string_equal(readable.item[0], "/srv");
    assert_string_equal(readable.item[1], needed.item[1]);
    for (size_t i = 0; i < needed.count; i++)
        assert_true(string_list_contains(&readable, needed.item[i]));
    config_deinit(&config);
}

#define WITH_PROGRAM(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scrubbed_environment_has_four_entries),
        cmocka_unit_test(test_scrubbed_environment_is_read_only),
        cmocka_unit_test(test_nothing_of_our_own_environment_gets_in),
        cmocka_unit_test(test_allowed_entries_come_behind_the_four),
        cmocka_unit_test(test_digest_is_repeatable),
        cmocka_unit_test(test_digest_does_not_depend_on_the_service),
        cmocka_unit_test(test_digest_changes_with_the_configuration),
        cmocka_unit_test(test_digest_changes_with_every_limit),
        cmocka_unit_test(test_digest_changes_with_the_version),
        cmocka_unit_test(test_digest_changes_with_every_layer),
        cmocka_unit_test(test_summaries),
        cmocka_unit_test(test_unknown_layer_is_required),
        cmocka_unit_test(test_required_layers),
        cmocka_unit_test(test_default_requirements),
        cmocka_unit_test(test_every_layer_can_be_configured),
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_what_cannot_be_left_out),
        cmocka_unit_test(test_what_every_job_may_read),
        cmocka_unit_test(test_version_of_the_default),
        WITH_PROGRAM(test_version_is_the_first_line),
        WITH_PROGRAM(test_version_runs_in_the_scrubbed_environment),
        WITH_PROGRAM(test_version_inherits_no_descriptor),
        WITH_PROGRAM(test_version_is_bounded),
        WITH_PROGRAM(test_interpreter_cannot_be_run),
        WITH_PROGRAM(test_interpreter_fails),
        WITH_PROGRAM(test_version_that_is_no_utf8),
        WITH_PROGRAM(test_version_that_never_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
