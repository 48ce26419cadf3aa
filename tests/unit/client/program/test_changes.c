/* SPDX-License-Identifier: MIT */
#include "client/program/changes.h"
#include "tests/unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char folder[] = "/tmp/rubricctl-changes-XXXXXX";
static char source[128], other[128];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(source, sizeof(source), "%s/main.c", folder);
    (void)snprintf(other, sizeof(other), "%s/main.c.swp", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("x", file);
    assert_int_equal(fclose(file), 0);
}

static void test_changes(void **state)
{
    (void)state;
    _cleanup_changes_ struct changes changes = CHANGES_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(changes_open(&changes), 0);
    assert_int_equal(changes_add_file(&changes, source, &fault), 0);
    assert_int_equal(changes_take(&changes), 0);
    write_file(other);
    assert_int_equal(changes_take(&changes), 0);
    write_file(source);
    assert_int_equal(changes_take(&changes), 1);
    assert_int_equal(changes_take(&changes), 0);
    write_file(source);
    write_file(other);
    assert_int_equal(changes_take(&changes), 1);
    /* As an editor does it: a new file takes the place of the old one. */
    assert_int_equal(rename(other, source), 0);
    assert_int_equal(changes_take(&changes), 1);
    assert_int_equal(unlink(source), 0);
    assert_int_equal(changes_take(&changes), 0);
    write_file(source);
    assert_int_equal(changes_take(&changes), 1);
}

static void test_folder_goes(void **state)
{
    (void)state;
    _cleanup_changes_ struct changes changes = CHANGES_NULL;
    struct fault fault = FAULT_NULL;
    char inner[128], file[160];
    (void)snprintf(inner, sizeof(inner), "%s/inner", folder);
    (void)snprintf(file, sizeof(file), "%s/main.c", inner);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(changes_open(&changes), 0);
    assert_int_equal(changes_add_file(&changes, file, &fault), 0);
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(changes_take(&changes), -ENOENT);
}

/* Tests may come in folders that are made later; what an editor leaves beside them is none. */
static void test_tree(void **state)
{
    (void)state;
    _cleanup_changes_ struct changes changes = CHANGES_NULL;
    struct fault fault = FAULT_NULL;
    char tests[128], in[160], test[192], hidden[192], backup[192];
    (void)snprintf(tests, sizeof(tests), "%s/tests", folder);
    (void)snprintf(in, sizeof(in), "%s/in", tests);
    (void)snprintf(test, sizeof(test), "%s/1.txt", in);
    (void)snprintf(hidden, sizeof(hidden), "%s/.1.swp", in);
    (void)snprintf(backup, sizeof(backup), "%s/1.txt~", in);
    assert_int_equal(mkdir(tests, 0700), 0);
    assert_int_equal(changes_open(&changes), 0);
    assert_int_equal(changes_add_file(&changes, source, &fault), 0);
    assert_int_equal(changes_add_tree(&changes, tests, &fault), 0);
    assert_int_equal(mkdir(in, 0700), 0);
    assert_int_equal(changes_take(&changes), 1);
    assert_int_equal(changes_add_tree(&changes, tests, &fault), 0);
    write_file(test);
    assert_int_equal(changes_take(&changes), 1);
    assert_ptr_equal(changes.changed, tests);
    write_file(hidden);
    write_file(backup);
    assert_int_equal(changes_take(&changes), 0);
    write_file(source);
    assert_int_equal(changes_take(&changes), 1);
    assert_ptr_equal(changes.changed, source);
    assert_int_equal(unlink(test), 0);
    assert_int_equal(changes_take(&changes), 1);
    remove_tree(tests);
    assert_int_equal(changes_take(&changes), 1);
}

static void test_no_folder(void **state)
{
    (void)state;
    _cleanup_changes_ struct changes changes = CHANGES_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(changes_open(&changes), 0);
    assert_int_equal(changes_add_file(&changes, "/proc/self/none/main.c", &fault), -ENOENT);
    assert_string_equal(fault.text, "/proc/self/none: cannot watch it: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_folder_goes),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_no_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
