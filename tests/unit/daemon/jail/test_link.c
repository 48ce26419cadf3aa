/* SPDX-License-Identifier: MIT */
/* Tests the messages between supervisor and jail: complete ones arrive as sent, everything else is
 * refused, and no descriptor that accompanied it stays open. */
#include "daemon/jail/link.h"
#include "proto/jobkinds.h"
#include "proto/util.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cmocka.h>

#define FDS_MAX 10
#define STANDARD ((1u << LINK_STANDARD_FDS) - 1)
#define OUTPUT (1u << LINK_STDOUT | 1u << LINK_STDERR)
#define EVERYTHING ((1u << LINK_JOB_FDS) - 1)

static char large[LINK_STRINGS_MAX + 4096];

struct fixture {
    int ours, theirs;
    int spare[FDS_MAX]; /* to accompany messages */
    size_t descriptors; /* open ones at the start */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int fds[2];
    assert_non_null(f);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    f->ours = fds[0];
    f->theirs = fds[1];
    for (size_t i = 0; i < FDS_MAX; i += 2) {
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        f->spare[i] = fds[0];
        f->spare[i + 1] = fds[1];
    }
    f->descriptors = count_descriptors();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    close_fd(f->ours);
    close_fd(f->theirs);
    for (size_t i = 0; i < FDS_MAX; i++)
        close_fd(f->spare[i]);
    free(f);
    return 0;
}

/* Sends N bytes of DATA with COUNT spare descriptors, as a peer that ignores the protocol would. */
static void send_raw(const struct fixture *f, const void *data, size_t n, size_t count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
        struct cmsghdr align;
    } control = {.bytes = ""};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = n};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        assert_non_null(header);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), f->spare, sizeof(int) * count);
    }
    assert_int_equal(sendmsg(f->theirs, &message, MSG_NOSIGNAL), n);
}

static bool is_same_file(int a, int b)
{
    struct stat first, second;
    assert_int_equal(fstat(a, &first), 0);
    assert_int_equal(fstat(b, &second), 0);
    return first.st_ino == second.st_ino && first.st_dev == second.st_dev &&
           (fcntl(a, F_GETFL) & O_ACCMODE) == (fcntl(b, F_GETFL) & O_ACCMODE);
}

/* --- a job -------------------------------------------------------------------------------- */

static struct link_job make_job(uint32_t argc, uint32_t envc, size_t strings_length)
{
    struct link_job job;
    memset(&job, 0, sizeof(job));
    job.job_no = UINT64_C(0x123456789ABCDEF0);
    job.limits = job_kind_get(JOB_RUBRIC)->defaults;
    job.argc = argc;
    job.envc = envc;
    job.strings_length = (uint32_t)strings_length;
    job.fd_mask = STANDARD;
    return job;
}

/* Receives a packet that must not be accepted as a job, and asserts that nothing of it is left. */
static void refuse_job(const struct fixture *f, int expected)
{
    struct link_job job, untouched;
    int fds[LINK_JOB_FDS] = {-7, -7, -7, -7, -7, -7, -7, -7, -7};
    memset(&job, 0x5A, sizeof(job));
    untouched = job;
    assert_int_equal(link_receive_job(f->ours, &job, large, fds), expected);
    assert_memory_equal(&job, &untouched, sizeof(job));
    for (size_t i = 0; i < LINK_JOB_FDS; i++)
        assert_int_equal(fds[i], -7);
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void check_job(const struct fixture *f, const struct link_job *sent, const char *strings)
{
    struct link_job received;
    int fds[LINK_JOB_FDS];
    assert_int_equal(link_send_job(f->theirs, sent, strings, f->spare), 0);
    memset(large, 0x5A, sizeof(large));
    assert_int_equal(link_receive_job(f->ours, &received, large, fds), 1);
    assert_memory_equal(&received, sent, sizeof(received));
    if (sent->strings_length > 0)
        assert_memory_equal(large, strings, sent->strings_length);
    assert_int_equal(large[sent->strings_length], 0x5A);
    for (size_t i = 0; i < LINK_JOB_FDS; i++) {
        if (!(sent->fd_mask & (1u << i))) {
            assert_int_equal(fds[i], -1);
            continue;
        }
        assert_true(is_same_file(fds[i], f->spare[i]));
        assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
        close_fd(fds[i]);
    }
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_job_round_trip(void **state)
{
    const struct fixture *f = *state;
    static const char strings[] = "/usr/bin/python3\0-s\0\0PATH=/usr/bin:/bin\0LANG=C.UTF-8";
    struct link_job job = make_job(3, 2, sizeof(strings));
    check_job(f, &job, strings);
    job = make_job(0, 0, 0);
    check_job(f, &job, "");
    job = make_job(1, 0, 1);
    check_job(f, &job, "");
    /* Each optional descriptor arrives at its place. */
    for (unsigned more = 0; more <= EVERYTHING >> LINK_STANDARD_FDS; more++) {
        job.fd_mask = STANDARD | more << LINK_STANDARD_FDS;
        check_job(f, &job, "");
    }
    job.fd_mask = OUTPUT; /* without input */
    check_job(f, &job, "");
}

static void test_job_with_as_much_text_as_there_is_room_for(void **state)
{
    const struct fixture *f = *state;
    static char strings[LINK_STRINGS_MAX];
    memset(strings, 'x', sizeof(strings) - 1);
    struct link_job job = make_job(1, 0, sizeof(strings));
    check_job(f, &job, strings);
}

static void test_job_with_more_text(void **state)
{
    const struct fixture *f = *state;
    static char strings[LINK_STRINGS_MAX + 1];
    struct link_job job = make_job(1, 0, sizeof(strings));
    assert_int_equal(link_send_job(f->theirs, &job, strings, f->spare), 0);
    refuse_job(f, -EPROTO);
}

/* The sender gets an error for more than the socket's buffer takes. */
static void test_job_that_does_not_fit_into_the_socket(void **state)
{
    const struct fixture *f = *state;
    size_t n = 64u << 20;
    _cleanup_free_ char *strings = calloc(1, n);
    assert_non_null(strings);
    struct link_job job = make_job(1, 0, n);
    assert_int_equal(link_send_job(f->theirs, &job, strings, f->spare), -EMSGSIZE);
    refuse_job(f, -EAGAIN);
}

static void test_jobs_come_one_by_one(void **state)
{
    const struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 2), received;
    int fds[LINK_JOB_FDS];
    for (job.job_no = 1; job.job_no <= 5; job.job_no++)
        assert_int_equal(link_send_job(f->theirs, &job, "a", f->spare), 0);
    for (uint64_t i = 1; i <= 5; i++) {
        assert_int_equal(link_receive_job(f->ours, &received, large, fds), 1);
        assert_int_equal(received.job_no, i);
        for (size_t j = 0; j < LINK_JOB_FDS; j++)
            close_fd(fds[j]);
    }
    refuse_job(f, -EAGAIN);
}

static bool is_good_mask(uint32_t mask)
{
    return (mask & OUTPUT) == OUTPUT && mask <= EVERYTHING;
}

static void test_job_with_a_wrong_number_of_descriptors(void **state)
{
    const struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 0);
    for (job.fd_mask = 0; job.fd_mask <= EVERYTHING; job.fd_mask++) {
        for (size_t count = 0; is_good_mask(job.fd_mask) && count <= FDS_MAX; count++) {
            if (count == (size_t)__builtin_popcount(job.fd_mask))
                continue;
            send_raw(f, &job, sizeof(job), count);
            refuse_job(f, -EPROTO);
        }
    }
}

/* Without stdout and stderr, or with unknown descriptors, however many accompany it. */
static void test_job_with_a_wrong_mask(void **state)
{
    const struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 0);
    for (uint32_t mask = 0; mask < 1u << FDS_MAX; mask++) {
        if (is_good_mask(mask))
            continue;
        job.fd_mask = mask;
        send_raw(f, &job, sizeof(job), (size_t)__builtin_popcount(mask));
        refuse_job(f, -EPROTO);
    }
    for (unsigned bit = LINK_JOB_FDS; bit < 32; bit++) {
        job.fd_mask = STANDARD | UINT32_C(1) << bit;
        for (size_t count = 0; count <= FDS_MAX; count++) {
            send_raw(f, &job, sizeof(job), count);
            refuse_job(f, -EPROTO);
        }
    }
    job.fd_mask = UINT32_MAX;
    send_raw(f, &job, sizeof(job), FDS_MAX);
    refuse_job(f, -EPROTO);
}

static void test_truncated_job(void **state)
{
    const struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 0);
    for (size_t n = 1; n < sizeof(job); n++) {
        send_raw(f, &job, n, LINK_STANDARD_FDS);
        refuse_job(f, -EPROTO);
    }
}

static void test_job_whose_text_is_not_as_long_as_it_says(void **state)
{
    static const struct {
        uint32_t says;
        size_t has;
    } cases[] = {
        {0, 1},
        {1, 0},
        {10, 9},
        {10, 11},
        {UINT32_MAX, 0},
        {UINT32_MAX, 10},
        {UINT32_MAX - sizeof(struct link_job) + 1, 0},
        {LINK_STRINGS_MAX, 0},
        {0, LINK_STRINGS_MAX},
        {LINK_STRINGS_MAX, LINK_STRINGS_MAX + 1},
        {LINK_STRINGS_MAX + 1, LINK_STRINGS_MAX},
        {LINK_STRINGS_MAX + 1, LINK_STRINGS_MAX + 1},
    };
    const struct fixture *f = *state;
    static char packet[sizeof(struct link_job) + LINK_STRINGS_MAX + 1];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct link_job job = make_job(1, 0, cases[i].says);
        memcpy(packet, &job, sizeof(job));
        send_raw(f, packet, sizeof(job) + cases[i].has, LINK_STANDARD_FDS);
        refuse_job(f, -EPROTO);
    }
}

static void test_peer_is_gone(void **state)
{
    struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 1);
    struct link_notice notice = {.type = LINK_READY};
    int pidfd = -7;
    f->theirs = close_fd(f->theirs);
    f->descriptors--;
    refuse_job(f, 0);
    assert_int_equal(link_receive_notice(f->ours, &notice, &pidfd), 0);
    assert_int_equal(pidfd, -7);
    /* No SIGPIPE. */
    assert_int_equal(link_send_job(f->ours, &job, "", f->spare), -EPIPE);
    assert_int_equal(link_send_notice(f->ours, &notice, -1), -EPIPE);
    assert_int_equal(link_send_notice(f->ours, &notice, f->spare[0]), -EPIPE);
}

/* A peer that exits before it has read everything resets the connection. */
static void test_peer_is_gone_with_messages_unread(void **state)
{
    struct fixture *f = *state;
    struct link_notice notice = {.type = LINK_READY};
    int pidfd = -7;
    assert_int_equal(link_send_notice(f->ours, &notice, f->spare[0]), 0);
    f->theirs = close_fd(f->theirs);
    f->descriptors--;
    assert_int_equal(link_receive_notice(f->ours, &notice, &pidfd), 0);
    assert_int_equal(pidfd, -7);
    refuse_job(f, 0);
}

static void test_what_the_peer_sent_last_arrives(void **state)
{
    struct fixture *f = *state;
    struct link_notice notice = {.type = LINK_STARTED, .job_no = 5}, received;
    int pidfd = -7;
    assert_int_equal(link_send_notice(f->theirs, &notice, f->spare[0]), 0);
    f->theirs = close_fd(f->theirs);
    assert_int_equal(link_receive_notice(f->ours, &received, &pidfd), 1);
    assert_int_equal(received.job_no, 5);
    close_fd(pidfd);
    assert_int_equal(link_receive_notice(f->ours, &received, &pidfd), 0);
}

/* --- a set-up ----------------------------------------------------------------------------- */

static struct link_setup make_setup(uint32_t path_count, size_t strings_length, uint32_t has_filter)
{
    struct link_setup set_up;
    memset(&set_up, 0, sizeof(set_up));
    set_up.layers = LAYERS_ALL;
    set_up.uid = UINT32_MAX - 1;
    set_up.gid = 1000;
    set_up.path_count = path_count;
    set_up.strings_length = (uint32_t)strings_length;
    set_up.has_filter = has_filter;
    return set_up;
}

/* Receives a packet that must not be accepted as a set-up, and asserts that nothing of it is
 * left. */
static void refuse_setup(const struct fixture *f, int expected)
{
    struct link_setup set_up, untouched;
    int filter = -7;
    memset(&set_up, 0x5A, sizeof(set_up));
    untouched = set_up;
    assert_int_equal(link_receive_setup(f->ours, &set_up, large, &filter), expected);
    assert_memory_equal(&set_up, &untouched, sizeof(set_up));
    assert_int_equal(filter, -7);
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void check_setup(const struct fixture *f, const struct link_setup *sent, const char *strings)
{
    struct link_setup received;
    int filter = -7, sent_filter = sent->has_filter ? f->spare[1] : -1;
    assert_int_equal(link_send_setup(f->theirs, sent, strings, sent_filter), 0);
    memset(large, 0x5A, sizeof(large));
    assert_int_equal(link_receive_setup(f->ours, &received, large, &filter), 1);
    assert_memory_equal(&received, sent, sizeof(received));
    if (sent->strings_length > 0)
        assert_memory_equal(large, strings, sent->strings_length);
    assert_int_equal(large[sent->strings_length], 0x5A);
    if (sent->has_filter) {
        assert_true(is_same_file(filter, f->spare[1]));
        assert_int_equal(fcntl(filter, F_GETFD), FD_CLOEXEC);
        close_fd(filter);
    } else {
        assert_int_equal(filter, -1);
    }
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_setup_round_trip(void **state)
{
    static const char paths[] = "/opt/venv\0/srv/with a blank\0";
    static char full[LINK_STRINGS_MAX];
    const struct fixture *f = *state;
    for (uint32_t has_filter = 0; has_filter <= 1; has_filter++) {
        struct link_setup set_up = make_setup(2, sizeof(paths) - 1, has_filter);
        check_setup(f, &set_up, paths);
        set_up = make_setup(0, 0, has_filter);
        check_setup(f, &set_up, "");
        set_up = make_setup(1, sizeof(full), has_filter);
        check_setup(f, &set_up, full);
    }
}

static void test_setup_with_a_wrong_number_of_descriptors(void **state)
{
    static const uint32_t says[] = {0, 1, 2, 3, 1u << 31, UINT32_MAX};
    const struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
        struct link_setup set_up = make_setup(0, 0, says[i]);
        for (size_t count = 0; count <= FDS_MAX; count++) {
            if (count == says[i] && count <= 1)
                continue;
            send_raw(f, &set_up, sizeof(set_up), count);
            refuse_setup(f, -EPROTO);
        }
    }
}

static void test_truncated_setup(void **state)
{
    const struct fixture *f = *state;
    for (uint32_t has_filter = 0; has_filter <= 1; has_filter++) {
        struct link_setup set_up = make_setup(0, 0, has_filter);
        for (size_t n = 1; n < sizeof(set_up); n++) {
            send_raw(f, &set_up, n, has_filter);
            refuse_setup(f, -EPROTO);
        }
    }
}

static void test_setup_whose_text_is_not_as_long_as_it_says(void **state)
{
    static const struct {
        uint32_t says;
        size_t has;
    } cases[] = {
        {0, 1},
        {1, 0},
        {10, 9},
        {10, 11},
        {UINT32_MAX, 0},
        {UINT32_MAX - sizeof(struct link_setup) + 1, 0},
        {LINK_STRINGS_MAX, 0},
        {0, LINK_STRINGS_MAX},
        {LINK_STRINGS_MAX, LINK_STRINGS_MAX + 1},
        {LINK_STRINGS_MAX + 1, LINK_STRINGS_MAX},
        {LINK_STRINGS_MAX + 1, LINK_STRINGS_MAX + 1},
    };
    const struct fixture *f = *state;
    static char packet[sizeof(struct link_setup) + LINK_STRINGS_MAX + 1];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct link_setup set_up = make_setup(1, cases[i].says, 1);
        memcpy(packet, &set_up, sizeof(set_up));
        send_raw(f, packet, sizeof(set_up) + cases[i].has, 1);
        refuse_setup(f, -EPROTO);
    }
}

static void test_setup_from_nobody(void **state)
{
    struct fixture *f = *state;
    struct link_setup set_up = make_setup(0, 0, 1);
    refuse_setup(f, -EAGAIN);
    f->theirs = close_fd(f->theirs);
    f->descriptors--;
    refuse_setup(f, 0);
    assert_int_equal(link_send_setup(f->ours, &set_up, "", f->spare[0]), -EPIPE);
    assert_int_equal(link_send_setup(f->ours, &set_up, "", -1), -EPIPE);
}

/* --- a question --------------------------------------------------------------------------- */

static void test_question_round_trip(void **state)
{
    static char strings[LINK_STRINGS_MAX];
    const struct fixture *f = *state;
    struct link_job job;
    int fds[LINK_JOB_FDS];
    assert_int_equal(link_send_question(f->theirs, UINT64_MAX - 7), 0);
    assert_int_equal(link_receive_job(f->ours, &job, strings, fds), LINK_ASKED);
    assert_true(job.job_no == UINT64_MAX - 7);
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_stop_round_trip(void **state)
{
    static char strings[LINK_STRINGS_MAX];
    struct fixture *f = *state;
    struct link_question unknown = {.job_no = 1, .is_stop = 2};
    struct link_job job;
    int fds[LINK_JOB_FDS];
    assert_int_equal(link_send_stop(f->theirs, UINT64_MAX - 7), 0);
    assert_int_equal(link_receive_job(f->ours, &job, strings, fds), LINK_TOLD_TO_STOP);
    assert_true(job.job_no == UINT64_MAX - 7);
    send_raw(f, &unknown, sizeof(unknown), 0);
    refuse_job(f, -EPROTO);
}

/* Neither with descriptors nor in place of a set-up. */
static void test_question_out_of_place(void **state)
{
    struct link_question question = {.job_no = 1};
    struct fixture *f = *state;
    send_raw(f, &question, sizeof(question), 1);
    refuse_job(f, -EPROTO);
    assert_int_equal(link_send_question(f->theirs, 1), 0);
    refuse_setup(f, -EPROTO);
    f->theirs = close_fd(f->theirs);
    f->descriptors--;
    assert_int_equal(link_send_question(f->ours, 1), -EPIPE);
}

/* --- a notice ----------------------------------------------------------------------------- */

static struct link_notice make_report(uint32_t type)
{
    struct link_notice notice;
    memset(&notice, 0, sizeof(notice));
    notice.type = type;
    notice.stage = LINK_STAGE_EXEC;
    notice.job_no = UINT64_MAX;
    notice.pid = INT32_MAX;
    notice.error = -1;
    notice.wait_status = INT32_MIN;
    notice.leftover = 1;
    notice.cpu_us = UINT64_MAX - 1;
    notice.max_rss_bytes = 7;
    notice.run_delay_ns = UINT64_MAX;
    notice.layers = UINT32_MAX;
    notice.evidence = 1;
    notice.started_ns = UINT64_MAX - 2;
    for (size_t i = 0; i < LAYER_COUNT; i++)
        notice.layer_errors[i] = INT32_MIN;
    memset(notice.view_step, 'x', sizeof(notice.view_step)); /* no NUL */
    return notice;
}

/* Receives a packet that must not be accepted as a notice. */
static void refuse_report(const struct fixture *f, int expected)
{
    struct link_notice notice, untouched;
    int pidfd = -7;
    memset(&notice, 0x5A, sizeof(notice));
    untouched = notice;
    assert_int_equal(link_receive_notice(f->ours, &notice, &pidfd), expected);
    assert_memory_equal(&notice, &untouched, sizeof(notice));
    assert_int_equal(pidfd, -7);
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_report_round_trip(void **state)
{
    static const uint32_t types[] = {LINK_READY, LINK_FAILED, LINK_ENDED, LINK_RETURNED,
                                     LINK_TIMES, LINK_SECOND, LINK_LOADED};
    const struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct link_notice notice = make_report(types[i]), received;
        int pidfd = -7;
        assert_int_equal(link_send_notice(f->theirs, &notice, -1), 0);
        assert_int_equal(link_receive_notice(f->ours, &received, &pidfd), 1);
        assert_memory_equal(&received, &notice, sizeof(notice));
        assert_int_equal(pidfd, -1);
    }
    assert_int_equal(count_descriptors(), f->descriptors);
}

/* ENDED brings the pidfd if there was no STARTED before. */
static void test_report_with_a_pidfd(void **state)
{
    static const uint32_t types[] = {LINK_STARTED, LINK_ENDED};
    const struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct link_notice notice = make_report(types[i]), received;
        int pidfd = -7;
        assert_int_equal(link_send_notice(f->theirs, &notice, f->spare[1]), 0);
        assert_int_equal(link_receive_notice(f->ours, &received, &pidfd), 1);
        assert_memory_equal(&received, &notice, sizeof(notice));
        assert_true(is_same_file(pidfd, f->spare[1]));
        assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
        close_fd(pidfd);
        assert_int_equal(count_descriptors(), f->descriptors);
    }
}

static void test_report_with_a_wrong_number_of_descriptors(void **state)
{
    const struct fixture *f = *state;
    for (uint32_t type = LINK_READY; type <= LINK_LOADED; type++) {
        struct link_notice notice = make_report(type);
        for (size_t count = 0; count <= FDS_MAX; count++) {
            if (count == (type == LINK_STARTED) || (type == LINK_ENDED && count == 1))
                continue;
            send_raw(f, &notice, sizeof(notice), count);
            refuse_report(f, -EPROTO);
        }
    }
}

static void test_report_of_an_unknown_type(void **state)
{
    static const uint32_t types[] = {LINK_LOADED + 1, 9, 255, 1u << 31, UINT32_MAX};
    const struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct link_notice notice = make_report(types[i]);
        for (size_t count = 0; count <= 3; count++) {
            send_raw(f, &notice, sizeof(notice), count);
            refuse_report(f, -EPROTO);
        }
    }
}

static void test_report_of_a_wrong_size(void **state)
{
    const struct fixture *f = *state;
    struct {
        struct link_notice notice;
        char more[4096];
    } packet = {.notice = make_report(LINK_STARTED)};
    for (size_t n = 1; n <= sizeof(struct link_notice) + 16; n++) {
        if (n == sizeof(struct link_notice))
            continue;
        for (size_t count = 0; count <= 2; count++) {
            send_raw(f, &packet, n, count);
            refuse_report(f, -EPROTO);
        }
    }
    send_raw(f, &packet, sizeof(packet), 1);
    refuse_report(f, -EPROTO);
}

static void test_nothing_there(void **state)
{
    const struct fixture *f = *state;
    refuse_report(f, -EAGAIN);
    refuse_job(f, -EAGAIN);
}

/* An empty packet looks like an end of file. It is no message, and descriptors that accompany it
 * are closed. */
static void test_empty_packet(void **state)
{
    const struct fixture *f = *state;
    for (size_t count = 0; count <= FDS_MAX; count++) {
        struct link_notice notice;
        struct link_job job;
        int fds[LINK_JOB_FDS] = {-7, -7, -7, -7, -7, -7, -7, -7, -7}, pidfd = -7, filter = -7;
        struct link_setup set_up;
        send_raw(f, "", 0, count);
        assert_true(link_receive_notice(f->ours, &notice, &pidfd) <= 0);
        assert_int_equal(pidfd, -7);
        assert_int_equal(count_descriptors(), f->descriptors);
        send_raw(f, "", 0, count);
        assert_true(link_receive_job(f->ours, &job, large, fds) <= 0);
        assert_int_equal(fds[0], -7);
        assert_int_equal(count_descriptors(), f->descriptors);
        send_raw(f, "", 0, count);
        assert_true(link_receive_setup(f->ours, &set_up, large, &filter) <= 0);
        assert_int_equal(filter, -7);
        assert_int_equal(count_descriptors(), f->descriptors);
    }
}

static void test_full_socket(void **state)
{
    const struct fixture *f = *state;
    struct link_notice notice = make_report(LINK_READY), received;
    size_t sent = 0;
    int r, pidfd;
    while ((r = link_send_notice(f->theirs, &notice, -1)) == 0)
        sent++;
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(link_send_notice(f->theirs, &notice, f->spare[0]), -EAGAIN);
    assert_true(sent > 0);
    while (sent-- > 0)
        assert_int_equal(link_receive_notice(f->ours, &received, &pidfd), 1);
    refuse_report(f, -EAGAIN);
}

/* --- noise -------------------------------------------------------------------------------- */

static uint32_t noise(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 32);
}

enum kind { AS_JOB, AS_REPORT, AS_SETUP, KINDS };

/* Makes a packet that is sometimes well formed. Returns its length. */
static size_t make_noise(uint64_t *random, enum kind kind, char *packet, size_t size)
{
    static const size_t sizes[KINDS] = {sizeof(struct link_job), sizeof(struct link_notice),
                                        sizeof(struct link_setup)};
    struct link_job job;
    size_t n = 1 + noise(random) % size;
    for (size_t i = 0; i < size; i++)
        packet[i] = (char)(noise(random) % 4 ? 0 : noise(random));
    packet[0] = (char)(noise(random) % (LINK_LOADED + 2));
    if (kind == AS_JOB && noise(random) % 2) {
        memcpy(&job, packet, sizeof(job));
        job.fd_mask = noise(random) % (2 * EVERYTHING) | (noise(random) % 2 ? STANDARD : 0);
        memcpy(packet, &job, sizeof(job));
    }
    return noise(random) % 2 ? sizes[kind] : n;
}

/* Receives any packet and closes its descriptors. Returns whether it was accepted. */
static bool receive_noise(const struct fixture *f, enum kind kind)
{
    struct link_job job;
    struct link_notice notice;
    struct link_setup set_up;
    int fds[LINK_JOB_FDS], fd = -1, r = 0;
    switch (kind) {
    case AS_JOB:
        r = link_receive_job(f->ours, &job, large, fds);
        for (size_t i = 0; r == 1 && i < LINK_JOB_FDS; i++) {
            assert_int_equal(fds[i] >= 0, (job.fd_mask >> i) & 1);
            close_fd(fds[i]);
        }
        break;
    case AS_REPORT:
        r = link_receive_notice(f->ours, &notice, &fd);
        assert_true(r != 1 || notice.type == LINK_ENDED ||
                    (notice.type == LINK_STARTED) == (fd >= 0));
        break;
    case AS_SETUP:
        r = link_receive_setup(f->ours, &set_up, large, &fd);
        assert_true(r != 1 || set_up.has_filter == (fd >= 0));
        break;
    case KINDS:
        break;
    }
    assert_true(r == 1 || r == -EPROTO || (kind == AS_JOB && r == LINK_ASKED));
    if (r == 1)
        close_fd(fd);
    return r == 1;
}

/* Every packet is either refused or has the right number of descriptors. */
static void test_noise(void **state)
{
    static char packet[2 * sizeof(struct link_notice) + 64];
    const struct fixture *f = *state;
    uint64_t random = 20240229;
    unsigned taken[KINDS] = {0};
    for (unsigned i = 0; i < 30000; i++) {
        enum kind kind = i % KINDS;
        size_t n = make_noise(&random, kind, packet, sizeof(packet));
        send_raw(f, packet, n, noise(&random) % (FDS_MAX + 1));
        taken[kind] += receive_noise(f, kind);
        assert_int_equal(count_descriptors(), f->descriptors);
    }
    for (enum kind kind = 0; kind < KINDS; kind++)
        assert_true(taken[kind] > 0);
}

/* --- the strings of a job ----------------------------------------------------------------- */

struct counts {
    uint32_t argc, envc, has_bench, readable_count;
};

/* Splits the N bytes of TEXT, at the end of an allocation of their own. */
static int split(struct counts counts, const char *text, size_t n, struct link_lists *ret,
                 char *copy)
{
    struct link_job job = make_job(counts.argc, counts.envc, n);
    job.has_bench = counts.has_bench;
    job.readable_count = counts.readable_count;
    if (n > 0)
        memcpy(copy, text, n);
    return link_split_job(&job, copy, ret);
}

static void write_list(char **end, char *const *list)
{
    for (; *list; list++)
        *end += sprintf(*end, "(%s)", *list);
    *end += sprintf(*end, "|");
}

/* EXPECTED is the result: each string in parentheses, each list followed by '|'. */
static void expect_split(struct counts counts, const char *text, size_t n, const char *expected)
{
    struct link_lists lists;
    char got[200] = "", *end = got, *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memset(&lists, 0x5A, sizeof(lists));
    assert_int_equal(split(counts, text, n, &lists, copy), 0);
    char *const bench[] = {lists.bench, NULL};
    write_list(&end, lists.argv);
    write_list(&end, lists.envp);
    write_list(&end, bench);
    write_list(&end, lists.readable);
    assert_string_equal(got, expected);
    free(copy);
}

static void expect_no_split(struct counts counts, const char *text, size_t n)
{
    struct link_lists lists;
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    int r = split(counts, text, n, &lists, copy);
    if (r != -EPROTO)
        fail_msg("%u %u %u %u, %zu bytes: %d", counts.argc, counts.envc, counts.has_bench,
                 counts.readable_count, n, r);
    free(copy);
}

/* clang-format off */
#define COUNTS(...) ((struct counts){__VA_ARGS__})
/* clang-format on */
#define TEXT(literal) (literal), sizeof(literal) - 1

/* The lists of a pair stand behind those of any job; the last is the candidate's environment. */
static void test_split_of_a_pair(void **state)
{
    char text[] = "a\0b\0c=d\0e\0f=g\0h=i";
    struct link_job job = make_job(1, 0, sizeof(text));
    struct link_lists lists;
    (void)state;
    job.candidate_argc = 1;
    job.collect_count = 2;
    job.candidate_envc = 2;
    assert_int_equal(link_split_job(&job, text, &lists), 0);
    assert_string_equal(lists.candidate[0], "b");
    assert_string_equal(lists.collect[1], "e");
    assert_string_equal(lists.candidate_envp[0], "f=g");
    assert_string_equal(lists.candidate_envp[1], "h=i");
    assert_null(lists.candidate_envp[2]);
    job.candidate_envc = 1;
    assert_int_equal(link_split_job(&job, text, &lists), -EPROTO);
}

static void test_split(void **state)
{
    (void)state;
    expect_split(COUNTS(1, 0, 0, 0), TEXT("a\0"), "(a)||||");
    expect_split(COUNTS(1, 0, 0, 0), TEXT("\0"), "()||||");
    expect_split(COUNTS(2, 0, 0, 0), TEXT("\0\0"), "()()||||");
    expect_split(COUNTS(1, 1, 0, 0), TEXT("a\0b\0"), "(a)|(b)|||");
    expect_split(COUNTS(2, 3, 0, 0), TEXT("a\0\0\0d=e\0f\0"), "(a)()|()(d=e)(f)|||");
    expect_split(COUNTS(1, 0, 1, 0), TEXT("a\0/b\0"), "(a)||(/b)||");
    expect_split(COUNTS(1, 0, 0, 1), TEXT("a\0/b\0"), "(a)|||(/b)|");
    expect_split(COUNTS(2, 2, 1, 2), TEXT("1\0002\0a\0b\0/\0/x\0/y\0"),
                 "(1)(2)|(a)(b)|(/)|(/x)(/y)|");
}

/* As many strings as fit into each list, and one more. */
static void test_split_of_long_lists(void **state)
{
    static const char text[4 * LINK_LIST_MAX];
    const uint32_t most = LINK_LIST_MAX;
    struct link_lists lists;
    char copy[sizeof(text)];
    (void)state;
    assert_int_equal(split(COUNTS(most, most, 1, most), text, 3 * most + 1, &lists, copy), 0);
    assert_ptr_equal(lists.argv[most - 1], copy + most - 1);
    assert_ptr_equal(lists.envp[most - 1], copy + 2 * most - 1);
    assert_ptr_equal(lists.bench, copy + 2 * most);
    assert_ptr_equal(lists.readable[most - 1], copy + 3 * most);
    assert_null(lists.argv[most]);
    assert_null(lists.envp[most]);
    assert_null(lists.readable[most]);
    expect_no_split(COUNTS(most + 1, 0, 0, 0), text, most + 1);
    expect_no_split(COUNTS(1, most + 1, 0, 0), text, most + 2);
    expect_no_split(COUNTS(1, 0, 0, most + 1), text, most + 2);
    expect_no_split(COUNTS(1, 0, 2, 0), text, 3);
}

static void test_split_that_does_not_come_out(void **state)
{
    static const struct {
        struct counts counts;
        const char *text;
        size_t n;
    } cases[] = {
        {{0, 0, 0, 0}, TEXT("")},
        {{0, 0, 0, 0}, TEXT("\0")},
        {{0, 1, 0, 0}, TEXT("a=b\0")}, /* no program */
        {{0, 0, 1, 0}, TEXT("/b\0")},
        {{0, 0, 0, 1}, TEXT("/b\0")},
        {{1, 0, 0, 0}, TEXT("")},
        {{1, 0, 0, 0}, TEXT("a")}, /* no NUL */
        {{1, 1, 0, 0}, TEXT("a\0b")},
        {{2, 0, 0, 0}, TEXT("a\0b")},
        {{1, 0, 1, 0}, TEXT("a\0/b")},
        {{1, 0, 0, 1}, TEXT("a\0/b")},
        {{1, 0, 0, 0}, TEXT("a\0b\0")}, /* more strings than counted */
        {{1, 0, 0, 0}, TEXT("a\0b")},
        {{1, 0, 0, 0}, TEXT("a\0\0")},
        {{1, 1, 0, 0}, TEXT("a\0b\0c\0")},
        {{1, 1, 1, 0}, TEXT("a\0b\0c\0d\0")},
        {{1, 1, 1, 1}, TEXT("a\0b\0c\0d\0e\0")},
        {{2, 0, 0, 0}, TEXT("a\0")}, /* fewer */
        {{1, 1, 0, 0}, TEXT("a\0")},
        {{2, 1, 0, 0}, TEXT("a\0b\0")},
        {{1, 1, 1, 0}, TEXT("a\0b\0")},
        {{1, 1, 1, 1}, TEXT("a\0b\0c\0")},
        {{4, 4, 0, 0}, TEXT("\0\0\0\0\0\0\0")},
        {{1, 0, 2, 0}, TEXT("a\0b\0c\0")}, /* one bench at most */
        {{1, 0, UINT32_MAX, 0}, TEXT("a\0")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_no_split(cases[i].counts, cases[i].text, cases[i].n);
}

/* Counts that are far too large, or whose sum overflows to the right one. */
static void test_split_with_huge_counts(void **state)
{
    enum { BYTES = 60 };
    static const struct counts cases[] = {
        {UINT32_MAX, 0, 0, 0},
        {BYTES, UINT32_MAX, 0, 0},
        {BYTES, 0, 0, UINT32_MAX},
        {BYTES, 0, UINT32_MAX, 0},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {UINT32_MAX, 1, 0, 0},
        {1u << 31, 1u << 31, 0, 0},
        {1u << 30, 1u << 30, 0, 1u << 31},
        {BYTES + 1, 0, 0, 0},
        {BYTES, 1, 0, 0},
        {BYTES, 0, 1, 0},
        {BYTES, 0, 0, 1},
        {BYTES / 2, BYTES / 2 + 1, 0, 0},
        {BYTES / 2, UINT32_MAX - BYTES / 2 + 1, 0, BYTES / 2},
    };
    static const char text[BYTES];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_no_split(cases[i], text, BYTES);
}

/* --- the strings of a set-up -------------------------------------------------------------- */

/* Makes the COUNT strings the list number WHICH, with the other lists empty. */
static int split_as(int which, uint32_t count, const char *text, size_t n, char **paths)
{
    struct link_setup_lists lists = {.paths = {NULL}};
    char **const all[] = {lists.paths, lists.argv, lists.envp, lists.modules};
    struct link_setup set_up = make_setup(which == 0 ? count : 0, n, 0);
    set_up.argc = which == 1 ? count : 0;
    set_up.envc = which == 2 ? count : 0;
    set_up.module_count = which == 3 ? count : 0;
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, text, n);
    int r = link_split_setup(&set_up, copy, &lists);
    for (uint32_t i = 0; r == 0 && i < count; i++)
        assert_string_equal(all[which][i], text + (all[which][i] - copy));
    for (int i = 0; r == 0 && i < 4; i++)
        assert_true(i == which || all[i][0] == NULL);
    memcpy(paths, all[which], sizeof(lists.paths));
    free(copy);
    return r;
}

static int split_paths(uint32_t count, const char *text, size_t n, char **paths)
{
    int r = split_as(0, count, text, n, paths);
    for (int which = 1; which < 4; which++)
        assert_int_equal(split_as(which, count, text, n, paths), r);
    return r;
}

static void test_split_paths(void **state)
{
    static const struct {
        uint32_t count;
        const char *text;
        size_t n;
        int expected;
    } cases[] = {
        {0, TEXT(""), 0},
        {1, TEXT("/\0"), 0},
        {2, TEXT("/opt\0/srv\0"), 0},
        {0, TEXT("\0"), -EPROTO},
        {0, TEXT("/\0"), -EPROTO},
        {1, TEXT(""), -EPROTO},
        {1, TEXT("/"), -EPROTO},
        {1, TEXT("/\0/"), -EPROTO},
        {1, TEXT("/\0/\0"), -EPROTO},
        {2, TEXT("/\0"), -EPROTO},
        {2, TEXT("/\0/"), -EPROTO},
        {UINT32_MAX, TEXT("/\0"), -EPROTO},
        {1u << 31, TEXT("/\0"), -EPROTO},
    };
    static const char many[LINK_LIST_MAX + 1];
    char *paths[LINK_LIST_MAX + 1];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = split_paths(cases[i].count, cases[i].text, cases[i].n, paths);
        if (r != cases[i].expected)
            fail_msg("case %zu: %d", i, r);
        if (r == 0)
            assert_null(paths[cases[i].count]);
    }
    assert_int_equal(split_paths(LINK_LIST_MAX, many, LINK_LIST_MAX, paths), 0);
    assert_null(paths[LINK_LIST_MAX]);
    assert_int_equal(split_paths(LINK_LIST_MAX + 1, many, LINK_LIST_MAX + 1, paths), -EPROTO);
}

static void test_stage_names(void **state)
{
    (void)state;
    for (enum link_stage stage = 0; stage < LINK_STAGE_COUNT; stage++) {
        assert_true(strlen(link_stage_name(stage)) > 0);
        for (enum link_stage other = 0; other < stage; other++)
            assert_string_not_equal(link_stage_name(stage), link_stage_name(other));
    }
    assert_string_equal(link_stage_name(LINK_STAGE_COUNT), "an unknown stage");
    assert_string_equal(link_stage_name((enum link_stage)UINT32_MAX), "an unknown stage");
}

#define ON_LINK(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_LINK(test_job_round_trip),
        ON_LINK(test_job_with_as_much_text_as_there_is_room_for),
        ON_LINK(test_job_with_more_text),
        ON_LINK(test_job_that_does_not_fit_into_the_socket),
        ON_LINK(test_jobs_come_one_by_one),
        ON_LINK(test_job_with_a_wrong_number_of_descriptors),
        ON_LINK(test_job_with_a_wrong_mask),
        ON_LINK(test_truncated_job),
        ON_LINK(test_job_whose_text_is_not_as_long_as_it_says),
        ON_LINK(test_question_round_trip),
        ON_LINK(test_stop_round_trip),
        ON_LINK(test_question_out_of_place),
        ON_LINK(test_peer_is_gone),
        ON_LINK(test_peer_is_gone_with_messages_unread),
        ON_LINK(test_what_the_peer_sent_last_arrives),
        ON_LINK(test_setup_round_trip),
        ON_LINK(test_setup_with_a_wrong_number_of_descriptors),
        ON_LINK(test_truncated_setup),
        ON_LINK(test_setup_whose_text_is_not_as_long_as_it_says),
        ON_LINK(test_setup_from_nobody),
        ON_LINK(test_report_round_trip),
        ON_LINK(test_report_with_a_pidfd),
        ON_LINK(test_report_with_a_wrong_number_of_descriptors),
        ON_LINK(test_report_of_an_unknown_type),
        ON_LINK(test_report_of_a_wrong_size),
        ON_LINK(test_nothing_there),
        ON_LINK(test_empty_packet),
        ON_LINK(test_full_socket),
        ON_LINK(test_noise),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_of_a_pair),
        cmocka_unit_test(test_split_of_long_lists),
        cmocka_unit_test(test_split_that_does_not_come_out),
        cmocka_unit_test(test_split_with_huge_counts),
        cmocka_unit_test(test_split_paths),
        cmocka_unit_test(test_stage_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
