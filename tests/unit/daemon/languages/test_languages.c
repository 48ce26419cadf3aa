/* SPDX-License-Identifier: MIT */
/* Which languages there are, in which version, and what runs a program, with shell scripts for
 * compilers. */
#include "daemon/languages/languages.h"
#include "tests/unit/files.h"
#include "tests/unit/scenario.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char directory[64];
    char path[80]; /* PATH=directory */
    const char *environment[3];
    struct language_list list;
    struct event_base *base;
    struct languages *languages;
    unsigned settled;
};

static void on_settled(void *userdata)
{
    struct fixture *f = userdata;
    f->settled++;
    (void)event_base_loopbreak(f->base);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    strcpy(f->directory, "/tmp/test_languages.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof(f->path), "PATH=%s", f->directory);
    f->environment[0] = f->path;
    f->environment[1] = "EXTRA=1";
    f->base = event_base_new();
    assert_non_null(f->base);
    (void)alarm(120); /* ends whatever waits for ever */
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    languages_free(f->languages);
    language_list_deinit(&f->list);
    event_base_free(f->base);
    remove_tree(f->directory);
    free(f);
    return 0;
}

static void make_program(struct fixture *f, const char *name, const char *script)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", f->directory, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fprintf(stream, "#!/bin/sh\n%s\n", script) > 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* Adds the language NAME, with MORE at the end of its section. */
static void add(struct fixture *f, const char *name, const char *more)
{
    char text[1024], file[64];
    struct config_problems problems = CONFIG_PROBLEMS_NULL;
    (void)snprintf(file, sizeof(file), "%s.conf", name);
    int n = snprintf(text, sizeof(text),
                     "[language]\nsource = main.%s\nversion = %sc -V\n%s\n"
                     "[compile]\ncommand = %sc -o main {source}\nartefact = main\n"
                     "[run]\ncommand = ./main {memory_mb}\n[hello]\n|hello\n",
                     name, name, more, name);
    assert_int_equal(language_read(name, file, text, (size_t)n, &f->list, &problems), 0);
}

static void make(struct fixture *f, bool has_view)
{
    const struct languages_host host = {
        .list = &f->list,
        .python = "/bin/sh",
        .python_version = "Python 3.99",
        .environment = f->environment,
        .has_view = has_view,
        .bounds_memory = has_view,
    };
    f->languages = languages_free(f->languages);
    assert_int_equal(languages_new(&host, &f->languages), 0);
    assert_int_equal(languages_attach(f->languages, f->base, on_settled, f), 0);
}

/* Waits until the version of LANGUAGE has been asked for. */
static int settle(struct fixture *f, const struct language *language)
{
    int r;
    while ((r = languages_settle(f->languages, language)) == 0)
        assert_int_equal(event_base_dispatch(f->base), 0);
    return r;
}

static void assert_has(struct fixture *f, const struct language *language, const char *version)
{
    const char *found, *why_not;
    assert_int_equal(settle(f, language), 1);
    bool has = languages_has(f->languages, language, &found, &why_not);
    if (!has)
        fail_msg("%s", why_not);
    assert_string_equal(found, version);
    assert_null(why_not);
    assert_int_equal(strlen(languages_digest(f->languages, language)), 64);
}

/* Writes TEXT with DIRECTORY for each @. */
static void fill(const char *text, const char *directory, char ret[512])
{
    size_t n = 0;
    for (ret[0] = '\0'; *text; text++, n = strlen(ret))
        (void)snprintf(ret + n, 512 - n, "%.*s", *text == '@' ? 100 : 1,
                       *text == '@' ? directory : text);
}

static void assert_lacks(struct fixture *f, const struct language *language, const char *text)
{
    char expected[512];
    const char *version, *why_not;
    fill(text, f->directory, expected);
    assert_false(languages_has(f->languages, language, &version, &why_not));
    assert_null(version);
    assert_string_equal(why_not, expected);
    assert_null(languages_digest(f->languages, language));
}

/* --- versions ------------------------------------------------------------------------------ */

static void test_version(void **state)
{
    struct fixture *f = *state;
    const char *version, *why_not;
    make_program(f, "xc", "printf '\\n  X\\t3.2  (%s)\\nmore\\n' \"$1$PATH\"");
    add(f, "x", "aliases = ex");
    make(f, true);
    const struct language *x = languages_find(f->languages, "ex");
    assert_ptr_equal(x, &f->list.item[0]);
    /* Nothing was run yet. */
    assert_true(languages_has(f->languages, x, &version, &why_not));
    assert_null(version);
    assert_null(why_not);
    assert_null(languages_digest(f->languages, x));
    char expected[128];
    (void)snprintf(expected, sizeof(expected), "X 3.2  (-V%s)", f->directory);
    assert_has(f, x, expected);
    assert_int_equal(f->settled, 1);
    assert_int_equal(languages_settle(f->languages, x), 1);
}

static void test_on_stderr(void **state)
{
    struct fixture *f = *state;
    make_program(f, "xc", "echo X 3 >&2");
    add(f, "x", "");
    make(f, true);
    assert_has(f, &f->list.item[0], "X 3");
}

/* More than a pipe holds; all but the beginning is dropped. */
static void test_talkative(void **state)
{
    struct fixture *f = *state;
    make_program(f, "xc", "echo X 3; /usr/bin/head -c 300000 /dev/zero");
    add(f, "x", "");
    make(f, true);
    assert_has(f, &f->list.item[0], "X 3");
}

/* What the command leaves behind keeps the pipe open, and nobody waits for it. */
static void test_leftover(void **state)
{
    struct fixture *f = *state;
    make_program(f, "xc", "/usr/bin/sleep 100 & echo X 3; echo $! >\"$0.pid\"");
    add(f, "x", "");
    make(f, true);
    assert_has(f, &f->list.item[0], "X 3");
    char path[128], text[32] = "";
    (void)snprintf(path, sizeof(path), "%s/xc.pid", f->directory);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    assert_non_null(fgets(text, sizeof(text), stream));
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(kill((pid_t)strtol(text, NULL, 10), SIGKILL), 0);
}

static void test_python_is_known(void **state)
{
    static const char text[] = "[language]\nsource = main.py\nversion = {python} -V\n"
                               "[run]\ncommand = {python} {source}\n[hello]\n|hello\n";
    struct fixture *f = *state;
    struct config_problems problems = CONFIG_PROBLEMS_NULL;
    assert_int_equal(language_read("py", "py.conf", text, sizeof(text) - 1, &f->list, &problems),
                     0);
    make(f, true);
    const char *version;
    assert_true(languages_has(f->languages, &f->list.item[0], &version, NULL));
    assert_string_equal(version, "Python 3.99");
    assert_non_null(languages_digest(f->languages, &f->list.item[0]));
    assert_int_equal(languages_settle(f->languages, &f->list.item[0]), 1);
    assert_int_equal(f->settled, 0);
}

static void test_in_the_background(void **state)
{
    struct fixture *f = *state;
    make_program(f, "xc", "echo X 3");
    make_program(f, "yc", "exit 7");
    make_program(f, "zc", "echo Z 3");
    add(f, "x", "");
    add(f, "y", "");
    add(f, "z", "");
    make(f, true);
    languages_ask_all(f->languages, 0);
    while (f->settled < 3)
        assert_int_equal(event_base_dispatch(f->base), 0);
    assert_has(f, &f->list.item[0], "X 3");
    assert_lacks(f, &f->list.item[1], "@/yc was to tell its version and exited with 7: ");
    assert_has(f, &f->list.item[2], "Z 3");
}

/* The object goes while a command runs. */
static void test_freed_meanwhile(void **state)
{
    struct fixture *f = *state;
    make_program(f, "xc", "echo X; exec /usr/bin/sleep 1000");
    add(f, "x", "");
    make(f, true);
    assert_int_equal(languages_settle(f->languages, &f->list.item[0]), 0);
    f->languages = languages_free(f->languages);
    assert_int_equal(event_base_loop(f->base, EVLOOP_NONBLOCK), 1); /* no event is left */
    assert_int_equal(f->settled, 0);
}

/* --- digests ------------------------------------------------------------------------------- */

static void assert_digest_changes(struct fixture *f, char digest[65])
{
    make(f, true);
    assert_int_equal(settle(f, &f->list.item[0]), 1);
    const char *now = languages_digest(f->languages, &f->list.item[0]);
    assert_non_null(now);
    assert_string_not_equal(now, digest);
    strcpy(digest, now);
}

static void test_digest(void **state)
{
    struct fixture *f = *state;
    char digest[65] = "", readable[128];
    make_program(f, "xc", "echo X 3");
    (void)snprintf(readable, sizeof(readable), "readable = %s/etc", f->directory);
    add(f, "x", readable);
    assert_digest_changes(f, digest);
    make(f, true);
    assert_int_equal(settle(f, &f->list.item[0]), 1);
    assert_string_equal(languages_digest(f->languages, &f->list.item[0]), digest);

    make_program(f, "xc", "echo X 4");
    assert_digest_changes(f, digest);
    make_program(f, "etc", "");
    assert_digest_changes(f, digest);
    language_list_deinit(&f->list);
    add(f, "x", "package = x");
    assert_digest_changes(f, digest);
}

/* --- what is not there --------------------------------------------------------------------- */

static void test_missing(void **state)
{
    struct fixture *f = *state;
    make_program(f, "yc", "echo Y 3");
    add(f, "x", "package = x-lang");
    add(f, "y", "needs_view = yes");
    make(f, true);
    assert_lacks(f, &f->list.item[0], "there is no xc; install the Debian package x-lang");
    assert_int_equal(languages_settle(f->languages, &f->list.item[0]), 1);
    assert_has(f, &f->list.item[1], "Y 3");
    make(f, false);
    assert_lacks(f, &f->list.item[1],
                 "it needs a /tmp and a /proc, which jobs have only with the layer "
                 "mount_namespace; rubricctl status says why that is missing");
    /* Its memory has no bound without that, either. */
    f->languages = languages_free(f->languages);
    language_list_deinit(&f->list);
    add(f, "y", "");
    f->list.item[0].address_space = false;
    make(f, false);
    assert_lacks(f, &f->list.item[0],
                 "nothing would bound its memory: that takes a control group, or the layers "
                 "pid_namespace and mount_namespace; rubricctl status says why each is missing");
    f->list.item[0].address_space = true;
    f->list.item[0].compile_address_space = false;
    make(f, false);
    assert_false(languages_has(f->languages, &f->list.item[0], NULL, NULL));
    make(f, true);
    assert_has(f, &f->list.item[0], "Y 3");
    f->languages = languages_free(f->languages);
    language_list_deinit(&f->list);
    add(f, "x", "");
    make(f, true);
    assert_lacks(f, &f->list.item[0], "there is no xc");
    /* Both reasons are told at once. */
    f->languages = languages_free(f->languages);
    language_list_deinit(&f->list);
    add(f, "x", "package = x-lang");
    f->list.item[0].address_space = false;
    make(f, false);
    assert_lacks(f, &f->list.item[0],
                 "there is no xc; install the Debian package x-lang; besides, nothing would bound "
                 "its memory: that takes a control group, or the layers pid_namespace and "
                 "mount_namespace; rubricctl status says why each is missing");
    assert_null(languages_find(f->languages, "y"));
}

static void assert_ends_badly(struct fixture *f, const char *script, int settled,
                              const char *expected)
{
    make_program(f, "xc", script);
    make(f, true);
    assert_int_equal(settle(f, &f->list.item[0]), settled);
    assert_lacks(f, &f->list.item[0], expected);
}

static void test_bad_ends(void **state)
{
    struct fixture *f = *state;
    add(f, "x", "");
    assert_ends_badly(f, "echo no libraries; exit 3", 1,
                      "@/xc was to tell its version and exited with 3: no libraries");
    assert_ends_badly(f, ":", 1, "@/xc was to tell its version and printed nothing");
    /* Nothing that the language is to blame for. */
    assert_ends_badly(f, "kill -9 $$", -EAGAIN,
                      "@/xc was to tell its version and died by signal 9");
}

/* --- commands ------------------------------------------------------------------------------ */

static void assert_strings(char **strings, const char *format, const char *directory)
{
    char expected[512], text[512] = "";
    fill(format, directory, expected);
    for (char **string = strings; *string; string++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof(text) - n, "%s%s", n ? "|" : "", *string);
    }
    assert_string_equal(text, expected);
    language_strings_free(strings);
}

static void test_commands(void **state)
{
    struct fixture *f = *state;
    char **strings;
    const struct language_values values = {.source = "main.x", .memory = LIMIT_GIB};
    make_program(f, "xc", "echo X 3");
    add(f, "x", "env = EXTRA=2\nenv = X={source}");
    make(f, true);
    const struct language *x = &f->list.item[0];
    assert_int_equal(language_argv(f->languages, x, LANGUAGE_COMPILE, &values, &strings), 0);
    assert_strings(strings, "@/xc|-o|main|main.x", f->directory);
    assert_int_equal(language_argv(f->languages, x, LANGUAGE_RUN, &values, &strings), 0);
    assert_strings(strings, "./main|1024", "");
    assert_int_equal(language_environment(f->languages, x, &values, &strings), 0);
    assert_strings(strings, "PATH=@|EXTRA=2|X=main.x", f->directory);
}

static void test_no_command(void **state)
{
    static const char text[] = "[language]\nsource = main.x\nversion = xc -V\n"
                               "[run]\ncommand = xc {source}\n[hello]\n|hello\n";
    struct fixture *f = *state;
    struct config_problems problems = CONFIG_PROBLEMS_NULL;
    const struct language_values values = {.source = "main.x"};
    char **strings;
    assert_int_equal(language_read("x", "x.conf", text, sizeof(text) - 1, &f->list, &problems), 0);
    make(f, true);
    const struct language *x = &f->list.item[0];
    assert_int_equal(language_argv(f->languages, x, LANGUAGE_COMPILE, &values, &strings), -ENOENT);
    assert_int_equal(language_argv(f->languages, x, LANGUAGE_RUN, &values, &strings), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(test_version),  TEST(test_on_stderr),       TEST(test_talkative),
        TEST(test_leftover), TEST(test_python_is_known), TEST(test_in_the_background),
        TEST(test_digest),   TEST(test_freed_meanwhile), TEST(test_missing),
        TEST(test_bad_ends), TEST(test_commands),        TEST(test_no_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
