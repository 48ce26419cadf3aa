/* SPDX-License-Identifier: MIT */
/* A job on its way to a jail, back, and to another: its phases, and that the descriptors which the
 * first jail was given are worth nothing afterwards. */
#include "daemon/base/clock.h"
#include "daemon/pool/slot_job.h"
#include "tests/unit/caught.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

/* Both ends of a jail's link, and what came out of the jail's. */
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
    assert_int_equal(f->job.phase, SLOT_JOB_SENT);
    assert_int_equal(link_receive_job(jail->link[1], &jail->job, strings, jail->fds), 1);
    assert_int_equal(jail->job.job_no, 77);
}

static void test_what_a_jail_was_sent_is_worth_nothing_to_it(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->job.phase, SLOT_JOB_PENDING);
    send_to(f, &f->first);
    slot_job_retract(&f->job);
    assert_int_equal(f->job.phase, SLOT_JOB_PENDING);
    send_to(f, &f->second);
    slot_job_commit(&f->job);

    for (int of = LINK_STDOUT; of <= LINK_STDERR; of++) {
        assert_int_equal(write(f->first.fds[of], "forged", 6), -1);
        assert_int_equal(errno, EPIPE);
        assert_int_equal(write(f->second.fds[of], "its own", 7), 7);
    }
    /* The second jail has the last write ends: nobody else keeps the pipes from their end. */
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
    assert_int_equal(f->job.phase, SLOT_JOB_PENDING);
    assert_int_equal(count_descriptors(), descriptors - 1);
    send_to(f, &f->second);
    f->descriptors--;
}

static void test_cancelled_it_waits_for_no_jail(void **state)
{
    struct fixture *f = *state;
    slot_job_kill(&f->job, SLOT_KILL_CANCELLED);
    assert_int_equal(f->job.phase, SLOT_JOB_WITHDRAWN);
    assert_int_equal(f->job.result.killed, SLOT_KILL_CANCELLED);
}

static void test_cancelled_at_a_jail_it_waits_for_no_other(void **state)
{
    struct fixture *f = *state;
    send_to(f, &f->first);
    slot_job_kill(&f->job, SLOT_KILL_CANCELLED);
    assert_int_equal(f->job.phase, SLOT_JOB_SENT); /* the jail may have begun */
    slot_job_retract(&f->job);
    assert_int_equal(f->job.phase, SLOT_JOB_WITHDRAWN);
}

static void test_moved_it_is_in_one_place(void **state)
{
    struct fixture *f = *state;
    struct slot_job other = SLOT_JOB_NULL;
    send_to(f, &f->first);
    slot_job_move(&other, &f->job);
    assert_int_equal(f->job.phase, SLOT_JOB_NONE);
    assert_null(f->job.owner);
    assert_int_equal(other.phase, SLOT_JOB_SENT);
    assert_ptr_equal(other.owner, f);
    slot_job_move(&f->job, &other);
    slot_job_commit(&f->job);
    assert_int_equal(f->job.phase, SLOT_JOB_TAKEN);
}

/* --- the deadline -------------------------------------------------------------------------- */

/* The job, whose wall clock is 1 s, has run for NOW_MS. */
static uint64_t run_for(struct fixture *f, uint64_t now_ms)
{
    const uint64_t started_ns = NS_PER_S * 1000;
    if (f->job.phase == SLOT_JOB_PENDING) {
        send_to(f, &f->first);
        slot_job_commit(&f->job);
        f->job.sent_ns = started_ns;
        f->job.limits.of[LIMIT_WALL_CLOCK] = 1000;
        slot_job_start(&f->job, started_ns, dup(f->first.link[1]));
        f->job.result.started_ns = started_ns;
        f->job.deadline_ns = started_ns + NS_PER_S;
    }
    return started_ns + now_ms * NS_PER_MS;
}

static bool is_asked(const struct fixture *f)
{
    static char strings[LINK_STRINGS_MAX];
    struct link_job job;
    int fds[LINK_JOB_FDS];
    struct pollfd readable = {.fd = f->first.link[1], .events = POLLIN};
    if (poll(&readable, 1, 0) == 0)
        return false;
    assert_int_equal(link_receive_job(f->first.link[1], &job, strings, fds), LINK_ASKED);
    assert_int_equal(job.job_no, 77);
    return true;
}

static enum slot_kill check(struct fixture *f, uint64_t now_ms)
{
    return slot_job_check_time(&f->job, f->first.link[0], run_for(f, now_ms));
}

static bool hear(struct fixture *f, uint64_t now_ms, uint64_t run_ms, uint64_t wait_ms)
{
    struct link_notice notice = {.type = LINK_TIMES,
                                 .cpu_us = run_ms * 1000,
                                 .run_delay_ns = wait_ms * NS_PER_MS,
                                 .ended_ns = run_for(f, now_ms)};
    return slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, now_ms));
}

/* What the jail tells of the end is the job's result. */
static void test_the_end(void **state)
{
    struct fixture *f = *state;
    const struct link_notice notice = {.type = LINK_ENDED,
                                       .wait_status = 9,
                                       .cpu_us = 12345,
                                       .max_rss_bytes = 678,
                                       .run_delay_ns = 5,
                                       .evidence = 3,
                                       .error = ENOSPC,
                                       .leftover = true,
                                       .warm = 1};
    (void)run_for(f, 0);
    slot_job_note_end(&f->job, &notice, getpid());
    const struct slot_result *result = &f->job.result;
    assert_int_equal(f->job.phase, SLOT_JOB_ENDED);
    assert_true(f->job.spent && result->lacked_room && result->warm);
    assert_int_equal(result->wait_status, 9);
    assert_int_equal(result->cpu_us, 12345);
    assert_int_equal(result->max_rss_bytes, 678);
    assert_int_equal(result->run_delay_ns, 5);
    assert_int_equal(result->evidence, 3);
}

/* What it told when it was asked, of the whole tree, is not taken back; what it does not know is no
 * news. */
static void test_the_end_after_the_deadline(void **state)
{
    struct fixture *f = *state;
    static const struct {
        uint64_t before, told, after;
    } cases[] = {{7, 5, 7}, {5, 7, 7}, {7, UINT64_MAX, 7}, {UINT64_MAX, 5, 5}};
    (void)run_for(f, 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct link_notice notice = {.type = LINK_ENDED, .run_delay_ns = cases[i].told};
        struct slot_job job = f->job;
        job.result.run_delay_ns = cases[i].before;
        slot_job_note_end(&job, &notice, getpid());
        assert_true(job.result.run_delay_ns == cases[i].after);
        assert_false(job.spent || job.result.lacked_room || job.result.warm);
    }
}

/* Ends the job after ELAPSED_MS with exit status 0, as the jail says; the daemon sees it 5 s later.
 */
static enum slot_kill killed_at_end(struct fixture *f, uint64_t elapsed_ms, uint64_t cpu_ms,
                                    uint64_t waited_ms)
{
    const struct link_notice notice = {
        .type = LINK_ENDED, .cpu_us = cpu_ms * 1000, .run_delay_ns = waited_ms * NS_PER_MS};
    struct slot_job job = f->job;
    job.limits.of[LIMIT_CPU] = 2000;
    job.result.ended_ns = run_for(f, elapsed_ms + 5000);
    slot_job_note_exit(&job, run_for(f, elapsed_ms));
    slot_job_note_end(&job, &notice, getpid());
    return job.result.killed;
}

/* A daemon that was busy finds the exit of a job whose deadline it has not looked at. */
static void test_an_exit_long_after_the_deadline_is_late(void **state)
{
    struct fixture *f = *state;
    (void)run_for(f, 0);
    assert_int_equal(killed_at_end(f, 900, 0, 0), SLOT_KILL_NONE);
    assert_int_equal(killed_at_end(f, 1000 + SLOT_JOB_LATE_MS, 0, 0), SLOT_KILL_NONE);
    assert_int_equal(killed_at_end(f, 1001 + SLOT_JOB_LATE_MS, 0, 0), SLOT_KILL_DEADLINE);
    assert_int_equal(killed_at_end(f, 3000, 900, 2100), SLOT_KILL_NONE); /* it waited for a CPU */
    assert_int_equal(killed_at_end(f, 3000, 1500, 0), SLOT_KILL_DEADLINE);
}

static void test_the_cpu_time_of_the_tree_is_judged_at_the_end(void **state)
{
    struct fixture *f = *state;
    (void)run_for(f, 0);
    assert_int_equal(killed_at_end(f, 900, 2000, 0), SLOT_KILL_NONE);
    assert_int_equal(killed_at_end(f, 900, 2001, 0), SLOT_KILL_CPU);
}

static void test_shortly_before_the_deadline_the_jail_is_asked(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(slot_job_check_after_ms(&f->job, run_for(f, 400)), 590);
    assert_int_equal(check(f, 989), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_false(hear(f, 989, 0, 989));
    assert_int_equal(check(f, 990), SLOT_KILL_NONE);
    assert_true(is_asked(f));
    assert_int_equal(slot_job_check_after_ms(&f->job, run_for(f, 990)), SLOT_JOB_ANSWER_MS);
    assert_int_equal(check(f, 1001), SLOT_KILL_NONE); /* it waits for the answer */
    assert_false(is_asked(f));                        /* once */
    assert_true(hear(f, 1002, 1000, 0));
    assert_int_equal(check(f, 1002), SLOT_KILL_DEADLINE);
    assert_false(hear(f, 1002, 1000, 0));
    assert_int_equal(f->job.result.deadline_moves, 0);
    assert_int_equal(f->job.result.deadline_ms, 0);
}

/* It runs until then, whatever the answer is. */
static void test_an_answer_before_the_deadline(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, 990), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 995, 990, 0));
    assert_int_equal(check(f, 999), SLOT_KILL_NONE);
    assert_int_equal(slot_job_check_after_ms(&f->job, run_for(f, 995)), 5);
    assert_int_equal(check(f, 1000), SLOT_KILL_DEADLINE);
    assert_false(is_asked(f));
}

/* Of a limit of 100 ms, 5. */
static void test_a_short_limit(void **state)
{
    struct fixture *f = *state;
    (void)run_for(f, 0);
    f->job.limits.of[LIMIT_WALL_CLOCK] = 100;
    assert_int_equal(check(f, 994), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(check(f, 995), SLOT_KILL_NONE);
    assert_true(is_asked(f));
}

/* It is asked again at the deadline, and what counts is what it lost by then. */
static void test_an_answer_that_leaves_it_open(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, 990), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 990, 944, 46));
    assert_int_equal(f->job.result.deadline_moves, 0);
    assert_int_equal(check(f, 999), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(slot_job_check_after_ms(&f->job, run_for(f, 995)), 5);
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 1000, 944, 56));
    assert_int_equal(f->job.result.deadline_ms, 1056);
    /* Of the new deadline it is asked ahead, again. */
    assert_int_equal(check(f, 1045), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(check(f, 1046), SLOT_KILL_NONE);
    assert_true(is_asked(f));
}

/* It moves at once if it moves at all, and is starved at the last deadline, not before. */
static void test_what_is_heard_before_the_deadline(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, 990), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 990, 1, 989));
    assert_int_equal(f->job.result.deadline_ms, 1989);
    assert_int_equal(check(f, 9500), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 9500, 1, 9499));
    assert_int_equal(f->job.result.deadline_ms, 10000);
    assert_int_equal(check(f, 9990), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 9990, 1, 9989));
    assert_int_equal(check(f, 9999), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(check(f, 10000), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 10000, 1, 9999));
    assert_int_equal(check(f, 10000), SLOT_KILL_STARVED);
}

/* Only at the deadline does the jail know whether the second program of a pair has its time. */
static void test_a_pair_is_asked_for_at_its_deadline(void **state)
{
    struct fixture *f = *state;
    f->job.is_pair = true;
    assert_int_equal(check(f, 999), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_true(is_asked(f));
}

static void test_a_jail_that_does_not_answer(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_int_equal(check(f, 999 + SLOT_JOB_ANSWER_MS), SLOT_KILL_NONE);
    assert_int_equal(check(f, 1000 + SLOT_JOB_ANSWER_MS), SLOT_KILL_DEADLINE);
}

static void test_a_jail_that_cannot_be_asked(void **state)
{
    struct fixture *f = *state;
    (void)run_for(f, 0);
    assert_int_equal(slot_job_check_time(&f->job, -1, run_for(f, 990)), SLOT_KILL_NONE);
    assert_int_equal(slot_job_check_after_ms(&f->job, run_for(f, 990)), 1); /* it is tried again */
    assert_int_equal(slot_job_check_time(&f->job, -1, run_for(f, 1000)), SLOT_KILL_DEADLINE);
}

static void test_the_deadline_moves(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 1000, 500, 500));
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(slot_job_remaining_ms(&f->job, run_for(f, 1000)), 500);
    assert_int_equal(check(f, 1489), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(check(f, 1500), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 1500, 800, 700));
    assert_int_equal(check(f, 1689), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_int_equal(check(f, 1700), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 1700, 1000, 700));
    assert_int_equal(check(f, 1700), SLOT_KILL_DEADLINE);
    assert_int_equal(f->job.result.deadline_moves, 2);
    assert_int_equal(f->job.result.deadline_ms, 1700);
    assert_true(f->job.result.run_delay_ns == 700 * NS_PER_MS);
}

/* What it is known to have lost stays, also if those that waited have ended. */
static void test_what_was_lost_stays_lost(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 1000, 500, 500));
    assert_int_equal(check(f, 1400), SLOT_KILL_NONE);
    assert_int_equal(check(f, 1490), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, 1490, 0, 0));
    assert_int_equal(check(f, 1499), SLOT_KILL_NONE);
    assert_int_equal(check(f, 1500), SLOT_KILL_DEADLINE);
    assert_int_equal(f->job.result.deadline_ms, 1500);
}

/* What was read when the job had run for 1100 ms is no older and no newer on its way. */
static void test_an_answer_that_was_under_way_for_long(void **state)
{
    struct fixture *f = *state;
    struct link_notice notice = {
        .type = LINK_TIMES, .run_delay_ns = 600 * NS_PER_MS, .cpu_us = 500000};
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_true(is_asked(f));
    notice.ended_ns = run_for(f, 1100);
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 1800)));
    assert_int_equal(f->job.result.deadline_ms, 1600);
    assert_int_equal(check(f, 1600), SLOT_KILL_NONE);
    assert_true(is_asked(f));
    notice.ended_ns = 0; /* a jail that lies: not before it was asked */
    notice.run_delay_ns = 600 * NS_PER_MS;
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 1900)));
    assert_int_equal(check(f, 1900), SLOT_KILL_DEADLINE);
}

/* The jail knows of a part of the time alone. */
static void test_time_of_which_nothing_is_known_is_not_given_back(void **state)
{
    struct fixture *f = *state;
    struct link_notice notice = {
        .type = LINK_TIMES, .run_delay_ns = 1000 * NS_PER_MS, .unknown_ms = 1000};
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_true(is_asked(f));
    notice.ended_ns = run_for(f, 1000);
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 1000)));
    assert_int_equal(check(f, 1000), SLOT_KILL_DEADLINE);
    assert_int_equal(f->job.result.deadline_moves, 0);
}

/* Each program of a pair has the limit. */
static void test_the_second_program_of_a_pair(void **state)
{
    struct fixture *f = *state;
    struct link_notice notice = {.type = LINK_TIMES, .cpu_us = 1000000, .is_second = 1};
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    notice.ended_ns = run_for(f, 1000);
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 1000)));
    assert_int_equal(f->job.result.deadline_ms, 2000);
    assert_int_equal(check(f, 1999), SLOT_KILL_NONE);
    assert_int_equal(check(f, 2000), SLOT_KILL_NONE);
    notice.ended_ns = run_for(f, 2000);
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 2000)));
    assert_int_equal(check(f, 2000), SLOT_KILL_DEADLINE);
    assert_int_equal(f->job.result.deadline_moves, 1);
}

/* A program that ended in time leaves the interactor a time of its own, once. */
static void test_an_interactor_has_its_time(void **state)
{
    struct fixture *f = *state;
    struct link_notice notice = {.type = LINK_TIMES, .cpu_us = 1000};
    f->job.is_joined = true;
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    assert_true(is_asked(f));
    notice.candidate.ended_ns = run_for(f, 999);
    notice.ended_ns = run_for(f, 1000);
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 1001)));
    assert_int_equal(check(f, 1998), SLOT_KILL_NONE);
    assert_false(is_asked(f));
    assert_true(f->job.result.program_by_ns == run_for(f, 1000));
    assert_int_equal(f->job.result.deadline_moves, 0);
    assert_int_equal(check(f, 1999), SLOT_KILL_NONE);
    assert_true(is_asked(f));
    notice.ended_ns = run_for(f, 1999);
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 1999)));
    assert_int_equal(check(f, 1999), SLOT_KILL_DEADLINE);
}

static void test_a_program_that_ends_too_late_leaves_no_time(void **state)
{
    struct fixture *f = *state;
    struct link_notice notice = {.type = LINK_TIMES, .cpu_us = 1000};
    f->job.is_joined = true;
    assert_int_equal(check(f, 1000), SLOT_KILL_NONE);
    notice.candidate.ended_ns = run_for(f, 1000) + 1;
    notice.ended_ns = run_for(f, 1002);
    assert_true(slot_job_hear_times(&f->job, &notice, getpid(), run_for(f, 1002)));
    assert_int_equal(check(f, 1002), SLOT_KILL_DEADLINE);
}

static void test_a_job_that_gets_no_time_is_starved(void **state)
{
    struct fixture *f = *state;
    uint64_t now_ms = 1000;
    while (now_ms < 10000) {
        assert_int_equal(check(f, now_ms), SLOT_KILL_NONE);
        assert_true(is_asked(f) && hear(f, now_ms, 1, now_ms));
        now_ms += 1000;
        assert_int_equal(check(f, now_ms - 11), SLOT_KILL_NONE);
        assert_false(is_asked(f));
    }
    assert_int_equal(check(f, now_ms), SLOT_KILL_NONE);
    assert_true(is_asked(f) && hear(f, now_ms, 1, now_ms));
    assert_int_equal(check(f, now_ms), SLOT_KILL_STARVED);
}

/* --- assertions ---------------------------------------------------------------------------- */

static void send_twice(struct slot_job *job)
{
    int link[2];
    struct slot_job_host host = {.base = event_base_new()};
    (void)socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link);
    (void)slot_job_send(job, &host, link[0]);
    (void)slot_job_send(job, &host, link[0]);
}

static void finish_twice(struct slot_job *job)
{
    slot_job_finish(job, SLOT_END_JAIL_LOST);
    slot_job_finish(job, SLOT_END_JAIL_LOST);
}

static void exit_before_its_end_was_noted(struct slot_job *job)
{
    slot_job_finish(job, SLOT_END_EXITED);
}

static void end_before_it_was_taken(struct slot_job *job)
{
    const struct link_notice notice = {.type = LINK_ENDED};
    slot_job_note_end(job, &notice, getpid());
}

static void move_onto_another(struct slot_job *job)
{
    struct slot_job other = {.phase = SLOT_JOB_PENDING, .owner = job};
    slot_job_move(&other, job);
}

static void test_wrong_phases_are_caught(void **state)
{
    struct fixture *f = *state;
    assert_caught(slot_job_retract(&f->job));
    assert_caught(slot_job_commit(&f->job));
    assert_caught(end_before_it_was_taken(&f->job));
    assert_caught(exit_before_its_end_was_noted(&f->job));
    assert_caught(move_onto_another(&f->job));
    assert_caught(send_twice(&f->job));
    assert_caught(finish_twice(&f->job));
    assert_not_caught(slot_job_withdraw(&f->job));
}

static void test_taken_it_cannot_be_sent_again(void **state)
{
    struct fixture *f = *state;
    send_to(f, &f->first);
    slot_job_commit(&f->job);
    assert_int_equal(f->job.phase, SLOT_JOB_TAKEN);
    assert_null(f->job.packet.strings);
    assert_caught(slot_job_retract(&f->job));
    assert_caught(slot_job_send(&f->job, &f->host, f->second.link[0]));
}

/* Each phase and those that may follow it, by their first letters: None, Pending, Sent, Taken,
 * Ended, Withdrawn, Over. */
static void test_the_arrows_between_phases(void **state)
{
    static const char letters[] = "NPSTEWO";
    static const char *const next[] = {"P", "SWO", "PTW", "EO", "O", "O", ""};
    (void)state;
    for (unsigned from = 0; from < strlen(letters); from++)
        for (unsigned to = 0; to < strlen(letters); to++)
            if (slot_job_may_enter(from, to) != (strchr(next[from], letters[to]) != NULL))
                fail_msg("%c to %c", letters[from], letters[to]);
}

/* Of stdout, and of nothing else, a part may not count. */
static void test_free_output(void **state)
{
    struct fixture *f = *state;
    f->job.free_output = 500;
    assert_true(slot_job_count_output(&f->job, &f->job.out, 300));
    assert_true(slot_job_count_output(&f->job, &f->job.err, 900));
    assert_true(slot_job_count_output(&f->job, &f->job.out, 300));
    assert_false(slot_job_count_output(&f->job, &f->job.out, 1));
    f->job.output_bytes = 0;
    f->job.free_output = 500;
    assert_false(slot_job_count_output(&f->job, &f->job.err, 1001));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_a_jail_was_sent_is_worth_nothing_to_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_jail_that_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled_it_waits_for_no_jail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled_at_a_jail_it_waits_for_no_other, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_moved_it_is_in_one_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end_after_the_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_exit_long_after_the_deadline_is_late, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_cpu_time_of_the_tree_is_judged_at_the_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_shortly_before_the_deadline_the_jail_is_asked, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_an_answer_before_the_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_short_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_answer_that_leaves_it_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_heard_before_the_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_pair_is_asked_for_at_its_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_jail_that_does_not_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_jail_that_cannot_be_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_deadline_moves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_lost_stays_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_answer_that_was_under_way_for_long, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_time_of_which_nothing_is_known_is_not_given_back,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_second_program_of_a_pair, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_interactor_has_its_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_program_that_ends_too_late_leaves_no_time, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_job_that_gets_no_time_is_starved, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_phases_are_caught, setup, teardown),
        cmocka_unit_test(test_the_arrows_between_phases),
        cmocka_unit_test_setup_teardown(test_free_output, setup, teardown),
        cmocka_unit_test_setup_teardown(test_taken_it_cannot_be_sent_again, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
