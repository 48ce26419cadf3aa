/* SPDX-License-Identifier: MIT */
#include "client/program/testnames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Names separated by blanks; a ~ stands for a blank in a name. */
struct name_list {
    char *text;
    const char *names[64];
    size_t n;
};

static struct name_list split(const char *text)
{
    struct name_list list = {.text = strdup(text)};
    assert_non_null(list.text);
    for (char *save, *word = strtok_r(list.text, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        for (char *c = word; (c = strchr(c, '~'));)
            *c = ' ';
        assert_true(list.n < ARRAY_SIZE(list.names));
        list.names[list.n++] = word;
    }
    return list;
}

/* Writes the pairs as "NAME=INPUT:OUTPUT NAME=..." */
static void describe(const struct name_list *list, const struct test_pairs *pairs, char *out,
                     size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < pairs->n && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s=%s:%s", i > 0 ? " " : "",
                              pairs->pairs[i].name, list->names[pairs->pairs[i].input],
                              list->names[pairs->pairs[i].output]);
}

static const struct {
    const char *names, *pairs;
} found[] = {
    {"1.in 1.out", "1=1.in:1.out"},
    {"1.in 1.ans", "1=1.in:1.ans"},
    {"10.out 2.in 2.out 10.in", "2=2.in:2.out 10=10.in:10.out"},
    {"input1.txt output1.txt input2.txt output2.txt",
     "1=input1.txt:output1.txt 2=input2.txt:output2.txt"},
    {"in/01.txt out/01.txt", "01=in/01.txt:out/01.txt"},
    {"input/input07.txt output/output07.txt", "07=input/input07.txt:output/output07.txt"},
    {"test.in.1 test.out.1 test.in.12 test.out.12",
     "test.1=test.in.1:test.out.1 test.12=test.in.12:test.out.12"},
    {"01 01.a 02 02.a", "01=01:01.a 02=02:02.a"},
    {"tests/01 tests/01.a tests/02 tests/02.a", "01=tests/01:tests/01.a 02=tests/02:tests/02.a"},
    {"01 01-x 01.a", "01=01:01.a"},
    {"data/sample/1.in data/sample/1.ans data/secret/1.in data/secret/1.ans",
     "sample/1=data/sample/1.in:data/sample/1.ans secret/1=data/secret/1.in:data/secret/1.ans"},
    {"sample_input_1.txt sample_output_1.txt", "sample_1=sample_input_1.txt:sample_output_1.txt"},
    {"inputs/a.txt expected_output/a.txt", "a=inputs/a.txt:expected_output/a.txt"},
    {"Input1.TXT Output1.TXT", "1.TXT=Input1.TXT:Output1.TXT"},
    {"INPUT.TXT OUTPUT.TXT", "TXT=INPUT.TXT:OUTPUT.TXT"},
    {"input.txt output.txt", "input.txt=input.txt:output.txt"},
    {"in out", "in=in:out"},
    {"1.stdin 1.stdout", "1=1.stdin:1.stdout"},
    {"my~test.in my~test.out", "my test=my test.in:my test.out"},
    {"1.in 1.out README check_in.cpp sol.in.py in.md .2.in .git/3.in __MACOSX/1.in statement.pdf",
     "1=1.in:1.out"},
    {"train.1 1.in 1.out spinning-2 begin.txt", "1=1.in:1.out"},
    /* The same name for people: each is called as its input. */
    {"1.in 1.out in/1 out/1", "1.in=1.in:1.out in/1=in/1:out/1"},
    /* Names that only begin as that of a document does. */
    {"license_plate2.in license_plate2.out readme3.in readme3.out Makefile-order.in "
     "Makefile-order.out copying2.in copying2.out LICENSE readme.in",
     "Makefile-order=Makefile-order.in:Makefile-order.out copying2=copying2.in:copying2.out "
     "license_plate2=license_plate2.in:license_plate2.out readme3=readme3.in:readme3.out"},
    {"\xC3\xA4.in \xC3\xA4.out", "\xC3\xA4=\xC3\xA4.in:\xC3\xA4.out"},
};

static void test_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
        struct name_list list = split(found[i].names);
        _cleanup_test_pairs_ struct test_pairs pairs = TEST_PAIRS_NULL;
        struct fault fault = FAULT_NULL;
        char text[1024];
        if (test_pairs_find(list.names, list.n, &pairs, &fault) < 0)
            fail_msg("%s: %s", found[i].names, fault.text);
        describe(&list, &pairs, text, sizeof(text));
        assert_string_equal(text, found[i].pairs);
        free(list.text);
    }
}

static const struct {
    const char *names, *says;
} refused[] = {
    {"", "there are no tests among its 0 files; tests are pairs such as 1.in and 1.out, 1.in and "
         "1.ans, input1.txt and output1.txt, in/1.txt and out/1.txt, or 1 and 1.a"},
    {"README", "there are no tests among its 1 file; tests are pairs such as"},
    {"1.in 1.out 2.in", "2.in is an input without an expected output beside it"},
    {"1.in 1.out 2.ans", "2.ans is an expected output without an input beside it"},
    {"1.in 1.out 1.ans", "1.out and 1.ans are both the expected output for 1.in"},
    {"01 01.a 02", "02 is an input without an expected output beside it"},
    {"t/01 t/01.a t/2 x", "t/2 is an input without an expected output beside it"},
    {"test01 test01.a test02", "test02 is an input without an expected output beside it"},
    {"1.in 1.out 2.a", "2.a is an expected output without an input beside it"},
    {"2.a", "2.a is an expected output without an input beside it"},
    {"1.in 1.inp 1.out", "1.in and 1.inp are both the input of one test"},
    {"1.out 1.ans", "1.out and 1.ans are both the output of one test"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct name_list list = split(refused[i].names);
        struct test_pairs pairs = TEST_PAIRS_NULL;
        struct fault fault = FAULT_NULL;
        assert_int_equal(test_pairs_find(list.names, list.n, &pairs, &fault), -EINVAL);
        if (strncmp(fault.text, refused[i].says, strlen(refused[i].says)) != 0)
            fail_msg("%s: %s", refused[i].names, fault.text);
        assert_null(pairs.pairs);
        free(list.text);
    }
}

/* Beside a pair: what may have been meant as a test, in the order of names. */
static const struct {
    const char *names, *left;
} beside[] = {
    {"1.in 1.out 10 3 2.txt", "2.txt 3 10"},
    {"1.in 1.out 2.dat 2.sol 3.txt 3.gold", "2.dat 2.sol 3.gold 3.txt"},
    {"01 01.a other/02 train 01-x", "01-x other/02 train"},
    {"1.in 1.out libx.a 1.args 2.o tests.zip", "1.args 2.o libx.a tests.zip"},
    {"1.in 1.out 2.in.json 2.json output3.xml testdata.yaml", "2.in.json 2.json output3.xml"},
    /* Pairs, but for their endings. */
    {"1.in 1.out in/big.json out/big.json in/2.c out/2.c case2.in.d case2.out.d in/3.c "
     "input.tex",
     "case2.in.d case2.out.d in/2.c in/big.json out/2.c out/big.json"},
    /* Polygon's packages. */
    {"tests/01 tests/01.a problem.xml doall.bat doall.sh check.cpp check.exe files/gen.cpp "
     "files/olymp.sty files/testlib.h solutions/main.cpp solutions/main.cpp.desc "
     "statements/english/problem.tex statements/.html/english/problem.html "
     "statement-sections/english/input.tex problem-properties.json statements/picture1.png",
     ""},
    {"tests/01 tests/01.a files/tests/validator-tests/01", "files/tests/validator-tests/01"},
    /* Those of Kattis. */
    {"data/secret/1.in data/secret/1.ans data/secret/1.desc data/secret/1.hint data/secret/1.png "
     "data/secret/1.in.statement data/sample/1.ans.download data/secret/testdata.yaml problem.yaml "
     "problem_statement/problem.en.tex submissions/accepted/a.py README README.txt Makefile "
     "LICENSE domjudge-problem.ini",
     ""},
    {"1.in 1.out .2.in .git/3 __MACOSX/4 a/.DS_Store", ""},
};

static void test_beside(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
        struct name_list list = split(beside[i].names);
        _cleanup_test_pairs_ struct test_pairs pairs = TEST_PAIRS_NULL;
        struct fault fault = FAULT_NULL;
        char text[1024] = "";
        if (test_pairs_find(list.names, list.n, &pairs, &fault) < 0)
            fail_msg("%s: %s", beside[i].names, fault.text);
        assert_int_equal(pairs.n, 1);
        for (size_t k = 0; k < pairs.n_left; k++)
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                           k > 0 ? " " : "", list.names[pairs.left[k]]);
        assert_string_equal(text, beside[i].left);
        free(list.text);
    }
}

/* COUNT tests, their names in descending order. */
static int find_many(size_t count, struct test_pairs *ret, struct fault *fault)
{
    char(*texts)[16] = calloc(2 * count, sizeof(*texts));
    const char **names = calloc(2 * count, sizeof(*names));
    assert_true(texts && names);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[2 * i], sizeof(*texts), "%zu.out", count - i);
        (void)snprintf(texts[2 * i + 1], sizeof(*texts), "%zu.in", count - i);
        names[2 * i] = texts[2 * i];
        names[2 * i + 1] = texts[2 * i + 1];
    }
    int r = test_pairs_find(names, 2 * count, ret, fault);
    free(texts);
    free(names);
    return r;
}

static void test_many(void **state)
{
    (void)state;
    _cleanup_test_pairs_ struct test_pairs pairs = TEST_PAIRS_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(find_many(TEST_PAIRS_MAX, &pairs, &fault), 0);
    assert_int_equal(pairs.n, TEST_PAIRS_MAX);
    assert_string_equal(pairs.pairs[99].name, "100");
    test_pairs_deinit(&pairs);
    assert_int_equal(find_many(TEST_PAIRS_MAX + 1, &pairs, &fault), -EINVAL);
    assert_string_equal(fault.text, "there are more than 10000 tests");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
