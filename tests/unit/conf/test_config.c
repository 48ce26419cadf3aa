/* SPDX-License-Identifier: MIT */
/* The configuration: the content of files, how files combine, and that every mistake is named
 * with its place. */
#include "conf/config.h"
#include "conf/keys.h"
#include "conf/lines.h"
#include "conf/value.h"
#include "tests/unit/files.h"
#include "tests/unit/limit_table.h"

#include <sys/stat.h>

/* The shipped file; by default it is found from where this source was compiled. */
#ifndef SHIPPED_CONF
#define SHIPPED_CONF NULL
#endif

struct fixture {
    char directory[64];
    char path[128]; /* directory/main.conf */
    struct config config;
    struct config_problems problems;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    strcpy(f->directory, "/tmp/test_config.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof(f->path), "%s/main.conf", f->directory);
    assert_int_equal(config_init(&f->config), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    config_deinit(&f->config);
    config_deinit(&f->config); /* there may be nothing to free */
    config_problems_deinit(&f->problems);
    remove_tree(f->directory);
    free(f);
    return 0;
}

static void write_bytes(struct fixture *f, const char *name, const char *bytes, size_t n)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", f->directory, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, n, stream), n);
    assert_int_equal(fclose(stream), 0);
}

static void write_file(struct fixture *f, const char *name, const char *text)
{
    write_bytes(f, name, text, strlen(text));
}

static void make_drop_in_directory(struct fixture *f)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s.d", f->path);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Loads from nothing but defaults, whatever was loaded before. */
static int load(struct fixture *f)
{
    config_deinit(&f->config);
    config_problems_deinit(&f->problems);
    assert_int_equal(config_init(&f->config), 0);
    return config_load(&f->config, f->path, true, NULL, 0, &f->problems);
}

static int load_text(struct fixture *f, const char *text)
{
    write_file(f, "main.conf", text);
    return load(f);
}

static void print_problems(const struct config_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        config_print_problem(stderr, &problems->item[i]);
}

static void assert_loads(struct fixture *f, const char *text)
{
    int r = load_text(f, text);
    print_problems(&f->problems);
    assert_int_equal(r, 0);
    assert_int_equal(f->problems.count, 0);
}

/* Asserts that problem I is as config_print_problem writes it: "FILE:LINE: KEY: TEXT", FILE being
 * relative to the fixture's directory. */
static void assert_problem(struct fixture *f, size_t i, const char *expected)
{
    char *written = NULL, *wanted = NULL;
    size_t size = 0;

    assert_true(i < f->problems.count);
    FILE *stream = open_memstream(&written, &size);
    assert_non_null(stream);
    config_print_problem(stream, &f->problems.item[i]);
    assert_int_equal(fclose(stream), 0);
    assert_true(asprintf(&wanted, "%s/%s\n", f->directory, expected) > 0);
    assert_string_equal(written, wanted);
    free(written);
    free(wanted);
}

/* TEXT has one mistake, EXPECTED, and no other. */
static void assert_mistake(struct fixture *f, const char *text, const char *expected)
{
    assert_int_equal(load_text(f, text), -EINVAL);
    assert_problem(f, 0, expected);
    assert_int_equal(f->problems.count, 1);
}

static void assert_list(const struct string_list *list, const char *joined)
{
    char text[1024] = "";
    for (size_t i = 0; i < list->count; i++) {
        assert_true(strlen(text) + strlen(list->item[i]) + 2 < sizeof(text));
        strcat(strcat(text, i > 0 ? "|" : ""), list->item[i]);
    }
    assert_string_equal(text, joined);
}

/* --- defaults and the shipped file --- */

static void assert_defaults(const struct config *config)
{
    const struct limit_table *table = limit_table();
    assert_string_equal(config->user, CONFIG_DEFAULT_USER);
    assert_string_equal(config->user, "rubricd");
    assert_string_equal(config->socket, "/run/rubricd/rubricd.sock");
    assert_int_equal(config->socket_mode, 0660);
    assert_string_equal(config->socket_group, "rubricd");
    assert_string_equal(config->work_dir, "/run/rubricd/work");
    assert_int_equal(config->slots, 0);
    assert_int_equal(config->max_clients, 2048);
    assert_list(&config->admin_groups, "");
    assert_list(&config->gateway_users, "");
    assert_int_equal(config->grace_period_ms, 30000);
    assert_int_equal(config->log_level, CONFIG_LOG_INFO);
    assert_int_equal(config->log_format, CONFIG_LOG_AUTO);
    assert_int_equal(config->queue_jobs, 1024);
    assert_int_equal(config->queue_bytes, 64 << 20);
    assert_int_equal(config->queue_jobs_per_client, 256);
    assert_int_equal(config->max_frame, 16 << 20);
    assert_int_equal(config->frame_timeout_ms, 30000);
    assert_int_equal(config->receive_bytes, 64 << 20);
    assert_int_equal(config->reply_high_water, 4 << 20);
    assert_int_equal(config->reply_timeout_ms, 60000);
    assert_string_equal(config->interpreter, "/usr/bin/python3");
    assert_string_equal(config->bench_root, "");
    assert_list(&config->allowed_roots, "/");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        assert_limits(&config->limits[kind], &table->defaults[kind]);
    assert_int_equal(config->wall_clock_ceiling_ms[JOB_RUBRIC], 300000);
    assert_false(config->sandbox_allow_network);
    assert_list(&config->sandbox_env_names, "");
    assert_list(&config->sandbox_readable_roots, "");
    assert_int_equal(config->wall_clock_ceiling_ms[JOB_CODE_EXEC], 30000);
    assert_limits(&config->ceilings, &table->ceilings);
    assert_string_equal(config->metrics_listen, "");
    assert_list(&config->require, "env|tempdir|rlimits|no_new_privs|network|filesystem|tree_kill");
    assert_list(&config->without, "");
    assert_list(&config->readable, "");
    assert_list(&config->env_allow, "");
}

static char *read_shipped(void)
{
    char path[4096], *text = calloc(1, LINES_FILE_MAX + 1);
    assert_non_null(text);
    (void)snprintf(path, sizeof(path), "%s", SHIPPED_CONF ? SHIPPED_CONF : __FILE__);
    if (!SHIPPED_CONF)
        strcpy(strrchr(path, '/'), "/../../../conf/rubricd.conf");
    FILE *stream = fopen(path, "r");
    if (!stream)
        fail_msg("%s: %s", path, strerror(errno));
    assert_true(fread(text, 1, LINES_FILE_MAX, stream) > 0);
    (void)fclose(stream);
    return text;
}

/* Takes the # away from each "#name = value"; prose has a blank behind it. */
static void uncomment(char *text)
{
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line[0] == '#' && line[1] >= 'a' && line[1] <= 'z')
            memmove(line, line + 1, strlen(line));
    }
}

/* Whether the last header before AT is that of SECTION. */
static bool stands_in_section(const char *text, const char *at, const char *section)
{
    char header[64];
    const char *last = NULL;
    (void)snprintf(header, sizeof(header), "\n[%s]\n", section);
    for (const char *p = text; (p = strstr(p, "\n[")) && p < at; p++)
        last = p;
    return last && strncmp(last, header, strlen(header)) == 0;
}

static void test_defaults_and_shipped_file(void **state)
{
    struct fixture *f = *state;
    char *text = read_shipped();

    assert_defaults(&f->config);
    assert_loads(f, text);
    assert_defaults(&f->config);
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        char line[64];
        (void)snprintf(line, sizeof(line), "\n#%s =", key->name);
        const char *at = text;
        while ((at = strstr(at, line)) && !stands_in_section(text, at, key->section))
            at++;
        if (!at)
            fail_msg("[%s] %s is not in the shipped file", key->section, key->name);
    }

    /* Nothing is set beforehand, so that a key that is skipped shows. */
    uncomment(text);
    write_file(f, "main.conf", text);
    free(text);
    config_deinit(&f->config);
    f->config = (struct config)CONFIG_NULL;
    assert_int_equal(config_load(&f->config, f->path, true, NULL, 0, &f->problems), 0);
    assert_defaults(&f->config);
}

/* Makes one line of TEXT, in which a blank stands for each line break and bracket. */
static void join_lines(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool breaks = strncmp(from, "\n# ", 3) == 0;
        *to++ = breaks || *from == '(' ? ' ' : *from;
        from += breaks ? 2 : 0;
    }
    *to = '\0';
}

/* The bounds of each number stand in the comments of the shipped file, as in "1K to 1T". */
static void test_shipped_file_tells_bounds(void **state)
{
    char *text = read_shipped();
    (void)state;
    join_lines(text);
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        char low[VALUE_TEXT_MAX], high[VALUE_TEXT_MAX], both[2 * VALUE_TEXT_MAX + 8];
        bool is_a_word = key->type == &type_log_level || key->type == &type_log_format ||
                         key->type == &type_warm;
        if (key->type->kind != CONFIG_NUMBER || is_a_word)
            continue;
        key->type->write(key->bounds.min, low);
        key->type->write(key->bounds.max, high);
        (void)snprintf(both, sizeof(both), " %s to %s", low, high);
        if (!strstr(text, both))
            fail_msg("[%s] %s:%s is not told", key->section, key->name, both);
    }
    free(text);
}

/* --- one file --- */

static void test_every_key_is_set(void **state)
{
    struct fixture *f = *state;
    assert_loads(
        f, "[daemon]\nuser=grader\nsocket = //run///x/a.sock/\nsocket_mode=600\nsocket_group=\n"
           "work_dir=/w\nslots=3\nmax_clients=7\nadmin_groups=adm  wheel\tops\n"
           "gateway_users=rubricd-http  1000\n"
           "grace_period=1.5s\nlog_level=debug\n"
           "log_format=json\n"
           "[queue]\njobs=100\nbytes=1GiB\njobs_per_client=100\n"
           "[protocol]\nmax_frame=1M\nframe_timeout=5min\nreceive_bytes=2M\n"
           "reply_high_water=4096\nreply_timeout=2min\n"
           "[rubric]\ninterpreter=/usr/bin/python3.11\nbench_root=/srv/bench\n"
           "allowed_roots=/home /srv/\nwall_clock=10\nwall_clock_ceiling=20\ncpu=2s\n"
           "memory_bytes=512M\nmax_open_files=64\nmax_processes=8\noutput_bytes=1K\n"
           "disk_bytes=1M\n"
           "[sandbox]\nwall_clock=30\ncpu=3s\nmemory_bytes=256M\nmax_open_files=32\n"
           "max_processes=4\noutput_bytes=2K\ndisk_bytes=128K\nallow_network=yes\n"
           "env_names=HOME  TZ\nreadable_roots=/srv//data /opt/\n"
           "[code_exec]\nwall_clock=4s\nwall_clock_ceiling=1min\ncpu=5s\nmemory_bytes=128M\n"
           "max_open_files=16\nmax_processes=2\noutput_bytes=3K\ndisk_bytes=64K\n"
           "[ceilings]\nwall_clock=1h\ncpu=1h\nmemory_bytes=8G\nmax_open_files=4096\n"
           "max_processes=512\noutput_bytes=8M\ndisk_bytes=2G\n"
           "[metrics]\nlisten=unix:/run//m.sock\n"
           "[isolation]\nrequire=network cgroup\nwithout=seccomp  landlock\n"
           "readable=/opt//venv /srv/x/\nenv_allow=A=1\nenv_allow = _b2=x y=z\n");
    const struct config *c = &f->config;
    const struct limit_table *table = limit_table();

    assert_string_equal(c->user, "grader");
    assert_string_equal(c->socket, "/run/x/a.sock");
    assert_int_equal(c->socket_mode, 0600);
    assert_string_equal(c->socket_group, "");
    assert_string_equal(c->work_dir, "/w");
    assert_int_equal(c->slots, 3);
    assert_int_equal(c->max_clients, 7);
    assert_list(&c->admin_groups, "adm|wheel|ops");
    assert_list(&c->gateway_users, "rubricd-http|1000");
    assert_int_equal(c->grace_period_ms, 1500);
    assert_int_equal(c->log_level, CONFIG_LOG_DEBUG);
    assert_int_equal(c->log_format, CONFIG_LOG_JSON);
    assert_int_equal(c->queue_jobs, 100);
    assert_int_equal(c->queue_bytes, 1 << 30);
    assert_int_equal(c->queue_jobs_per_client, 100);
    assert_int_equal(c->max_frame, 1 << 20);
    assert_int_equal(c->frame_timeout_ms, 300000);
    assert_int_equal(c->receive_bytes, 2 << 20);
    assert_int_equal(c->reply_high_water, 4096);
    assert_int_equal(c->reply_timeout_ms, 120000);
    assert_string_equal(c->interpreter, "/usr/bin/python3.11");
    assert_string_equal(c->bench_root, "/srv/bench");
    assert_list(&c->allowed_roots, "/home|/srv");
    assert_limits_except(&c->limits[JOB_RUBRIC],
                         &table->defaults[JOB_RUBRIC], [LIMIT_WALL_CLOCK] = 10000,
                         [LIMIT_CPU] = 2000, [LIMIT_MEMORY] = 512 << 20, [LIMIT_OPEN_FILES] = 64,
                         [LIMIT_PROCESSES] = 8, [LIMIT_OUTPUT] = 1024, [LIMIT_DISK] = 1 << 20);
    assert_int_equal(c->wall_clock_ceiling_ms[JOB_RUBRIC], 20000);
    assert_limits_except(&c->limits[JOB_SANDBOX],
                         &table->defaults[JOB_SANDBOX], [LIMIT_WALL_CLOCK] = 30000,
                         [LIMIT_CPU] = 3000, [LIMIT_MEMORY] = 256 << 20, [LIMIT_OPEN_FILES] = 32,
                         [LIMIT_PROCESSES] = 4, [LIMIT_OUTPUT] = 2048, [LIMIT_DISK] = 128 << 10);
    assert_true(c->sandbox_allow_network);
    assert_list(&c->sandbox_env_names, "HOME|TZ");
    assert_list(&c->sandbox_readable_roots, "/srv/data|/opt");
    assert_limits_except(&c->limits[JOB_CODE_EXEC],
                         &table->defaults[JOB_CODE_EXEC], [LIMIT_WALL_CLOCK] = 4000,
                         [LIMIT_CPU] = 5000, [LIMIT_MEMORY] = 128 << 20, [LIMIT_OPEN_FILES] = 16,
                         [LIMIT_PROCESSES] = 2, [LIMIT_OUTPUT] = 3072, [LIMIT_DISK] = 64 << 10);
    assert_int_equal(c->wall_clock_ceiling_ms[JOB_CODE_EXEC], 60000);
    assert_limits_except(
        &c->ceilings, &table->ceilings, [LIMIT_WALL_CLOCK] = 3600000, [LIMIT_CPU] = 3600000,
        [LIMIT_MEMORY] = UINT64_C(8) << 30, [LIMIT_OPEN_FILES] = 4096, [LIMIT_PROCESSES] = 512,
        [LIMIT_OUTPUT] = 8 << 20, [LIMIT_DISK] = UINT64_C(2) << 30);
    assert_string_equal(c->metrics_listen, "unix:/run/m.sock");
    assert_list(&c->require, "network|cgroup");
    assert_list(&c->without, "seccomp|landlock");
    assert_list(&c->readable, "/opt/venv|/srv/x");
    assert_list(&c->env_allow, "A=1|_b2=x y=z");
}

static void test_syntax(void **state)
{
    struct fixture *f = *state;

    assert_loads(f, "# comment\n; comment\n\n \t\n  # indented comment\n\t; another\n"
                    "[daemon] ; behind a section\n"
                    "slots=1 ; behind a value\nsocket_group = a;b\nlog_level: error\n"
                    "max_clients =\t5\t\n[queue]\njobs=9\njobs_per_client=9\n"
                    "[daemon]\nadmin_groups = a #b\n");
    assert_int_equal(f->config.slots, 1);
    assert_string_equal(f->config.socket_group, "a;b");
    assert_int_equal(f->config.log_level, CONFIG_LOG_ERROR);
    assert_int_equal(f->config.max_clients, 5);
    assert_list(&f->config.admin_groups, "a|#b");

    assert_loads(f, "\xEF\xBB\xBF[daemon]\nslots=2\n");
    assert_int_equal(f->config.slots, 2);
    assert_loads(f, "[daemon]\r\nslots=3\r\n\r\nmax_clients=4\r\n");
    assert_int_equal(f->config.slots, 3);
    assert_int_equal(f->config.max_clients, 4);
    assert_loads(f, "[daemon]\nslots=4");
    assert_int_equal(f->config.slots, 4);
    assert_loads(f, "[daemon]\nslots=5\r");
    assert_int_equal(f->config.slots, 5);
    assert_loads(f, "[rubric]\ninterpreter=/opt/pyth\xC3\xB6n\xF0\x9F\x90\x8D\n");
    assert_string_equal(f->config.interpreter, "/opt/pyth\xC3\xB6n\xF0\x9F\x90\x8D");
}

struct mistake {
    const char *text;
    const char *expected;
};

static void test_syntax_mistakes(void **state)
{
    static const struct mistake mistakes[] = {
        {"slots=1\n", "main.conf:1: slots: comes before the first [SECTION]"},
        {"[daemon]\nslots\n", "main.conf:2: expected NAME = VALUE"},
        {"[daemon]\nslots", "main.conf:2: expected NAME = VALUE"},
        {"[daemon]\nslots ; = 3\nmax_clients=1\n", "main.conf:2: expected NAME = VALUE"},
        {"[daemon]\n= 3\n", "main.conf:2: expected NAME = VALUE"},
        {"[daemon\n", "main.conf:1: expected [SECTION] and nothing behind it"},
        {"[daemon] slots=1\n", "main.conf:1: expected [SECTION] and nothing behind it"},
        {"[daemon];x\n", "main.conf:1: expected [SECTION] and nothing behind it"},
        {"[daemon\nslots=lots\n", "main.conf:1: expected [SECTION] and nothing behind it"},
        {"[daemon]\nadmin_groups=a\n  b\n",
         "main.conf:3: begins with a space or tab; a value cannot be "
         "continued on the next line"},
        {"\n [daemon]\n",
         "main.conf:2: begins with a space or tab; a value cannot be continued on the "
         "next line"},
        {"[dameon]\nslots=lots\n", "main.conf:1: [dameon]: unknown section, did you mean "
                                   "[daemon]?"},
        {"[Daemon]\n", "main.conf:1: [Daemon]: unknown section, did you mean [daemon]?"},
        {"[wrn]\n", "main.conf:1: [wrn]: unknown section"}, /* too far from [warm] */
        {"[limits]\ncpu=1\n", "main.conf:1: [limits]: unknown section"},
        {"[]\n", "main.conf:1: []: unknown section"},
        {"[?]\na=1\n", "main.conf:1: [?]: unknown section"},
        {"[daemon]\nslot=1\n", "main.conf:2: [daemon] slot: unknown key, did you mean slots?"},
        {"[daemon]\nsolts=1\n", "main.conf:2: [daemon] solts: unknown key, did you mean slots?"},
        {"[daemon]\njobs=1\n", "main.conf:2: [daemon] jobs: unknown key, did you mean [queue] "
                               "jobs?"},
        {"[daemon]\ncolour=1\n", "main.conf:2: [daemon] colour: unknown key"},
        {"[daemon]\nslots=1\n[queue]\n[daemon]\nslots=1\n",
         "main.conf:5: [daemon] slots: already set "
         "on line 2"},
        {"[daemon]\nslots=1\rmax_clients=2\n", "main.conf:2: control character 0x0D at column 8"},
        {"#\x7F\n", "main.conf:1: control character 0x7F at column 2"},
        {"# \x1B[2J\n", "main.conf:1: control character 0x1B at column 3"},
        {"[daemon]\n# latin-1: \xE4.\n", "main.conf:2: invalid UTF-8 near column 12"},
        {"[daemon]\nsocket_group=\xC0\xAF\n", "main.conf:2: invalid UTF-8 near column 14"},
        {"[daemon]\nsocket_group=\xED\xA0\x80\n", "main.conf:2: invalid UTF-8 near column 14"},
        {"[daemon]\nsocket_group=a\xEF", "main.conf:2: invalid UTF-8 near column 16"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++)
        assert_mistake(f, mistakes[i].text, mistakes[i].expected);
}

static void test_nul_byte(void **state)
{
    static const char text[] = "[daemon]\nslots=1\0 2\nmax_clients=3\n";
    struct fixture *f = *state;
    write_bytes(f, "main.conf", text, sizeof(text) - 1);
    assert_int_equal(load(f), -EINVAL);
    assert_problem(f, 0, "main.conf:2: NUL byte at column 8");
    assert_int_equal(f->problems.count, 1);
}

/* A line of LENGTH bytes that sets env_allow, and END behind it. */
static void write_long_line(struct fixture *f, size_t length, const char *end)
{
    char text[4096] = "[isolation]\nenv_allow=A=";
    size_t head = strlen("[isolation]\n"), n = strlen(text);
    assert_true(head + length + strlen(end) < sizeof(text));
    memset(text + n, 'x', head + length - n);
    strcpy(text + head + length, end);
    write_file(f, "main.conf", text);
}

/* A setting of the command line is held to the rules of a line of a file. */
static void test_characters_of_settings(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {
        "isolation.env_allow=A=b\nB=c",
        "daemon.user=\xFF",
        "queue.jobs=9\x1B[2J",
        "daemon.user=\xC3\xA9\ttab",
    };
    assert_int_equal(
        config_load(&f->config, NULL, false, settings, ARRAY_SIZE(settings), &f->problems),
        -EINVAL);
    const char *const wrong[] = {"control character 0x0A at column 24",
                                 "invalid UTF-8 near column 13",
                                 "control character 0x1B at column 13"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        assert_string_equal(f->problems.item[i].file, "--set");
        assert_int_equal(f->problems.item[i].line, i + 1);
        assert_string_equal(f->problems.item[i].text, wrong[i]);
    }
    assert_true(f->problems.count > ARRAY_SIZE(wrong)); /* the last one is no name of an account */
    assert_int_equal(f->config.queue_jobs, 1024);
}

static void test_long_lines(void **state)
{
    static const size_t fitting[] = {196, 197, 198, 199, 200, 201, 202, 1023, LINES_LINE_MAX};
    static const size_t too_long[] = {LINES_LINE_MAX + 1, LINES_LINE_MAX + 2, LINES_LINE_MAX + 3,
                                      3000};
    static const char *const ends[] = {"", "\n", "\r\n"};
    struct fixture *f = *state;

    for (size_t e = 0; e < ARRAY_SIZE(ends); e++) {
        for (size_t i = 0; i < ARRAY_SIZE(fitting); i++) {
            write_long_line(f, fitting[i], ends[e]);
            assert_int_equal(load(f), 0);
            assert_int_equal(f->config.env_allow.count, 1);
            assert_int_equal(strlen(f->config.env_allow.item[0]), fitting[i] - 10);
        }
        for (size_t i = 0; i < ARRAY_SIZE(too_long); i++) {
            write_long_line(f, too_long[i], ends[e]);
            assert_int_equal(load(f), -EINVAL);
            assert_problem(f, 0, "main.conf:2: longer than 1024 bytes");
            assert_int_equal(f->problems.count, 1);
        }
    }
}

static void test_repeatable_key(void **state)
{
    struct fixture *f = *state;
    assert_loads(f, "[isolation]\nenv_allow=A=1\nenv_allow=\nenv_allow=A=2\nenv_allow=B=\n");
    assert_list(&f->config.env_allow, "A=2|B=");
    assert_mistake(f, "[isolation]\nenv_allow=AB=1\nenv_allow=A=2\nenv_allow=A=3\n",
                   "main.conf:4: [isolation] env_allow: A is already set, as 'A=2'");
}

/* --- between keys --- */

static void test_keys_that_do_not_go_together(void **state)
{
    static const struct mistake mistakes[] = {
        {"[queue]\njobs=100\n",
         "main.conf:2: [queue] jobs: 100 is less than [queue] jobs_per_client, which is 256 by "
         "default"},
        {"[protocol]\nreceive_bytes=8M\n",
         "main.conf:2: [protocol] receive_bytes: 8M is less than [protocol] max_frame, which is "
         "16M by default"},
        {"[rubric]\nwall_clock=6min\n",
         "main.conf:2: [rubric] wall_clock: 6min is more than [rubric] wall_clock_ceiling, which "
         "is 5min by default"},
        {"[rubric]\nmemory_bytes=5G\n",
         "main.conf:2: [rubric] memory_bytes: 5G is more than [ceilings] memory_bytes, which is 4G "
         "by default"},
        {"[sandbox]\ncpu=6min\n",
         "main.conf:2: [sandbox] cpu: 6min is more than [ceilings] cpu, which is 5min by default"},
        {"[code_exec]\nwall_clock=31s\n",
         "main.conf:2: [code_exec] wall_clock: 31s is more than [code_exec] wall_clock_ceiling, "
         "which is 30s by default"},
        {"[code_exec]\ndisk_bytes=2G\n",
         "main.conf:2: [code_exec] disk_bytes: 2G is more than [ceilings] disk_bytes, which is 1G "
         "by default"},
        /* The wall clocks of rubrics and of code have ceilings of their own. */
        {"[session]\nwall_clock=1s\n[ceilings]\nwall_clock=119s\n",
         "main.conf:4: [ceilings] wall_clock: 119s is less than [sandbox] wall_clock, which is "
         "2min "
         "by default"},
        {"[rubric]\nbench_root=/srvx\nallowed_roots=/srv /opt\n",
         "main.conf:3: [rubric] allowed_roots: bench_root /srvx lies under none of allowed_roots"},
        {"[rubric]\nallowed_roots=\nbench_root=/a\n",
         "main.conf:3: [rubric] bench_root: bench_root /a lies under none of allowed_roots"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++)
        assert_mistake(f, mistakes[i].text, mistakes[i].expected);
    /* Equal is allowed, and a root itself lies under it. */
    assert_loads(f, "[queue]\njobs=256\nbytes=16M\n[protocol]\nreceive_bytes=16M\n"
                    "[rubric]\nbench_root=/srv\nallowed_roots=/srv\n");
    assert_loads(f, "[sandbox]\nwall_clock=100s\n[session]\nwall_clock=100s\n"
                    "[ceilings]\nwall_clock=100s\n");
    /* A ceiling that is too low for every kind is a mistake with each. */
    assert_int_equal(load_text(f, "[ceilings]\nmax_processes=8\n"), -EINVAL);
    assert_problem(f, 0,
                   "main.conf:2: [ceilings] max_processes: 8 is less than [rubric] max_processes, "
                   "which is 64 by default");
    assert_int_equal(f->problems.count, JOB_KIND_COUNT);
    /* What a session writes has a ceiling of its own. */
    assert_mistake(
        f, "[session]\noutput_bytes=11M\n",
        "main.conf:2: [session] output_bytes: 11M is more than [session] output_ceiling, "
        "which is 10M by default");
    assert_mistake(
        f, "[session]\nlease_ceiling=10min\n",
        "main.conf:2: [session] lease_ceiling: 10min is less than [session] lease, which is "
        "1h by default");
    assert_mistake(
        f, "[session]\nidle=2h\n",
        "main.conf:2: [session] idle: 2h is more than [session] idle_ceiling, which is 1h by "
        "default");
    assert_loads(f,
                 "[ceilings]\noutput_bytes=256K\n[session]\noutput_bytes=1G\noutput_ceiling=1G\n");
    /* One mistake is not reported as two. */
    assert_mistake(
        f, "[protocol]\nmax_frame=1G\nreceive_bytes=1G\n[queue]\nbytes=-1\n",
        "main.conf:5: [queue] bytes: expected a size from 1K to 1T (bytes, or with K, M, G "
        "or T behind the number), got '-1'");
}

/* --- several files --- */

static void test_drop_ins(void **state)
{
    struct fixture *f = *state;
    make_drop_in_directory(f);
    write_file(f, "main.conf",
               "[daemon]\nslots=1\nmax_clients=1\nadmin_groups=a b\n"
               "[isolation]\nenv_allow=A=1\n");
    write_file(f, "main.conf.d/10-b.conf", "[daemon]\nslots=10\n[isolation]\nenv_allow=B=2\n");
    write_file(f, "main.conf.d/9-a.conf", "[daemon]\nslots=9\nadmin_groups=c\nlog_level=debug\n");
    write_file(f, "main.conf.d/.hidden.conf", "nonsense\n");
    write_file(f, "main.conf.d/20-x.conf~", "nonsense\n");
    write_file(f, "main.conf.d/.conf", "nonsense\n");
    write_file(f, "main.conf.d/conf", "nonsense\n");
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/main.conf.d/30-masked.conf", f->directory);
    assert_int_equal(symlink("/dev/null", path), 0);

    assert_int_equal(load(f), 0);
    assert_int_equal(f->config.slots, 10);
    assert_int_equal(f->config.max_clients, 1);
    assert_int_equal(f->config.log_level, CONFIG_LOG_DEBUG);
    assert_list(&f->config.admin_groups, "c");
    assert_list(&f->config.env_allow, "A=1|B=2");
}

static void test_drop_ins_without_main_file(void **state)
{
    struct fixture *f = *state;
    make_drop_in_directory(f);
    write_file(f, "main.conf.d/a.conf", "[daemon]\nslots=7\n");
    assert_int_equal(config_load(&f->config, f->path, false, NULL, 0, &f->problems), 0);
    assert_int_equal(f->config.slots, 7);
    assert_int_equal(load(f), -EINVAL);
    assert_problem(f, 0, "main.conf: cannot be opened: No such file or directory");
    assert_int_equal(f->problems.count, 1);
}

static void test_all_mistakes_of_all_files(void **state)
{
    struct fixture *f = *state;
    char wanted[512];
    make_drop_in_directory(f);
    write_file(f, "main.conf",
               "slots=1\n[daemon]\nslots=many\n junk\nslots=2\nqueue\n[quue]\na=1\n"
               "[queue]\njobs=300\nfoo=1\n");
    write_file(f, "main.conf.d/1.conf", "[daemon]\n\nsocket_group=a b\n");
    write_file(f, "main.conf.d/2.conf", "[queue]\njobs=\xFF\njobs_per_client=400\nlast");
    assert_int_equal(load(f), -EINVAL);

    static const char *const expected[] = {
        "main.conf:1: slots: comes before the first [SECTION]",
        "main.conf:3: [daemon] slots: expected auto or a whole number from 1 to 1024, got 'many'",
        "main.conf:4: begins with a space or tab; a value cannot be continued on the next line",
        "main.conf:5: [daemon] slots: already set on line 3",
        "main.conf:6: expected NAME = VALUE",
        "main.conf:7: [quue]: unknown section, did you mean [queue]?",
        "main.conf:11: [queue] foo: unknown key",
        "main.conf.d/1.conf:3: [daemon] socket_group: expected the name of a group, got 'a b'",
        "main.conf.d/2.conf:2: invalid UTF-8 near column 6",
        "main.conf.d/2.conf:4: expected NAME = VALUE",
    };
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_problem(f, i, expected[i]);
    (void)snprintf(wanted, sizeof(wanted),
                   "main.conf.d/2.conf:3: [queue] jobs_per_client: 400 is more than [queue] jobs, "
                   "which is 300 (%s/main.conf:10)",
                   f->directory);
    assert_problem(f, ARRAY_SIZE(expected), wanted);
    assert_int_equal(f->problems.count, ARRAY_SIZE(expected) + 1);
}

static void test_what_is_no_file(void **state)
{
    struct fixture *f = *state;
    char path[256];

    write_file(f, "main.conf.d", "a file\n");
    assert_mistake(f, "", "main.conf.d: cannot be listed: Not a directory");
    (void)snprintf(path, sizeof(path), "%s.d", f->path);
    assert_int_equal(unlink(path), 0);
    make_drop_in_directory(f);

    (void)snprintf(path, sizeof(path), "%s.d/a.conf", f->path);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s.d/b.conf", f->path);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof(path), "%s.d/c.conf", f->path);
    assert_int_equal(symlink("/proc/self/none", path), 0);
    (void)snprintf(path, sizeof(path), "%s.d/d.conf", f->path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    write_file(f, "main.conf.d/e.conf", "[daemon]\nslots=x\n");
    assert_int_equal(unlink(f->path) == 0 && mkdir(f->path, 0700) == 0, 1);
    assert_int_equal(load(f), -EINVAL);
    assert_problem(f, 0, "main.conf: is a directory");
    assert_problem(f, 1, "main.conf.d/a.conf: is a directory");
    assert_problem(f, 2, "main.conf.d/b.conf: is not a regular file");
    assert_problem(f, 3, "main.conf.d/c.conf: cannot be opened: No such file or directory");
    assert_problem(f, 4, "main.conf.d/d.conf: larger than 1048576 bytes");
    assert_int_equal(f->problems.count, 6);
}

static void test_unreadable_file(void **state)
{
    struct fixture *f = *state;
    uid_t uid = geteuid();
    write_file(f, "main.conf", "[daemon]\nslots=3\n");
    assert_int_equal(chmod(f->path, 0), 0);
    assert_int_equal(chmod(f->directory, 0755), 0);
    /* Root may read anything; nobody may not. */
    if (uid == 0)
        assert_int_equal(seteuid(65534), 0);
    int r = load(f);
    if (uid == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(r, -EINVAL);
    assert_problem(f, 0, "main.conf: cannot be opened: Permission denied");
    assert_int_equal(f->problems.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults_and_shipped_file),
        cmocka_unit_test(test_shipped_file_tells_bounds),
        TEST(test_every_key_is_set),
        TEST(test_syntax),
        TEST(test_syntax_mistakes),
        TEST(test_nul_byte),
        TEST(test_characters_of_settings),
        TEST(test_long_lines),
        TEST(test_repeatable_key),
        TEST(test_keys_that_do_not_go_together),
        TEST(test_drop_ins),
        TEST(test_drop_ins_without_main_file),
        TEST(test_all_mistakes_of_all_files),
        TEST(test_what_is_no_file),
        TEST(test_unreadable_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
