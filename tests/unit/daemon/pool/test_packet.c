/* SPDX-License-Identifier: MIT */
/* Packing a job: its strings in their order and within their bounds, its input and files in memory
 * that nobody can change, and nothing left of a packet that was freed. */
#include "daemon/pool/packet.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static const char *const no_strings[] = {NULL};
static const char *const one_argument[] = {"/bin/true", NULL};

static struct bytes bytes_of(const char *text, size_t n)
{
    return (struct bytes){.data = (char *)(uintptr_t)text, .length = n};
}

static void expect_nothing(const struct packet *packet)
{
    assert_null(packet->strings);
    for (size_t i = 0; i < LINK_JOB_FDS; i++)
        assert_int_equal(packet->fds[i], -1);
}

/* Packs a launch that must fit. The caller frees the packet. */
static void pack(struct packet *packet, const struct launch *launch)
{
    memset(packet, 0x5A, sizeof(*packet));
    assert_int_equal(packet_init(packet, launch, 77), 0);
}

/* Packs a launch that must not fit, and checks that nothing is left. */
static void expect_too_big(const struct launch *launch)
{
    struct packet packet;
    size_t descriptors = count_descriptors();
    memset(&packet, 0x5A, sizeof(packet));
    assert_int_equal(packet_init(&packet, launch, 77), -E2BIG);
    expect_nothing(&packet);
    assert_int_equal(count_descriptors(), descriptors);
}

/* --- strings ------------------------------------------------------------------------------ */

static void test_everything_in_its_place(void **state)
{
    static const char *const argv[] = {"/usr/bin/python3", "-s", "", NULL};
    static const char *const envp[] = {"PATH=/usr/bin:/bin", "EMPTY=", NULL};
    static const char *const readable[] = {"/srv/a", "/srv/b", NULL};
    static const char expected[] = "/usr/bin/python3\0-s\0\0PATH=/usr/bin:/bin\0EMPTY=\0/bench\0"
                                   "/srv/a\0/srv/b";
    const struct bytes input = bytes_of("in\0put", 6);
    struct launch launch = {
        .argv = argv,
        .envp = envp,
        .input = &input,
        .bench = {"/bench", UINT64_MAX, UINT64_MAX - 1},
        .readable = readable,
    };
    struct packet packet;
    struct link_lists lists;
    (void)state;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        launch.limits.of[limit] = UINT64_MAX - limit;
    pack(&packet, &launch);
    const struct link_job *job = &packet.job;
    assert_int_equal(job->job_no, 77);
    assert_memory_equal(&job->limits, &launch.limits, sizeof(launch.limits));
    assert_true(job->bench_device == UINT64_MAX && job->bench_inode == UINT64_MAX - 1);
    assert_int_equal(job->argc, 3);
    assert_int_equal(job->envc, 2);
    assert_int_equal(job->has_bench, 1);
    assert_int_equal(job->readable_count, 2);
    assert_int_equal(job->strings_length, sizeof(expected));
    assert_memory_equal(packet.strings, expected, sizeof(expected));
    assert_int_equal(link_split_job(job, packet.strings, &lists), 0);
    assert_string_equal(lists.argv[0], argv[0]);
    assert_string_equal(lists.envp[1], envp[1]);
    assert_string_equal(lists.bench, "/bench");
    assert_string_equal(lists.readable[1], readable[1]);
    assert_true(packet.fds[LINK_STDIN] >= 0);
    assert_int_equal(packet.fds[LINK_STDOUT], -1);
    assert_int_equal(packet.fds[LINK_STDERR], -1);
    assert_int_equal(packet.fds[LINK_FILES], -1);
    assert_int_equal(packet.fds[LINK_CGROUP], -1);
    packet_deinit(&packet);
    expect_nothing(&packet);
    packet_deinit(&packet); /* an empty one can be freed */
}

static void test_no_more_than_a_program(void **state)
{
    const struct bytes input = bytes_of("", 0);
    const struct launch launch = {.argv = one_argument, .envp = no_strings, .input = &input};
    struct packet packet;
    struct link_lists lists;
    (void)state;
    pack(&packet, &launch);
    assert_int_equal(packet.job.has_bench, 0);
    assert_int_equal(packet.job.readable_count, 0);
    assert_int_equal(packet.job.strings_length, sizeof("/bin/true"));
    assert_int_equal(link_split_job(&packet.job, packet.strings, &lists), 0);
    assert_null(lists.bench);
    assert_null(lists.readable[0]);
    packet_deinit(&packet);
}

/* --- bounds ------------------------------------------------------------------------------- */

enum place { IN_ARGV, IN_ENVP, IN_BENCH, IN_READABLE, PLACES };

/* Puts a string of LENGTH bytes in each place in turn, with "x" as the program. */
static void launch_with(struct launch *launch, enum place place, const char *text,
                        const char *lists[3][3])
{
    lists[0][0] = "x";
    lists[0][1] = place == IN_ARGV ? text : NULL;
    lists[1][0] = place == IN_ENVP ? text : NULL;
    lists[2][0] = place == IN_READABLE ? text : NULL;
    launch->argv = lists[0];
    launch->envp = lists[1];
    launch->readable = lists[2];
    launch->bench.path = place == IN_BENCH ? text : NULL;
}

/* The bound is exact to the byte, in whatever place the longest string is. */
static void test_bound_on_bytes(void **state)
{
    static char text[2 * LINK_STRINGS_MAX];
    const struct bytes input = bytes_of("", 0);
    const size_t room = LINK_STRINGS_MAX - sizeof("x") - 1; /* its NUL */
    (void)state;
    memset(text, 'y', sizeof(text) - 1);
    for (enum place place = 0; place < PLACES; place++) {
        const char *lists[3][3] = {{NULL}};
        struct launch launch = {.input = &input};
        struct packet packet;
        launch_with(&launch, place, text + sizeof(text) - 1 - room, lists);
        pack(&packet, &launch);
        assert_int_equal(packet.job.strings_length, LINK_STRINGS_MAX);
        assert_string_equal(packet.strings + 2, text + sizeof(text) - 1 - room);
        packet_deinit(&packet);
        launch_with(&launch, place, text + sizeof(text) - 2 - room, lists);
        expect_too_big(&launch);
        launch_with(&launch, place, text, lists);
        expect_too_big(&launch);
    }
}

/* A short string after one that does not fit does not make the launch fit. */
static void test_bound_in_the_middle(void **state)
{
    static char text[LINK_STRINGS_MAX + 1];
    const char *argv[] = {"x", text, "y", NULL}, *envp[] = {"A=b", NULL};
    const struct bytes input = bytes_of("", 0);
    const struct launch launch = {.argv = argv, .envp = envp, .input = &input};
    (void)state;
    memset(text, 'y', sizeof(text) - 1);
    expect_too_big(&launch);
}

static void test_bound_on_counts(void **state)
{
    const char *list[LINK_LIST_MAX + 2] = {NULL};
    const struct bytes input = bytes_of("", 0);
    (void)state;
    for (size_t count = LINK_LIST_MAX; count <= LINK_LIST_MAX + 1; count++) {
        list[count - 1] = "x";
        for (size_t i = 0; i < count; i++)
            list[i] = "x";
        const struct launch launches[] = {
            {.argv = list, .envp = no_strings, .input = &input},
            {.argv = one_argument, .envp = list, .input = &input},
            {.argv = one_argument, .envp = no_strings, .readable = list, .input = &input},
        };
        for (size_t i = 0; i < ARRAY_SIZE(launches); i++) {
            struct packet packet;
            struct link_lists lists;
            if (count > LINK_LIST_MAX) {
                expect_too_big(&launches[i]);
                continue;
            }
            pack(&packet, &launches[i]);
            assert_int_equal(link_split_job(&packet.job, packet.strings, &lists), 0);
            packet_deinit(&packet);
        }
    }
}

/* --- memory that comes along -------------------------------------------------------------- */

static void expect_sealed(int fd, size_t size)
{
    struct stat st;
    assert_int_equal(fcntl(fd, F_GET_SEALS), ALL_SEALS);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, size);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, (off_t)size + 1), -1);
    assert_int_equal(errno, EPERM);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
}

/* Without input, stdin is /dev/null. It is opened for each job: flags that one job sets on it are
 * not seen by the next. */
static void test_input(void **state)
{
    static char large[3 << 20];
    const struct bytes inputs[] = {bytes_of("", 0), bytes_of("\0", 1), bytes_of("text", 4),
                                   bytes_of(large, sizeof(large))};
    static char got[sizeof(large) + 1];
    (void)state;
    memset(large, 'z', sizeof(large));
    for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
        const struct launch launch = {
            .argv = one_argument, .envp = no_strings, .input = &inputs[i]};
        struct packet packet;
        size_t descriptors = count_descriptors();
        pack(&packet, &launch);
        if (inputs[i].length > 0) {
            assert_int_equal(count_descriptors(), descriptors + 1);
            expect_sealed(packet.fds[LINK_STDIN], inputs[i].length);
            assert_int_equal(read(packet.fds[LINK_STDIN], got, sizeof(got)), inputs[i].length);
            assert_memory_equal(got, inputs[i].data, inputs[i].length);
        } else { /* the jail has its own /dev/null */
            assert_int_equal(packet.fds[LINK_STDIN], -1);
        }
        packet_deinit(&packet);
        assert_int_equal(count_descriptors(), descriptors);
    }
}

/* Reads the next record and compares it. */
static void expect_record(int fd, const struct launch_file *file)
{
    struct link_file header;
    char data[200];
    assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
    assert_int_equal(header.name_length, strlen(file->name));
    assert_int_equal(header.mode, file->mode);
    assert_int_equal(header.size, file->content->length);
    assert_int_equal(read(fd, data, header.name_length), header.name_length);
    assert_memory_equal(data, file->name, header.name_length);
    assert_int_equal(read(fd, data, header.size), header.size);
    if (header.size > 0)
        assert_memory_equal(data, file->content->data, header.size);
}

static void test_files(void **state)
{
    const struct bytes contents[] = {bytes_of("", 0), bytes_of("a\0b", 3),
                                     bytes_of("print()\n", 8)};
    const struct launch_file files[] = {
        {"empty", 0, &contents[0]},
        {"a/b/c with a blank", 0755, &contents[1]},
        {"\xc3\xa9.py", 0777, &contents[2]},
    };
    const struct bytes input = bytes_of("", 0);
    const struct launch launch = {.argv = one_argument,
                                  .envp = no_strings,
                                  .input = &input,
                                  .files = files,
                                  .file_count = ARRAY_SIZE(files)};
    size_t descriptors = count_descriptors(), size = 0;
    struct packet packet;
    char byte;
    (void)state;
    pack(&packet, &launch);
    assert_int_equal(count_descriptors(), descriptors + 1);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        size += sizeof(struct link_file) + strlen(files[i].name) + files[i].content->length;
    expect_sealed(packet.fds[LINK_FILES], size);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        expect_record(packet.fds[LINK_FILES], &files[i]);
    assert_int_equal(read(packet.fds[LINK_FILES], &byte, 1), 0);
    packet_deinit(&packet);
    expect_nothing(&packet);
    assert_int_equal(count_descriptors(), descriptors);
}

/* --- when there is no room ---------------------------------------------------------------- */

static struct launch launch_with_a_file(const struct bytes *content, struct launch_file *file)
{
    *file = (struct launch_file){"a", 0644, content};
    return (struct launch){
        .argv = one_argument, .envp = no_strings, .input = content, .files = file, .file_count = 1};
}

static int no_descriptors(void)
{
    const struct bytes content = bytes_of("text", 4);
    struct launch_file file;
    const struct launch launch = launch_with_a_file(&content, &file);
    struct rlimit limit;
    struct packet packet;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int next = dup(STDERR_FILENO);
    close_fd(next);
    /* No descriptor is left for the input; then one is, and none for the files. */
    for (rlim_t left = 0; left <= 1; left++) {
        limit.rlim_cur = (rlim_t)next + left;
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        CHECK_EQUAL(packet_init(&packet, &launch, 1), -EMFILE);
        CHECK(!packet.strings && packet.fds[LINK_STDIN] == -1 && packet.fds[LINK_FILES] == -1);
        int free_one = dup(STDERR_FILENO);
        CHECK(left == 0 ? free_one < 0 : free_one == next);
        close_fd(free_one);
    }
    return 0;
}

static int no_memory(void)
{
    static char large[100000];
    const struct bytes small = bytes_of("text", 4), content = bytes_of(large, sizeof(large));
    struct launch_file file;
    struct launch launch = launch_with_a_file(&content, &file);
    size_t descriptors = count_descriptors();
    struct packet packet;
    (void)signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){50000, 50000}) == 0);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQUAL(packet_init(&packet, &launch, 1), -EFBIG);
        CHECK(!packet.strings && packet.fds[LINK_STDIN] == -1 && packet.fds[LINK_FILES] == -1);
        CHECK_EQUAL(count_descriptors(), descriptors);
        launch.input = &small; /* now the files do not fit */
    }
    return 0;
}

/* --- sending ------------------------------------------------------------------------------ */

static bool is_same_file(int a, int b)
{
    struct stat first, second;
    assert_int_equal(fstat(a, &first), 0);
    assert_int_equal(fstat(b, &second), 0);
    return first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

static void test_send(void **state)
{
    static char strings[LINK_STRINGS_MAX];
    const struct bytes content = bytes_of("text", 4);
    struct launch_file file;
    struct launch launch = launch_with_a_file(&content, &file);
    size_t descriptors = count_descriptors();
    int link[2], pipes[2][2], fds[LINK_JOB_FDS];
    struct link_job job;
    struct packet packet;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, link),
                     0);
    for (size_t files = 0; files <= 1; files++) {
        launch.file_count = files;
        pack(&packet, &launch);
        /* A jail does not take a job without stdout and stderr. */
        assert_int_equal(packet_send(&packet, link[0]), 0);
        assert_int_equal(link_receive_job(link[1], &job, strings, fds), -EPROTO);

        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(pipe2(pipes[i], O_CLOEXEC), 0);
            packet.fds[LINK_STDOUT + i] = pipes[i][1];
        }
        assert_int_equal(packet_send(&packet, link[0]), 0);
        assert_int_equal(link_receive_job(link[1], &job, strings, fds), 1);
        assert_int_equal(job.fd_mask, files ? 0xF : 0x7);
        assert_int_equal(job.job_no, 77);
        assert_memory_equal(strings, packet.strings, job.strings_length);
        for (size_t i = 0; i < LINK_JOB_FDS; i++) {
            assert_int_equal(fds[i] >= 0, packet.fds[i] >= 0);
            assert_true(fds[i] < 0 || is_same_file(fds[i], packet.fds[i]));
            close_fd(fds[i]);
        }
        packet_deinit(&packet);
        close_fd(pipes[0][0]);
        close_fd(pipes[1][0]);
        assert_int_equal(count_descriptors(), descriptors + 2);
    }
    pack(&packet, &launch);
    close_fd(link[1]);
    assert_int_equal(packet_send(&packet, link[0]), -EPIPE);
    packet_deinit(&packet);
    close_fd(link[0]);
    assert_int_equal(count_descriptors(), descriptors);
}

/* Reads all that is left in FD. Returns the number of bytes. */
static size_t read_to_end(int fd)
{
    char text[256];
    size_t length = 0;
    for (ssize_t n; (n = read(fd, text, sizeof(text))) > 0;)
        length += (size_t)n;
    return length;
}

/* A jail that ends may have begun with the job already, and its processes may still read. */
static void test_sent_again_it_is_whole(void **state)
{
    static char strings[LINK_STRINGS_MAX];
    const struct bytes content = bytes_of("text", 4);
    const size_t sizes[] = {content.length, sizeof(struct link_file) + strlen("a") + 4};
    struct launch_file file;
    struct launch launch = launch_with_a_file(&content, &file);
    size_t descriptors = count_descriptors();
    int link[2], output[2], fds[3][LINK_JOB_FDS];
    struct link_job job;
    struct packet packet;
    (void)state;
    pack(&packet, &launch);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    packet.fds[LINK_STDOUT] = output[0];
    packet.fds[LINK_STDERR] = output[1];
    for (size_t jail = 0; jail < 3; jail++) {
        assert_int_equal(packet_send(&packet, link[0]), 0);
        assert_int_equal(link_receive_job(link[1], &job, strings, fds[jail]), 1);
        if (jail > 0) {
            assert_int_equal(read_to_end(fds[jail][LINK_STDIN]), sizes[0]);
            assert_int_equal(read_to_end(fds[jail][LINK_FILES]), sizes[1]);
            assert_int_equal(fcntl(fds[jail][LINK_STDIN], F_GETFL),
                             fcntl(fds[0][LINK_STDIN], F_GETFL));
            assert_int_equal(lseek(fds[jail - 1][LINK_STDIN], 0, SEEK_CUR),
                             jail > 1 ? sizes[0] : 0);
        }
    }
    for (size_t jail = 0; jail < 3; jail++)
        for (size_t i = 0; i < LINK_JOB_FDS; i++)
            close_fd(fds[jail][i]);
    packet_deinit(&packet);
    close_fd(link[0]);
    close_fd(link[1]);
    assert_int_equal(count_descriptors(), descriptors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_in_its_place),
        cmocka_unit_test(test_no_more_than_a_program),
        cmocka_unit_test(test_bound_on_bytes),
        cmocka_unit_test(test_bound_in_the_middle),
        cmocka_unit_test(test_bound_on_counts),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_files),
        SCENARIO(no_descriptors),
        SCENARIO(no_memory),
        cmocka_unit_test(test_send),
        cmocka_unit_test(test_sent_again_it_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
