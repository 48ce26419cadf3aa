/* SPDX-License-Identifier: MIT */
/* The end of a resumed run, which counts its file: that takes a while for a long one. */
#include "client/batch/engine_private.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LINES 5000

struct place {
    char path[64];
    struct engine engine;
};

static int set_up(void **state)
{
    static const char run[] = "\"run\":{\"case_id\":\"j\",\"job_digest\":\"d\"}";
    struct place *place = calloc(1, sizeof(*place));
    place->engine = (struct engine)ENGINE_NULL;
    (void)snprintf(place->path, sizeof(place->path), "/tmp/rubricd-conclude-XXXXXX");
    int fd = mkstemp(place->path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(file);
    for (int i = 0; i < LINES; i++)
        (void)fprintf(
            file, "{\"type\":\"result\",\"id\":\"j%d\",\"score\":{\"passed\":%s,\"score\":1},%s}\n",
            i, i % 2 ? "true" : "false", run);
    (void)fclose(file);
    place->engine.output.path = strdup(place->path);
    place->engine.output.ours = true;
    place->engine.options.resume = true;
    assert_int_equal(pending_init(&place->engine.pending), 0);
    assert_int_equal(summary_init(&place->engine.summary), 0);
    (void)signal(SIGINT, SIG_DFL); /* a shell ignores it in background processes */
    assert_int_equal(interrupt_init(&place->engine.interrupt), 0);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    engine_deinit(&place->engine);
    (void)unlink(place->path);
    free(place);
    return 0;
}

static void test_all_is_counted(void **state)
{
    struct engine *engine = &((struct place *)*state)->engine;
    engine->summary.passed = 7; /* counted on the way; the file has these, too */
    engine_note_unusable(engine, 0);
    assert_false(engine->ending.bad_input);
    engine_note_unusable(engine, 1);
    engine_note_unusable(engine, 2);
    assert_true(engine->ending.bad_input);
    engine_conclude(engine);
    assert_false(engine->ending.interrupted);
    assert_int_equal(engine->summary.passed, LINES / 2);
    assert_int_equal(engine->summary.failed, LINES / 2);
    assert_int_equal(engine->summary.unusable, 3);
    assert_true(engine->ending.failed);
    assert_false(engine->ending.errors);
}

/* Ctrl-C ends the counting. */
static void test_interrupted(void **state)
{
    struct engine *engine = &((struct place *)*state)->engine;
    assert_int_equal(raise(SIGINT), 0);
    engine_conclude(engine);
    assert_true(engine->ending.interrupted);
    assert_in_range(summary_answered(&engine->summary), 1, LINES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
