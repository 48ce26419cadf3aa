/* SPDX-License-Identifier: MIT */
/* Tests where entries go, and that nothing waits for their reader. A socket of the test's own is
 * the journal. */
#include "daemon/log/log.h"

#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

struct fixture {
    struct log log;
    int journal;
    char path[64];
    int saved_stderr;
    int pipe[2]; /* stderr is connected to the write end; tests read [0] */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)unsetenv("JOURNAL_STREAM");
    (void)snprintf(f->path, sizeof(f->path), "/tmp/test-log-%d", (int)getpid());
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->path);
    (void)unlink(f->path);
    f->journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(f->journal, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC), 0);
    assert_int_equal(fcntl(f->pipe[0], F_SETFL, O_NONBLOCK), 0);
    f->saved_stderr = dup(STDERR_FILENO);
    assert_int_equal(dup2(f->pipe[1], STDERR_FILENO), STDERR_FILENO);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    (void)dup2(f->saved_stderr, STDERR_FILENO);
    log_deinit(&f->log);
    (void)unlink(f->path);
    close_fd(f->saved_stderr);
    close_fd(f->journal);
    close_fd(f->pipe[0]);
    close_fd(f->pipe[1]);
    free(f);
    return 0;
}

/* Lets a journal listen at the fixture's path. */
static void use_journal(struct fixture *f)
{
    log_init(&f->log, LOG_INFO, CONFIG_LOG_PLAIN);
    f->log.sink = LOG_TO_JOURNAL;
    writer_init(&f->log.journal, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), f->path);
    assert_true(f->log.journal.fd >= 0);
}

/* Returns the next bytes of FD, "" if there are none. */
static const char *take(int fd)
{
    static char text[65536];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    text[MAX(n, 0)] = '\0';
    return text;
}

static void stderr_as_journal_stream(void)
{
    char text[64];
    struct stat st;
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino);
    assert_int_equal(setenv("JOURNAL_STREAM", text, 1), 0);
}

static void test_plain(void **state)
{
    struct fixture *f = *state;
    log_init(&f->log, LOG_INFO, CONFIG_LOG_AUTO);
    assert_int_equal(f->log.sink, LOG_TO_PLAIN);
    log_write(&f->log, LOG_DEBUG, "unheard");
    log_write(&f->log, LOG_INFO, "one\ntwo\x1B[0m");
    log_event(&f->log, LOG_WARNING, LOG_MESSAGE_DRAINING, "%d", 3);
    log_slot(&f->log, LOG_ERR, LOG_MESSAGE_JAIL_LOST, 2, 9, "gone");
    assert_string_equal(take(f->pipe[0]), "rubricd: one two\\x1b[0m\n"
                                          "rubricd: warning: 3\n"
                                          "rubricd: error: slot 2: gone [slot=2]\n");
}

static void test_json(void **state)
{
    struct fixture *f = *state;
    log_init(&f->log, LOG_INFO, CONFIG_LOG_JSON);
    log_slot(&f->log, LOG_WARNING, LOG_MESSAGE_JAIL_LOST, 2, 9, "gone");
    const char *line = take(f->pipe[0]);
    assert_memory_equal(line, "{\"time\":\"20", 11);
    assert_non_null(strstr(line, "Z\",\"level\":\"warning\",\"message\":\"slot 2: gone\","
                                 "\"event\":\"jail_lost\","
                                 "\"message_id\":\"f096f34c558d4da791bb33b6906a0954\","
                                 "\"job_no\":9,\"slot\":2}\n"));
}

/* If stderr is the journal's stream, each line begins with the level in the journal's form. */
static void test_prefix(void **state)
{
    struct fixture *f = *state;
    stderr_as_journal_stream();
    assert_true(log_stderr_is_journal());
    log_init(&f->log, LOG_INFO, CONFIG_LOG_PLAIN);
    log_write(&f->log, LOG_WARNING, "x");
    assert_string_equal(take(f->pipe[0]), "<4>x\n");
}

/* $JOURNAL_STREAM alone proves nothing: programs inherit it and redirect stderr. */
static void test_stream_of_another(void **state)
{
    static const char *const others[] = {"", "1", "1:2", "1:2x", "x:y"};
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_int_equal(setenv("JOURNAL_STREAM", others[i], 1), 0);
        assert_false(log_stderr_is_journal());
        log_init(&f->log, LOG_INFO, CONFIG_LOG_AUTO);
        assert_int_equal(f->log.sink, LOG_TO_PLAIN);
        assert_false(f->log.prefixed);
    }
}

static void test_journal(void **state)
{
    struct fixture *f = *state;
    use_journal(f);
    log_event(&f->log, LOG_INFO, LOG_MESSAGE_DRAINING, "x");
    assert_string_equal(take(f->journal), "MESSAGE=x\nPRIORITY=6\nSYSLOG_IDENTIFIER=rubricd\n"
                                          "MESSAGE_ID=e901e529c88a4cc3b4db39e243ca490d\n");
    assert_string_equal(take(f->pipe[0]), "");
}

/* A journal that does not read: entries are kept; when there is no more room they are dropped,
 * which is reported in their place when the journal reads again. */
static void test_journal_does_not_keep_up(void **state)
{
    struct fixture *f = *state;
    unsigned written = 0, got = 0;
    char expected[64];
    use_journal(f);
    while (f->log.dropped == 0 && written < 1000000)
        log_write(&f->log, LOG_INFO, "entry %u", ++written);
    assert_int_equal(f->log.dropped, 1);
    assert_true(f->log.journal.kept_bytes > WRITER_KEPT_MAX - 100);
    log_write(&f->log, LOG_INFO, "entry %u", ++written);
    assert_int_equal(f->log.dropped, 2);
    assert_int_equal(f->log.untold, 2);
    for (; got < written - 2; got++) {
        (void)writer_flush(&f->log.journal);
        (void)snprintf(expected, sizeof(expected), "MESSAGE=entry %u\n", got + 1);
        assert_memory_equal(take(f->journal), expected, strlen(expected));
    }
    assert_string_equal(take(f->journal), "");
    log_write(&f->log, LOG_INFO, "after");
    const char *told = take(f->journal);
    assert_non_null(strstr(told, "MESSAGE=2 log entries were dropped"));
    assert_non_null(strstr(told, "PRIORITY=4\n"));
    assert_non_null(strstr(told, "RUBRIC_DROPPED=2\n"));
    assert_memory_equal(take(f->journal), "MESSAGE=after\n", 14);
    assert_int_equal(f->log.untold, 0);
    assert_int_equal(f->log.dropped, 2);
    assert_int_equal(f->log.journal.kept_bytes, 0);
    assert_string_equal(take(f->pipe[0]), "");
}

struct loop {
    struct fixture *fixture;
    struct event_base *base;
    unsigned got, wanted;
};

static void on_entry(evutil_socket_t fd, short what, void *userdata)
{
    struct loop *loop = userdata;
    (void)what;
    if (*take(fd) && ++loop->got == loop->wanted)
        (void)event_base_loopbreak(loop->base);
}

/* The event loop writes what is kept as the journal reads, and then has nothing more to do. */
static void test_the_event_loop_writes_what_is_kept(void **state)
{
    struct loop loop = {.fixture = *state, .base = event_base_new(), .wanted = 5000};
    struct log *log = &loop.fixture->log;
    struct timeval patience = {.tv_sec = 30};
    use_journal(loop.fixture);
    log_attach(log, loop.base);
    for (unsigned i = 0; i < loop.wanted; i++)
        log_write(log, LOG_INFO, "entry");
    assert_true(log->journal.kept_bytes > 0);
    struct event *reader =
        event_new(loop.base, loop.fixture->journal, EV_READ | EV_PERSIST, on_entry, &loop);
    assert_int_equal(event_add(reader, NULL), 0);
    (void)event_base_loopexit(loop.base, &patience);
    (void)event_base_dispatch(loop.base);
    assert_int_equal(loop.got, loop.wanted);
    assert_int_equal(log->journal.kept_bytes, 0);
    assert_int_equal(log->dropped, 0);
    assert_int_equal(event_pending(log->journal.event, EV_WRITE, NULL), 0);
    event_free(reader);
    log_detach(log);
    event_base_free(loop.base);
}

/* Dropped entries are reported even if nothing else is logged. */
static void test_flush(void **state)
{
    struct fixture *f = *state;
    use_journal(f);
    log_flush(&f->log);
    assert_string_equal(take(f->journal), "");
    f->log.untold = 3;
    log_flush(&f->log);
    assert_memory_equal(take(f->journal), "MESSAGE=3 log entries were dropped", 34);
    log_flush(&f->log);
    assert_string_equal(take(f->journal), "");
}

static void test_journal_goes_away_and_comes_back(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    use_journal(f);
    (void)unlink(f->path);
    log_write(&f->log, LOG_WARNING, "alone");
    assert_string_equal(take(f->pipe[0]), "rubricd: warning: alone\n");
    assert_int_equal(f->log.dropped, 0);
    close_fd(f->journal);
    f->journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->path);
    assert_int_equal(bind(f->journal, (struct sockaddr *)&address, sizeof(address)), 0);
    log_write(&f->log, LOG_WARNING, "again");
    assert_memory_equal(take(f->journal), "MESSAGE=again\n", 14);
    /* A restarted journal has another socket at the same path. */
    close_fd(f->journal);
    (void)unlink(f->path);
    f->journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(f->journal, (struct sockaddr *)&address, sizeof(address)), 0);
    log_write(&f->log, LOG_WARNING, "anew");
    assert_memory_equal(take(f->journal), "MESSAGE=anew\n", 13);
    assert_string_equal(take(f->pipe[0]), "");
}

/* A pipe that nobody reads: the daemon does not wait, and lines stay complete. */
static void test_reader_of_stderr_does_not_keep_up(void **state)
{
    struct fixture *f = *state;
    char filler[1000], line[1100];
    size_t lines = 0, held = 0;
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    (void)snprintf(line, sizeof(line), "rubricd: %s\n", filler);
    log_init(&f->log, LOG_INFO, CONFIG_LOG_PLAIN);
    for (; f->log.dropped == 0 && lines < 100000; lines++)
        log_write(&f->log, LOG_INFO, "%s", filler);
    assert_int_equal(f->log.dropped, 1);
    /* Complete lines come out in order, in whatever pieces the pipe has taken them. */
    for (const char *part; *(part = take(f->pipe[0])); (void)writer_flush(&f->log.lines))
        for (; *part; held++)
            assert_int_equal(*part++, line[held % strlen(line)]);
    assert_int_equal(held, (lines - 1) * strlen(line));
    log_write(&f->log, LOG_INFO, "after");
    assert_string_equal(take(f->pipe[0]),
                        "rubricd: warning: 1 log entry was dropped: they came faster than "
                        "they were read\nrubricd: after\n");
}

/* At its end the program waits for a reader, but not for long. */
static void test_last_words(void **state)
{
    struct fixture *f = *state;
    char filler[1000];
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    log_init(&f->log, LOG_INFO, CONFIG_LOG_PLAIN);
    while (f->log.lines.kept_bytes == 0)
        log_write(&f->log, LOG_INFO, "%s", filler);
    log_write(&f->log, LOG_INFO, "the last");
    pid_t reader = fork();
    if (reader == 0) {
        char text[4096];
        struct pollfd fd = {.fd = f->pipe[0], .events = POLLIN};
        bool found = false;
        while (!found && poll(&fd, 1, 10000) == 1) {
            ssize_t n = read(f->pipe[0], text, sizeof(text) - 1);
            text[MAX(n, 0)] = '\0';
            found = strstr(text, "rubricd: the last\n") != NULL;
        }
        _exit(found ? 0 : 1);
    }
    log_deinit(&f->log);
    int status;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
}

static void test_no_journal(void **state)
{
    struct fixture *f = *state;
    if (access("/run/systemd/journal/socket", F_OK) == 0) {
        print_message("# a journal is here\n");
        skip();
    }
    log_init(&f->log, LOG_INFO, CONFIG_LOG_JOURNAL);
    assert_int_equal(f->log.sink, LOG_TO_PLAIN);
    assert_string_equal(take(f->pipe[0]), "rubricd: warning: /run/systemd/journal/socket: No such "
                                          "file or directory: the log goes to stderr\n");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_plain),
        TEST(test_json),
        TEST(test_prefix),
        TEST(test_stream_of_another),
        TEST(test_journal),
        TEST(test_journal_does_not_keep_up),
        TEST(test_flush),
        TEST(test_journal_goes_away_and_comes_back),
        TEST(test_the_event_loop_writes_what_is_kept),
        TEST(test_reader_of_stderr_does_not_keep_up),
        TEST(test_last_words),
        TEST(test_no_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
