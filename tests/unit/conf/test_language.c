/* SPDX-License-Identifier: MIT */
/* Files of languages: what they may say, and that every mistake is named with its place. */
#include "conf/language.h"
#include "conf/language_keys.h"
#include "tests/unit/files.h"
#include "tests/unit/scenario.h"

#include <string.h>
#include <sys/stat.h>

/* The least that a file has to say. */
#define HEAD "[language]\nsource = main.x\nversion = x --version\n"
#define RUN "[run]\ncommand = x {source}\n"
#define HELLO "[hello]\n|say hello\n"

struct fixture {
    char directory[64];
    struct language_list list;
    struct config_problems problems;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    strcpy(f->directory, "/tmp/test_language.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    language_list_deinit(&f->list);
    config_problems_deinit(&f->problems);
    remove_tree(f->directory);
    free(f);
    return 0;
}

static int read_text(struct fixture *f, const char *text)
{
    language_list_deinit(&f->list);
    config_problems_deinit(&f->problems);
    return language_read("x", "x.conf", text, strlen(text), &f->list, &f->problems);
}

static const struct language *read_good(struct fixture *f, const char *text)
{
    int r = read_text(f, text);
    for (size_t i = 0; i < f->problems.count; i++)
        config_print_problem(stderr, &f->problems.item[i]);
    assert_int_equal(r, 0);
    assert_int_equal(f->list.count, 1);
    return &f->list.item[0];
}

/* Asserts that the problems are the N EXPECTED, each as config_print_problem() writes it. */
static void assert_problems(struct fixture *f, const char *const *expected, size_t n)
{
    char *written = NULL, *wanted = NULL;
    size_t size = 0, wanted_size = 0;
    FILE *stream = open_memstream(&written, &size);
    assert_non_null(stream);
    for (size_t i = 0; i < f->problems.count; i++)
        config_print_problem(stream, &f->problems.item[i]);
    assert_int_equal(fclose(stream), 0);
    stream = open_memstream(&wanted, &wanted_size);
    assert_non_null(stream);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(stream, "%s\n", expected[i]);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(written, wanted);
    free(written);
    free(wanted);
}

static void assert_mistakes(void *fixture, const char *text, const char *const *mistakes, size_t n)
{
    struct fixture *f = fixture;
    assert_int_equal(read_text(f, text), -EINVAL);
    assert_int_equal(f->list.count, 0);
    assert_problems(f, mistakes, n);
}

#define ASSERT_MISTAKES(f, text, ...)                             \
    do {                                                          \
        const char *const mistakes[] = {__VA_ARGS__};             \
        assert_mistakes(f, text, mistakes, ARRAY_SIZE(mistakes)); \
    } while (0)

static void assert_words(const struct string_list *list, const char *expected)
{
    char text[1024] = "";
    for (size_t i = 0; i < list->count; i++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " " : "", list->item[i]);
    }
    assert_string_equal(text, expected);
}

/* --- a good file --------------------------------------------------------------------------- */

static void test_everything(void **state)
{
    const struct language *x = read_good(*state, "# A comment.\n"
                                                 "[language]\n"
                                                 "aliases = ex ecks\n"
                                                 "source = {class}.x\n"
                                                 "class = Main_$1\n"
                                                 "package = x-lang\n"
                                                 "version = xc -V ; a comment\n"
                                                 "env = TMPDIR=.\n"
                                                 "env = X_SOURCE={source} ;; \n"
                                                 "readable = /etc/x /var/lib/x\n"
                                                 "needs_view = yes\n"
                                                 "[compile]\n"
                                                 "command = xc -o -o out {source}\n"
                                                 "artefact = out *.y\n"
                                                 "address_space = no\n"
                                                 "wall_clock = 90s\n"
                                                 "memory_bytes = 2G\n"
                                                 "[run]\n"
                                                 "command = ./out -m{memory_mb} {class}\n"
                                                 "address_space = no\n"
                                                 "stack = unlimited\n"
                                                 "time_factor = 1.5\n"
                                                 "memory_overhead = 64M\n"
                                                 "memory_message = out of memory\n"
                                                 "memory_message = no room\n"
                                                 "memory_status = 203\n"
                                                 "max_processes = 99\n"
                                                 "[hello]\n"
                                                 "|print \"hello\" ; # all of it\n"
                                                 "\n"
                                                 "|\n"
                                                 "|  end\n"
                                                 "[sum]\n"
                                                 "|sum\n");
    assert_string_equal(x->name, "x");
    assert_string_equal(x->file, "x.conf");
    assert_int_equal(strlen(x->digest), 64);
    assert_words(&x->aliases, "ex ecks");
    assert_string_equal(x->source, "{class}.x");
    assert_string_equal(x->file_class, "Main_$1");
    assert_string_equal(x->package, "x-lang");
    assert_words(&x->version, "xc -V");
    assert_words(&x->env, "TMPDIR=. X_SOURCE={source}");
    assert_words(&x->readable, "/etc/x /var/lib/x");
    assert_true(x->needs_view);
    assert_words(&x->compile, "xc -o -o out {source}");
    assert_words(&x->artefact, "out *.y");
    assert_false(x->compile_address_space);
    assert_int_equal(x->compile_limits.of[LIMIT_WALL_CLOCK], 90000);
    assert_int_equal(x->compile_limits.of[LIMIT_MEMORY], 2 * LIMIT_GIB);
    assert_int_equal(x->compile_limits.of[LIMIT_CPU], 0);
    assert_words(&x->run, "./out -m{memory_mb} {class}");
    assert_false(x->address_space);
    assert_int_equal(x->stack, LANGUAGE_STACK_UNLIMITED);
    assert_int_equal(x->time_factor, 1500);
    assert_int_equal(x->memory_overhead, 64 * LIMIT_MIB);
    assert_words(&x->memory_messages, "out of memory no room");
    assert_int_equal(x->memory_status, 203);
    assert_int_equal(x->run_limits.of[LIMIT_PROCESSES], 99);
    assert_string_equal(x->hello, "print \"hello\" ; # all of it\n\n  end\n");
    assert_string_equal(x->sum, "sum\n");
}

static void test_least(void **state)
{
    const struct language *x = read_good(*state, HEAD RUN HELLO);
    assert_words(&x->aliases, "");
    assert_string_equal(x->package, "");
    assert_int_equal(x->compile.count, 0);
    assert_words(&x->artefact, "main.x"); /* a test gets the source */
    assert_true(x->address_space);
    assert_int_equal(x->stack, LANGUAGE_STACK_USUAL);
    assert_true(x->compile_address_space);
    assert_false(x->needs_view);
    assert_int_equal(x->time_factor, LANGUAGE_FACTOR_ONE);
    assert_int_equal(x->memory_status, 0);
    assert_string_equal(x->sum, "");
    assert_string_equal(x->compiler, "");
}

static void test_script_of_the_compiler(void **state)
{
    const struct language *x =
        read_good(*state, HEAD "[compile]\ncommand = y - {source}\nartefact = out\n"
                               "[compiler]\n|compile(); // \"it\"\n" RUN HELLO);
    assert_words(&x->compile, "y - {source}");
    assert_string_equal(x->compiler, "compile(); // \"it\"\n");
}

static void test_digest_is_of_the_bytes(void **state)
{
    char digest[65];
    strcpy(digest, read_good(*state, HEAD RUN HELLO)->digest);
    assert_string_equal(read_good(*state, HEAD RUN HELLO)->digest, digest);
    assert_string_not_equal(read_good(*state, HEAD RUN HELLO "# more\n")->digest, digest);
}

/* --- mistakes ------------------------------------------------------------------------------ */

static void test_missing(void **state)
{
    ASSERT_MISTAKES(*state, "", "x.conf: [language] source: missing",
                    "x.conf: [language] version: missing", "x.conf: [run] command: missing",
                    "x.conf: [hello]: missing: a program that prints hello, each line behind a |");
    ASSERT_MISTAKES(*state, HEAD RUN "[hello]\n",
                    "x.conf: [hello]: missing: a program that prints hello, each line behind a |");
    ASSERT_MISTAKES(*state, HEAD RUN HELLO "[sum]\n",
                    "x.conf: [sum]: has no line: expected | and a line of the program");
    ASSERT_MISTAKES(*state, HEAD "[compile]\ncommand = xc\n" RUN HELLO,
                    "x.conf: [compile] artefact: missing: the files that the program needs when it "
                    "runs");
    ASSERT_MISTAKES(
        *state, HEAD "[compile]\nartefact = out\nwall_clock = 1s\n" RUN HELLO,
        "x.conf:5: [compile] artefact: there is no [compile] command that it could be "
        "for",
        "x.conf:6: [compile] wall_clock: there is no [compile] command that it could be "
        "for");
    ASSERT_MISTAKES(*state, HEAD "[compiler]\n|compile\n" RUN HELLO,
                    "x.conf: [compiler]: there is no [compile] command that it could be for");
}

static void test_lines(void **state)
{
    ASSERT_MISTAKES(*state, "source = y\n" HEAD RUN HELLO,
                    "x.conf:1: source comes before the first [SECTION]");
    ASSERT_MISTAKES(*state, HEAD "nonsense\n" RUN HELLO, "x.conf:4: expected NAME = VALUE");
    ASSERT_MISTAKES(*state, HEAD " env = A=b\n" RUN HELLO,
                    "x.conf:4: begins with a space or tab; a value cannot be continued on the next "
                    "line");
    ASSERT_MISTAKES(*state, HEAD RUN "[hello\n" HELLO,
                    "x.conf:6: expected [SECTION] and nothing behind it");
    ASSERT_MISTAKES(*state, HEAD RUN HELLO "say more\n",
                    "x.conf:8: [hello]: expected | and a line of the program");
    ASSERT_MISTAKES(*state, HEAD RUN HELLO "[hello]\n|again\n",
                    "x.conf:8: [hello]: the program is already there");
    ASSERT_MISTAKES(*state, HEAD RUN HELLO "|\x01\n",
                    "x.conf:8: control character 0x01 at column 2");
}

static void test_names(void **state)
{
    ASSERT_MISTAKES(*state, HEAD "[runs]\ncommand = x\n" RUN HELLO,
                    "x.conf:4: [runs]: unknown section, did you mean [run]?");
    ASSERT_MISTAKES(*state, HEAD "[wizardry]\n" RUN HELLO, "x.conf:4: [wizardry]: unknown section");
    ASSERT_MISTAKES(*state, HEAD "alias = ex\n" RUN HELLO,
                    "x.conf:4: [language] alias: unknown key, did you mean aliases?");
    ASSERT_MISTAKES(*state, HEAD RUN "wizardry = 1\n" HELLO,
                    "x.conf:6: [run] wizardry: unknown key");
    ASSERT_MISTAKES(*state, HEAD "source = y\n" RUN HELLO,
                    "x.conf:4: [language] source: already set on line 2");
}

static void test_values(void **state)
{
    ASSERT_MISTAKES(*state, HEAD "aliases = X\n" RUN HELLO,
                    "x.conf:4: [language] aliases: expected names with blanks between them (lower "
                    "case letters, digits and + # - _ . in each, at most 32), got 'X'");
    ASSERT_MISTAKES(*state, HEAD "readable = etc\n" RUN HELLO,
                    "x.conf:4: [language] readable: expected absolute paths without . and .. in "
                    "them, with blanks between, got 'etc'");
    ASSERT_MISTAKES(*state, HEAD "class = a/b\n" RUN HELLO,
                    "x.conf:4: [language] class: expected the name of a class (letters, digits, _ "
                    "and $), got 'a/b'");
    ASSERT_MISTAKES(*state, HEAD RUN "stack = 64M\n" HELLO,
                    "x.conf:6: [run] stack: expected 8M or unlimited, got '64M'");
    ASSERT_MISTAKES(*state, HEAD RUN "time_factor = 2x\n" HELLO,
                    "x.conf:6: [run] time_factor: expected a factor from 0.1 to 100 (as 1, 1.5 or "
                    "3), got '2x'");
    ASSERT_MISTAKES(*state, HEAD RUN "memory_status = 256\n" HELLO,
                    "x.conf:6: [run] memory_status: expected a whole number from 1 to 255, got "
                    "'256'");
    ASSERT_MISTAKES(*state, HEAD "env = PATH=/opt\n" RUN HELLO,
                    "x.conf:4: [language] env: expected NAME=VALUE (NAME of letters, digits and _, "
                    "none of PATH LANG PYTHONHASHSEED PYTHONIOENCODING, nor one that begins with "
                    "LD_), got 'PATH=/opt'");
    ASSERT_MISTAKES(*state, "[language]\nsource = a/b\nversion = x\n" RUN HELLO,
                    "x.conf:2: [language] source: expected the name of a file (without blanks and "
                    "/; {class} is the program's class), got 'a/b'");
    ASSERT_MISTAKES(
        *state, HEAD RUN "[compile]\ncommand = xc\nartefact = /etc/*\n" HELLO,
        "x.conf:8: [compile] artefact: expected patterns of files in the work directory "
        "with blanks between them (as main or *.class; {source} and {class} may be in "
        "them), got '/etc/*'");
}

static void test_placeholders(void **state)
{
    static const char hint[] =
        "expected a program and its arguments with blanks between them (there is no shell and "
        "there are no quotes; the placeholders are {source} {class} {python} {memory_mb} "
        "{heap_mb}), got 'x{sorce}'";
    char expected[512];
    (void)snprintf(expected, sizeof(expected), "x.conf:5: [run] command: %s", hint);
    ASSERT_MISTAKES(*state, HEAD "[run]\ncommand = x x{sorce}\n" HELLO, expected);
    ASSERT_MISTAKES(*state, HEAD "env = A={b}\n" RUN HELLO,
                    "x.conf:4: [language] env: {b} in 'A={b}' is no placeholder of a variable");
    ASSERT_MISTAKES(*state, HEAD "env = A={heap_mb}\n" RUN HELLO,
                    "x.conf:4: [language] env: {heap_mb} in 'A={heap_mb}' is no placeholder of a "
                    "variable");
    ASSERT_MISTAKES(*state, "[language]\nsource = main.x\nversion = x {source}\n" RUN HELLO,
                    "x.conf:3: [language] version: expected a program and its arguments with "
                    "blanks between them (there is no shell and there are no quotes; the only "
                    "placeholder is {python}), got '{source}'");
    /* Other braces are what they are. */
    const struct language *x = read_good(*state, HEAD "[run]\ncommand = x {} {A} {a\n" HELLO);
    assert_words(&x->run, "x {} {A} {a");
}

/* --- words --------------------------------------------------------------------------------- */

static void test_words(void **state)
{
    _cleanup_string_list_ struct string_list words = STRING_LIST_NULL;
    const struct language *x = read_good(
        *state, HEAD "[run]\ncommand = {python} {source} -cp={class} {memory_mb} {heap_mb}\n"
                     "memory_overhead = 96M\n" HELLO);
    const struct language_values values = {
        .source = "a b", .class_name = "Main", .python = "/usr/bin/python3", .memory = LIMIT_GIB};
    assert_int_equal(language_words(x, &x->run, &values, &words), 0);
    assert_int_equal(words.count, 5);
    assert_string_equal(words.item[1], "a b"); /* one word stays one */
    assert_words(&words, "/usr/bin/python3 a b -cp=Main 1024 928");
}

/* A runtime does not start without a heap, however small the limit is. */
static void test_least_heap(void **state)
{
    _cleanup_string_list_ struct string_list words = STRING_LIST_NULL;
    const struct language *x =
        read_good(*state, HEAD "[run]\ncommand = x {heap_mb}\nmemory_overhead = 96M\n" HELLO);
    const struct language_values values = {.memory = 64 * LIMIT_MIB};
    assert_int_equal(language_words(x, &x->run, &values, &words), 0);
    assert_words(&words, "x 16");
}

static void test_time(void **state)
{
    const struct language *x = read_good(*state, HEAD RUN "time_factor = 2.5\n" HELLO);
    assert_int_equal(language_time(x, 1000), 2500);
    assert_true(language_time(x, UINT64_MAX) == UINT64_MAX);
}

/* --- lists --------------------------------------------------------------------------------- */

static void write_file(struct fixture *f, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", f->directory, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static int load(struct fixture *f)
{
    language_list_deinit(&f->list);
    config_problems_deinit(&f->problems);
    return language_list_load(&f->list, f->directory, &f->problems);
}

static void test_directory(void **state)
{
    struct fixture *f = *state;
    char path[256];
    write_file(f, "y.conf", HEAD "aliases = why\nreadable = /etc/y /etc/x\n" RUN HELLO);
    write_file(f, "c++.conf", HEAD "readable = /etc/x\n" RUN HELLO);
    write_file(f, ".hidden.conf", "nonsense");
    write_file(f, "README", "nonsense");
    (void)snprintf(path, sizeof(path), "%s/masked.conf", f->directory);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(load(f), 0);
    assert_int_equal(f->list.count, 2);
    assert_string_equal(f->list.item[0].name, "c++");
    assert_ptr_equal(language_find(&f->list, "why"), &f->list.item[1]);
    assert_ptr_equal(language_find(&f->list, "y"), &f->list.item[1]);
    assert_null(language_find(&f->list, "masked"));

    _cleanup_string_list_ struct string_list readable = STRING_LIST_NULL;
    assert_int_equal(language_list_readable(&f->list, &readable), 0);
    assert_words(&readable, "/etc/x /etc/y");

    struct language_list again = LANGUAGE_LIST_NULL;
    assert_int_equal(language_list_load(&again, f->directory, &f->problems), 0);
    assert_true(language_lists_equal(&f->list, &again));
    language_list_deinit(&again);
    write_file(f, "y.conf", HEAD RUN HELLO);
    assert_int_equal(language_list_load(&again, f->directory, &f->problems), 0);
    assert_false(language_lists_equal(&f->list, &again));
    language_list_deinit(&again);

    _cleanup_string_list_ struct string_list names = STRING_LIST_NULL;
    assert_int_equal(string_list_add(&names, "why"), 0);
    language_list_keep(&f->list, &names);
    assert_int_equal(f->list.count, 1);
    assert_string_equal(f->list.item[0].name, "y");
}

/* Writes TEXT with DIRECTORY for each @. */
static void fill(const char *text, const char *directory, char ret[512])
{
    size_t n = 0;
    for (ret[0] = '\0'; *text; text++, n = strlen(ret))
        (void)snprintf(ret + n, 512 - n, "%.*s", *text == '@' ? 100 : 1,
                       *text == '@' ? directory : text);
}

static void assert_load_fails(struct fixture *f, const char *text)
{
    char expected[512];
    const char *const one[] = {expected};
    fill(text, f->directory, expected);
    assert_int_equal(load(f), -EINVAL);
    assert_problems(f, one, 1);
}

static void test_taken_names(void **state)
{
    struct fixture *f = *state;
    write_file(f, "x.conf", HEAD RUN HELLO);
    write_file(f, "y.conf", HEAD "aliases = x\n" RUN HELLO);
    assert_load_fails(f, "@/y.conf: [language] aliases: x is a name of @/x.conf, too");
}

static void test_bad_files(void **state)
{
    struct fixture *f = *state;
    char path[256];
    write_file(f, "X.conf", HEAD RUN HELLO);
    assert_load_fails(f, "@/X.conf: no language can have this name: expected lower case letters, "
                         "digits and + # - _ . before .conf, at most 32 of them");
    (void)snprintf(path, sizeof(path), "%s/X.conf", f->directory);
    assert_int_equal(unlink(path), 0);

    (void)snprintf(path, sizeof(path), "%s/d.conf", f->directory);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_load_fails(f, "@/d.conf: is not a regular file");
    assert_int_equal(rmdir(path), 0);

    assert_int_equal(symlink("/nowhere", path), 0);
    assert_load_fails(f, "@/d.conf: cannot be opened: No such file or directory");
    assert_int_equal(unlink(path), 0);

    char *large = malloc(LANGUAGE_FILE_MAX + 2);
    assert_non_null(large);
    memset(large, '\n', LANGUAGE_FILE_MAX + 1);
    large[LANGUAGE_FILE_MAX + 1] = '\0';
    write_file(f, "d.conf", large);
    free(large);
    assert_load_fails(f, "@/d.conf: larger than 65536 bytes");
}

static void test_too_many(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i <= LANGUAGES_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "l%d.conf", i);
        write_file(f, name, HEAD RUN HELLO);
    }
    assert_load_fails(f, "@: has 65 languages, and there may be at most 64");
}

static void test_no_directory(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(language_list_load(&f->list, "/nowhere/at/all", &f->problems), -ENOENT);
    assert_int_equal(f->problems.count, 0);
}

/* --- the files that ship ------------------------------------------------------------------- */

static void test_built_in(void **state)
{
    static const char *const names[] = {"bash",    "c",    "c++",   "c#",    "d",       "golang",
                                        "haskell", "java", "js",    "kt",    "lua",     "ml",
                                        "pascal",  "perl", "php",   "pypy3", "python3", "r",
                                        "rb",      "rust", "scala", "ts"};
    struct fixture *f = *state;
    int r = language_list_load(&f->list, "", &f->problems);
    for (size_t i = 0; i < f->problems.count; i++)
        config_print_problem(stderr, &f->problems.item[i]);
    assert_int_equal(r, 0);
    assert_int_equal(f->list.count, ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_non_null(language_find(&f->list, names[i]));
    static const char *const typed[][2] = {
        {"C++17", "cpp"},       {"cpp17", "cpp"}, {"PyPy3", "pypy3"}, {"Node.js", "javascript"},
        {"Python 3", "python"}, {"Go", "go"},     {"C", "c"},         {"JAVA", "java"},
        {" c # ", "csharp"},    {"R", "r"},       {"G++", "cpp"},     {"TypeScript", "typescript"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(typed); i++) {
        const struct language *found = language_find(&f->list, typed[i][0]);
        if (!found || strcmp(found->name, typed[i][1]) != 0)
            fail_msg("%s: %s", typed[i][0], found ? found->name : "none");
    }
    static const char *const strangers[] = {"", " ", "py th", "pythons", "c++20", "c\tpp"};
    for (size_t i = 0; i < ARRAY_SIZE(strangers); i++)
        assert_null(language_find(&f->list, strangers[i]));
    for (size_t i = 0; i < f->list.count; i++) {
        assert_true(*f->list.item[i].sum);
        assert_true(*f->list.item[i].package);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(test_everything),
        TEST(test_least),
        TEST(test_script_of_the_compiler),
        TEST(test_digest_is_of_the_bytes),
        TEST(test_missing),
        TEST(test_lines),
        TEST(test_names),
        TEST(test_values),
        TEST(test_placeholders),
        TEST(test_words),
        TEST(test_least_heap),
        TEST(test_time),
        TEST(test_directory),
        TEST(test_taken_names),
        TEST(test_bad_files),
        TEST(test_too_many),
        TEST(test_no_directory),
        TEST(test_built_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
