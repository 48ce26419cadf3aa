/* SPDX-License-Identifier: MIT */
/* Tests jobs of kind `sandbox`: valid values of every field, and exact messages for others. */
#include "requests.h"
#include "tests/unit/limit_table.h"
#include "tests/unit/scarce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const env_names[] = {"HOME", "TZ"};

static struct request_policy policy(void)
{
    return (struct request_policy){
        .defaults = {[JOB_SANDBOX] = job_kind_get(JOB_SANDBOX)->defaults},
        .ceilings = {[JOB_SANDBOX] = limits_ceiling_default},
        .env_names = env_names,
        .env_name_count = ARRAY_SIZE(env_names),
    };
}

static const struct sandbox_spec *accept_with(const char *text, const struct request_policy *policy,
                                              struct request *ret)
{
    struct fault fault = FAULT_NULL;
    json_t *message = parse(text);
    if (request_decode(message, policy, ret, &fault) != 0)
        fail_msg("%.300s:\n  %s", text, fault.text);
    json_decref(message); /* the request does not borrow from it */
    assert_int_equal(ret->job->kind, JOB_SANDBOX);
    return &ret->job->sandbox;
}

static const struct sandbox_spec *accept(const char *text, struct request *ret)
{
    struct request_policy defaults = policy();
    return accept_with(text, &defaults, ret);
}

#define JOB(fields) "{'type':'submit','id':'a','job':{'kind':'sandbox'," fields "}}"
#define TRUE(fields) JOB("'argv':['/bin/true']," fields)

static void assert_bytes(const struct bytes *bytes, const char *data, size_t n)
{
    assert_non_null(bytes->data);
    assert_int_equal(bytes->length, n);
    assert_memory_equal(bytes->data, data, n);
}

/* --- the program ---------------------------------------------------------------------------- */

static void test_argv(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct sandbox_spec *spec =
        accept(JOB("'argv':['/bin/echo','','a b','\xC3\xA9']"), &request);
    static const char *const expected[] = {"/bin/echo", "", "a b", "\xC3\xA9"};
    (void)state;
    assert_int_equal(spec->program, SANDBOX_ARGV);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_string_equal(spec->argv[i], expected[i]);
    assert_null(spec->argv[ARRAY_SIZE(expected)]);
    assert_null(spec->text.data);
    assert_bytes(&spec->input, "", 0);
    assert_int_equal(spec->file_count, 0);
    assert_null(spec->env);
    assert_null(spec->readable);
    assert_false(request.job->network);
    assert_limits(&request.job->limits, &job_kind_get(JOB_SANDBOX)->defaults);
}

static void test_bad_argv(void **state)
{
    static const struct refusal cases[] = {
        {JOB("'argv':[]"), "job.argv: expected 1 to 60 strings, got 0"},
        {JOB("'argv':'/bin/true'"), "job.argv: expected an array, got a string"},
        {JOB("'argv':{}"), "job.argv: expected an array, got an object"},
        {JOB("'argv':['true']"), "job.argv[0]: \"true\" is not an absolute path"},
        {JOB("'argv':['']"), "job.argv[0]: \"\" is not an absolute path"},
        {JOB("'argv':['./true']"), "job.argv[0]: \"./true\" is not an absolute path"},
        {JOB("'argv':[1]"), "job.argv[0]: expected a string, got a number"},
        {JOB("'argv':['/bin/true',null]"), "job.argv[1]: expected a string, got null"},
        {JOB("'argv':['/bin/true','a','b\\u0000']"), "job.argv[2]: contains a NUL character"},
        {JOB("'argv':['/bin/\\u0000true']"), "job.argv[0]: contains a NUL character"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Makes a job whose argv has N strings of LENGTH bytes after the first one. */
static char *long_argv(size_t n, size_t length)
{
    char *text = calloc(1, 256 + n * (length + 3)), *end = text;
    assert_non_null(text);
    end = stpcpy(end, "{'type':'submit','id':'a','job':{'kind':'sandbox','argv':['/x'");
    for (size_t i = 0; i < n; i++) {
        end = stpcpy(end, ",'");
        memset(end, 'a', length);
        end = stpcpy(end + length, "'");
    }
    (void)stpcpy(end, "]}}");
    return text;
}

static void test_number_of_arguments(void **state)
{
    (void)state;
    _cleanup_request_ struct request request = REQUEST_NULL;
    _cleanup_free_ char *most = long_argv(59, 1), *more = long_argv(60, 1);
    assert_string_equal(accept(most, &request)->argv[59], "a");
    refuse(more, "job.argv: expected 1 to 60 strings, got 61");
}

/* "/x" and its NUL are 3 bytes; 44 KiB are 45056. */
static void test_length_of_arguments(void **state)
{
    (void)state;
    _cleanup_request_ struct request request = REQUEST_NULL;
    _cleanup_free_ char *most = long_argv(1, 45052), *more = long_argv(1, 45053);
    assert_int_equal(strlen(accept(most, &request)->argv[1]), 45052);
    refuse(more, "job: argv and env take 45057 bytes, more than 45056");
}

static void test_environment_counts(void **state)
{
    (void)state;
    /* "HOME=" and the NUL are 6 bytes. */
    for (size_t length = 45046; length <= 45048; length++) {
        _cleanup_free_ char *text = calloc(1, 50000);
        char *end = stpcpy(text, "{'type':'submit','id':'a','job':{'kind':'sandbox','argv':['/x'],"
                                 "'env':{'HOME':'");
        memset(end, 'h', length);
        (void)stpcpy(end + length, "'}}}");
        if (length + 6 + 3 <= 45056) {
            _cleanup_request_ struct request request = REQUEST_NULL;
            (void)accept(text, &request);
        } else {
            refuse(text, "job: argv and env take 45057 bytes, more than 45056");
        }
    }
}

static void test_snippets(void **state)
{
    static const struct {
        const char *text;
        enum sandbox_program program;
        enum sandbox_runner runner;
    } cases[] = {
        {JOB("'snippet':'echo\\u0000 x'"), SANDBOX_SNIPPET, SANDBOX_SHELL},
        {JOB("'snippet':'echo\\u0000 x','runner':null"), SANDBOX_SNIPPET, SANDBOX_SHELL},
        {JOB("'snippet':'echo\\u0000 x','runner':'shell','argv':null"), SANDBOX_SNIPPET,
         SANDBOX_SHELL},
        {JOB("'snippet':'echo\\u0000 x','runner':'python'"), SANDBOX_SNIPPET, SANDBOX_PYTHON},
        {JOB("'generation':'echo\\u0000 x'"), SANDBOX_GENERATION, SANDBOX_SHELL},
        {JOB("'generation':'echo\\u0000 x','runner':'python','snippet':null"), SANDBOX_GENERATION,
         SANDBOX_PYTHON},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        const struct sandbox_spec *spec = accept(cases[i].text, &request);
        assert_int_equal(spec->program, cases[i].program);
        assert_int_equal(spec->runner, cases[i].runner);
        assert_bytes(&spec->text, "echo\0 x", 7);
        assert_null(spec->argv);
    }
    assert_string_equal(sandbox_runner_file(SANDBOX_SHELL), ".snippet.sh");
    assert_string_equal(sandbox_runner_file(SANDBOX_PYTHON), ".snippet.py");
}

#define ONE_OF "job: expected exactly one of argv, snippet, generation and steps"

static void test_what_is_run(void **state)
{
    static const struct refusal cases[] = {
        {JOB("'stdin':''"), ONE_OF},
        {JOB("'argv':null"), ONE_OF},
        {JOB("'argv':null,'snippet':null,'generation':null"), ONE_OF},
        {TRUE("'snippet':'x'"), ONE_OF},
        {TRUE("'generation':'x'"), ONE_OF},
        {JOB("'snippet':'x','generation':'x'"), ONE_OF},
        {TRUE("'snippet':'x','generation':'x'"), ONE_OF},
        {JOB("'runner':'shell'"), ONE_OF},
        {JOB("'snippet':1"), "job.snippet: expected a string, got a number"},
        {JOB("'snippet':['x']"), "job.snippet: expected a string, got an array"},
        {JOB("'generation':{}"), "job.generation: expected a string, got an object"},
        {TRUE("'runner':'shell'"),
         "job.runner: argv has no use for it; it goes with snippet and generation"},
        {JOB("'snippet':'x','runner':'perl'"),
         "job.runner: unknown runner \"perl\"; there are shell and python"},
        {JOB("'snippet':'x','runner':''"),
         "job.runner: unknown runner \"\"; there are shell and python"},
        {JOB("'snippet':'x','runner':'Shell'"),
         "job.runner: unknown runner \"Shell\"; there are shell and python"},
        {JOB("'snippet':'x','runner':['shell']"), "job.runner: expected a string, got an array"},
        {JOB("'snippet':'x','runner':'shell\\u0000'"), "job.runner: contains a NUL character"},
        /* fields of other kinds, and unknown ones */
        {TRUE("'task_class':'t'"), "job.task_class: unknown field"},
        {TRUE("'case':{}"), "job.case: unknown field"},
        {TRUE("'sut':{}"), "job.sut: unknown field"},
        {TRUE("'cwd':'/'"), "job.cwd: unknown field"},
        {TRUE("'priority':11"), "job.priority: expected an integer from -10 to 10"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- stdin ---------------------------------------------------------------------------------- */

static void test_stdin(void **state)
{
    static const struct {
        const char *text, *data;
        size_t n;
    } cases[] = {
        {TRUE("'stdin':'a\\u0000\xC3\xA9\\n'"), "a\0\xC3\xA9\n", 5},
        {TRUE("'stdin':{'base64':'AAH+/w=='}"), "\x00\x01\xFE\xFF", 4},
        {TRUE("'stdin':{'base64':''}"), "", 0},
        {TRUE("'stdin':''"), "", 0},
        {TRUE("'stdin':null"), "", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        assert_bytes(&accept(cases[i].text, &request)->input, cases[i].data, cases[i].n);
    }
}

#define NOT_BASE64 "not base64 (RFC 4648, with padding)"

static void test_bad_stdin(void **state)
{
    static const struct refusal cases[] = {
        {TRUE("'stdin':1"), "job.stdin: expected a string or {\"base64\": ...}, got a number"},
        {TRUE("'stdin':[]"), "job.stdin: expected a string or {\"base64\": ...}, got an array"},
        {TRUE("'stdin':{}"), "job.stdin.base64: missing"},
        {TRUE("'stdin':{'text':'x'}"), "job.stdin.text: unknown field"},
        {TRUE("'stdin':{'base64':null}"), "job.stdin.base64: expected a string, got null"},
        {TRUE("'stdin':{'base64':'A'}"), "job.stdin.base64: " NOT_BASE64},
        {TRUE("'stdin':{'base64':'AB=='}"), "job.stdin.base64: " NOT_BASE64},
        {TRUE("'stdin':{'base64':'AAA\\u0000'}"), "job.stdin.base64: " NOT_BASE64},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- files ---------------------------------------------------------------------------------- */

static const struct sandbox_file *find_file(const struct sandbox_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->file_count; i++)
        if (strcmp(spec->files[i].name, name) == 0)
            return &spec->files[i];
    static const struct sandbox_file none = {.mode = 0};
    fail_msg("there is no file %s", name);
    return &none; /* not reached; some compilers do not know */
}

static void test_files(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct sandbox_spec *spec = accept(
        TRUE(
            "'files':{'a.txt':'a\\u0000b','d/e/f':{'text':'x','mode':'0755'},'d/g':{'base64':'/w=='"
            ",'mode':'7'},'h':{'base64':'','mode':null},'...':{'text':''},'..i':'','.j':'',"
            "'d-/k':'','\xC3\xA9 \\n':{'text':'','mode':'0'},'.snippet.sh':'not a snippet'}"),
        &request);
    (void)state;
    assert_int_equal(spec->file_count, 10);
    assert_bytes(&find_file(spec, "a.txt")->content, "a\0b", 3);
    assert_int_equal(find_file(spec, "a.txt")->mode, 0644);
    assert_bytes(&find_file(spec, "d/e/f")->content, "x", 1);
    assert_int_equal(find_file(spec, "d/e/f")->mode, 0755);
    assert_bytes(&find_file(spec, "d/g")->content, "\xFF", 1);
    assert_int_equal(find_file(spec, "d/g")->mode, 07);
    assert_bytes(&find_file(spec, "h")->content, "", 0);
    assert_int_equal(find_file(spec, "h")->mode, 0644);
    assert_int_equal(find_file(spec, "\xC3\xA9 \n")->mode, 0);
    (void)find_file(spec, ".snippet.sh");
}

#define NAME_RULE \
    ": expected a relative name without empty, . and .. parts, at most 1023 bytes, 255 in a part"
#define MODE_RULE ".mode: expected octal digits in a string, \"0\" to \"0777\""

static void test_bad_file_names(void **state)
{
    static const struct refusal cases[] = {
        {TRUE("'files':{'':''}"), "job.files.\"\"" NAME_RULE},
        {TRUE("'files':{'/':''}"), "job.files./" NAME_RULE},
        {TRUE("'files':{'/etc/passwd':''}"), "job.files./etc/passwd" NAME_RULE},
        {TRUE("'files':{'.':''}"), "job.files.." NAME_RULE},
        {TRUE("'files':{'..':''}"), "job.files..." NAME_RULE},
        {TRUE("'files':{'../x':''}"), "job.files.../x" NAME_RULE},
        {TRUE("'files':{'a/../b':''}"), "job.files.a/../b" NAME_RULE},
        {TRUE("'files':{'a/./b':''}"), "job.files.a/./b" NAME_RULE},
        {TRUE("'files':{'a/.':''}"), "job.files.a/." NAME_RULE},
        {TRUE("'files':{'a/..':''}"), "job.files.a/.." NAME_RULE},
        {TRUE("'files':{'a/':''}"), "job.files.a/" NAME_RULE},
        {TRUE("'files':{'a//b':''}"), "job.files.a//b" NAME_RULE},
        {TRUE("'files':{'a':'','a/b':''}"), "job.files.a/b: \"a\" is a file, too"},
        {TRUE("'files':{'a/b/c':'','a/b':''}"), "job.files.a/b/c: \"a/b\" is a file, too"},
        /* names between the two in the order of bytes */
        {TRUE("'files':{'a':'','a-':'','a.b':'','a\\u0001':'','a/b':''}"),
         "job.files.a/b: \"a\" is a file, too"},
        {JOB("'snippet':'x','files':{'.snippet.sh':''}"),
         "job.files..snippet.sh: the snippet itself stands there"},
        {JOB("'snippet':'x','files':{'.snippet.sh/x':''}"),
         "job.files..snippet.sh/x: the snippet itself stands there"},
        {JOB("'generation':'x','runner':'python','files':{'.snippet.py':''}"),
         "job.files..snippet.py: the snippet itself stands there"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
    _cleanup_request_ struct request request = REQUEST_NULL, beside = REQUEST_NULL;
    (void)accept(JOB("'snippet':'x','runner':'python','files':{'.snippet.sh':''}"), &request);
    (void)accept(JOB("'snippet':'x','files':{'.snippet.shx':'','d/.snippet.sh':''}"), &beside);
}

static void test_bad_files(void **state)
{
    static const struct refusal cases[] = {
        {TRUE("'files':[]"), "job.files: expected an object, got an array"},
        {TRUE("'files':{'a':null}"),
         "job.files.a: expected a string or an object with text or base64, got null"},
        {TRUE("'files':{'a':['x']}"),
         "job.files.a: expected a string or an object with text or base64, got an array"},
        {TRUE("'files':{'a':{}}"), "job.files.a: expected either text or base64"},
        {TRUE("'files':{'a':{'mode':'0644'}}"), "job.files.a: expected either text or base64"},
        {TRUE("'files':{'a':{'text':'','base64':''}}"),
         "job.files.a: expected either text or base64"},
        {TRUE("'files':{'a':{'text':null}}"), "job.files.a.text: expected a string, got null"},
        {TRUE("'files':{'a':{'text':1}}"), "job.files.a.text: expected a string, got a number"},
        {TRUE("'files':{'a':{'base64':'====' }}"), "job.files.a.base64: " NOT_BASE64},
        {TRUE("'files':{'a/b':{'base64':'AAA' }}"), "job.files.a/b.base64: " NOT_BASE64},
        {TRUE("'files':{'a':{'text':'','owner':0}}"), "job.files.a.owner: unknown field"},
        {TRUE("'files':{'a':{'text':'','mode':420}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':''}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'01000'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'1000'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'4755'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'00644'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'rwx'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'8'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'-1'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':' 7'}}"), "job.files.a" MODE_RULE},
        {TRUE("'files':{'a':{'text':'','mode':'7\\u0000'}}"), "job.files.a" MODE_RULE},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Makes a job with N files in DIRECTORY; if NULL, each file is in two directories of its own. */
static char *many_files(size_t n, const char *directory)
{
    char *text = calloc(1, 256 + n * 64), *end = text;
    assert_non_null(text);
    end = stpcpy(end, "{'type':'submit','id':'a','job':{'kind':'sandbox','argv':['/x'],'files':{");
    for (size_t i = 0; i < n; i++) {
        char name[64];
        if (directory)
            (void)snprintf(name, sizeof(name), "%sf%zu", directory, i);
        else
            (void)snprintf(name, sizeof(name), "d%zu/e%zu/f", i, i);
        end += sprintf(end, "%s'%s':''", i > 0 ? "," : "", name);
    }
    (void)stpcpy(end, "}}}");
    return text;
}

static void test_number_of_files(void **state)
{
    (void)state;
    _cleanup_request_ struct request request = REQUEST_NULL, directories = REQUEST_NULL;
    _cleanup_free_ char *most = many_files(1024, ""), *more = many_files(1025, ""),
                        *most_directories = many_files(512, NULL),
                        *more_directories = many_files(513, NULL);
    assert_int_equal(accept(most, &request)->file_count, 1024);
    refuse(more, "job.files: 1025 files, more than 1024");
    assert_int_equal(accept(most_directories, &directories)->file_count, 512);
    refuse(more_directories, "job.files: 1026 directories, more than 1024");
}

/* A directory counts once, however many files it has. */
static void test_shared_directories(void **state)
{
    (void)state;
    _cleanup_request_ struct request request = REQUEST_NULL;
    _cleanup_free_ char *text = many_files(1024, "d/e/");
    assert_int_equal(accept(text, &request)->file_count, 1024);
}

static void test_length_of_names(void **state)
{
    static const struct {
        size_t part, length; /* of each part, and of the whole name */
        bool good;
    } cases[] = {{255, 255, true},  {256, 256, false},  {255, 1023, true},
                 {255, 1022, true}, {100, 1024, false}, {1, 1023, true}};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char name[1100], text[1300], shown[80], expected[300];
        for (size_t k = 0; k < cases[i].length; k++)
            name[k] = k % (cases[i].part + 1) == cases[i].part ? '/' : 'n';
        name[cases[i].length] = '\0';
        (void)snprintf(text, sizeof(text), TRUE("'files':{'%s':''}"), name);
        if (cases[i].good) {
            _cleanup_request_ struct request request = REQUEST_NULL;
            assert_string_equal(accept(text, &request)->files[0].name, name);
            continue;
        }
        (void)snprintf(shown, sizeof(shown), "%.64s...", name);
        (void)snprintf(expected, sizeof(expected), "job.files.%s" NAME_RULE, shown);
        refuse(text, expected);
    }
}

static void test_files_fit_the_disk(void **state)
{
    static const struct refusal cases[] = {
        {TRUE("'limits':{'disk_bytes':4096},'files':{'a':'x','b':'y'}"),
         "job.files: 8192 bytes of disk, in whole pages; the limit disk_bytes is 4096"},
        {JOB("'snippet':'x','limits':{'disk_bytes':4096},'files':{'a':'x'}"),
         "job.files: 8192 bytes of disk, in whole pages; the limit disk_bytes is 4096"},
        {TRUE("'limits':{'disk_bytes':4097},'files':{'a':'x','b':'y','c':'z'}"),
         "job.files: 12288 bytes of disk, in whole pages; the limit disk_bytes is 4097"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
    _cleanup_request_ struct request one = REQUEST_NULL, two = REQUEST_NULL, none = REQUEST_NULL;
    (void)accept(TRUE("'limits':{'disk_bytes':1},'files':{'a':'x','b':''}"), &one);
    (void)accept(TRUE("'limits':{'disk_bytes':4097},'files':{'a':'x','b':'y'}"), &two);
    (void)accept(JOB("'snippet':'x','limits':{'disk_bytes':1},'files':{'a':''}"), &none);
}

static void test_snippet_fits_the_disk(void **state)
{
    static const char *const fields[] = {"snippet", "generation"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        char text[6000], body[4098], expected[200];
        memset(body, 's', sizeof(body));
        body[4097] = '\0';
        (void)snprintf(text, sizeof(text), JOB("'%s':'%s','limits':{'disk_bytes':4096}"), fields[i],
                       body);
        (void)snprintf(expected, sizeof(expected),
                       "job.%s: 8192 bytes of disk, in whole pages; the limit disk_bytes is 4096",
                       fields[i]);
        refuse(text, expected);
        _cleanup_request_ struct request request = REQUEST_NULL;
        body[4096] = '\0';
        (void)snprintf(text, sizeof(text), JOB("'%s':'%s','limits':{'disk_bytes':4096}"), fields[i],
                       body);
        (void)accept(text, &request);
    }
}

/* --- env, readable, limits ------------------------------------------------------------------ */

static void test_env(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, none = REQUEST_NULL;
    const struct sandbox_spec *spec = accept(TRUE("'env':{'TZ':'','HOME':'/x=y'}"), &request);
    (void)state;
    bool tz_first = strcmp(spec->env[0], "TZ=") == 0;
    assert_string_equal(spec->env[!tz_first], "TZ=");
    assert_string_equal(spec->env[tz_first], "HOME=/x=y");
    assert_null(spec->env[2]);
    assert_null(accept(TRUE("'env':{}"), &none)->env[0]);
}

#define NOT_ALLOWED ": the configuration does not allow this variable (env_names of [sandbox])"

static void test_bad_env(void **state)
{
    static const struct refusal wrong[] = {
        {TRUE("'env':[]"), "job.env: expected an object, got an array"},
        {TRUE("'env':{'TZ':1}"), "job.env.TZ: expected a string, got a number"},
        {TRUE("'env':{'TZ':null}"), "job.env.TZ: expected a string, got null"},
        {TRUE("'env':{'TZ':'a\\u0000'}"), "job.env.TZ: contains a NUL character"},
    };
    static const struct refusal forbidden[] = {
        {TRUE("'env':{'PATH':'/x'}"), "job.env.PATH" NOT_ALLOWED},
        {TRUE("'env':{'LANG':'C'}"), "job.env.LANG" NOT_ALLOWED},
        {TRUE("'env':{'PYTHONHASHSEED':'1'}"), "job.env.PYTHONHASHSEED" NOT_ALLOWED},
        {TRUE("'env':{'LD_PRELOAD':'/x'}"), "job.env.LD_PRELOAD" NOT_ALLOWED},
        {TRUE("'env':{'TZ=x':'/x'}"), "job.env.TZ=x" NOT_ALLOWED},
        {TRUE("'env':{'T':'/x'}"), "job.env.T" NOT_ALLOWED},
        {TRUE("'env':{'tz':'/x'}"), "job.env.tz" NOT_ALLOWED},
        {TRUE("'env':{'':'/x'}"), "job.env.\"\"" NOT_ALLOWED},
        {TRUE("'env':{'OTHER':1}"), "job.env.OTHER" NOT_ALLOWED},
    };
    (void)state;
    refuse_all(wrong, ARRAY_SIZE(wrong));
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
        refuse_as(forbidden[i].text, -EPERM, forbidden[i].message);
}

static void test_readable(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, none = REQUEST_NULL,
                                     most = REQUEST_NULL;
    const struct sandbox_spec *spec =
        accept(TRUE("'readable':['/','/srv/','//a//b','/...','/.a/..b']"), &request);
    static const char *const expected[] = {"/", "/srv/", "//a//b", "/...", "/.a/..b"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_string_equal(spec->readable[i], expected[i]);
    assert_null(spec->readable[ARRAY_SIZE(expected)]);
    assert_null(accept(TRUE("'readable':[]"), &none)->readable[0]);
    spec = accept(TRUE("'readable':['/1','/2','/3','/4','/5','/6','/7','/8','/9','/10','/11','/12',"
                       "'/13','/14','/15','/16']"),
                  &most);
    assert_string_equal(spec->readable[15], "/16");
}

#define PATH_RULE ": expected an absolute path without . and .. in it, at most 4095 bytes"

static void test_bad_readable(void **state)
{
    static const struct refusal cases[] = {
        {TRUE("'readable':'/x'"), "job.readable: expected an array, got a string"},
        {TRUE("'readable':[1]"), "job.readable[0]: expected a string, got a number"},
        {TRUE("'readable':['/x','/y\\u0000']"), "job.readable[1]: contains a NUL character"},
        {TRUE("'readable':['']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['x']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['/x','./x']"), "job.readable[1]" PATH_RULE},
        {TRUE("'readable':['/.']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['/..']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['/a/./b']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['/a/../b']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['/a/..']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['//..//']"), "job.readable[0]" PATH_RULE},
        {TRUE("'readable':['/1','/2','/3','/4','/5','/6','/7','/8','/9','/10','/11','/12','/13',"
              "'/14','/15','/16','/17']"),
         "job.readable: 17 paths, more than 16"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
    for (size_t length = 4095; length <= 4096; length++) {
        char text[4300], path[4100];
        memset(path, 'p', sizeof(path));
        path[0] = '/';
        path[length] = '\0';
        (void)snprintf(text, sizeof(text), TRUE("'readable':['%s']"), path);
        if (length == 4096) {
            refuse(text, "job.readable[0]" PATH_RULE);
        } else {
            _cleanup_request_ struct request request = REQUEST_NULL;
            assert_string_equal(accept(text, &request)->readable[0], path);
        }
    }
}

static void test_limits(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    (void)accept(TRUE("'limits':{'wall_clock':2.5,'cpu':1,'memory_bytes':100,'max_open_files':20,"
                      "'max_processes':1,'output_bytes':5,'disk_bytes':7,'allow_network':false}"),
                 &request);
    assert_limits_except(&request.job->limits,
                         &job_kind_get(JOB_SANDBOX)->defaults, [LIMIT_WALL_CLOCK] = 2500,
                         [LIMIT_CPU] = 1000, [LIMIT_MEMORY] = 100, [LIMIT_OPEN_FILES] = 20,
                         [LIMIT_PROCESSES] = 1, [LIMIT_OUTPUT] = 5, [LIMIT_DISK] = 7);
    assert_false(request.job->network);
}

static void test_bad_limits(void **state)
{
    static const struct refusal cases[] = {
        {TRUE("'limits':{'wall_clock':300.5}"),
         "job.limits.wall_clock: above the ceiling of 300 s"},
        {TRUE("'limits':{'wall_clock':0}"),
         "job.limits.wall_clock: expected a number of seconds above 0"},
        {TRUE("'limits':{'wall_clock':'5s'}"),
         "job.limits.wall_clock: expected a number of seconds above 0"},
        {TRUE("'limits':{'max_processes':257}"),
         "job.limits.max_processes: above the ceiling of 256"},
        {TRUE("'limits':{'network':true}"), "job.limits.network: unknown field"},
        {TRUE("'limits':{'allow_network':1}"),
         "job.limits.allow_network: expected a boolean, got a number"},
        {TRUE("'limits':{'allow_network':null}"),
         "job.limits.allow_network: expected a boolean, got null"},
        {TRUE("'allow_network':false"), "job.allow_network: unknown field"},
        {"{'type':'submit','id':'a','job':{'kind':'rubric','task_class':'t','case':{},"
         "'harness_output':{},'limits':{'allow_network':false}}}",
         "job.limits.allow_network: unknown field"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_network(void **state)
{
    struct request_policy open = policy();
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    refuse_as(TRUE("'limits':{'allow_network':true}"), -EPERM,
              "job.limits.allow_network: the configuration does not allow it (allow_network of "
              "[sandbox])");
    open.allow_network = true;
    accept_with(TRUE("'limits':{'allow_network':true}"), &open, &request);
    assert_true(request.job->network);
}

/* --- memory --------------------------------------------------------------------------------- */

#define EVERYTHING                                                                                 \
    JOB("'snippet':'true','runner':'python','files':{'a':'x','b/c':{'base64':'AAAA','mode':'1'}}," \
        "'stdin':{'base64':'AAAA'},'env':{'TZ':'U'},'readable':['/x','/y']")

/* The size that the queue counts covers at least every byte that the job keeps. */
static void test_size(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, small = REQUEST_NULL;
    (void)state;
    (void)accept(EVERYTHING, &request);
    assert_true(job_spec_size(request.job) >=
                4 + 1 + 3 + 3 + 5 + 6 + 4 + 2 * sizeof(struct sandbox_file));
    (void)accept(TRUE("'stdin':'xyz'"), &small);
    assert_int_equal(job_spec_size(small.job),
                     2 * sizeof(char *) + strlen("/bin/true") + 3 + 3 * ALLOCATION_OVERHEAD);
}

static void test_stream(void **state)
{
    static const struct {
        const char *text;
        bool streams;
    } cases[] = {
        {JOB("'argv':['/bin/true']"), false},
        {TRUE("'stream':null"), false},
        {TRUE("'stream':false"), false},
        {TRUE("'stream':true"), true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        (void)accept(cases[i].text, &request);
        assert_int_equal(request.job->streams, cases[i].streams);
    }
    refuse(TRUE("'stream':1"), "job.stream: expected a boolean, got a number");
}

static void test_terminal(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, bare = REQUEST_NULL;
    const struct sandbox_spec *spec =
        accept(TRUE("'terminal':{'rows':0,'columns':65535,'term':'xterm+256-color._'}"), &request);
    (void)state;
    assert_true(spec->terminal.is_wanted);
    assert_int_equal(spec->terminal.size.rows, 0);
    assert_int_equal(spec->terminal.size.columns, 65535);
    assert_string_equal(spec->terminal.name, "xterm+256-color._");
    assert_true(request.job->streams);
    spec = accept(TRUE("'stream':true,'terminal':{'rows':1,'columns':2,'term':null}"), &bare);
    assert_true(spec->terminal.is_wanted);
    assert_null(spec->terminal.name);
}

#define TERMINAL(fields) TRUE("'terminal':{" fields "}")
#define SIZE "'rows':1,'columns':1"
#define BAD_TERM \
    "job.terminal.term: expected 1 to 64 letters, digits and +-._, the first of them no dot"

static void test_bad_terminal(void **state)
{
    static const struct refusal cases[] = {
        {TRUE("'terminal':true"), "job.terminal: expected an object, got a boolean"},
        {TERMINAL(""), "job.terminal.rows: missing"},
        {TERMINAL("'rows':1"), "job.terminal.columns: missing"},
        {TERMINAL("'rows':-1,'columns':1"),
         "job.terminal.rows: expected an integer from 0 to 65535"},
        {TERMINAL("'rows':1,'columns':65536"),
         "job.terminal.columns: expected an integer from 0 to 65535"},
        {TERMINAL(SIZE ",'term':''"), BAD_TERM},
        {TERMINAL(SIZE ",'term':'a/b'"), BAD_TERM},
        {TERMINAL(SIZE ",'term':'..'"), BAD_TERM},
        {TERMINAL(SIZE ",'x':1"), "job.terminal.x: unknown field"},
        {TRUE("'stdin':'','terminal':{" SIZE "}"), "job.stdin: a terminal takes its place"},
        {TRUE("'stream':false,'terminal':{" SIZE "}"),
         "job.stream: what a terminal shows comes as output in any case"},
        {TRUE("'limits':{'output_bytes':5000},'terminal':{" SIZE "}"),
         "job.limits.output_bytes: what a terminal shows does not count as output"},
        {JOB("'steps':[{'argv':['/bin/true']}],'terminal':{" SIZE "}"),
         "job.terminal: steps have none"},
    };
    char long_name[256];
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
    (void)snprintf(long_name, sizeof(long_name), TERMINAL(SIZE ",'term':'%065d'"), 1);
    refuse(long_name, BAD_TERM);
}

/* Only jansson's allocations can be made to fail. */
static void test_without_memory(void **state)
{
    struct request_policy defaults = policy();
    json_t *message = parse(EVERYTHING);
    (void)state;
    allocations_left = -1;
    for (int before = 0; allocations_left < 0; before++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        allocations_left = before;
        json_set_alloc_funcs(scarce_malloc, free);
        int r = request_decode(message, &defaults, &request, NULL);
        json_set_alloc_funcs(malloc, free);
        assert_int_equal(r, allocations_left < 0 ? -ENOMEM : 0);
    }
    json_decref(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argv),
        cmocka_unit_test(test_bad_argv),
        cmocka_unit_test(test_number_of_arguments),
        cmocka_unit_test(test_length_of_arguments),
        cmocka_unit_test(test_environment_counts),
        cmocka_unit_test(test_snippets),
        cmocka_unit_test(test_what_is_run),
        cmocka_unit_test(test_stdin),
        cmocka_unit_test(test_bad_stdin),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_bad_file_names),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_number_of_files),
        cmocka_unit_test(test_shared_directories),
        cmocka_unit_test(test_length_of_names),
        cmocka_unit_test(test_files_fit_the_disk),
        cmocka_unit_test(test_snippet_fits_the_disk),
        cmocka_unit_test(test_env),
        cmocka_unit_test(test_bad_env),
        cmocka_unit_test(test_readable),
        cmocka_unit_test(test_bad_readable),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bad_limits),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_bad_terminal),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
