/* SPDX-License-Identifier: MIT */
/* Fuzz target: packets between the supervisor and its jails, in both directions.
 *
 * The first byte of the input is the kind of message that the receiver waits for, the second one
 * how many descriptors accompany the packet; the packet is the rest. Holds for any of these: no
 * descriptor is lost or closed twice; what is accepted keeps what link.h promises, has all strings
 * of its lists in the packet, and is the same when it is sent again. */
#include "tests/fuzz/fuzz.h"

#include "daemon/jail/link.h"
#include "proto/util.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

enum kind { SETUP, JOB, NOTICE, BIRTH, BORN, KINDS };

#define FDS_MAX (LINK_JOB_FDS + 3)

struct wire {
    int to, from, null;
};

static void send_raw(const struct wire *wire, const uint8_t *data, size_t size, size_t fd_count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd_count > 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        for (size_t i = 0; i < fd_count; i++)
            memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &wire->null, sizeof(int));
    }
    CHECK(sendmsg(wire->to, &message, MSG_NOSIGNAL) == (ssize_t)size);
}

static bool is_descriptor(int fd)
{
    return fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

/* Counts the strings of LIST, each of which lies in the N bytes at STRINGS. */
static uint32_t check_list(char *const *list, const char *strings, size_t n)
{
    uint32_t count = 0;
    for (; list[count]; count++) {
        CHECK(list[count] >= strings && list[count] < strings + n);
        CHECK(memchr(list[count], '\0', (size_t)(strings + n - list[count])));
    }
    return count;
}

static void check_setup(const struct wire *wire, char *strings)
{
    struct link_setup setup, again;
    struct link_setup_lists lists;
    int filter, filter_again;
    int r = link_receive_setup(wire->from, &setup, strings, &filter);
    CHECK(r == 1 || r == 0 || r == -EPROTO);
    if (r != 1)
        return;
    CHECK((filter >= 0) == (setup.has_filter == 1) && setup.has_filter <= 1);
    CHECK(filter < 0 || is_descriptor(filter));
    CHECK(setup.strings_length <= LINK_STRINGS_MAX);
    if (link_split_setup(&setup, strings, &lists) == 0) {
        CHECK(check_list(lists.paths, strings, setup.strings_length) == setup.path_count);
        CHECK(check_list(lists.argv, strings, setup.strings_length) == setup.argc);
        CHECK(check_list(lists.envp, strings, setup.strings_length) == setup.envc);
        CHECK(check_list(lists.modules, strings, setup.strings_length) == setup.module_count);
    }
    _cleanup_free_ char *copy = malloc(LINK_STRINGS_MAX);
    CHECK(copy && link_send_setup(wire->to, &setup, strings, filter) == 0);
    CHECK(link_receive_setup(wire->from, &again, copy, &filter_again) == 1);
    CHECK(memcmp(&setup, &again, sizeof(setup)) == 0);
    CHECK(memcmp(copy, strings, setup.strings_length) == 0);
    close_fd(filter);
    close_fd(filter_again);
}

static void check_split_job(const struct link_job *job, char *strings)
{
    struct link_lists lists;
    if (link_split_job(job, strings, &lists) < 0)
        return;
    CHECK(job->argc > 0 && check_list(lists.argv, strings, job->strings_length) == job->argc);
    CHECK(check_list(lists.envp, strings, job->strings_length) == job->envc);
    CHECK(check_list(lists.readable, strings, job->strings_length) == job->readable_count);
    CHECK(check_list(lists.candidate, strings, job->strings_length) == job->candidate_argc);
    CHECK(check_list(lists.collect, strings, job->strings_length) == job->collect_count);
    CHECK(check_list(lists.candidate_envp, strings, job->strings_length) == job->candidate_envc);
    CHECK((lists.bench != NULL) == (job->has_bench == 1) && job->has_bench <= 1);
    CHECK((lists.cwd != NULL) == (job->has_cwd == 1) && job->has_cwd <= 1);
    CHECK(job->act < LINK_ACTS);
}

static void check_job(const struct wire *wire, char *strings)
{
    struct link_job job, again;
    int fds[LINK_JOB_FDS], fds_again[LINK_JOB_FDS];
    int r = link_receive_job(wire->from, &job, strings, fds);
    CHECK(r == 1 || r == 0 || r == LINK_ASKED || r == LINK_TOLD_TO_STOP || r == -EPROTO);
    if (r == LINK_ASKED) {
        CHECK(link_send_question(wire->to, job.job_no) == 0);
        CHECK(link_receive_job(wire->from, &again, strings, fds) == LINK_ASKED);
        CHECK(again.job_no == job.job_no);
    }
    if (r == LINK_TOLD_TO_STOP) {
        CHECK(link_send_stop(wire->to, job.job_no) == 0);
        CHECK(link_receive_job(wire->from, &again, strings, fds) == LINK_TOLD_TO_STOP);
        CHECK(again.job_no == job.job_no);
    }
    if (r != 1)
        return;
    for (size_t i = 0; i < LINK_JOB_FDS; i++) {
        CHECK((fds[i] >= 0) == (job.fd_mask >> i & 1));
        CHECK(fds[i] < 0 || is_descriptor(fds[i]));
        CHECK((i != LINK_STDOUT && i != LINK_STDERR) || fds[i] >= 0);
    }
    CHECK(job.strings_length <= LINK_STRINGS_MAX);
    check_split_job(&job, strings);
    _cleanup_free_ char *copy = malloc(LINK_STRINGS_MAX);
    CHECK(copy && link_send_job(wire->to, &job, strings, fds) == 0);
    CHECK(link_receive_job(wire->from, &again, copy, fds_again) == 1);
    CHECK(memcmp(&job, &again, sizeof(job)) == 0);
    CHECK(memcmp(copy, strings, job.strings_length) == 0);
    for (size_t i = 0; i < LINK_JOB_FDS; i++) {
        CHECK((fds[i] >= 0) == (fds_again[i] >= 0));
        close_fd(fds[i]);
        close_fd(fds_again[i]);
    }
}

static void check_notice(const struct wire *wire)
{
    struct link_notice notice, again;
    int pidfd, pidfd_again;
    int r = link_receive_notice(wire->from, &notice, &pidfd);
    CHECK(r == 1 || r == 0 || r == -EPROTO);
    if (r != 1)
        return;
    CHECK(notice.type <= LINK_LOADED);
    CHECK(pidfd >= 0
              ? is_descriptor(pidfd) && (notice.type == LINK_STARTED || notice.type == LINK_ENDED)
              : notice.type != LINK_STARTED);
    CHECK(*link_stage_name((enum link_stage)notice.stage));
    CHECK(link_send_notice(wire->to, &notice, pidfd) == 0);
    CHECK(link_receive_notice(wire->from, &again, &pidfd_again) == 1);
    CHECK(memcmp(&notice, &again, sizeof(notice)) == 0 && (pidfd >= 0) == (pidfd_again >= 0));
    close_fd(pidfd);
    close_fd(pidfd_again);
}

static void check_birth(const struct wire *wire, char *strings)
{
    struct link_birth birth, again;
    int jail_link, link_again;
    int r = link_receive_birth(wire->from, &birth, strings, &jail_link);
    CHECK(r <= 1);
    if (r != 1)
        return;
    CHECK(is_descriptor(jail_link) && memchr(strings, '\0', LINK_STRINGS_MAX));
    _cleanup_free_ char *copy = malloc(LINK_STRINGS_MAX);
    CHECK(copy && link_send_birth(wire->to, &birth, strings, jail_link) == 0);
    CHECK(link_receive_birth(wire->from, &again, copy, &link_again) == 1);
    CHECK(memcmp(&birth, &again, sizeof(birth)) == 0 && strcmp(copy, strings) == 0);
    close_fd(jail_link);
    close_fd(link_again);
}

static void check_born(const struct wire *wire)
{
    struct link_born born, again;
    int pidfd, pidfd_again;
    int r = link_receive_born(wire->from, &born, &pidfd);
    CHECK(r == 1 || r == 0 || r == -EPROTO);
    if (r != 1)
        return;
    /* Either it lives and can be watched, or there is a reason. */
    CHECK(pidfd >= 0 ? is_descriptor(pidfd) && born.pid > 0 && born.error == 0 : born.error > 0);
    CHECK(link_send_born(wire->to, &born, pidfd) == 0);
    CHECK(link_receive_born(wire->from, &again, &pidfd_again) == 1);
    CHECK(memcmp(&born, &again, sizeof(born)) == 0 && (pidfd >= 0) == (pidfd_again >= 0));
    close_fd(pidfd);
    close_fd(pidfd_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > LINK_STRINGS_MAX + 2048)
        return 0;
    const int descriptors = fuzz_count_descriptors();
    _cleanup_free_ char *strings = malloc(LINK_STRINGS_MAX);
    int ends[2];
    CHECK(strings && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    struct wire wire = {
        .to = ends[0], .from = ends[1], .null = open("/dev/null", O_RDONLY | O_CLOEXEC)};
    CHECK(wire.null >= 0);
    send_raw(&wire, data + 2, size - 2, data[1] % (FDS_MAX + 1));
    switch ((enum kind)(data[0] % KINDS)) {
    case SETUP:
        check_setup(&wire, strings);
        break;
    case JOB:
        check_job(&wire, strings);
        break;
    case NOTICE:
        check_notice(&wire);
        break;
    case BIRTH:
        check_birth(&wire, strings);
        break;
    case BORN:
        check_born(&wire);
        break;
    case KINDS:
        break;
    }
    close_fd(wire.null);
    close_fd(wire.to);
    close_fd(wire.from);
    CHECK(fuzz_count_descriptors() == descriptors);
    return 0;
}
