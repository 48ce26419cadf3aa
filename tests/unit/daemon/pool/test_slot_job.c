/* SPDX-License-Identifier: MIT */
/* A job that is sent to a jail, taken back and sent to another: what the first was given is worth
 * nothing then. */
#include "daemon/pool/slot_job.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <sys/socket.h>

/* A jail's end of the link, and what was received there. */
struct jail {
    int link[2];
    int fds[LINK_JOB_FDS];
    struct link_job job;
};

struct fixture {
    struct confinement confinement;
    struct slot_job job;
    struct slot_job_host host;
    struct jail first, second;
    size_t descriptors;
};

static void on_output(struct capture *capture, size_t n, void *userdata)
{
    (void)capture;
    *(size_t *)userdata += n;
}

static int setup(void **state)
{
    static size_t output;
    static const char *const argv[] = {"/bin/true", NULL};
    static const struct bytes no_input = BYTES_NULL;
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    (void)signal(SIGPIPE, SIG_IGN);
    f->host = (struct slot_job_host){.base = event_base_new(), .on_output = on_output};
    f->host.userdata = &output;
    f->confinement.references = 1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, f->first.link), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, f->second.link), 0);
    for (size_t i = 0; i < LINK_JOB_FDS; i++)
        f->first.fds[i] = f->second.fds[i] = -1;
    f->descriptors = count_descriptors();
    struct launch launch = {
        .argv = argv, .input = &no_input, .confinement = &f->confinement, .network = true};
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        launch.limits.of[i] = 1000;
    assert_int_equal(slot_job_init(&f->job, &launch, 77, f), 0);
    *state = f;
    return 0;
}

static void close_fds(struct jail *jail)
{
    for (size_t i = 0; i < LINK_JOB_FDS; i++)
        jail->fds[i] = close_fd(jail->fds[i]);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    slot_job_deinit(&f->job);
    close_fds(&f->first);
    close_fds(&f->second);
    assert_int_equal(count_descriptors(), f->descriptors);
    assert_int_equal(f->confinement.references, 1);
    for (int i = 0; i < 2; i++) {
        close_fd(f->first.link[i]);
        close_fd(f->second.link[i]);
    }
    event_base_free(f->host.base);
    free(f);
    return 0;
}

static void send_to(struct fixture *f, struct jail *jail)
{
    char strings[LINK_STRINGS_MAX];
    assert_int_equal(slot_job_send(&f->job, &f->host, jail->link[0]), 0);
    assert_true(f->job.sent_ns > 0);
    assert_false(slot_job_is_pending(&f->job));
    assert_int_equal(link_receive_job(jail->link[1], &jail->job, strings, jail->fds), 1);
    assert_int_equal(jail->job.job_no, 77);
}

static void test_what_a_jail_was_sent_is_worth_nothing_to_it(void **state)
{
    struct fixture *f = *state;
    assert_true(slot_job_is_pending(&f->job));
    send_to(f, &f->first);
    slot_job_retract(&f->job);
    assert_true(slot_job_is_pending(&f->job));
    send_to(f, &f->second);
    slot_job_is_taken(&f->job);

    for (int of = LINK_STDOUT; of <= LINK_STDERR; of++) {
        assert_int_equal(write(f->first.fds[of], "forged", 6), -1);
        assert_int_equal(errno, EPIPE);
        assert_int_equal(write(f->second.fds[of], "its own", 7), 7);
    }
    /* Its own are the last writers: nobody else keeps the pipes from their end. */
    close_fds(&f->second);
    assert_int_equal(capture_read_rest(&f->job.out), 0);
    assert_int_equal(capture_read_rest(&f->job.err), 0);
    assert_true(capture_is_closed(&f->job.out) && capture_is_closed(&f->job.err));
    assert_string_equal(f->job.out.kept.data, "its own");
    assert_string_equal(f->job.err.kept.data, "its own");
}

static void test_a_jail_that_is_gone(void **state)
{
    struct fixture *f = *state;
    size_t descriptors = count_descriptors();
    f->first.link[1] = close_fd(f->first.link[1]);
    assert_int_equal(slot_job_send(&f->job, &f->host, f->first.link[0]), -EPIPE);
    assert_true(slot_job_is_pending(&f->job));
    assert_int_equal(count_descriptors(), descriptors - 1);
    send_to(f, &f->second);
    f->descriptors--;
}

static void test_cancelled_it_waits_for_no_jail(void **state)
{
    struct fixture *f = *state;
    f->job.result.killed = SLOT_KILL_CANCELLED;
    assert_false(slot_job_is_pending(&f->job));
}

static void test_taken_it_cannot_be_sent_again(void **state)
{
    struct fixture *f = *state;
    send_to(f, &f->first);
    slot_job_is_taken(&f->job);
    slot_job_retract(&f->job);
    assert_false(slot_job_is_pending(&f->job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_a_jail_was_sent_is_worth_nothing_to_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_jail_that_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled_it_waits_for_no_jail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_taken_it_cannot_be_sent_again, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
