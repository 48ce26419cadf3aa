/* SPDX-License-Identifier: MIT */
/* The scrubbed environment cannot be changed, the digest changes with the policy and with nothing
 * else, a required layer that is missing is named, and the interpreter's version is had without
 * trusting the interpreter. */
#include "daemon/isolation.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define VERSION "Python 3.11.2"
#define DIGEST_LENGTH 64
#define SKIPPED 77

static const char *const four[] = {
    "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONHASHSEED=0", "PYTHONIOENCODING=utf-8", NULL,
};

/* The defaults, but that no layer is required: what can be had differs from host to host. */
static void init_config(struct config *config)
{
    assert_int_equal(config_init(config), 0);
    string_list_deinit(&config->require);
}

static void init_isolation(struct isolation *isolation, const struct config *config,
                           const char *version)
{
    struct fault fault = FAULT_NULL;
    int r = isolation_init(isolation, config, version, &fault);
    if (r != 0)
        fail_msg("%d: %s", r, fault.text);
    assert_string_equal(fault.text, "");
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
    /* It is a copy: the table is what it was, and outlives the configuration. */
    assert_null(isolation_scrubbed_env[ARRAY_SIZE(four) - 1]);
    config_deinit(&config);
    expect_environment(isolation.environment, expected);
    isolation_deinit(&isolation);
}

/* Writes a byte that is the compiler's to know nothing about. */
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
        /* Whoever else wants to report a fault is not asked. */
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
    /* What can be written is seen to be. */
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

static struct digest digest_of(const struct config *config, const char *version)
{
    struct isolation isolation;
    struct digest digest;
    init_isolation(&isolation, config, version);
    const char *text = json_string_value(json_object_get(isolation.summary, "digest"));
    assert_non_null(text);
    assert_int_equal(strlen(text), DIGEST_LENGTH);
    assert_int_equal(strspn(text, "0123456789abcdef"), DIGEST_LENGTH);
    strcpy(digest.text, text);
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

static void change_interpreter(struct config *config)
{
    replace(&config->interpreter, "/usr/local/bin/python3");
}

static void change_wall_clock_ceiling(struct config *config)
{
    config->rubric_wall_clock_ceiling_ms++;
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
}

static void change_roots(struct config *config)
{
    replace(&config->bench_root, "/srv/bench");
    assert_int_equal(string_list_add(&config->allowed_roots, "/srv"), 0);
}

static void change_admin_groups(struct config *config)
{
    assert_int_equal(string_list_add(&config->admin_groups, "wheel"), 0);
}

/* What is there is in force, required or not. */
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
        change_admin_groups,
        change_require,
    };
    struct digest first = digest_with(NULL);
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        struct digest digest = digest_with(changes[i]);
        if (strcmp(digest.text, first.text) != 0)
            fail_msg("change %zu changes the digest", i);
    }
}

/* Digests that must all be different. */
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
        change_interpreter,
        change_wall_clock_ceiling,
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
        config.rubric_limits.of[limit]--;
        add_digest(&digests, digest_of(&config, VERSION));
        config.rubric_limits.of[limit]++;
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

static void test_summary(void **state)
{
    struct config config;
    struct isolation isolation;
    (void)state;
    init_config(&config);
    init_isolation(&isolation, &config, VERSION);
    json_t *summary = isolation.summary, *layers = json_object_get(summary, "layers");
    assert_int_equal(json_object_size(summary), 3);
    assert_string_equal(json_string_value(json_object_get(summary, "class")), "subprocess");
    size_t in_force = 0;
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        in_force += isolation.in_force[layer];
    assert_int_equal(json_array_size(layers), in_force);
    assert_int_equal(json_array_size(isolation.missing), LAYER_COUNT - in_force);
    isolation_deinit(&isolation);
    assert_null(isolation.summary);
    isolation_deinit(&isolation); /* there may be nothing to free */
    config_deinit(&config);
}

static void test_unknown_layer_is_required(void **state)
{
    static const char *const names[] = {"no-such-layer", "", "ENV", "env ", "tempdir,env"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct config config;
        struct isolation isolation;
        struct fault fault = FAULT_NULL;
        char expected[100];
        init_config(&config);
        assert_int_equal(string_list_add(&config.require, names[i]), 0);
        assert_int_equal(isolation_init(&isolation, &config, VERSION, &fault), -EPERM);
        (void)snprintf(expected, sizeof(expected),
                       "[isolation] require: the layer %s cannot be had: ", names[i]);
        if (strncmp(fault.text, expected, strlen(expected)) != 0 ||
            strlen(fault.text) <= strlen(expected))
            fail_msg("\"%s\", expected \"%s...\"", fault.text, expected);
        isolation_deinit(&isolation);
        config_deinit(&config);
    }
}

static bool is_listed(const json_t *layers, const char *name)
{
    for (size_t i = 0; i < json_array_size(layers); i++)
        if (strcmp(json_string_value(json_array_get(layers, i)), name) == 0)
            return true;
    return false;
}

/* What is required by default is in force, or the daemon does not start and says why. */
static void test_default_requirements(void **state)
{
    struct config config;
    struct isolation isolation;
    struct fault fault = FAULT_NULL;
    (void)state;
    assert_int_equal(config_init(&config), 0);
    assert_true(config.require.count > 0);
    int r = isolation_init(&isolation, &config, VERSION, &fault);
    if (r < 0) {
        assert_int_equal(r, -EPERM);
        assert_ptr_equal(strstr(fault.text, "[isolation] require: the layer "), fault.text);
    }
    for (size_t i = 0; r == 0 && i < config.require.count; i++)
        if (!is_listed(json_object_get(isolation.summary, "layers"), config.require.item[i]))
            fail_msg("%s is required and not listed", config.require.item[i]);
    isolation_deinit(&isolation);
    config_deinit(&config);
}

/* The reason that is told for a layer that is not in force; NULL: it is not told of. */
static const char *reason_of(const struct isolation *isolation, const char *layer)
{
    for (size_t i = 0; i < json_array_size(isolation->missing); i++) {
        const json_t *missing = json_array_get(isolation->missing, i);
        if (strcmp(json_string_value(json_object_get(missing, "layer")), layer) == 0)
            return json_string_value(json_object_get(missing, "reason"));
    }
    return NULL;
}

/* In a process that has no /proc: the layer tree_kill needs it. 0 if all is as it must be. */
static int check_without_proc(struct config *config, const struct digest *with_proc)
{
    struct isolation isolation;
    struct fault fault = FAULT_NULL;
    string_list_deinit(&config->require);
    if (string_list_add(&config->require, "env") < 0 ||
        string_list_add(&config->require, "tree_kill") < 0)
        return 1;
    if (isolation_init(&isolation, config, VERSION, &fault) != -EPERM)
        return 2;
    if (!strstr(fault.text, "the layer tree_kill cannot be had: ") || !strstr(fault.text, "/proc"))
        return 3;
    isolation_deinit(&isolation);

    string_list_deinit(&config->require);
    if (isolation_init(&isolation, config, VERSION, &fault) != 0)
        return 4;
    const char *reason = reason_of(&isolation, "tree_kill");
    const char *digest = json_string_value(json_object_get(isolation.summary, "digest"));
    if (!reason || !strstr(reason, "/proc"))
        return 5;
    if (!digest || strcmp(digest, with_proc->text) == 0)
        return 6; /* what is not in force must show */
    isolation_deinit(&isolation);
    return 0;
}

static void test_missing_layer(void **state)
{
    char path[] = "/tmp/test_isolation.XXXXXX";
    struct config config;
    int status;
    (void)state;
    init_config(&config);
    struct digest with_proc = digest_of(&config, VERSION);
    assert_non_null(mkdtemp(path));
    pid_t pid = fork();
    if (pid == 0) {
        if (chroot(path) < 0 && (unshare(CLONE_NEWUSER) < 0 || chroot(path) < 0))
            _exit(SKIPPED);
        _exit(check_without_proc(&config, &with_proc));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(rmdir(path), 0);
    config_deinit(&config);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        print_message("# this user cannot take /proc away\n");
        skip();
    }
    assert_int_equal(status, 0);
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

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    (void)nftw(f->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
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

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

/* Asks for the version; no descriptor and no child is left of it. */
static char *version_of(const char *program, struct fault *fault)
{
    size_t descriptors = count_descriptors();
    char *version = isolation_interpreter_version(program, fault);
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

/* The fault must begin with EXPECTED, where that is not NULL. */
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

/* Bytes that are no UTF-8 are no reason not to start, or the interpreter is what is named. */
static void test_version_that_is_no_utf8(void **state)
{
    const struct fixture *f = *state;
    struct config config;
    struct isolation isolation = {.summary = NULL};
    struct fault fault = FAULT_NULL;
    write_program(f, "#!/bin/sh\nprintf 'Python 3.99 caf\\351\\n'\n", 0700);
    init_config(&config);
    _cleanup_free_ char *version = version_of(f->program, &fault);
    int r = version ? isolation_init(&isolation, &config, version, &fault) : -EINVAL;
    if (r < 0 && !strstr(fault.text, "interpreter"))
        fail_msg("%d: %s", r, fault.text);
    isolation_deinit(&isolation);
    config_deinit(&config);
}

/* Asks in a process group of its own, so that nothing of it is left. */
static pid_t start_asking(const char *program)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)alarm(30);
        _exit(isolation_interpreter_version(program, NULL) == NULL ? 0 : 1);
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

/* It takes as long as the bound is: only on request. A program that never ends must not keep the
 * daemon from starting (or from saying why it does not), whatever it does meanwhile. */
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
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_unknown_layer_is_required),
        cmocka_unit_test(test_default_requirements),
        cmocka_unit_test(test_missing_layer),
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
