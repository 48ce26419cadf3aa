/* SPDX-License-Identifier: MIT */
#include "client/cli/options.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct values {
    bool flag;
    const char *text;
    long number;
    struct text_list list;
};

static const struct option_spec specs[] = {
    {.letter = 'f', .name = "flag", .kind = OPTION_FLAG, .offset = offsetof(struct values, flag)},
    {.letter = 't',
     .name = "text",
     .argument = "X",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct values, text)},
    {.letter = 'n',
     .name = "number",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct values, number),
     .min = -5,
     .max = 5},
    {.letter = 'o',
     .name = "often",
     .argument = "SECONDS",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct values, number),
     .min = 1,
     .max = 9,
     .absent = 2},
    {.name = "list",
     .argument = "ITEM",
     .kind = OPTION_LIST,
     .offset = offsetof(struct values, list)},
};

static const struct command command = {
    .name = "test",
    .arguments = "FILE",
    .arguments_min = 1,
    .arguments_max = 2,
    .options = specs,
    .n_options = ARRAY_SIZE(specs),
};

static const struct program program = {
    .name = "rubricctl",
    .options = global_options,
    .n_options = GLOBAL_OPTIONS,
};

#define ARGV_MAX 10

struct parsed {
    struct globals globals;
    struct values values;
    struct text_list arguments;
};

/* WORDS are separated by spaces. */
static int parse(const char *words, struct parsed *ret)
{
    char copy[256];
    char *argv[ARGV_MAX + 1] = {NULL};
    int argc = 0;
    (void)snprintf(copy, sizeof(copy), "test %s", words);
    for (char *word = strtok(copy, " "); word && argc < ARGV_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    *ret = (struct parsed){.globals = {.socket = NULL}};
    int r = options_parse_command(&program, &command, argc, argv, &ret->globals, &ret->values,
                                  &ret->arguments);
    if (r == 0 && ret->values.text)
        assert_string_equal(ret->values.text, "word");
    return r;
}

static void parsed_deinit(struct parsed *parsed)
{
    options_deinit(&command, &parsed->values);
    text_list_deinit(&parsed->arguments);
}

static void test_accepted(void **state)
{
    static const struct {
        const char *words;
        bool flag;
        bool text;
        long number;
        size_t list;
        size_t arguments;
    } cases[] = {
        {"a", false, false, 0, 0, 1},
        {"a -f b", true, false, 0, 0, 2},
        {"--flag --text word --number -5 a", true, true, -5, 0, 1},
        {"--text=word --number=5 a", false, true, 5, 0, 1},
        {"-tword -n3 -f a", true, true, 3, 0, 1},
        {"-ft word a", true, true, 0, 0, 1},
        {"--list x --list y a --list z", false, false, 0, 3, 1},
        {"--often a", false, false, 2, 0, 1}, /* the argument is optional: "a" is an operand */
        {"--often=7 a", false, false, 7, 0, 1},
        {"-o -f a", true, false, 2, 0, 1},
        {"-o7 a", false, false, 7, 0, 1},
        {"-- -f a", false, false, 0, 0, 2},
        {"-", false, false, 0, 0, 1},
        {"--num 2 a", false, false, 2, 0, 1}, /* a beginning will do where it is the only one */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(parsed_deinit) struct parsed parsed;
        assert_int_equal(parse(cases[i].words, &parsed), 0);
        assert_int_equal(parsed.values.flag, cases[i].flag);
        assert_int_equal(parsed.values.text != NULL, cases[i].text);
        assert_int_equal(parsed.values.number, cases[i].number);
        assert_int_equal(parsed.values.list.n, cases[i].list);
        assert_int_equal(parsed.arguments.n, cases[i].arguments);
    }
}

/* The parser stops at the first word. */
static void test_command_with_options_of_its_own(void **state)
{
    static const struct command outer = {
        .name = "test",
        .arguments = "COMMAND",
        .arguments_min = 0,
        .arguments_max = -1,
        .takes_command = true,
        .options = specs,
        .n_options = ARRAY_SIZE(specs),
    };
    static const struct {
        const char *argv[7];
        size_t arguments;
        bool flag;
    } cases[] = {
        {{"test", "-f", "ls", "-f", "--text", "x"}, 4, true},
        {{"test", "ls", "-f"}, 2, false},
        {{"test", "--", "-f", "x"}, 2, false},
        {{"test", "ls", "--", "-f"}, 3, false},
        {{"test", "-f", "--", "ls", "--", "--help"}, 3, true},
        {{"test", "-f"}, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct globals globals = {.socket = NULL};
        struct values values = {.text = NULL};
        _cleanup_(text_list_deinit) struct text_list arguments = {.items = NULL};
        char *argv[7];
        int argc = 0;
        for (; cases[i].argv[argc]; argc++)
            argv[argc] = (char *)(uintptr_t)cases[i].argv[argc];
        assert_int_equal(
            options_parse_command(&program, &outer, argc, argv, &globals, &values, &arguments), 0);
        assert_int_equal(arguments.n, cases[i].arguments);
        assert_int_equal(values.flag, cases[i].flag);
        assert_null(values.text);
        assert_false(globals.help);
    }
}

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "a b c",
        "--unknown a",
        "-Z a",
        "--flag=1 a",
        "a --text",
        "--number 6 a",
        "--number -6 a",
        "--number 1x a",
        "--number= a",
        "--number 99999999999999999999 a",
        "--slots 0 a",
        "--slots 1025 a", /* the daemon takes 1024 */
        "-n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(parsed_deinit) struct parsed parsed;
        assert_int_equal(parse(cases[i], &parsed), -1);
    }
}

static void test_globals(void **state)
{
    _cleanup_(parsed_deinit) struct parsed parsed;
    (void)state;
    assert_int_equal(parse("a -s path --embedded --slots 3 --no-fail", &parsed), 0);
    assert_non_null(parsed.globals.socket);
    assert_true(parsed.globals.embedded);
    assert_int_equal(parsed.globals.slots, 3);
    assert_true(parsed.globals.no_fail);
    parsed_deinit(&parsed);

    assert_int_equal(parse("--help", &parsed), 0); /* needs no FILE */
    assert_true(parsed.globals.help);
}

static void test_globals_before_the_command(void **state)
{
    char *argv[] = {(char[]){"rubricctl"}, (char[]){"--slots"}, (char[]){"2"}, (char[]){"-e"},
                    (char[]){"batch"},     (char[]){"-q"},      NULL};
    struct globals globals = {.socket = NULL};
    (void)state;
    assert_int_equal(options_parse_globals(&program, 6, argv, &globals), 4);
    assert_int_equal(globals.slots, 2);
    assert_true(globals.embedded);
    assert_int_equal(options_parse_globals(&program, 4, argv, &globals), 4);
    argv[1] = (char[]){"-q"};
    assert_int_equal(options_parse_globals(&program, 6, argv, &globals), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_command_with_options_of_its_own),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_globals),
        cmocka_unit_test(test_globals_before_the_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
