/* SPDX-License-Identifier: MIT */
/* The job that rubricctl sandbox makes of its options. */
#include "client/commands/sandboxjob.h"
#include "proto/base64.h"
#include "tests/unit/limit_table.h"

#include <fcntl.h>
#include <sys/stat.h>

/* A NULL-terminated list of words, borrowed. */
static struct text_list list(const char **items)
{
    size_t n = 0;
    while (items && items[n])
        n++;
    return (struct text_list){.items = items, .n = n};
}

#define LIST(...) list((const char *[]){__VA_ARGS__, NULL})

/* Standard input is DATA for the length of one call. */
static void set_stdin(const char *data, size_t n)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], data, n), n);
    assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
    close_fd(fds[0]);
    close_fd(fds[1]);
}

/* EXPECTED is JSON with ' for ". */
static void expect(const struct sandbox_options *options, struct text_list command,
                   const char *expected)
{
    struct fault fault = FAULT_NULL;
    _cleanup_json_ json_t *job = NULL;
    _cleanup_free_ char *quoted = strdup(expected);
    assert_non_null(quoted);
    for (char *p = quoted; (p = strchr(p, '\'')); p++)
        *p = '"';
    if (sandbox_job(options, &command, &job, &fault) != 0)
        fail_msg("%s", fault.text);
    _cleanup_json_ json_t *wanted = json_loads(quoted, JSON_ALLOW_NUL, NULL);
    assert_non_null(wanted);
    if (!json_equal(job, wanted)) {
        _cleanup_free_ char *text = json_dumps(job, JSON_COMPACT);
        fail_msg("%s\nexpected %s", text, quoted);
    }
}

static void refuse(const struct sandbox_options *options, struct text_list command,
                   const char *expected)
{
    struct fault fault = FAULT_NULL;
    json_t *job = NULL;
    assert_true(sandbox_job(options, &command, &job, &fault) < 0);
    assert_null(job);
    assert_string_equal(fault.text, expected);
}

static int no_stdin(void **state)
{
    (void)state;
    set_stdin("", 0);
    return 0;
}

static void test_command(void **state)
{
    const struct sandbox_options none = {.snippet = NULL};
    (void)state;
    expect(&none, LIST("/bin/echo", "a b", "-x"),
           "{'kind':'sandbox','argv':['/bin/echo','a b','-x']}");
    expect(&none, LIST("sh", "-c", "x"), "{'kind':'sandbox','argv':['/usr/bin/sh','-c','x']}");
    expect(&none, LIST("./check.sh"), "{'kind':'sandbox','argv':['/usr/bin/env','./check.sh']}");
    expect(&none, LIST("bin/check", "x"),
           "{'kind':'sandbox','argv':['/usr/bin/env','bin/check','x']}");
}

static void test_bad_command(void **state)
{
    const struct sandbox_options none = {.snippet = NULL}, runner = {.runner = "python"},
                                 snippet = {.snippet = "x"};
    (void)state;
    refuse(&none, list(NULL), "sandbox: COMMAND is missing; see rubricctl sandbox --help");
    refuse(&none, LIST("no-such-thing"),
           "sandbox: there is no \"no-such-thing\" in /usr/bin or /bin, where a job looks for it; "
           "give a path (./no-such-thing is in the job's working directory)");
    /* A directory is no program, though it may be "executed". */
    refuse(&none, LIST(".."),
           "sandbox: there is no \"..\" in /usr/bin or /bin, where a job looks for it; give a path "
           "(./.. is in the job's working directory)");
    refuse(&none, LIST("./a=b"),
           "sandbox: the path \"./a=b\" must be absolute because it contains a =");
    refuse(&none, LIST("/bin/\xFF"), "sandbox: \"/bin/\xFF\" is not UTF-8");
    refuse(&none, LIST("/bin/true", "\xFF"), "sandbox: \"\xFF\" is not UTF-8");
    refuse(&snippet, LIST("true"), "sandbox: give either a COMMAND or --snippet, not both");
    refuse(&runner, LIST("true"), "--runner: goes only with --snippet");
}

static void test_snippet(void **state)
{
    const struct sandbox_options plain = {.snippet = "echo x"},
                                 python = {.snippet = "print()", .runner = "python"};
    (void)state;
    expect(&plain, list(NULL), "{'kind':'sandbox','snippet':'echo x'}");
    expect(&python, list(NULL), "{'kind':'sandbox','snippet':'print()','runner':'python'}");
}

static void test_limits(void **state)
{
    struct sandbox_options options = {
        .limits = LIST("wall_clock=2", "cpu=1500ms", "memory_bytes=64M", "max_open_files=20",
                       "max_processes=3", "output_bytes=100", "disk_bytes=1KiB"),
        .network = true,
    };
    (void)state;
    expect(&options, LIST("/x"),
           "{'kind':'sandbox','argv':['/x'],'limits':{'wall_clock':2,'cpu':1.5,"
           "'memory_bytes':67108864,'max_open_files':20,'max_processes':3,'output_bytes':100,"
           "'disk_bytes':1024,'allow_network':true}}");
    options.limits = list(NULL);
    expect(&options, LIST("/x"),
           "{'kind':'sandbox','argv':['/x'],'limits':{'allow_network':true}}");
}

static void test_bad_limits(void **state)
{
    static const char *const cases[][2] = {
        {"cpu", "--limit: expected NAME=VALUE, got \"cpu\""},
        {"cpu=2x",
         "--limit cpu: expected a duration such as 500ms, 1.5s, 30s or 5min (seconds without "
         "a unit), got \"2x\""},
        {"memory_bytes=-1",
         "--limit memory_bytes: expected a size in bytes, or a number with K, M, "
         "G or T behind it, got \"-1\""},
        {"max_processes=2k", "--limit max_processes: expected a whole number, got \"2k\""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *items[] = {cases[i][0], NULL};
        const struct sandbox_options options = {.limits = list(items)};
        refuse(&options, LIST("/x"), cases[i][1]);
    }
}

/* Each limit can be set; the message about an unknown one names them all. */
static void test_every_limit(void **state)
{
    char expected[1024] = "--limit: unknown limit \"memory\"; the limits are ", text[128];
    const struct sandbox_options unknown = {.limits = LIST("memory=5")};
    (void)state;
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const char *key = limit_table()->rows[i].key;
        const char *items[] = {text, NULL};
        const struct sandbox_options options = {.limits = list(items)};
        const int value = i == LIMIT_MEMORY ? 1 << 20 : 7; /* the least that is no mistake */
        (void)snprintf(text, sizeof(text), "%s=%d", key, value);
        char wanted[128];
        (void)snprintf(wanted, sizeof(wanted),
                       "{'kind':'sandbox','argv':['/x'],'limits':{'%s':%d}}", key, value);
        expect(&options, LIST("/x"), wanted);
        strcat(strcat(expected, i > 0 ? ", " : ""), key);
    }
    refuse(&unknown, LIST("/x"), expected);
}

static void write_file(const char *path, const char *data, size_t n, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), n);
    assert_int_equal(fchmod(fd, mode), 0);
    close_fd(fd);
}

static void test_files(void **state)
{
    char directory[] = "/tmp/test_client_sandbox.XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    write_file("text", "a\xC3\xA9\0", 4, 0600);
    write_file("run", "#!/bin/sh\n", 10, 0700);
    write_file("raw", "\xFF", 1, 0755);
    const struct sandbox_options options = {.files = LIST("text", "d/r=run", "raw", "s=-")};
    set_stdin("from stdin", 10);
    expect(&options, LIST("/x"),
           "{'kind':'sandbox','argv':['/x'],'files':{'text':{'text':'a\xC3\xA9\\u0000'},"
           "'d/r':{'text':'#!/bin/sh\\n','mode':'0755'},'raw':{'base64':'/w==','mode':'0755'},"
           "'s':{'text':'from stdin'}}}");
    const struct sandbox_options missing = {.files = LIST("text", "x=none")},
                                 twice = {.files = LIST("text", "text=raw")},
                                 odd = {.files = LIST("\xFF=raw")};
    refuse(&missing, LIST("/x"), "--file: none: No such file or directory");
    refuse(&twice, LIST("/x"), "--file: \"text\" is given twice");
    refuse(&odd, LIST("/x"), "--file: \"\xFF\" is not UTF-8");
    assert_int_equal(mkdir("tree", 0700) | mkdir("tree/sub", 0700) | mkdir("tree/empty", 0700), 0);
    assert_int_equal(rename("text", "tree/b") | rename("run", "tree/sub/run"), 0);
    assert_int_equal(symlink("../raw", "tree/a"), 0);
    const struct sandbox_options tree = {.files = LIST("tree/", "x=tree/sub", ".=tree/sub")};
    expect(&tree, LIST("/x"),
           "{'kind':'sandbox','argv':['/x'],'files':{'tree/a':{'base64':'/w==','mode':'0755'},"
           "'tree/b':{'text':'a\xC3\xA9\\u0000'},"
           "'tree/sub/run':{'text':'#!/bin/sh\\n','mode':'0755'},"
           "'x/run':{'text':'#!/bin/sh\\n','mode':'0755'},"
           "'run':{'text':'#!/bin/sh\\n','mode':'0755'}}}");
    const struct sandbox_options whole = {.files = LIST("tree")};
    assert_int_equal(symlink("gone", "tree/c"), 0);
    refuse(&whole, LIST("/x"), "--file: tree/c: a link to nothing");
    assert_int_equal(unlink("tree/c") | symlink(".", "tree/c"), 0);
    refuse(&whole, LIST("/x"), "--file: tree/c: a link to a directory that holds it");
    assert_int_equal(unlink("tree/c") | mkfifo("tree/c", 0600), 0);
    refuse(&whole, LIST("/x"), "--file: tree/c: neither a file nor a directory");
    static const char *const files[] = {"tree/a", "tree/b", "tree/c", "tree/sub/run", "raw"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        assert_int_equal(unlink(files[i]), 0);
    assert_int_equal(rmdir("tree/sub") | rmdir("tree/empty") | rmdir("tree"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void test_env(void **state)
{
    const struct sandbox_options options = {.env = LIST("A=1", "B", "C=", "D=x=y")},
                                 unset = {.env = LIST("RUBRICCTL_TEST_UNSET")},
                                 odd = {.env = LIST("A=\xFF")};
    (void)state;
    assert_int_equal(setenv("B", "from here", 1), 0);
    expect(&options, LIST("/x"),
           "{'kind':'sandbox','argv':['/x'],'env':{'A':'1','B':'from here','C':'','D':'x=y'}}");
    refuse(&unset, LIST("/x"),
           "--env: RUBRICCTL_TEST_UNSET is not set here; give RUBRICCTL_TEST_UNSET=VALUE");
    refuse(&odd, LIST("/x"), "--env: \"\xFF\" is not UTF-8");
}

static void test_readable(void **state)
{
    const struct sandbox_options options = {.readable = LIST("/proc/../tmp/.", "/")},
                                 missing = {.readable = LIST("/no/such")};
    (void)state;
    expect(&options, LIST("/x"), "{'kind':'sandbox','argv':['/x'],'readable':['/tmp','/']}");
    refuse(&missing, LIST("/x"), "--readable: /no/such: No such file or directory");
}

static void test_stdin(void **state)
{
    const struct sandbox_options none = {.snippet = NULL};
    (void)state;
    set_stdin("a\0\xC3\xA9", 4);
    expect(&none, LIST("/x"), "{'kind':'sandbox','argv':['/x'],'stdin':'a\\u0000\xC3\xA9'}");
    set_stdin("\xC3", 1);
    expect(&none, LIST("/x"), "{'kind':'sandbox','argv':['/x'],'stdin':{'base64':'ww=='}}");
}

#define TEST(name) cmocka_unit_test_setup(name, no_stdin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_command),    TEST(test_bad_command), TEST(test_snippet), TEST(test_limits),
        TEST(test_bad_limits), TEST(test_every_limit), TEST(test_files),   TEST(test_env),
        TEST(test_readable),   TEST(test_stdin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
