/* SPDX-License-Identifier: MIT */
/* The messages between supervisor and jail: whole ones arrive as they were sent, whatever else
 * comes is refused, and no descriptor that came along stays open. */
#include "daemon/jail/link.h"

#include "proto/util.h"

#include <dirent.h>
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

#define FDS_MAX 8

static char large[LINK_STRINGS_MAX + 4096];

struct fixture {
    int ours, theirs;
    int spare[FDS_MAX]; /* to be sent along */
    size_t descriptors; /* that are open */
};

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

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

/* Sends N bytes of DATA and COUNT spare descriptors, as somebody who knows no rules would. */
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
    job.limits = limits_rubric_default;
    job.argc = argc;
    job.envc = envc;
    job.strings_length = (uint32_t)strings_length;
    return job;
}

/* Receives what must be no job, and asserts that nothing of it is left. */
static void refuse_job(const struct fixture *f, int expected)
{
    struct link_job job, untouched;
    int fds[LINK_JOB_FDS] = {-7, -7, -7};
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

/* More than a socket's buffer takes is an error of the sender. */
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

static void test_job_with_a_wrong_number_of_descriptors(void **state)
{
    const struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 0);
    for (size_t count = 0; count <= FDS_MAX; count++) {
        if (count == LINK_JOB_FDS)
            continue;
        send_raw(f, &job, sizeof(job), count);
        refuse_job(f, -EPROTO);
    }
}

static void test_truncated_job(void **state)
{
    const struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 0);
    for (size_t n = 1; n < sizeof(job); n++) {
        send_raw(f, &job, n, LINK_JOB_FDS);
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
        send_raw(f, packet, sizeof(job) + cases[i].has, LINK_JOB_FDS);
        refuse_job(f, -EPROTO);
    }
}

static void test_peer_is_gone(void **state)
{
    struct fixture *f = *state;
    struct link_job job = make_job(1, 0, 1);
    struct link_report report = {.type = LINK_READY};
    int pidfd = -7;
    f->theirs = close_fd(f->theirs);
    f->descriptors--;
    refuse_job(f, 0);
    assert_int_equal(link_receive_report(f->ours, &report, &pidfd), 0);
    assert_int_equal(pidfd, -7);
    /* No SIGPIPE. */
    assert_int_equal(link_send_job(f->ours, &job, "", f->spare), -EPIPE);
    assert_int_equal(link_send_report(f->ours, &report, -1), -EPIPE);
    assert_int_equal(link_send_report(f->ours, &report, f->spare[0]), -EPIPE);
}

/* A peer that goes away before it has read everything resets the connection. */
static void test_peer_is_gone_with_messages_unread(void **state)
{
    struct fixture *f = *state;
    struct link_report report = {.type = LINK_READY};
    int pidfd = -7;
    assert_int_equal(link_send_report(f->ours, &report, f->spare[0]), 0);
    f->theirs = close_fd(f->theirs);
    f->descriptors--;
    assert_int_equal(link_receive_report(f->ours, &report, &pidfd), 0);
    assert_int_equal(pidfd, -7);
    refuse_job(f, 0);
}

static void test_what_the_peer_sent_last_arrives(void **state)
{
    struct fixture *f = *state;
    struct link_report report = {.type = LINK_STARTED, .job_no = 5}, received;
    int pidfd = -7;
    assert_int_equal(link_send_report(f->theirs, &report, f->spare[0]), 0);
    f->theirs = close_fd(f->theirs);
    assert_int_equal(link_receive_report(f->ours, &received, &pidfd), 1);
    assert_int_equal(received.job_no, 5);
    close_fd(pidfd);
    assert_int_equal(link_receive_report(f->ours, &received, &pidfd), 0);
}

/* --- a report ----------------------------------------------------------------------------- */

static struct link_report make_report(uint32_t type)
{
    struct link_report report;
    memset(&report, 0, sizeof(report));
    report.type = type;
    report.stage = LINK_STAGE_EXEC;
    report.job_no = UINT64_MAX;
    report.pid = INT32_MAX;
    report.error = -1;
    report.wait_status = INT32_MIN;
    report.leftover = 1;
    report.cpu_us = UINT64_MAX - 1;
    report.max_rss_bytes = 7;
    report.run_delay_ns = UINT64_MAX;
    return report;
}

/* Receives what must be no report. */
static void refuse_report(const struct fixture *f, int expected)
{
    struct link_report report, untouched;
    int pidfd = -7;
    memset(&report, 0x5A, sizeof(report));
    untouched = report;
    assert_int_equal(link_receive_report(f->ours, &report, &pidfd), expected);
    assert_memory_equal(&report, &untouched, sizeof(report));
    assert_int_equal(pidfd, -7);
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_report_round_trip(void **state)
{
    static const uint32_t types[] = {LINK_READY, LINK_FAILED, LINK_ENDED};
    const struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct link_report report = make_report(types[i]), received;
        int pidfd = -7;
        assert_int_equal(link_send_report(f->theirs, &report, -1), 0);
        assert_int_equal(link_receive_report(f->ours, &received, &pidfd), 1);
        assert_memory_equal(&received, &report, sizeof(report));
        assert_int_equal(pidfd, -1);
    }
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_report_of_a_start_brings_a_pidfd(void **state)
{
    const struct fixture *f = *state;
    struct link_report report = make_report(LINK_STARTED), received;
    int pidfd = -7;
    assert_int_equal(link_send_report(f->theirs, &report, f->spare[1]), 0);
    assert_int_equal(link_receive_report(f->ours, &received, &pidfd), 1);
    assert_memory_equal(&received, &report, sizeof(report));
    assert_true(is_same_file(pidfd, f->spare[1]));
    assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
    close_fd(pidfd);
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_report_with_a_wrong_number_of_descriptors(void **state)
{
    const struct fixture *f = *state;
    for (uint32_t type = LINK_READY; type <= LINK_ENDED; type++) {
        struct link_report report = make_report(type);
        for (size_t count = 0; count <= FDS_MAX; count++) {
            if (count == (type == LINK_STARTED))
                continue;
            send_raw(f, &report, sizeof(report), count);
            refuse_report(f, -EPROTO);
        }
    }
}

static void test_report_of_an_unknown_type(void **state)
{
    static const uint32_t types[] = {LINK_ENDED + 1, 5, 255, 1u << 31, UINT32_MAX};
    const struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct link_report report = make_report(types[i]);
        for (size_t count = 0; count <= 3; count++) {
            send_raw(f, &report, sizeof(report), count);
            refuse_report(f, -EPROTO);
        }
    }
}

static void test_report_of_a_wrong_size(void **state)
{
    const struct fixture *f = *state;
    struct {
        struct link_report report;
        char more[4096];
    } packet = {.report = make_report(LINK_STARTED)};
    for (size_t n = 1; n <= sizeof(struct link_report) + 16; n++) {
        if (n == sizeof(struct link_report))
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

/* An empty packet looks like an end of file. It is no message, and nothing that came along with it
 * stays open. */
static void test_empty_packet(void **state)
{
    const struct fixture *f = *state;
    for (size_t count = 0; count <= FDS_MAX; count++) {
        struct link_report report;
        struct link_job job;
        int fds[LINK_JOB_FDS] = {-7, -7, -7}, pidfd = -7;
        send_raw(f, "", 0, count);
        assert_true(link_receive_report(f->ours, &report, &pidfd) <= 0);
        assert_int_equal(pidfd, -7);
        assert_int_equal(count_descriptors(), f->descriptors);
        send_raw(f, "", 0, count);
        assert_true(link_receive_job(f->ours, &job, large, fds) <= 0);
        assert_int_equal(fds[0], -7);
        assert_int_equal(count_descriptors(), f->descriptors);
    }
}

static void test_full_socket(void **state)
{
    const struct fixture *f = *state;
    struct link_report report = make_report(LINK_READY), received;
    size_t sent = 0;
    int r, pidfd;
    while ((r = link_send_report(f->theirs, &report, -1)) == 0)
        sent++;
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(link_send_report(f->theirs, &report, f->spare[0]), -EAGAIN);
    assert_true(sent > 0);
    while (sent-- > 0)
        assert_int_equal(link_receive_report(f->ours, &received, &pidfd), 1);
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

/* Whatever comes is either refused or has the right number of descriptors. */
static void feed_noise(const struct fixture *f, uint64_t *random, bool as_job)
{
    static char packet[2 * sizeof(struct link_job) + 64];
    struct link_report report;
    struct link_job job;
    int fds[LINK_JOB_FDS], pidfd = -1;
    size_t n = 1 + noise(random) % (as_job ? sizeof(packet) : 2 * sizeof(report));
    for (size_t i = 0; i < n; i++)
        packet[i] = (char)(noise(random) % 4 ? 0 : noise(random));
    packet[0] = (char)(noise(random) % (LINK_ENDED + 2));
    if (noise(random) % 2)
        n = as_job ? sizeof(job) : sizeof(report);
    send_raw(f, packet, n, noise(random) % (FDS_MAX + 1));

    int r = as_job ? link_receive_job(f->ours, &job, large, fds)
                   : link_receive_report(f->ours, &report, &pidfd);
    assert_true(r == 1 || r == -EPROTO);
    for (size_t i = 0; r == 1 && as_job && i < LINK_JOB_FDS; i++)
        close_fd(fds[i]);
    if (r == 1 && !as_job) {
        assert_int_equal(report.type == LINK_STARTED, pidfd >= 0);
        close_fd(pidfd);
    }
    assert_int_equal(count_descriptors(), f->descriptors);
}

static void test_noise(void **state)
{
    const struct fixture *f = *state;
    uint64_t random = 20240229;
    for (unsigned i = 0; i < 20000; i++)
        feed_noise(f, &random, i % 2);
}

/* --- the strings of a job ----------------------------------------------------------------- */

#define STRINGS_MAX 8

/* Splits the N bytes of TEXT, at the end of an allocation of their own. */
static int split(uint32_t argc, uint32_t envc, const char *text, size_t n, char **argv, char **envp,
                 char *copy)
{
    struct link_job job = make_job(argc, envc, n);
    if (n > 0)
        memcpy(copy, text, n);
    return link_split_strings(&job, copy, argv, envp);
}

/* TEXT is what there must be: each string in parentheses, arguments before '|'. */
static void expect_split(uint32_t argc, uint32_t envc, const char *text, size_t n,
                         const char *expected)
{
    char *argv[STRINGS_MAX + 1], *envp[STRINGS_MAX + 1], got[200] = "", *end = got;
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    assert_int_equal(split(argc, envc, text, n, argv, envp, copy), 0);
    for (char **string = argv; *string; string++)
        end += snprintf(end, (size_t)(got + sizeof(got) - end), "(%s)", *string);
    *end++ = '|';
    *end = '\0';
    for (char **string = envp; *string; string++)
        end += snprintf(end, (size_t)(got + sizeof(got) - end), "(%s)", *string);
    assert_string_equal(got, expected);
    free(copy);
}

#define TEXT(literal) (literal), sizeof(literal) - 1

static void test_split(void **state)
{
    (void)state;
    expect_split(1, 0, TEXT("a\0"), "(a)|");
    expect_split(1, 0, TEXT("\0"), "()|");
    expect_split(2, 0, TEXT("\0\0"), "()()|");
    expect_split(1, 1, TEXT("a\0b\0"), "(a)|(b)");
    expect_split(2, 3, TEXT("a\0\0\0d=e\0f\0"), "(a)()|()(d=e)(f)");
    expect_split(8, 8, TEXT("1\0002\0003\0004\0005\0006\0007\0008\0a\0b\0c\0d\0e\0f\0g\0h\0"),
                 "(1)(2)(3)(4)(5)(6)(7)(8)|(a)(b)(c)(d)(e)(f)(g)(h)");
}

static void test_split_that_does_not_come_out(void **state)
{
    static const struct {
        uint32_t argc, envc;
        const char *text;
        size_t n;
    } cases[] = {
        {0, 0, TEXT("")},
        {0, 0, TEXT("\0")},
        {0, 1, TEXT("a=b\0")}, /* no program */
        {1, 0, TEXT("")},
        {1, 0, TEXT("a")}, /* no NUL */
        {1, 1, TEXT("a\0b")},
        {2, 0, TEXT("a\0b")},
        {1, 0, TEXT("a\0b\0")}, /* more strings than counted */
        {1, 0, TEXT("a\0b")},
        {1, 0, TEXT("a\0\0")},
        {1, 1, TEXT("a\0b\0c\0")},
        {2, 0, TEXT("a\0")}, /* fewer */
        {1, 1, TEXT("a\0")},
        {2, 1, TEXT("a\0b\0")},
        {4, 4, TEXT("\0\0\0\0\0\0\0")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *argv[STRINGS_MAX + 1], *envp[STRINGS_MAX + 1];
        char *copy = malloc(cases[i].n ? cases[i].n : 1);
        assert_non_null(copy);
        int r = split(cases[i].argc, cases[i].envc, cases[i].text, cases[i].n, argv, envp, copy);
        if (r != -EPROTO)
            fail_msg("case %zu: %d", i, r);
        free(copy);
    }
}

/* Counts that are far too large end with the bytes, not with memory. */
static void test_split_with_huge_counts(void **state)
{
    enum { BYTES = 100 };
    static const uint32_t counts[][2] = {
        {UINT32_MAX, 0}, {BYTES + 1, UINT32_MAX},    {UINT32_MAX, UINT32_MAX},
        {UINT32_MAX, 1}, {1u << 31, 1u << 31},       {BYTES + 1, 0},
        {BYTES, 1},      {BYTES / 2, BYTES / 2 + 1}, {BYTES, UINT32_MAX - BYTES + 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        char *argv[BYTES + 1], *envp[BYTES + 1];
        char *copy = calloc(1, BYTES);
        static const char text[BYTES];
        assert_non_null(copy);
        assert_int_equal(split(counts[i][0], counts[i][1], text, BYTES, argv, envp, copy), -EPROTO);
        free(copy);
    }
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
        ON_LINK(test_truncated_job),
        ON_LINK(test_job_whose_text_is_not_as_long_as_it_says),
        ON_LINK(test_peer_is_gone),
        ON_LINK(test_peer_is_gone_with_messages_unread),
        ON_LINK(test_what_the_peer_sent_last_arrives),
        ON_LINK(test_report_round_trip),
        ON_LINK(test_report_of_a_start_brings_a_pidfd),
        ON_LINK(test_report_with_a_wrong_number_of_descriptors),
        ON_LINK(test_report_of_an_unknown_type),
        ON_LINK(test_report_of_a_wrong_size),
        ON_LINK(test_nothing_there),
        ON_LINK(test_empty_packet),
        ON_LINK(test_full_socket),
        ON_LINK(test_noise),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_that_does_not_come_out),
        cmocka_unit_test(test_split_with_huge_counts),
        cmocka_unit_test(test_stage_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
