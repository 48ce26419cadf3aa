/* SPDX-License-Identifier: MIT */
/* What a task class loads once, as jails get it: its content, its digest, and what is wrong. */
#include "daemon/jail/link.h"
#include "daemon/kinds/rubric_class.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SCRIPT "/bench/c/rubric.py"

struct fixture {
    char top[64];
    struct rubric_place place;
    struct task_class *task_class;
};

static void write_file(const struct fixture *f, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/c/%s", f->top, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void declare(struct fixture *f, const char *text)
{
    task_class_free(f->task_class);
    assert_int_equal(task_class_decode(text, strlen(text), &f->task_class, NULL), 0);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct stat st;
    char path[128];
    assert_non_null(f);
    strcpy(f->top, "/tmp/rubricd-class-XXXXXX");
    assert_non_null(mkdtemp(f->top));
    assert_int_equal(stat(f->top, &st), 0);
    (void)snprintf(path, sizeof(path), "%s/c", f->top);
    assert_int_equal(mkdir(path, 0755), 0);
    f->place =
        (struct rubric_place){.root = f->top, .root_device = st.st_dev, .root_inode = st.st_ino};
    write_file(f, "rubric.py", "import a\n");
    write_file(f, "a.py", "x = 1\n");
    declare(f, "{\"warm\":{\"modules\":[\"json\",\"os.path\"],\"helpers\":[\"a\"]}}");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    task_class_free(f->task_class);
    remove_tree(f->top);
    free(f);
    return 0;
}

static struct rubric_class pack(struct fixture *f)
{
    struct rubric_class class;
    assert_int_equal(rubric_class_pack(f->task_class, &f->place, "c", SCRIPT, &class), 0);
    return class;
}

static void expect_part(int fd, enum link_class_part part, const char *name, const char *content)
{
    struct link_file header;
    char text[64] = "";
    assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
    assert_int_equal(header.mode, part);
    assert_int_equal(header.size, strlen(content));
    assert_int_equal(read(fd, text, header.name_length), strlen(name));
    assert_string_equal(text, name);
    memset(text, 0, sizeof(text));
    assert_int_equal(read(fd, text, header.size), strlen(content));
    assert_string_equal(text, content);
}

static void test_what_is_packed(void **state)
{
    struct rubric_class class = pack(*state);
    char path[64], byte;
    assert_string_equal(class.problem, "");
    assert_int_equal(strlen(class.digest), strlen("sha256:") + 64);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", class.launch.pack);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    expect_part(fd, LINK_CLASS_MODULE, "json", "");
    expect_part(fd, LINK_CLASS_MODULE, "os.path", "");
    expect_part(fd, LINK_CLASS_HELPER, "a", "x = 1\n");
    expect_part(fd, LINK_CLASS_SCRIPT, SCRIPT, "import a\n");
    assert_int_equal(read(fd, &byte, 1), 0);
    (void)close(fd);
    assert_int_equal(write(class.launch.pack, "x", 1), -1); /* it is sealed */
    rubric_class_deinit(&class);
    rubric_class_deinit(&class);
}

/* Changes one thing at a time: no two digests are equal, and the first comes again. */
static void test_the_digest_is_that_of_all(void **state)
{
    struct fixture *f = *state;
    char digests[5][72];
    struct rubric_class class = pack(f);
    strcpy(digests[0], class.digest);
    rubric_class_deinit(&class);
    static const char *const texts[][2] = {
        {"a.py", "x = 2\n"}, {"rubric.py", "import a \n"}, {"task_class.json", ""}};
    for (size_t i = 0; i < 3; i++) {
        write_file(f, texts[i][0], texts[i][1]);
        if (i == 2)
            declare(f, "{\"warm\":{\"modules\":[\"json\"],\"helpers\":[\"a\"]}}");
        class = pack(f);
        strcpy(digests[i + 1], class.digest);
        rubric_class_deinit(&class);
        for (size_t j = 0; j <= i; j++)
            assert_string_not_equal(digests[i + 1], digests[j]);
    }
    write_file(f, "a.py", "x = 1\n");
    write_file(f, "rubric.py", "import a\n");
    declare(f, "{\"warm\":{\"modules\":[\"json\",\"os.path\"],\"helpers\":[\"a\"]}}");
    class = pack(f);
    assert_string_equal(class.digest, digests[0]);
    rubric_class_deinit(&class);
}

static void expect_problem(struct fixture *f, const char *problem)
{
    struct rubric_class class = pack(f);
    assert_string_equal(class.problem, problem);
    assert_string_equal(class.digest, "");
    assert_true(class.launch.pack <= 0);
}

static void test_problems(void **state)
{
    struct fixture *f = *state;
    declare(f, "{\"warm\":{\"helpers\":[\"a\",\"b\"]}}");
    expect_problem(f, "job.task_class: c/b.py: No such file or directory");
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/c/b.py", f->top);
    assert_int_equal(mkdir(path, 0755), 0);
    expect_problem(f, "job.task_class: c/b.py is not a regular file");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    expect_problem(f, "job.task_class: c/b.py leads out of the bench root");
    assert_int_equal(unlink(path), 0);
    write_file(f, "b.py", "");
    assert_int_equal(truncate(path, TASK_CLASS_FILE_MAX + 1), 0);
    expect_problem(f, "b.py: File too large");
    f->place.root_inode++;
    expect_problem(f, "Stale file handle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_packed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_digest_is_that_of_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_problems, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
