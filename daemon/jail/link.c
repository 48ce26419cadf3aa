/* SPDX-License-Identifier: MIT */
#include "link.h"

#include "proto/util.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

const char *link_stage_name(enum link_stage stage)
{
    static const char *const names[LINK_STAGE_COUNT] = {
        [LINK_STAGE_NONE] = "none",
        [LINK_STAGE_DIRECTORY] = "making the private directory",
        [LINK_STAGE_FILES] = "writing the job's files",
        [LINK_STAGE_BENCH] = "showing it its bench",
        [LINK_STAGE_READABLE] = "showing it what it may read",
        [LINK_STAGE_FORK] = "forking",
        [LINK_STAGE_DESCRIPTORS] = "passing the descriptors",
        [LINK_STAGE_SESSION] = "starting a session",
        [LINK_STAGE_LIMITS] = "setting the resource limits",
        [LINK_STAGE_CGROUP] = "entering its control group",
        [LINK_STAGE_PRIVILEGES] = "giving up privileges",
        [LINK_STAGE_LANDLOCK] = "confining it with Landlock",
        [LINK_STAGE_CWD] = "entering its directory",
        [LINK_STAGE_ACCESS] = "reading what it was given",
        [LINK_STAGE_EXEC] = "executing the program",
        [LINK_STAGE_TWIN] = "starting the candidate's jail",
        [LINK_STAGE_STOPPED] = "another process stopped it before it began",
    };
    return stage < LINK_STAGE_COUNT ? names[stage] : "an unknown stage";
}

/* Ancillary data with the descriptors of one message, aligned as cmsg(3) demands. */
union control {
    char bytes[CMSG_SPACE(sizeof(int) * LINK_JOB_FDS)];
    struct cmsghdr align;
};

int link_send_packet(int fd, struct iovec *iov, size_t iov_count, const int *fds, size_t count)
{
    union control control;
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = iov_count};
    assert(count <= LINK_JOB_FDS);
    if (count > 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = &control.align; /* what CMSG_FIRSTHDR() would return */
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
    }
    ssize_t n;
    do
        n = sendmsg(fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* Stores up to MAX descriptors in FDS and closes the rest. Returns how many arrived in total. */
static size_t take_descriptors(struct msghdr *message, int *fds, size_t max)
{
    size_t taken = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (taken < max)
                fds[taken] = fd;
            else
                close_fd(fd);
            taken++;
        }
    }
    return taken;
}

ssize_t link_receive_packet(int fd, struct iovec *iov, size_t iov_count, int *fds, size_t max_fds,
                            size_t *ret_count)
{
    union control control;
    struct msghdr message = {
        .msg_iov = iov,
        .msg_iovlen = iov_count,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    ssize_t n;
    do
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ECONNRESET ? 0 : -errno;
    size_t count = take_descriptors(&message, fds, max_fds);
    /* An empty packet looks like end of file, but only a packet can bring descriptors. */
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || count > max_fds ||
        (n == 0 && count > 0)) {
        for (size_t i = 0; i < MIN(count, max_fds); i++)
            close_fd(fds[i]);
        return -EPROTO;
    }
    *ret_count = count;
    return n;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
}

/* Receives HEADER and STRINGS with up to MAX descriptors. Returns 1; LINK_ASKED for a question or
 * an order to stop, with the beginning of HEADER; 0 at end of file, or -EPROTO; the caller owns
 * descriptors only on 1. */
static int receive_message(int fd, struct iovec header, char *strings, int *fds, size_t max,
                           size_t *ret_length, size_t *ret_count)
{
    struct iovec iov[2] = {header, {.iov_base = strings, .iov_len = LINK_STRINGS_MAX}};
    size_t count = 0;
    ssize_t n = link_receive_packet(fd, iov, ARRAY_SIZE(iov), fds, max, &count);
    if (n <= 0)
        return (int)n;
    *ret_count = count;
    if ((size_t)n == sizeof(struct link_question) && count == 0)
        return LINK_ASKED;
    if ((size_t)n < header.iov_len) {
        close_all(fds, count);
        return -EPROTO;
    }
    *ret_length = (size_t)n - header.iov_len;
    return 1;
}

int link_send_setup(int fd, const struct link_setup *setup, const char *strings, int filter)
{
    struct iovec iov[2] = {
        {.iov_base = (void *)(uintptr_t)setup, .iov_len = sizeof(*setup)},
        {.iov_base = (void *)(uintptr_t)strings, .iov_len = setup->strings_length},
    };
    return link_send_packet(fd, iov, ARRAY_SIZE(iov), &filter, filter >= 0 ? 1 : 0);
}

int link_receive_setup(int fd, struct link_setup *ret_setup, char *strings, int *ret_filter)
{
    struct link_setup setup;
    int filter = -1;
    size_t length = 0, count = 0;
    struct iovec header = {.iov_base = &setup, .iov_len = sizeof(setup)};
    int r = receive_message(fd, header, strings, &filter, 1, &length, &count);
    if (r <= 0)
        return r;
    if (r == LINK_ASKED)
        return -EPROTO;
    if (setup.strings_length != length || setup.has_filter != count) {
        close_all(&filter, count);
        return -EPROTO;
    }
    *ret_setup = setup;
    *ret_filter = filter;
    return 1;
}

int link_send_job(int fd, const struct link_job *job, const char *strings,
                  const int fds[LINK_JOB_FDS])
{
    int sent[LINK_JOB_FDS];
    size_t count = 0;
    struct iovec iov[2] = {
        {.iov_base = (void *)(uintptr_t)job, .iov_len = sizeof(*job)},
        {.iov_base = (void *)(uintptr_t)strings, .iov_len = job->strings_length},
    };
    for (size_t i = 0; i < LINK_JOB_FDS; i++)
        if (job->fd_mask & (1u << i))
            sent[count++] = fds[i];
    return link_send_packet(fd, iov, ARRAY_SIZE(iov), sent, count);
}

static int send_question(int fd, struct link_question question)
{
    struct iovec iov = {.iov_base = &question, .iov_len = sizeof(question)};
    return link_send_packet(fd, &iov, 1, NULL, 0);
}

int link_send_question(int fd, uint64_t job_no)
{
    return send_question(fd, (struct link_question){.job_no = job_no});
}

int link_send_stop(int fd, uint64_t job_no)
{
    return send_question(fd, (struct link_question){.job_no = job_no, .is_stop = 1});
}

int link_receive_job(int fd, struct link_job *ret_job, char *strings, int ret_fds[LINK_JOB_FDS])
{
    const unsigned output = 1u << LINK_STDOUT | 1u << LINK_STDERR, known = (1u << LINK_JOB_FDS) - 1;
    /* A question arrives in the job's first bytes. */
    _Static_assert(offsetof(struct link_job, job_no) == offsetof(struct link_question, job_no),
                   "both begin with the number of a job");
    union {
        struct link_job job;
        struct link_question question;
    } got;
    int fds[LINK_JOB_FDS];
    size_t length = 0, count = 0;
    struct iovec header = {.iov_base = &got.job, .iov_len = sizeof(got.job)};
    int r = receive_message(fd, header, strings, fds, LINK_JOB_FDS, &length, &count);
    if (r <= 0)
        return r;
    if (r == LINK_ASKED) {
        if (got.question.is_stop > 1)
            return -EPROTO;
        ret_job->job_no = got.question.job_no;
        return got.question.is_stop ? LINK_TOLD_TO_STOP : LINK_ASKED;
    }
    const struct link_job job = got.job;
    if (job.strings_length != length || (job.fd_mask & output) != output ||
        (job.fd_mask & ~known) || (size_t)__builtin_popcount(job.fd_mask) != count) {
        close_all(fds, count);
        return -EPROTO;
    }
    *ret_job = job;
    for (size_t i = 0, next = 0; i < LINK_JOB_FDS; i++)
        ret_fds[i] = job.fd_mask & (1u << i) ? fds[next++] : -1;
    return 1;
}

int link_send_notice(int fd, const struct link_notice *notice, int pidfd)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)notice, .iov_len = sizeof(*notice)};
    return link_send_packet(fd, &iov, 1, &pidfd, pidfd >= 0 ? 1 : 0);
}

/* Returns whether a notice of TYPE may come with COUNT descriptors. */
static bool may_carry(uint32_t type, size_t count)
{
    return type == LINK_STARTED ? count == 1 : count == 0 || type == LINK_ENDED;
}

int link_receive_notice(int fd, struct link_notice *ret_notice, int *ret_pidfd)
{
    struct link_notice notice;
    int pidfd = -1;
    size_t count = 0;
    struct iovec iov = {.iov_base = &notice, .iov_len = sizeof(notice)};
    ssize_t n = link_receive_packet(fd, &iov, 1, &pidfd, 1, &count);
    if (n <= 0)
        return (int)n;
    if ((size_t)n != sizeof(notice) || notice.type > LINK_LOADED ||
        !may_carry(notice.type, count)) {
        if (count > 0)
            close_fd(pidfd);
        return -EPROTO;
    }
    *ret_notice = notice;
    *ret_pidfd = pidfd;
    return 1;
}

/* Points COUNT entries of LIST, then a NULL, at the strings that begin at *AT, and moves *AT past
 * them. -EPROTO if END comes first. */
static int split(char **at, const char *end, uint32_t count, char **list)
{
    if (count > LINK_LIST_MAX)
        return -EPROTO;
    for (uint32_t i = 0; i < count; i++) {
        char *nul = memchr(*at, '\0', (size_t)(end - *at));
        if (!nul)
            return -EPROTO;
        list[i] = *at;
        *at = nul + 1;
    }
    list[count] = NULL;
    return 0;
}

int link_split_job(const struct link_job *job, char *strings, struct link_lists *ret)
{
    char *bench[2], *cwd[2], *at = strings, *end = strings + job->strings_length;
    if (job->argc == 0 || job->has_bench > 1 || job->has_cwd > 1 || job->act >= LINK_ACTS ||
        job->has_terminal > 1 || split(&at, end, job->argc, ret->argv) < 0 ||
        split(&at, end, job->envc, ret->envp) < 0 || split(&at, end, job->has_bench, bench) < 0 ||
        split(&at, end, job->readable_count, ret->readable) < 0 ||
        split(&at, end, job->candidate_argc, ret->candidate) < 0 ||
        split(&at, end, job->collect_count, ret->collect) < 0 ||
        split(&at, end, job->candidate_envc, ret->candidate_envp) < 0 ||
        split(&at, end, job->has_cwd, cwd) < 0 ||
        split(&at, end, job->class_count, ret->class_parts) < 0 || at != end)
        return -EPROTO;
    ret->bench = bench[0];
    ret->cwd = cwd[0];
    return 0;
}

int link_split_setup(const struct link_setup *setup, char *strings, struct link_setup_lists *ret)
{
    char *at = strings, *end = strings + setup->strings_length;
    if (split(&at, end, setup->path_count, ret->paths) < 0 ||
        split(&at, end, setup->argc, ret->argv) < 0 ||
        split(&at, end, setup->envc, ret->envp) < 0 ||
        split(&at, end, setup->module_count, ret->modules) < 0 || at != end)
        return -EPROTO;
    return 0;
}

/* --- the zygote ---------------------------------------------------------------------------- */

int link_send_birth(int fd, const struct link_birth *birth, const char *directory, int jail_link)
{
    struct iovec iov[2] = {
        {.iov_base = (void *)(uintptr_t)birth, .iov_len = sizeof(*birth)},
        {.iov_base = (void *)(uintptr_t)directory, .iov_len = strlen(directory) + 1},
    };
    return link_send_packet(fd, iov, ARRAY_SIZE(iov), &jail_link, 1);
}

int link_receive_birth(int fd, struct link_birth *ret, char *strings, int *ret_jail_link)
{
    struct link_birth birth;
    int jail_link = -1;
    size_t length = 0, count = 0;
    struct iovec header = {.iov_base = &birth, .iov_len = sizeof(birth)};
    int r = receive_message(fd, header, strings, &jail_link, 1, &length, &count);
    if (r <= 0)
        return r;
    if (count != 1 || length == 0 || strings[length - 1] != '\0') {
        close_all(&jail_link, count);
        return -EPROTO;
    }
    *ret = birth;
    *ret_jail_link = jail_link;
    return 1;
}

int link_send_born(int fd, const struct link_born *born, int pidfd)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)born, .iov_len = sizeof(*born)};
    return link_send_packet(fd, &iov, 1, &pidfd, pidfd >= 0 ? 1 : 0);
}

int link_receive_born(int fd, struct link_born *ret, int *ret_pidfd)
{
    struct link_born born;
    int pidfd = -1;
    size_t count = 0;
    struct iovec iov = {.iov_base = &born, .iov_len = sizeof(born)};
    ssize_t n = link_receive_packet(fd, &iov, 1, &pidfd, 1, &count);
    if (n <= 0)
        return (int)n;
    bool lives = born.error == 0 && born.pid > 0;
    if ((size_t)n != sizeof(born) || count != (lives ? 1 : 0) || (!lives && born.error <= 0)) {
        close_all(&pidfd, count);
        return -EPROTO;
    }
    *ret = born;
    *ret_pidfd = pidfd;
    return 1;
}
