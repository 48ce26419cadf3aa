/* SPDX-License-Identifier: MIT */
/* Tests the list of a rubric's files: its form, its digest, and what is no such list. */
#include "rubricdir/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HEAD "rubric-directory 1\n"

static void test_names(void **state)
{
    static const char *const good[] = {"a",       "rubric.py", "a/b",     "...",
                                       ".hidden", "a b",       "\xc3\xa9"};
    static const char *const bad[] = {"",     "/",    "/a",  "a/",    "a//b", ".",     "..",
                                      "../a", "a/..", "./a", "a/./b", "a\nb", "a\x7f", "a/../b"};
    char longest[RUBRICDIR_NAME_MAX + 2];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(manifest_is_name(good[i]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (manifest_is_name(bad[i]))
            fail_msg("%s is taken for a name", bad[i]);
    memset(longest, 'a', sizeof(longest));
    longest[RUBRICDIR_NAME_MAX] = '\0';
    assert_true(manifest_is_name(longest));
    longest[RUBRICDIR_NAME_MAX] = 'a';
    longest[RUBRICDIR_NAME_MAX + 1] = '\0';
    assert_false(manifest_is_name(longest));
}

static void test_there_and_back(void **state)
{
    const struct manifest_file files[] = {
        {(char[]){"helpers/a b.py"}, ABC, 3, false},
        {(char[]){"rubric.py"}, ABC, 67108861, true},
    };
    static const char text[] = HEAD ABC " 3 - helpers/a b.py\n" ABC " 67108861 x rubric.py\n";
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    _cleanup_manifest_ struct manifest read = MANIFEST_NULL;
    struct fault fault = FAULT_NULL;
    char digest[RUBRICDIR_DIGEST_SIZE];
    (void)state;
    assert_int_equal(manifest_print(files, ARRAY_SIZE(files), &printed), 0);
    assert_string_equal(printed.data, text);
    assert_int_equal(manifest_parse(printed.data, printed.length, &read, &fault), 0);
    assert_int_equal(read.n, 2);
    assert_int_equal(read.bytes, 67108864);
    assert_string_equal(read.files[0].name, "helpers/a b.py");
    assert_string_equal(read.files[1].digest, ABC);
    assert_int_equal(read.files[1].size, 67108861);
    assert_false(read.files[0].is_executable);
    assert_true(read.files[1].is_executable);
    manifest_digest("abc", 3, digest);
    assert_string_equal(digest, ABC);
}

static void test_no_list(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "not the list"},
        {"rubric-directory 2\n", "not the list"},
        {HEAD "x", "not the list"},
        {HEAD "\n", "line 2: not a file"},
        {HEAD ABC " 3 - ../rubric.py\n", "line 2: not a file"},
        {HEAD ABC " 3 - /etc/passwd\n", "line 2: not a file"},
        {HEAD ABC " 03 - a\n", "line 2: not a file"},
        {HEAD ABC " -3 - a\n", "line 2: not a file"},
        {HEAD ABC "  - a\n", "line 2: not a file"},
        {HEAD ABC " 67108865 - a\n", "line 2: not a file"},
        {HEAD ABC " 99999999999999999999999 - a\n", "line 2: not a file"},
        {HEAD ABC " 3 s a\n", "line 2: not a file"},
        {HEAD "B" ABC " 3 - a\n", "line 2: not a file"},
        {HEAD ABC " 3 - b\n" ABC " 3 - a\n", "line 3: a is not behind b"},
        {HEAD ABC " 3 - a\n" ABC " 3 - a\n", "line 3: a is not behind a"},
        {HEAD ABC " 67108864 - a\n" ABC " 1 - b\n", "more than 67108864 bytes"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct manifest read = MANIFEST_NULL;
        struct fault fault = FAULT_NULL;
        assert_int_equal(manifest_parse(cases[i].text, strlen(cases[i].text), &read, &fault),
                         -EINVAL);
        if (!strstr(fault.text, cases[i].why))
            fail_msg("%s: %s", cases[i].text, fault.text);
        assert_null(read.files);
    }
    /* A NUL would hide what follows it. */
    static const char hidden[] = HEAD ABC " 3 - a\n\0" ABC " 3 - b\n";
    struct manifest read = MANIFEST_NULL;
    assert_int_equal(manifest_parse(hidden, sizeof(hidden) - 1, &read, NULL), -EINVAL);
}

static void test_too_many(void **state)
{
    struct bytes text = BYTES_NULL;
    struct manifest read = MANIFEST_NULL;
    struct fault fault = FAULT_NULL;
    FILE *out = open_memstream(&text.data, &text.length);
    (void)state;
    assert_non_null(out);
    (void)fputs(HEAD, out);
    for (int i = 0; i <= RUBRICDIR_FILES_MAX; i++)
        (void)fprintf(out, ABC " 3 - f%06d\n", i);
    (void)fclose(out);
    assert_int_equal(manifest_parse(text.data, text.length, &read, &fault), -EINVAL);
    assert_string_equal(fault.text, "more than 1000 files");
    bytes_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_no_list),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
