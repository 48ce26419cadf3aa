/* SPDX-License-Identifier: MIT */
/* Tests the daemon's side of a zygote: when it is started, when again, and when no more; that a
 * jail of it is a child of this process; and that nothing is left of one that breaks down. This
 * program itself plays the zygote; the name of the work directory says how that behaves. */
#include "daemon/base/clock.h"
#include "daemon/confine/zygote.h"
#include "daemon/jail/link.h"
#include "proto/util.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#define GOOD "good"           /* makes jails, without namespaces */
#define TWICE "twice"         /* makes one jail, and dies of the next request */
#define UNCLAIMED "unclaimed" /* the same, and makes the second jail nevertheless */
#define FIRST "first"         /* dies of the first request */
#define BAD "bad"             /* its interpreter does not start */
#define GONE "gone"           /* ends before it is ready */
#define REFUSED "refused"     /* the kernel makes no jail for it */
#define LIAR "liar"           /* answers nonsense */

/* --- the zygote that this program plays ---------------------------------------------------- */

/* A jail: waits for the end of its link. */
static void be_jail(int jail_link)
{
    char text[64];
    while (recv(jail_link, text, sizeof(text), 0) > 0)
        ;
    _exit(0);
}

static int make_jail(int jail_link, struct link_born *born)
{
    int pidfd = -1;
    pid_t pid =
        (pid_t)syscall(SYS_clone, CLONE_PARENT | CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);
    if (pid == 0) {
        close(LINK_FD);
        be_jail(jail_link);
    }
    *born = (struct link_born){.pid = pid};
    return pidfd;
}

static int be_zygote(const char *directory)
{
    static char strings[LINK_STRINGS_MAX];
    struct link_notice ready = {.type = LINK_READY, .warm = !strstr(directory, BAD)};
    struct link_setup setup;
    struct link_birth birth;
    int filter, jail_link, made = 0;
    (void)strcpy(ready.cold_because, "there is no such module");
    if (strstr(directory, GONE) || link_receive_setup(LINK_FD, &setup, strings, &filter) != 1 ||
        link_send_notice(LINK_FD, &ready, -1) < 0)
        return 1;
    while (link_receive_birth(LINK_FD, &birth, strings, &jail_link) == 1) {
        struct link_born born = {.error = EPERM};
        int pidfd = -1;
        bool dies = strstr(directory, FIRST) || (strstr(directory, TWICE) && made == 1);
        if (dies)
            return 1;
        if (strstr(directory, LIAR))
            born = (struct link_born){.pid = 1};
        else if (!strstr(directory, REFUSED))
            pidfd = make_jail(jail_link, &born);
        if (strstr(directory, UNCLAIMED) && made == 1)
            (void)sleep(3); /* longer than anybody waits for an answer */
        (void)link_send_born(LINK_FD, &born, pidfd);
        close_fd(pidfd);
        close_fd(jail_link);
        made++;
    }
    return 0;
}

/* --- the fixture --------------------------------------------------------------------------- */

static const char *const interpreter[] = {"/usr/bin/python3", NULL};

struct fixture {
    struct jailproc_config config;
    struct jail_shape shape;
    struct zygote *zygote;
    size_t descriptors;
};

/* Skips the test where the host refuses what the zygote starts in. */
static void need_namespaces(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        skip();
}

static struct fixture *start(const char *work_directory)
{
    need_namespaces();
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    (void)alarm(60);
    f->descriptors = count_descriptors();
    f->config = (struct jailproc_config){
        .program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), .argv = interpreter, .code = -1};
    f->shape = (struct jail_shape)JAIL_SHAPE_NULL;
    f->zygote = zygote_new(&f->config, work_directory);
    assert_non_null(f->zygote);
    return f;
}

/* Checks that neither processes nor descriptors are left. */
static void stop(struct fixture *f)
{
    assert_null(zygote_free(f->zygote));
    close_fd(f->config.program);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_descriptors(), f->descriptors);
    free(f);
    (void)alarm(0);
}

static int copy(struct fixture *f, struct jailproc *jail)
{
    return zygote_copy(f->zygote, &f->shape, "/slot-0", jail);
}

/* Closes the link, of which the jail ends, and reaps it. */
static void end_jail(struct jailproc *jail)
{
    int status;
    close_fd(jail->link_fd);
    assert_int_equal(waitpid(jail->pid, &status, 0), jail->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close_fd(jail->pidfd);
}

static void make_and_end(struct fixture *f)
{
    struct jailproc jail;
    assert_int_equal(copy(f, &jail), 0);
    end_jail(&jail);
}

/* Waits until a zygote that was started by itself takes requests. */
static void make_when_ready(struct fixture *f)
{
    struct jailproc jail;
    int r;
    while ((r = copy(f, &jail)) == -EINPROGRESS)
        (void)poll(&(struct pollfd){.fd = f->zygote->process.link_fd, .events = POLLIN}, 1, 10000);
    assert_int_equal(r, 0);
    end_jail(&jail);
}

static void expect_reason(struct fixture *f, const char *reason)
{
    assert_string_equal(zygote_take_reason(f->zygote), reason);
    assert_null(zygote_take_reason(f->zygote)); /* once */
}

/* --- the tests ----------------------------------------------------------------------------- */

static void test_it_makes_jails(void **state)
{
    struct fixture *f = start("/" GOOD);
    (void)state;
    assert_int_equal(zygote_pid(f->zygote), 0);
    assert_true(zygote_await(f->zygote));
    pid_t pid = zygote_pid(f->zygote);
    assert_true(pid > 0);
    for (int i = 0; i < 3; i++)
        make_and_end(f);
    assert_int_equal(zygote_pid(f->zygote), pid);
    assert_null(zygote_take_reason(f->zygote));
    stop(f);
}

/* The directory was out of reach when the zygote had no more need of it, and comes back. */
static void test_its_directory_goes_later(void **state)
{
    char work[] = "/tmp/" GOOD "-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(work));
    for (int i = 0; i < 2; i++) {
        struct fixture *f = start(work);
        char *directory = strdup(f->zygote->directory);
        assert_true(zygote_await(f->zygote));
        assert_int_equal(mkdir(directory, 0700), 0);
        if (i == 0) {
            make_and_end(f);
            assert_int_equal(rmdir(directory), -1);
        }
        stop(f);
        assert_int_equal(rmdir(directory), -1);
        free(directory);
    }
    assert_int_equal(rmdir(work), 0);
}

static void test_it_is_started_when_a_jail_is_wanted(void **state)
{
    struct fixture *f = start("/" GOOD);
    (void)state;
    make_when_ready(f);
    stop(f);
}

static void test_it_dies_and_is_started_again(void **state)
{
    struct fixture *f = start("/" TWICE);
    struct jailproc jail;
    (void)state;
    assert_true(zygote_await(f->zygote));
    for (int i = 0; i < 3; i++) {
        make_when_ready(f);
        assert_int_equal(copy(f, &jail), -EINPROGRESS);
        assert_true(f->zygote->has_died);
        assert_int_equal(zygote_pid(f->zygote), 0);
        expect_reason(f, "it has died; another one is started");
    }
    stop(f);
}

static void test_it_hangs_and_its_jail_is_ended(void **state)
{
    struct fixture *f = start("/" UNCLAIMED);
    struct jailproc jail;
    (void)state;
    assert_true(zygote_await(f->zygote));
    make_and_end(f);
    assert_int_equal(copy(f, &jail), -EINPROGRESS);
    expect_reason(f, "it does not answer; another one is started");
    /* Nobody has heard of the jail: a sweep finds it. Its link is closed. */
    assert_true(f->zygote->has_died);
    assert_true(waitpid(-1, NULL, 0) > 0);
    stop(f);
}

static void expect_lost(const char *work_directory, bool is_ready, int r, const char *reason)
{
    struct fixture *f = start(work_directory);
    struct jailproc jail;
    assert_int_equal(zygote_await(f->zygote), is_ready);
    if (is_ready)
        assert_int_equal(copy(f, &jail), r);
    assert_int_equal(copy(f, &jail), -ENOENT); /* it is not tried again */
    assert_int_equal(zygote_pid(f->zygote), 0);
    expect_reason(f, reason);
    stop(f);
}

#define ALONE "; jails are made without it"

static void test_it_cannot_be_had(void **state)
{
    (void)state;
    expect_lost("/" GONE, false, 0, "it ended before it was ready" ALONE);
    expect_lost("/" FIRST, true, -EINPROGRESS, "it has died" ALONE);
    expect_lost("/" LIAR, true, -EINPROGRESS, "its answer makes no sense" ALONE);
    expect_lost("/" BAD, false, 0, "there is no such module");
}

/* As when descriptors or memory run short while the second one starts. */
static void test_its_successor_does_not_start(void **state)
{
    struct fixture *f = start("/" TWICE);
    int program = f->config.program, nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct jailproc jail;
    (void)state;
    assert_true(zygote_await(f->zygote));
    make_and_end(f);
    assert_int_equal(copy(f, &jail), -EINPROGRESS);
    expect_reason(f, "it has died; another one is started");
    uint64_t pauses[2];
    for (int i = 0; i < 2; i++) {
        f->config.program = nothing;
        f->zygote->again_ns = 0;
        while (copy(f, &jail) == -EINPROGRESS)
            (void)poll(&(struct pollfd){.fd = f->zygote->process.link_fd, .events = POLLIN}, 1,
                       10000);
        pauses[i] = f->zygote->pause_ms;
        assert_string_equal(zygote_take_reason(f->zygote),
                            "it ended before it was ready; jails are made without it for a while");
        f->config.program = program;
        assert_int_equal(copy(f, &jail), -ENOENT); /* the pause is not over */
    }
    assert_true(pauses[1] == 2 * pauses[0]);
    f->zygote->again_ns = clock_now_ns();
    make_when_ready(f);
    close_fd(nothing);
    stop(f);
}

static void test_the_kernel_refuses_it(void **state)
{
    struct fixture *f = start("/" REFUSED);
    struct jailproc jail;
    (void)state;
    assert_true(zygote_await(f->zygote));
    assert_int_equal(copy(f, &jail), -EPERM); /* perhaps the host refuses any jail: it stays */
    assert_true(zygote_pid(f->zygote) > 0);
    zygote_give_up(f->zygote, -EPERM);
    assert_int_equal(copy(f, &jail), -ENOENT);
    expect_reason(f, "it cannot make jails: Operation not permitted" ALONE);
    stop(f);
}

/* What kept it from making one more jail may have passed. */
static void test_the_kernel_refuses_it_once(void **state)
{
    struct fixture *f = start("/" GOOD);
    (void)state;
    assert_true(zygote_await(f->zygote));
    for (int i = 0; i < 2; i++) {
        make_when_ready(f);
        zygote_give_up(f->zygote, -EAGAIN);
        expect_reason(
            f, "it cannot make jails: Resource temporarily unavailable; another one is started");
    }
    make_when_ready(f);
    stop(f);
}

/* --- its messages -------------------------------------------------------------------------- */

static void make_link(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
}

static void test_requests_that_are_not(void **state)
{
    static char strings[LINK_STRINGS_MAX];
    const struct {
        struct link_birth birth;
        char directory[4];
    } request = {.directory = "dir"};
    struct link_birth birth;
    size_t before = count_descriptors();
    int fds[2], jail_link = -2;
    (void)state;
    make_link(fds);
    assert_int_equal(send(fds[0], &request, sizeof(request), 0), sizeof(request)); /* no link */
    assert_int_equal(link_receive_birth(fds[1], &birth, strings, &jail_link), -EPROTO);
    assert_int_equal(send(fds[0], &request, 3, 0), 3);
    assert_int_equal(link_receive_birth(fds[1], &birth, strings, &jail_link), -EPROTO);
    assert_int_equal(link_receive_birth(fds[1], &birth, strings, &jail_link), -EAGAIN);
    assert_int_equal(link_send_birth(fds[0], &request.birth, "/a", fds[0]), 0);
    assert_int_equal(link_receive_birth(fds[1], &birth, strings, &jail_link), 1);
    assert_string_equal(strings, "/a");
    close_fd(jail_link);
    close_fd(fds[0]);
    assert_int_equal(link_receive_birth(fds[1], &birth, strings, &jail_link), 0);
    close_fd(fds[1]);
    assert_int_equal(count_descriptors(), before);
}

static void test_answers_that_are_not(void **state)
{
    static const struct link_born bad[] = {{.pid = 5}, {.pid = -1}, {0}, {.error = -3}};
    const struct link_born refused = {.error = EPERM}, lives = {.pid = 7};
    struct link_born born;
    size_t before = count_descriptors();
    int fds[2], pidfd = -2;
    (void)state;
    make_link(fds);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(link_send_born(fds[0], &bad[i], -1), 0);
        assert_int_equal(link_receive_born(fds[1], &born, &pidfd), -EPROTO);
    }
    assert_int_equal(link_send_born(fds[0], &refused, fds[0]), 0); /* a pidfd of no jail */
    assert_int_equal(link_receive_born(fds[1], &born, &pidfd), -EPROTO);
    assert_int_equal(link_send_born(fds[0], &refused, -1), 0);
    assert_int_equal(link_receive_born(fds[1], &born, &pidfd), 1);
    assert_int_equal(born.error, EPERM);
    assert_int_equal(pidfd, -1);
    assert_int_equal(link_send_born(fds[0], &lives, fds[0]), 0);
    assert_int_equal(link_receive_born(fds[1], &born, &pidfd), 1);
    assert_true(born.pid == 7 && pidfd >= 0);
    close_fd(pidfd);
    close_fd(fds[0]);
    close_fd(fds[1]);
    assert_int_equal(count_descriptors(), before);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[2], LINK_ZYGOTE) == 0)
        return be_zygote(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_makes_jails),
        cmocka_unit_test(test_its_directory_goes_later),
        cmocka_unit_test(test_it_is_started_when_a_jail_is_wanted),
        cmocka_unit_test(test_it_dies_and_is_started_again),
        cmocka_unit_test(test_it_hangs_and_its_jail_is_ended),
        cmocka_unit_test(test_it_cannot_be_had),
        cmocka_unit_test(test_its_successor_does_not_start),
        cmocka_unit_test(test_the_kernel_refuses_it),
        cmocka_unit_test(test_the_kernel_refuses_it_once),
        cmocka_unit_test(test_requests_that_are_not),
        cmocka_unit_test(test_answers_that_are_not),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
