/* SPDX-License-Identifier: MIT */
/* Theory of operation. Until the program starts, the user's terminal is as it was, so that ^C ends
 * the wait for a slot. With `started` it becomes raw. From then on standard input is read as far as
 * the daemon has room for it (TERMINAL_INPUT_MAX), which `input_taken` tells; output is written as
 * it comes. Signals arrive through descriptors: those that end this command do so by closing the
 * connection, which ends the job; SIGWINCH and SIGCONT have the size told again. So there is one
 * way out, and the terminal is given back on it. */
#include "sandbox_tty.h"

#include "client/connection/interrupt.h"
#include "client/terminal/raw.h"
#include "client/terminal/relay.h"
#include "client/terminal/text.h"
#include "proto/base64.h"
#include "proto/jobspec.h"
#include "proto/printer.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

/* Bytes that are read from the user's terminal at once. */
#define TYPED_MAX 4096

struct tty {
    struct session *session;
    struct raw raw;
    struct interrupt interrupt;
    int changes;      /* SIGWINCH, SIGCONT and SIGQUIT arrive here */
    int64_t job_no;   /* 0: the program has not started */
    size_t in_flight; /* bytes that were sent and not taken */
    bool is_open_line;
    int not_shown; /* why the output could not be written: -EINTR: the user left; or 0 */
};

#define TTY_NULL                                                    \
    {                                                               \
        .raw = RAW_NULL, .interrupt = INTERRUPT_NULL, .changes = -1 \
    }

static void tty_deinit(struct tty *tty)
{
    raw_leave(&tty->raw);
    interrupt_deinit(&tty->interrupt);
    close_fd(tty->changes);
}

int sandbox_tty_ask(json_t *job, struct fault *fault)
{
    struct winsize size = {0};
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO))
        return fault_set(fault, "--tty: standard input is not a terminal");
    (void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    json_t *terminal = json_pack("{s:i,s:i,s:s?}", "rows", (int)size.ws_row, "columns",
                                 (int)size.ws_col, "term", term && *term ? term : NULL);
    return json_object_set_new(job, "terminal", terminal) < 0 ? -ENOMEM : 0;
}

/* --- signals ------------------------------------------------------------------------------ */

/* SIGTSTP is held back: whoever stopped us would be left with a raw terminal. */
static int take_signals(struct tty *tty)
{
    static const int signals[] = {SIGWINCH, SIGCONT, SIGQUIT};
    sigset_t set;
    int r = interrupt_init(&tty->interrupt);
    if (r < 0)
        return r;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        (void)sigaddset(&set, signals[i]);
    tty->changes = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (tty->changes < 0)
        return -errno;
    (void)sigaddset(&set, SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return 0;
}

/* Tells the program the size of the user's terminal. */
static int send_size(struct tty *tty)
{
    struct winsize size;
    char text[128];
    if (tty->job_no == 0 || ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    int n = snprintf(text, sizeof(text),
                     "{\"type\":\"resize\",\"job_no\":%lld,\"rows\":%u,\"columns\":%u}",
                     (long long)tty->job_no, size.ws_row, size.ws_col);
    return session_send(tty->session, text, (size_t)n);
}

/* -EINTR if the user wants to leave. */
static int take_changes(struct tty *tty)
{
    struct signalfd_siginfo info;
    int r = 0;
    while (read(tty->changes, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGQUIT)
            return -EINTR;
        if (info.ssi_signo == SIGCONT && tty->raw.is_on)
            (void)raw_enter(&tty->raw, STDIN_FILENO);
        if (r == 0)
            r = send_size(tty);
    }
    return r;
}

/* --- both ways ---------------------------------------------------------------------------- */

static bool wants_keys(const struct tty *tty)
{
    return tty->job_no > 0 && tty->in_flight + TYPED_MAX <= TERMINAL_INPUT_MAX;
}

/* Sends what was typed. -EINTR if the terminal is gone. */
static int send_keys(struct tty *tty)
{
    char typed[TYPED_MAX];
    _cleanup_bytes_ struct bytes text = BYTES_NULL, payload = BYTES_NULL;
    struct printer printer = PRINTER_NULL;
    ssize_t n = read(STDIN_FILENO, typed, sizeof(typed));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0)
        return -EINTR;
    int r = base64_encode(typed, (size_t)n, &text);
    if (r < 0)
        return r;
    printer_open(&printer);
    printer_name(&printer, "type");
    printer_string(&printer, "input", strlen("input"));
    printer_name(&printer, "job_no");
    printer_integer(&printer, tty->job_no);
    printer_name(&printer, "base64");
    printer_string(&printer, text.data, text.length);
    printer_close(&printer);
    r = printer_finish(&printer, &payload);
    if (r == 0)
        r = session_send(tty->session, payload.data, payload.length);
    if (r == 0)
        tty->in_flight += (size_t)n;
    return r;
}

static int show(struct tty *tty, const struct message *output)
{
    const char *text = message_text(output, "base64");
    _cleanup_bytes_ struct bytes data = BYTES_NULL;
    int r = base64_decode(text, strlen(text), &data);
    if (r == 0 && data.length > 0)
        tty->is_open_line = data.data[data.length - 1] != '\n';
    if (r < 0)
        return r;
    r = relay_write(STDOUT_FILENO, data.data, data.length, tty->interrupt.fd);
    tty->not_shown = r;
    return r;
}

static int begin(struct tty *tty, const struct message *started)
{
    tty->job_no = message_integer(started, "job_no");
    int r = raw_enter(&tty->raw, STDIN_FILENO);
    return r < 0 ? r : send_size(tty); /* it may have changed while the job was queued */
}

/* 1: MESSAGE is the answer. */
static int take_message(struct tty *tty, const struct message *message)
{
    int64_t taken = message_integer(message, "bytes");
    switch (message->type) {
    case MESSAGE_RESULT:
        return 1;
    case MESSAGE_ERROR:
        /* Without an id it is about a message, and the job goes on. */
        return message_text(message, "id") != NULL;
    case MESSAGE_STARTED:
        return begin(tty, message);
    case MESSAGE_OUTPUT:
        return show(tty, message);
    case MESSAGE_INPUT_TAKEN:
        tty->in_flight -= MIN(tty->in_flight, (size_t)MAX(taken, INT64_C(0)));
        return 0;
    case MESSAGE_HELLO:
    case MESSAGE_STATUS:
    case MESSAGE_METRICS:
    case MESSAGE_PONG:
    case MESSAGE_RELOADED:
    case MESSAGE_STORED:
    case MESSAGE_BYE:
    case MESSAGE_OTHER:
        return 0;
    }
    return 0;
}

/* Takes the messages that have come. 1: *ret is the answer. */
static int take_messages(struct tty *tty, struct message *ret, struct fault *fault)
{
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        int r = session_next(tty->session, &message, fault);
        if (r <= 0)
            return r;
        r = take_message(tty, &message);
        if (r > 0)
            *ret = TAKE_STRUCT(message, MESSAGE_NULL);
        if (r != 0)
            return r;
    }
}

/* Waits for the answer. 0; -EINTR: the user leaves; another negative errno, maybe with FAULT. */
static int wait_for_answer(struct tty *tty, struct message *ret, struct fault *fault)
{
    int r;
    while ((r = take_messages(tty, ret, fault)) == 0) {
        struct pollfd fds[] = {
            {.fd = tty->session->fd, .events = session_events(tty->session, false)},
            {.fd = tty->interrupt.fd, .events = POLLIN},
            {.fd = tty->changes, .events = POLLIN},
            {.fd = wants_keys(tty) ? STDIN_FILENO : -1, .events = POLLIN},
        };
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents)
            return -EINTR;
        if (fds[2].revents)
            r = take_changes(tty);
        if (r == 0 && fds[3].revents)
            r = send_keys(tty);
        if (r == 0)
            r = session_pump(tty->session, (short)(fds[0].revents | POLLOUT));
        if (r < 0)
            return r;
    }
    return MIN(r, 0);
}

/* Says why there is no answer: R, and FAULT if it says more. */
static enum exit_status explain(const struct tty *tty, int r, const struct fault *fault,
                                struct sandbox_stream *stream)
{
    /* A terminal that took no output in time would keep us with this, too. */
    if (tty->is_open_line && tty->not_shown != -EINTR)
        (void)fputc('\n', stderr);
    if (r == -EINTR)
        return STATUS_INTERRUPTED;
    if (tty->not_shown == 0) {
        complain("%s; the job was not answered", fault->text[0] ? fault->text : strerror(-r));
        return STATUS_NO_DAEMON;
    }
    stream->has_no_reader = tty->not_shown == -EPIPE;
    if (!stream->has_no_reader)
        complain("cannot write the output: %s", strerror(-r));
    return STATUS_USAGE;
}

enum exit_status sandbox_tty_run(struct session *session, json_t *job,
                                 struct sandbox_stream *stream, struct message *ret)
{
    _cleanup_(tty_deinit) struct tty tty = TTY_NULL;
    struct fault fault = FAULT_NULL;
    int r = take_signals(&tty);
    if (r < 0) {
        complain("signals: %s", strerror(-r));
        return STATUS_NO_DAEMON;
    }
    tty.session = session;
    enum exit_status status = single_send(session, job, NULL, "sandbox");
    if (status != STATUS_OK)
        return status;
    r = wait_for_answer(&tty, ret, &fault);
    raw_leave(&tty.raw); /* before anything is said */
    stream->is_open_line = tty.is_open_line;
    return r == 0 ? STATUS_OK : explain(&tty, r, &fault, stream);
}
