/* SPDX-License-Identifier: MIT */
/* The notice that nothing finishes, without waiting 20 s for it. */
#include "client/batch/engine_private.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void add(struct engine *engine, const char *id)
{
    struct bytes id_bytes = BYTES_NULL, payload = BYTES_NULL;
    assert_int_equal(bytes_copy(id, strlen(id), &id_bytes), 0);
    assert_int_equal(bytes_copy("{}", 2, &payload), 0);
    assert_int_equal(pending_add(&engine->pending, &id_bytes, &payload, &(struct tests)TESTS_NULL,
                                 NULL, NULL, 0),
                     0);
}

/* Captures what the engine says at NOW. */
static void said(struct engine *engine, int64_t now, char *ret, size_t size)
{
    int kept = dup(STDERR_FILENO), fd = memfd_create("stderr", 0);
    assert_true(kept >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    engine_notice_stall(engine, now);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    ssize_t n = pread(fd, ret, size - 1, 0);
    ret[MAX(n, 0)] = '\0';
    (void)close(kept);
    (void)close(fd);
}

static void test_stall(void **state)
{
    char text[512];
    struct engine engine = ENGINE_NULL;
    (void)state;
    assert_int_equal(pending_init(&engine.pending), 0);
    engine.progressed_ms = 1000;
    engine.stall_ms = ENGINE_STALL_FIRST_MS;
    said(&engine, 100000, text, sizeof(text));
    assert_string_equal(text, ""); /* no job is pending */
    add(&engine, "a");
    add(&engine, "b\x1b[2J");
    said(&engine, 20999, text, sizeof(text));
    assert_string_equal(text, "");
    said(&engine, 21000, text, sizeof(text));
    assert_string_equal(text, "rubricctl: nothing has finished for 20.0 s; still waiting for 2 "
                              "jobs: a, b\\x1b[2J\n");
    /* The next notice comes after twice the silence. */
    said(&engine, 40999, text, sizeof(text));
    assert_string_equal(text, "");
    for (int i = 0; i < 9; i++)
        add(&engine, (char[]){(char)('c' + i), '\0'});
    said(&engine, 41000, text, sizeof(text));
    assert_string_equal(text, "rubricctl: nothing has finished for 40.0 s; still waiting for 11 "
                              "jobs: a, b\\x1b[2J, c, d, e and 6 more\n");
    pending_deinit(&engine.pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
