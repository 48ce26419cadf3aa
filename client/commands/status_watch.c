/* SPDX-License-Identifier: MIT */
#include "status_watch.h"
#include "control.h"

#include "client/connection/interrupt.h"
#include "client/connection/reconnect.h"
#include "client/terminal/screen.h"
#include "client/terminal/statusview.h"
#include "client/terminal/text.h"
#include "proto/util.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

/* How long the page says that the daemon is back. */
#define BACK_SHOWN_MS 10000
/* Wait for a lost daemon for as long as anybody watches. */
#define PATIENCE_MS (INT64_C(1000) * 86400 * 3650)
#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN 32

struct watch {
    struct session *session;
    struct reconnect reconnect;
    struct interrupt interrupt; /* SIGINT, SIGTERM and SIGHUP end the watch */
    int terminal_fd;            /* SIGWINCH, SIGTSTP and SIGCONT */
    struct screen screen;
    bool on_screen, json, ended;
    int64_t period_ms;
    int64_t next_ms;     /* when to ask for the next status; INT64_MAX: a request is in flight */
    int64_t deadline_ms; /* when the answer is overdue; INT64_MAX: no request is in flight */
    struct message status;
    int64_t status_ms; /* when it arrived */
    int64_t back_ms;   /* when the daemon came back; 0: it was never away */
    bool stale;        /* the daemon is away */
    enum exit_status result;
};

/* --- showing ------------------------------------------------------------------------------- */

static void put_title(const struct watch *watch, FILE *out, const struct statusview *view)
{
    char title[256], clock[16] = "";
    if (view->clock)
        (void)strftime(clock, sizeof(clock), "%H:%M:%S", view->clock);
    (void)snprintf(title, sizeof(title), "every %.0f s; q ends", (double)watch->period_ms / 1000);
    size_t room = view->columns - MIN(view->columns, strlen(clock) + 1);
    (void)fputs(view->colour ? "\033[2m" : "", out);
    text_put_cell(out, title, room);
    (void)fprintf(out, " %s%s\n", clock, view->colour ? "\033[0m" : "");
}

static void put_connection(const struct watch *watch, FILE *out, const struct statusview *view)
{
    char text[512], ago[TEXT_QUANTITY_MAX];
    int64_t now = monotonic_ms();
    if (watch->stale) {
        (void)snprintf(text, sizeof(text), "! the daemon is away: %.300s; what follows is %s old",
                       watch->reconnect.why.text[0] ? watch->reconnect.why.text : "connecting",
                       text_duration(now - watch->status_ms, ago));
        (void)fputs(view->colour ? "\033[31m" : "", out);
        text_put_wrapped(out, text, 0, 2, view->columns);
        (void)fputs(view->colour ? "\033[0m" : "", out);
    } else if (watch->back_ms > 0 && now - watch->back_ms < BACK_SHOWN_MS) {
        (void)fputs(view->colour ? "\033[32m" : "", out);
        text_put_wrapped(out, "! the daemon is back", 0, 2, view->columns);
        (void)fputs(view->colour ? "\033[0m" : "", out);
    }
}

/* Returns the page as text, which the caller frees; NULL for lack of memory. */
static char *render(const struct watch *watch, const struct statusview *view)
{
    char *page = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&page, &length);
    if (!out)
        return NULL;
    if (watch->on_screen)
        put_title(watch, out, view);
    put_connection(watch, out, view);
    statusview_put(out, watch->status.object, view);
    (void)fclose(out);
    return page;
}

static void show_page(const struct watch *watch)
{
    size_t columns = COLUMNS_DEFAULT, rows = 24;
    struct tm clock;
    time_t now = time(NULL);
    screen_size(&columns, &rows);
    const struct statusview view = {
        .columns = MAX(columns, (size_t)COLUMNS_MIN),
        .rows = watch->on_screen ? rows - 1 : 0,
        .clock = localtime_r(&now, &clock),
        .colour = screen_wants_colour(),
    };
    _cleanup_free_ char *page = render(watch, &view);
    if (page && watch->on_screen)
        screen_draw(page, rows);
    else if (page)
        (void)printf("%s\n", page);
}

static void show(struct watch *watch)
{
    if (!watch->status.object)
        return;
    if (watch->json && !watch->stale) {
        control_put_json(&watch->status);
    } else if (!watch->json) {
        show_page(watch);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        watch->ended = true; /* the reader has gone; main() complains if that is an error */
}

/* --- the daemon ---------------------------------------------------------------------------- */

static void lose(struct watch *watch, const struct fault *why, int64_t now)
{
    reconnect_begin(&watch->reconnect, watch->session, why, now);
    watch->next_ms = watch->deadline_ms = INT64_MAX;
    watch->stale = true;
    if (!watch->on_screen)
        complain("%s; waiting for it to come back", why->text);
    if (watch->on_screen)
        show(watch);
}

static void ask(struct watch *watch, int64_t now)
{
    static const char question[] = "{\"type\":\"status\"}";
    assert(!watch->stale && watch->deadline_ms == INT64_MAX);
    watch->next_ms = INT64_MAX;
    watch->deadline_ms = now + SESSION_ANSWER_MS;
    if (session_send(watch->session, question, strlen(question)) < 0) {
        struct fault why;
        (void)fault_set(&why, "cannot ask for the status");
        lose(watch, &why, now);
    }
}

static void take_answer(struct watch *watch, struct message *message, int64_t now)
{
    if (message->type == MESSAGE_ERROR) {
        screen_close(&watch->screen);
        complain("%s: %s", message_text(message, "code"), message_text(message, "message"));
        watch->result = STATUS_ERRORS;
        watch->ended = true;
        return;
    }
    message_deinit(&watch->status);
    watch->status = TAKE_STRUCT(*message, MESSAGE_NULL);
    watch->status_ms = now;
    watch->deadline_ms = INT64_MAX;
    watch->next_ms = now + watch->period_ms;
    show(watch);
}

static void receive(struct watch *watch, int64_t now)
{
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        struct fault why = FAULT_NULL;
        int r = session_next(watch->session, &message, &why);
        if (r < 0)
            lose(watch, &why, now);
        if (r <= 0)
            return;
        if (message.type == MESSAGE_STATUS || message.type == MESSAGE_ERROR)
            take_answer(watch, &message, now);
    }
}

static void come_back(struct watch *watch, int64_t now)
{
    switch (reconnect_go_on(&watch->reconnect, watch->session, now)) {
    case RECONNECT_GOES_ON:
        return;
    case RECONNECT_BACK:
        watch->stale = false;
        watch->back_ms = now;
        if (!watch->on_screen)
            complain("%s: the daemon is back", watch->session->where);
        ask(watch, now);
        return;
    case RECONNECT_GIVEN_UP:
        screen_close(&watch->screen);
        complain("%s", watch->reconnect.why.text);
        watch->result = STATUS_NO_DAEMON;
        watch->ended = true;
        return;
    }
}

/* Receives what has arrived, reconnects, and asks again, each when it is due. */
static void go_on(struct watch *watch)
{
    int64_t now = monotonic_ms();
    if (watch->stale)
        come_back(watch, now);
    else
        receive(watch, now);
    if (watch->stale || watch->ended)
        return;
    if (now >= watch->deadline_ms) {
        struct fault why;
        (void)fault_set(&why, "it does not answer");
        lose(watch, &why, now);
    } else if (now >= watch->next_ms) {
        ask(watch, now);
    }
}

/* --- the terminal -------------------------------------------------------------------------- */

/* Returns a descriptor for SIGTSTP, SIGCONT and SIGWINCH, so that the loop can restore the terminal
 * before the process stops and redraw the page after a resize. */
static int open_terminal_signals(void)
{
    static const int signals[] = {SIGWINCH, SIGTSTP, SIGCONT};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        (void)sigaddset(&set, signals[i]);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return fd;
}

static void on_terminal_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    bool stop = false;
    while (read(watch->terminal_fd, &info, sizeof(info)) == sizeof(info))
        stop = info.ssi_signo == SIGTSTP || (stop && info.ssi_signo != SIGCONT);
    if (stop) {
        screen_close(&watch->screen);
        (void)raise(SIGSTOP);
    }
    screen_open(&watch->screen);
    show(watch);
}

static void on_keys(struct watch *watch)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
    if (n <= 0)
        watch->screen.keys = watch->screen.keys && n < 0 && errno == EINTR;
    for (ssize_t i = 0; i < n; i++)
        watch->ended |= keys[i] == 'q' || keys[i] == 'Q';
}

/* --- the loop ------------------------------------------------------------------------------ */

static int64_t due(const struct watch *watch)
{
    int64_t at = MIN(watch->next_ms, watch->deadline_ms);
    if (watch->stale)
        at = MIN(at, reconnect_due(&watch->reconnect));
    return at;
}

static void wait_for_something(struct watch *watch)
{
    const struct session *session = watch->session;
    struct pollfd fds[] = {
        {.fd = session->fd, .events = session->fd < 0 ? 0 : session_events(session, false)},
        {.fd = watch->interrupt.fd, .events = POLLIN},
        {.fd = watch->terminal_fd, .events = POLLIN},
        {.fd = watch->on_screen && watch->screen.keys ? STDIN_FILENO : -1, .events = POLLIN},
    };
    int64_t left = due(watch) - monotonic_ms();
    /* While the daemon is away the page shows the age of the status, so redraw it every second. */
    int64_t most = watch->stale && watch->on_screen ? 1000 : 3600000;
    if (poll(fds, ARRAY_SIZE(fds), (int)MIN(MAX(left, 0), most)) < 0 && errno != EINTR)
        watch->ended = true;
    if (fds[1].revents && interrupt_count(&watch->interrupt) > 0) {
        watch->result = STATUS_INTERRUPTED;
        watch->ended = true;
    }
    if (fds[2].revents)
        on_terminal_signals(watch);
    if (fds[3].revents)
        on_keys(watch);
    if (fds[0].revents && session_pump(watch->session, fds[0].revents) < 0)
        watch->ended = true;
    if (watch->stale && watch->on_screen && !watch->ended)
        show(watch);
}

enum exit_status status_watch(struct session *session, long seconds, bool json)
{
    struct watch watch = {
        .session = session,
        .interrupt = INTERRUPT_NULL,
        .terminal_fd = -1,
        .screen = SCREEN_NULL,
        .on_screen = !json && screen_is_possible(),
        .json = json,
        .period_ms = seconds * 1000,
        .deadline_ms = INT64_MAX,
        .status = MESSAGE_NULL,
    };
    reconnect_init(&watch.reconnect, PATIENCE_MS);
    int r = interrupt_init(&watch.interrupt);
    if (r == 0 && watch.on_screen)
        r = watch.terminal_fd = open_terminal_signals();
    if (r < 0) {
        complain("signals: %s", strerror(-r));
        watch.ended = true;
        watch.result = STATUS_USAGE;
    }
    if (watch.on_screen && !watch.ended)
        screen_open(&watch.screen);
    while (!watch.ended) {
        go_on(&watch);
        if (!watch.ended)
            wait_for_something(&watch);
    }
    screen_close(&watch.screen);
    interrupt_deinit(&watch.interrupt);
    close_fd(watch.terminal_fd);
    message_deinit(&watch.status);
    return watch.result;
}
