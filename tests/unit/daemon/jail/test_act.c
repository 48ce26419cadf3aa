/* SPDX-License-Identifier: MIT */
/* What a command's process does with files, and how it finds its program. Each runs in a child. */
#include "daemon/jail/act.h"
#include "proto/limits.h"
#include "proto/util.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char *top; /* the working directory of the children */
    char read[256];
    struct lockdown_error *error; /* shared with them */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char top[] = "/tmp/rubricd-act-XXXXXX";
    assert_non_null(f);
    assert_non_null(mkdtemp(top));
    f->top = strdup(top);
    f->error =
        mmap(NULL, sizeof(*f->error), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(f->error != MAP_FAILED);
    (void)alarm(60); /* a test that hangs ends here */
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    remove_tree(f->top);
    (void)munmap(f->error, sizeof(*f->error));
    free(f->top);
    free(f);
    (void)alarm(0);
    return 0;
}

/* Runs LOCKDOWN in a child with INPUT for its stdin; keeps what it writes. Returns its wait status.
 */
static int run(struct fixture *f, const struct lockdown *lockdown, const char *input)
{
    int in = memfd_create("input", 0), out = memfd_create("output", 0), status;
    assert_true(in >= 0 && out >= 0);
    assert_int_equal(write(in, input, strlen(input)), strlen(input));
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(f->top) < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
            _exit(255);
        if (lockdown->act == LINK_EXEC)
            act_exec(lockdown);
        act_on_file(lockdown);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ssize_t n = pread(out, f->read, sizeof(f->read) - 1, 0);
    f->read[MAX(n, (ssize_t)0)] = '\0';
    close_fd(in);
    close_fd(out);
    return status;
}

static int on_file(struct fixture *f, enum link_act act, const char *path, const char *input,
                   bool appends)
{
    char *argv[] = {(char *)(uintptr_t)path, NULL};
    const struct lockdown lockdown = {
        .act = act, .argv = argv, .file_mode = 0640, .appends = appends, .ret_error = f->error};
    int status = run(f, &lockdown, input);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int write_it(struct fixture *f, const char *path, const char *input)
{
    return on_file(f, LINK_WRITE, path, input, false);
}

static int read_it(struct fixture *f, const char *path)
{
    return on_file(f, LINK_READ, path, "", false);
}

static char *at(const struct fixture *f, const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", f->top, name);
    return path;
}

static void test_what_is_written_is_read(void **state)
{
    struct fixture *f = *state;
    struct stat st;
    assert_int_equal(write_it(f, "a/b/c", "one"), 0);
    assert_int_equal(read_it(f, "a/b/c"), 0);
    assert_string_equal(f->read, "one");
    assert_int_equal(stat(at(f, "a/b/c"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(on_file(f, LINK_WRITE, "a/b/c", " two", true), 0);
    assert_int_equal(read_it(f, at(f, "a/b/c")), 0);
    assert_string_equal(f->read, "one two");
    assert_int_equal(write_it(f, "a/b/c", "3"), 0); /* in place of what was there */
    assert_int_equal(read_it(f, "a//b/./c"), 0);
    assert_string_equal(f->read, "3");
    assert_int_equal(on_file(f, LINK_WRITE, "new", "", true), 0);
    assert_int_equal(read_it(f, "new"), 0);
    assert_string_equal(f->read, "");
}

static void test_what_is_no_file(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(mkdir(at(f, "d"), 0755), 0);
    assert_int_equal(mkfifo(at(f, "p"), 0644), 0);
    assert_int_equal(symlink("/proc/self/status", at(f, "l")), 0);
    assert_int_equal(symlink("loop", at(f, "loop")), 0);
    assert_int_equal(write_it(f, "f", ""), 0);
    static const struct {
        const char *path;
        int read, write;
    } cases[] = {
        {"d", EISDIR, EISDIR},
        {"p", EINVAL, ENXIO}, /* nobody reads it: it is not waited for */
        {"l", EACCES, 0},
        {"loop", ELOOP, ELOOP},
        {"f/x", ENOTDIR, ENOTDIR},
        {"/dev/null", EINVAL, EINVAL},
        {"/proc/self/maps", EACCES, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(read_it(f, cases[i].path), cases[i].read);
        assert_string_equal(f->read, "");
        int r = write_it(f, cases[i].path, "x");
        if (cases[i].write == 0) /* by root's rights or not, none of /proc is written */
            assert_true(r == EACCES || r == EPERM);
        else
            assert_int_equal(r, cases[i].write);
    }
    assert_int_equal(read_it(f, "missing"), ENOENT);
}

static void test_files_are_bounded(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(write_it(f, "f", ""), 0);
    assert_int_equal(truncate(at(f, "f"), (off_t)SESSION_FILE_BYTES_MAX), 0);
    assert_int_equal(on_file(f, LINK_WRITE, "f", "", true), 0);
    assert_int_equal(on_file(f, LINK_WRITE, "f", "1", true), EFBIG);
    assert_int_equal(truncate(at(f, "f"), (off_t)SESSION_FILE_BYTES_MAX + 1), 0);
    assert_int_equal(read_it(f, "f"), EFBIG);
    assert_string_equal(f->read, "");
}

/* --- programs ----------------------------------------------------------------------------- */

static int exec_it(struct fixture *f, const char *program, const char *directory, const char *path)
{
    char variable[256];
    char *argv[] = {(char *)(uintptr_t)program, NULL}, *envp[] = {variable, NULL};
    (void)snprintf(variable, sizeof(variable), "PATH=%s", path);
    const struct lockdown lockdown = {.act = LINK_EXEC,
                                      .argv = argv,
                                      .envp = envp,
                                      .directory = directory,
                                      .ret_error = f->error};
    *f->error = (struct lockdown_error){.stage = LINK_STAGE_NONE};
    return run(f, &lockdown, "");
}

static void test_programs_are_found(void **state)
{
    struct fixture *f = *state;
    char path[200];
    assert_int_equal(exec_it(f, "true", NULL, "/nowhere:/usr/bin:/bin"), 0);
    assert_int_equal(exec_it(f, "/usr/bin/true", NULL, ""), 0);
    assert_int_equal(mkdir(at(f, "d"), 0755), 0);
    assert_int_equal(exec_it(f, "pwd", "d", "::/bin"), 0);
    assert_string_equal(strrchr(f->read, '/'), "/d\n");
    /* One that cannot be executed does not hide another behind it, but is told if there is none. */
    assert_int_equal(write_it(f, "d/true", "x"), 0);
    (void)snprintf(path, sizeof(path), "%s/d:/usr/bin:/bin", f->top);
    assert_int_equal(exec_it(f, "true", NULL, path), 0);
    *strchr(path, ':') = '\0';
    assert_int_equal(exec_it(f, "true", NULL, path), 127 << 8);
    assert_int_equal(f->error->stage, LINK_STAGE_EXEC);
    assert_int_equal(f->error->error, EACCES);
}

static void test_programs_that_are_not_there(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *program, *directory, *path;
        enum link_stage stage;
        int error;
    } cases[] = {
        {"no-such-program", NULL, "/usr/bin:/bin", LINK_STAGE_EXEC, ENOENT},
        {"true", NULL, "", LINK_STAGE_EXEC, ENOENT},
        {"./true", NULL, "/usr/bin:/bin", LINK_STAGE_EXEC, ENOENT},
        {"true", "missing", "/usr/bin:/bin", LINK_STAGE_CWD, ENOENT},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(exec_it(f, cases[i].program, cases[i].directory, cases[i].path), 127 << 8);
        assert_int_equal(f->error->stage, cases[i].stage);
        assert_int_equal(f->error->error, cases[i].error);
    }
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(test_what_is_written_is_read),     IN_DIRECTORY(test_what_is_no_file),
        IN_DIRECTORY(test_files_are_bounded),           IN_DIRECTORY(test_programs_are_found),
        IN_DIRECTORY(test_programs_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
