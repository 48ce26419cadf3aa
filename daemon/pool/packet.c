/* SPDX-License-Identifier: MIT */
#include "packet.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int write_all(int fd, const void *data, size_t n)
{
    const char *at = data;
    for (size_t done = 0; done < n;) {
        ssize_t written = write(fd, at + done, n - done);
        if (written < 0 && errno != EINTR)
            return -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Rewinds a memfd and forbids all further changes of it. */
static int seal(int fd)
{
    if (lseek(fd, 0, SEEK_SET) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    return 0;
}

static int pack_input(const struct bytes *input)
{
    _cleanup_close_ int fd = memfd_create("rubricd-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int r = write_all(fd, input->data, input->length);
    if (r == 0)
        r = seal(fd);
    return r < 0 ? r : TAKE_FD(fd);
}

static int pack_files(const struct launch_file *files, size_t count)
{
    _cleanup_close_ int fd = memfd_create("rubricd-files", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = fd < 0 ? -errno : 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        const struct launch_file *file = &files[i];
        struct link_file header = {
            .name_length = (uint32_t)strlen(file->name),
            .mode = file->mode,
            .size = file->content->length,
        };
        r = write_all(fd, &header, sizeof(header));
        if (r == 0)
            r = write_all(fd, file->name, header.name_length);
        if (r == 0)
            r = write_all(fd, file->content->data, file->content->length);
    }
    if (r == 0)
        r = seal(fd);
    return r < 0 ? r : TAKE_FD(fd);
}

static int duplicate(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? -errno : copy;
}

static int pack_code(const struct launch *launch)
{
    assert(launch->file_count == 0 && launch->prepared <= 0 && !launch->collect);
    return duplicate(launch->code);
}

/* Appends the strings of LIST (NULL: none) to STRINGS at *LENGTH and advances that. Only measures
 * if STRINGS is NULL. Returns how many strings there are. */
static uint32_t pack_list(const char *const *list, char *strings, size_t *length)
{
    uint32_t count = 0;
    for (; list && list[count]; count++) {
        size_t n = strlen(list[count]) + 1;
        if (strings)
            memcpy(strings + *length, list[count], n);
        *length += n;
    }
    return count;
}

/* Sets the counts of JOB and packs its strings, or only measures them if STRINGS is NULL. Returns
 * their length in bytes. */
static size_t pack_lists(struct link_job *job, const struct launch *launch, char *strings)
{
    const char *bench[2] = {launch->bench.path, NULL}, *cwd[2] = {launch->cwd, NULL};
    size_t length = 0;
    job->argc = pack_list(launch->argv, strings, &length);
    job->envc = pack_list(launch->envp, strings, &length);
    job->has_bench = pack_list(bench, strings, &length);
    job->readable_count = pack_list(launch->readable, strings, &length);
    job->candidate_argc =
        pack_list(launch->joined.argv ? launch->joined.argv : launch->candidate, strings, &length);
    job->collect_count = pack_list(launch->collect, strings, &length);
    job->candidate_envc = pack_list(launch->joined.envp, strings, &length);
    job->has_cwd = pack_list(cwd, strings, &length);
    job->class_count = pack_list(launch->of_class.parts, strings, &length);
    return length;
}

static int pack_strings(struct packet *packet, const struct launch *launch)
{
    struct link_job *job = &packet->job;
    size_t length = pack_lists(job, launch, NULL);
    if (length > LINK_STRINGS_MAX || job->argc > LINK_LIST_MAX || job->envc > LINK_LIST_MAX ||
        job->readable_count > LINK_LIST_MAX || job->candidate_argc > LINK_LIST_MAX ||
        job->collect_count > LINK_LIST_MAX || job->candidate_envc > LINK_LIST_MAX ||
        job->class_count > LINK_LIST_MAX)
        return -E2BIG;
    packet->strings = malloc(MAX(length, (size_t)1));
    if (!packet->strings)
        return -ENOMEM;
    (void)pack_lists(job, launch, packet->strings);
    job->bench_device = launch->bench.device;
    job->bench_inode = launch->bench.inode;
    job->strings_length = (uint32_t)length;
    return 0;
}

/* Packs what a joined candidate has of its own. */
static int pack_joined(struct packet *packet, const struct launch_joined *joined)
{
    int r = 0;
    if (!joined->argv)
        return 0;
    packet->job.is_joined = 1;
    packet->job.own_limits = joined->own_limits;
    packet->job.candidate_limits = joined->limits;
    packet->job.candidate_warm = joined->warm;
    packet->job.candidate_any_address_space = joined->any_address_space;
    packet->job.candidate_any_stack = joined->any_stack;
    if (joined->file_count > 0)
        r = packet->fds[LINK_CANDIDATE_FILES] = pack_files(joined->files, joined->file_count);
    if (r >= 0 && joined->prepared > 0)
        r = packet->fds[LINK_CANDIDATE_PREPARED] = duplicate(joined->prepared);
    return r;
}

_Static_assert((int)LAUNCH_JOB == LINK_RUN && (int)LAUNCH_EXEC == LINK_EXEC &&
                   (int)LAUNCH_WRITE == LINK_WRITE && (int)LAUNCH_READ == LINK_READ,
               "the acts of launches and of jails");

int packet_init(struct packet *packet, const struct launch *launch, uint64_t link_no)
{
    assert(!launch->candidate || !launch->joined.argv);
    *packet = (struct packet)PACKET_NULL;
    packet->job = (struct link_job){
        .job_no = link_no,
        .limits = launch->limits,
        .warm = launch->warm,
        .class_bytes = launch->of_class.bytes_max,
        .any_address_space = launch->any_address_space,
        .any_stack = launch->any_stack,
        .collect_max = launch->collect_max,
        .act = (uint32_t)launch->act,
        .file_mode = launch->file_mode,
        .appends = launch->appends,
        .has_terminal = launch->terminal.is_wanted,
    };
    int r = pack_strings(packet, launch);
    if (r == 0 && launch->input->length > 0)
        r = packet->fds[LINK_STDIN] = pack_input(launch->input);
    if (r >= 0 && launch->candidate)
        r = packet->fds[LINK_CODE] = pack_code(launch);
    else if (r >= 0 && launch->file_count > 0)
        r = packet->fds[LINK_FILES] = pack_files(launch->files, launch->file_count);
    if (r >= 0 && launch->prepared > 0)
        r = packet->fds[LINK_PREPARED] = duplicate(launch->prepared);
    if (r >= 0)
        r = pack_joined(packet, &launch->joined);
    if (r < 0)
        packet_deinit(packet);
    return r < 0 ? r : 0;
}

/* Opens the file behind *FD anew. To rewind *FD would not do: the processes of a jail that was
 * killed share its offset, and may still read. */
static int reopen(int *fd)
{
    char path[32];
    if (*fd < 0)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
    /* What a program may do with its input does not depend on how often it was sent. */
    int again = open(path, (fcntl(*fd, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
    if (again < 0)
        return -errno;
    close_fd(*fd);
    *fd = again;
    return 0;
}

int packet_send(struct packet *packet, int link_fd)
{
    struct link_job job = packet->job;
    assert(packet->strings && job.fd_mask == 0);
    /* A terminal is new each time. */
    int r = packet->was_sent && !job.has_terminal ? reopen(&packet->fds[LINK_STDIN]) : 0;
    if (r == 0 && packet->was_sent)
        r = reopen(&packet->fds[LINK_FILES]);
    if (r < 0)
        return r;
    packet->was_sent = true;
    for (unsigned i = 0; i < LINK_JOB_FDS; i++)
        job.fd_mask |= packet->fds[i] >= 0 ? 1u << i : 0;
    return link_send_job(link_fd, &job, packet->strings, packet->fds);
}

void packet_deinit(struct packet *packet)
{
    free(packet->strings);
    for (unsigned i = 0; i < LINK_JOB_FDS; i++)
        close_fd(packet->fds[i]);
    *packet = (struct packet)PACKET_NULL;
}
