/* SPDX-License-Identifier: MIT */
#include "client/program/testfiles.h"
#include "client/program/testnames.h"
#include "tests/unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <zip.h>

#include <cmocka.h>

static char folder[] = "/tmp/rubricctl-files-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

/* Returns the path of NAME in the folder, which the caller frees. */
static char *path_of(const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

static void write_file(const char *name, const char *data, size_t n)
{
    _cleanup_free_ char *path = path_of(name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void make_directory(const char *name)
{
    _cleanup_free_ char *path = path_of(name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Adds N times the byte FILL to the archive as NAME. */
static void add_entry(zipFile archive, const char *name, char fill, size_t n)
{
    assert_int_equal(zipOpenNewFileInZip(archive, name, NULL, NULL, 0, NULL, 0, NULL, Z_DEFLATED,
                                         Z_BEST_COMPRESSION),
                     ZIP_OK);
    char block[32768];
    memset(block, fill, sizeof(block));
    for (size_t left = n, part; left > 0; left -= part) {
        part = MIN(left, sizeof(block));
        assert_int_equal(zipWriteInFileInZip(archive, block, (unsigned)part), ZIP_OK);
    }
    assert_int_equal(zipCloseFileInZip(archive), ZIP_OK);
}

static void open_files(const char *name, struct test_files *files)
{
    _cleanup_free_ char *path = path_of(name);
    struct fault fault = FAULT_NULL;
    if (test_files_open(path, files, &fault) < 0)
        fail_msg("%s: %s", name, fault.text);
}

/* Returns which of the files is NAME. */
static size_t find(const struct test_files *files, const char *name)
{
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < files->n; i++)
        at = strcmp(files->names[i], name) == 0 ? i : at;
    return at;
}

static void expect_content(struct test_files *files, const char *name, const char *content)
{
    _cleanup_bytes_ struct bytes bytes = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    size_t i = find(files, name);
    assert_true(i < files->n);
    assert_int_equal(test_files_read(files, i, 1000, &bytes, &fault), 0);
    assert_string_equal(bytes.data, content);
    assert_int_equal(bytes.length, strlen(content));
}

/* Expects that reading NAME, of which MAX bytes are wanted, fails and says so. */
static void expect_refused(struct test_files *files, const char *name, size_t max, int error,
                           const char *says)
{
    struct bytes bytes = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    size_t i = find(files, name);
    assert_true(i < files->n);
    assert_int_equal(test_files_read(files, i, max, &bytes, &fault), error);
    if (!strstr(fault.text, says))
        fail_msg("%s", fault.text);
    assert_null(bytes.data);
}

/* Expects that the N NAMES were passed over, in whatever order. */
static void expect_passed(const struct test_files *files, const char *const *names, size_t n)
{
    assert_int_equal(files->passed.n, n);
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++)
            found = found || strcmp(files->passed.names[k], names[i]) == 0;
        if (!found)
            fail_msg("%s", names[i]);
    }
}

/* --- folders ------------------------------------------------------------------------------ */

static void test_folder(void **state)
{
    (void)state;
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    make_directory("f");
    make_directory("f/in");
    make_directory("f/.hidden");
    write_file("f/in/1.txt", "one\n", 4);
    write_file("f/empty", "", 0);
    write_file("f/.hidden/1.in", "", 0);
    write_file("f/.2.in", "", 0);
    write_file("f/a\nb", "", 0);
    write_file("f/a\n.md", "", 0);
    _cleanup_free_ char *link = path_of("f/linked.in"), *loop = path_of("f/in/loop");
    assert_int_equal(symlink("in/1.txt", link), 0);
    assert_int_equal(symlink("..", loop), 0);
    open_files("f", &files);
    expect_passed(&files, (const char *const[]){"a\nb", "in/loop"}, 2);
    assert_int_equal(files.n, 3);
    expect_content(&files, "in/1.txt", "one\n");
    expect_content(&files, "empty", "");
    expect_content(&files, "linked.in", "one\n");
    expect_refused(&files, "in/1.txt", 3, -EFBIG, "in/1.txt: File too large");
}

static void test_folder_that_is_too_deep(void **state)
{
    (void)state;
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    char name[64] = "deep";
    for (int i = 0; i <= TEST_FILES_DEPTH; i++) {
        make_directory(name);
        strcat(name, "/1");
        char file[80];
        (void)snprintf(file, sizeof(file), "%s.in", name);
        write_file(file, "", 0);
    }
    open_files("deep", &files);
    assert_int_equal(files.n, TEST_FILES_DEPTH);
    expect_passed(&files, (const char *const[]){"1/1/1/1/1/1/1/1"}, 1);
}

static void test_nothing_there(void **state)
{
    (void)state;
    struct test_files files = TEST_FILES_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(test_files_open("/proc/self/none/tests", &files, &fault), -ENOENT);
    assert_string_equal(fault.text, "/proc/self/none/tests: No such file or directory");
}

/* --- archives ----------------------------------------------------------------------------- */

static zipFile create_archive(const char *name)
{
    _cleanup_free_ char *path = path_of(name);
    zipFile archive = zipOpen64(path, APPEND_STATUS_CREATE);
    assert_non_null(archive);
    return archive;
}

static void test_archive(void **state)
{
    (void)state;
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    char long_name[TEST_NAME_MAX + 2];
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    zipFile archive = create_archive("a.zip");
    add_entry(archive, "tests/", 0, 0);
    add_entry(archive, "tests/1.in", '1', 3);
    add_entry(archive, "./tests/..2.out", 'p', 1);
    add_entry(archive, "tests/\033[2J.in", 'x', 1);
    add_entry(archive, long_name, 'x', 1);
    add_entry(archive, "tests/1.out", 0, 0);
    assert_int_equal(zipClose(archive, NULL), ZIP_OK);
    open_files("a.zip", &files);
    assert_int_equal(files.n, 3);
    expect_passed(&files, (const char *const[]){"tests/\033[2J.in", long_name}, 2);
    expect_content(&files, "tests/1.in", "111");
    expect_content(&files, "tests/..2.out", "p");
    expect_content(&files, "tests/1.out", "");
    expect_content(&files, "tests/1.in", "111");
}

/* Names are labels, never paths; those that would lead elsewhere are named all the same: their
 * tests would be left out, or be others than in the place where the archive was made. */
static void test_archive_that_is_left(void **state)
{
    static const char *const names[] = {
        "../1.in", "a/../../1.in", "a/..", "/1.in", "\\1.in", "..\\1.in", "a\\..\\1.in", "C:\\1.in",
    };
    (void)state;
    _cleanup_free_ char *path = path_of("left.zip");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct test_files files = TEST_FILES_NULL;
        struct fault fault = FAULT_NULL;
        char said[256];
        zipFile archive = create_archive("left.zip");
        add_entry(archive, "1.in", '1', 1);
        add_entry(archive, names[i], '1', 1);
        assert_int_equal(zipClose(archive, NULL), ZIP_OK);
        assert_int_equal(test_files_open(path, &files, &fault), -EINVAL);
        (void)snprintf(said, sizeof(said), "%s: %s leads out of the archive", path, names[i]);
        if (strncmp(fault.text, said, strlen(said)) != 0)
            fail_msg("%s: %s", names[i], fault.text);
    }
}

/* 64 MiB that take 64 KiB in the archive. */
static void test_archive_that_grows(void **state)
{
    (void)state;
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    zipFile archive = create_archive("bomb.zip");
    add_entry(archive, "1.in", 0, (size_t)64 << 20);
    add_entry(archive, "1.out", '1', 1);
    assert_int_equal(zipClose(archive, NULL), ZIP_OK);
    open_files("bomb.zip", &files);
    expect_refused(&files, "1.in", (size_t)1 << 20, -EFBIG, "1.in: File too large");
    expect_content(&files, "1.out", "1");
}

/* Reads the archive NAME into a buffer that the caller frees. */
static struct bytes read_archive(const char *name)
{
    _cleanup_free_ char *path = path_of(name);
    struct bytes bytes = BYTES_NULL;
    FILE *file = fopen(path, "re");
    bytes.data = malloc(4096);
    assert_true(file && bytes.data);
    bytes.length = fread(bytes.data, 1, 4096, file);
    (void)fclose(file);
    return bytes;
}

/* An archive that says of 1 MiB that it is 3 bytes is not believed. */
static void test_archive_that_lies(void **state)
{
    (void)state;
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    zipFile archive = create_archive("lies.zip");
    add_entry(archive, "1.in", 'a', (size_t)1 << 20);
    assert_int_equal(zipClose(archive, NULL), ZIP_OK);
    _cleanup_bytes_ struct bytes bytes = read_archive("lies.zip");
    char *entry = memmem(bytes.data, bytes.length, "PK\1\2", 4); /* of the list at the end */
    assert_non_null(entry);
    memcpy(entry + 24, "\3\0\0\0", 4); /* its size */
    write_file("lies.zip", bytes.data, bytes.length);
    open_files("lies.zip", &files);
    expect_refused(&files, "1.in", 1000, -EBADMSG, "its archive is damaged");
}

static void test_damaged_archives(void **state)
{
    (void)state;
    zipFile archive = create_archive("good.zip");
    add_entry(archive, "1.in", 'a', 100);
    assert_int_equal(zipClose(archive, NULL), ZIP_OK);
    _cleanup_bytes_ struct bytes bytes = read_archive("good.zip");
    _cleanup_free_ char *path = path_of("damaged.zip");
    unsigned refused = 0;
    /* Whatever byte is wrong: an error, or what was written. */
    for (size_t i = 0; i < bytes.length; i++) {
        _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
        struct fault fault = FAULT_NULL;
        bytes.data[i] ^= 0x55;
        write_file("damaged.zip", bytes.data, bytes.length);
        bytes.data[i] ^= 0x55;
        bool open = test_files_open(path, &files, &fault) == 0;
        assert_true(open || strstr(fault.text, "no zip archive that can be read"));
        refused += !open;
        for (size_t k = 0; k < files.n; k++) {
            _cleanup_bytes_ struct bytes content = BYTES_NULL;
            int r = test_files_read(&files, k, 1000, &content, &fault);
            refused += r < 0;
            assert_true(r < 0 ? *fault.text != '\0' : content.length <= 1000);
        }
    }
    assert_in_range(refused, 20, 2 * bytes.length);
    write_file("damaged.zip", "not an archive", 14);
    struct test_files files = TEST_FILES_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(test_files_open(path, &files, &fault), -EINVAL);
    assert_non_null(
        strstr(fault.text, "damaged.zip: it is no folder, and no zip archive that can be read"));
}

/* Opens an archive NAME of one file, 1.in, of which BITS are set in the byte at AT of its header.
 * In the directory of the archive it is two bytes later. */
static void open_changed(const char *name, size_t at, char bits, struct test_files *ret)
{
    zipFile archive = create_archive(name);
    add_entry(archive, "1.in", 'a', 100);
    assert_int_equal(zipClose(archive, NULL), ZIP_OK);
    _cleanup_bytes_ struct bytes bytes = read_archive(name);
    char *entry = memmem(bytes.data, bytes.length, "PK\1\2", 4);
    assert_non_null(entry);
    bytes.data[at] |= bits;
    entry[at + 2] |= bits;
    write_file(name, bytes.data, bytes.length);
    open_files(name, ret);
}

/* minizip takes entries of bzip2 for stored ones. */
static void test_archive_of_another_method(void **state)
{
    (void)state;
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    open_changed("method.zip", 8, 12, &files);
    expect_refused(&files, "1.in", 1000, -EBADMSG, "compressed in a way that is not known");
}

static void test_encrypted_archive(void **state)
{
    (void)state;
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    open_changed("secret.zip", 6, 1, &files);
    expect_refused(&files, "1.in", 1000, -EACCES, "secret.zip: 1.in: it is encrypted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_folder_that_is_too_deep),
        cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_archive),
        cmocka_unit_test(test_archive_that_is_left),
        cmocka_unit_test(test_archive_that_grows),
        cmocka_unit_test(test_archive_that_lies),
        cmocka_unit_test(test_damaged_archives),
        cmocka_unit_test(test_archive_of_another_method),
        cmocka_unit_test(test_encrypted_archive),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
