/* SPDX-License-Identifier: MIT */
#include "client/batch/input.h"
#include "proto/util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define LINE_MAX_HERE 20

/* Makes a file with TEXT that vanishes with its descriptor; tests open it by its /proc path. */
struct fixture {
    int fd;
    char path[64];
};

static struct fixture with_text(const char *text)
{
    struct fixture file = {.fd = memfd_create("input", 0)};
    assert_true(file.fd >= 0);
    assert_int_equal(write(file.fd, text, strlen(text)), strlen(text));
    (void)snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
    return file;
}

/* Appends what it reads to OUT: "LINE_NO[text]" or "!fault". */
static void drain(struct input *input, char *out, size_t size)
{
    for (;;) {
        const char *line;
        size_t n;
        struct fault fault = FAULT_NULL;
        size_t used = strlen(out);
        switch (input_next(input, &line, &n, &fault)) {
        case INPUT_LINE:
            (void)snprintf(out + used, size - used, "%llu[%.*s]",
                           (unsigned long long)input->line_no, (int)n, line);
            break;
        case INPUT_WRONG:
            (void)snprintf(out + used, size - used, "!%s", strchr(fault.text, ':'));
            break;
        case INPUT_WAIT:
            input_read(input);
            break;
        case INPUT_END:
            return;
        }
    }
}

static void assert_lines(const char *text, const char *expected)
{
    struct fixture file = with_text(text);
    const char *const files[] = {file.path};
    struct input input;
    char out[512] = "";
    assert_int_equal(input_init(&input, files, 1, LINE_MAX_HERE), 0);
    drain(&input, out, sizeof(out));
    assert_string_equal(out, expected);
    input_deinit(&input);
    close_fd(file.fd);
}

static void test_lines(void **state)
{
    (void)state;
    assert_lines("", "");
    assert_lines("\n", "1[]");
    assert_lines("a\n", "1[a]");
    assert_lines("a", "1[a]");
    assert_lines("a\n\nb\n", "1[a]2[]3[b]");
    assert_lines("a\nb", "1[a]2[b]");
}

static void test_too_long(void **state)
{
    (void)state;
    assert_lines("12345678901234567890\nb\n", "1[12345678901234567890]2[b]");
    assert_lines("123456789012345678901\nb\n", "!:1: longer than 20 bytes2[b]");
    assert_lines("123456789012345678901", "!:1: longer than 20 bytes");
    assert_lines("a\n123456789012345678901\n123456789012345678901\nb",
                 "1[a]!:2: longer than 20 bytes!:3: longer than 20 bytes4[b]");
}

static void test_several_files(void **state)
{
    struct fixture a = with_text("a1\na2"), b = with_text("b1\n");
    const char *const files[] = {a.path, "/proc/self/none", "/", b.path};
    struct input input;
    char out[512] = "";
    (void)state;
    assert_int_equal(input_init(&input, files, ARRAY_SIZE(files), LINE_MAX_HERE), 0);
    drain(&input, out, sizeof(out));
    assert_string_equal(out, "1[a1]2[a2]!: No such file or directory!: Is a directory1[b1]");
    input_deinit(&input);
    close_fd(a.fd);
    close_fd(b.fd);
}

/* Bytes come one by one; the buffer does not keep a line beyond the limit. */
static void test_pipe(void **state)
{
    static const char text[] = "abc\ndefgh\n\nxyz";
    int ends[2];
    char path[64], out[512] = "";
    const char *line;
    size_t n;
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
    const char *const files[] = {path};
    struct input input;
    assert_int_equal(input_init(&input, files, 1, LINE_MAX_HERE), 0);
    assert_int_equal(input_next(&input, &line, &n, NULL), INPUT_WAIT);
    for (size_t i = 0; i < strlen(text); i++) {
        assert_int_equal(write(ends[1], &text[i], 1), 1);
        input_read(&input);
        enum input_state got = input_next(&input, &line, &n, NULL);
        assert_int_equal(got, text[i] == '\n' ? INPUT_LINE : INPUT_WAIT);
        if (got == INPUT_LINE)
            (void)snprintf(out + strlen(out), sizeof(out) - strlen(out), "[%.*s]", (int)n, line);
    }
    ends[1] = close_fd(ends[1]);
    drain(&input, out, sizeof(out));
    assert_string_equal(out, "[abc][defgh][]4[xyz]");
    input_deinit(&input);
    close_fd(ends[0]);
}

static void test_endless_line(void **state)
{
    static char block[4096];
    int ends[2];
    char path[64];
    const char *line;
    size_t n, refused = 0;
    (void)state;
    memset(block, 'x', sizeof(block));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
    const char *const files[] = {path};
    struct input input;
    assert_int_equal(input_init(&input, files, 1, LINE_MAX_HERE), 0);
    for (int i = 0; i < 1000; i++) {
        struct fault fault;
        enum input_state got;
        assert_int_equal(write(ends[1], block, sizeof(block)), sizeof(block));
        while ((got = input_next(&input, &line, &n, &fault)) == INPUT_WRONG)
            refused++;
        assert_int_equal(got, INPUT_WAIT);
        input_read(&input);
        assert_true(evbuffer_get_length(input.buffer) <= sizeof(block));
    }
    assert_int_equal(refused, 1);
    assert_int_equal(write(ends[1], "\nend\n", 5), 5);
    while (input_next(&input, &line, &n, NULL) != INPUT_LINE)
        input_read(&input);
    assert_int_equal(input.line_no, 2);
    assert_memory_equal(line, "end", n);
    input_deinit(&input);
    close_fd(ends[0]);
    close_fd(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),         cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_several_files), cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_endless_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
