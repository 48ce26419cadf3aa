/* SPDX-License-Identifier: MIT */
#include "collect_to.h"
#include "commands.h"
#include "single.h"

#include "client/batch/explain.h"
#include "client/cli/limits.h"
#include "client/connection/connect.h"
#include "client/connection/interrupt.h"
#include "client/program/changes.h"
#include "client/program/programjob.h"
#include "client/program/programview.h"
#include "client/program/refusal.h"
#include "client/terminal/screen.h"
#include "client/terminal/text.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN 40
/* An editor may write a file in several steps: wait until it has been quiet for this long. */
#define QUIET_MS 60

/* --- the answer --------------------------------------------------------------------------- */

static void print_result(const struct message *answer, const json_t *names, const char *source,
                         bool json)
{
    size_t columns = COLUMNS_DEFAULT, rows;
    if (json) {
        single_print(answer->object);
        return;
    }
    screen_size(&columns, &rows);
    const struct programview view = {
        .source = source,
        .columns = MAX(columns, (size_t)COLUMNS_MIN),
        .colour = screen_wants_colour(),
    };
    programview_put(stdout, answer->object, names, &view);
    (void)fflush(stdout); /* before complaints about it go to stderr */
}

static enum exit_status show_result(const struct message *answer, const json_t *names,
                                    const char *source, const struct program_options *options,
                                    bool no_fail)
{
    const char *verdict = message_text(answer, "verdict");
    const struct ending ending = {
        .failed = !message_score(answer).passed,
        .errors = verdict && strcmp(verdict, "error") == 0,
    };
    print_result(answer, names, source, options->json);
    bool is_kept = collect_keep(answer->object, options->collect.to, false);
    return is_kept ? ending_status(&ending, no_fail) : STATUS_USAGE;
}

/* Whether the daemon refused the job for what the options say. A language that it knows and the
 * host lacks is no mistake in them. */
static bool is_wrong_usage(const struct message *error)
{
    const char *code = message_text(error, "code"), *message = message_text(error, "message");
    return strcmp(code, "bad_request") == 0 ||
           (strcmp(code, "language_not_found") == 0 && strstr(message, "this daemon knows no "));
}

static enum exit_status show_error(const struct message *error, const char *source,
                                   const struct program_options *options)
{
    const char *code = message_text(error, "code"), *message = message_text(error, "message");
    char text[EXPLAIN_MAX];
    if (!is_wrong_usage(error)) {
        complain("no result: %s: %s", code, message);
        return STATUS_ERRORS;
    }
    const char *words, *path;
    if (refusal_tell_compile(message, options, text, sizeof(text), &words, &path)) {
        programview_put_words(stderr, words, path);
        complain("%s", text);
    } else if (refusal_tell(message, source, options, text, sizeof(text)))
        complain("%s%s", text, explain_remedy(error));
    else
        complain("no result: %s: %s", code, message);
    return STATUS_USAGE;
}

static enum exit_status show(const struct message *answer, const json_t *names, const char *source,
                             const struct program_options *options, bool no_fail)
{
    if (answer->type != MESSAGE_ERROR)
        return show_result(answer, names, source, options, no_fail);
    if (options->json)
        single_print(answer->object);
    return show_error(answer, source, options);
}

/* --- one run ------------------------------------------------------------------------------ */

struct run {
    const struct globals *globals;
    const struct program_options *options;
    const char *source;
    struct interrupt interrupt;
    struct changes changes;
    int wake_fd;  /* readable if one of the two is */
    bool changed; /* the source or the tests were written since the run began */
    bool ended;   /* by a signal */
};

/* Finds out why the wake_fd is readable. Returns whether to stop waiting. */
static bool look(struct run *run)
{
    run->ended = run->ended || interrupt_count(&run->interrupt) > 0;
    int r = run->changes.fd < 0 ? 0 : changes_take(&run->changes);
    if (r < 0) {
        complain("%s: the folder of a file that is watched has gone", run->source);
        run->ended = true;
    }
    run->changed = run->changed || r > 0;
    return run->ended || run->changed;
}

static enum exit_status wait_for_answer(struct run *run, struct session *session,
                                        struct message *ret)
{
    enum exit_status status;
    do
        status = single_wait(session, run->wake_fd, ret);
    while (status == STATUS_INTERRUPTED && !look(run));
    return status;
}

/* Names the files that may have been meant as tests. */
static void tell_left(const struct run *run, const struct few_names *left)
{
    char names[FEW_NAMES_TEXT];
    if (left->n > 0)
        complain("%s: left out, as part of no test: %s", run->options->tests,
                 few_names_text(left, names));
}

/* Runs the program on its tests. STATUS_INTERRUPTED if a signal came or the source was written:
 * closing the connection ends the job. */
static enum exit_status run_once(struct run *run)
{
    _cleanup_json_ json_t *job = NULL, *names = NULL;
    _cleanup_session_ struct session session = SESSION_NULL;
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    _cleanup_few_names_ struct few_names left = FEW_NAMES_NULL;
    struct fault fault = FAULT_NULL;
    int r = program_job(run->source, run->options, &job, &names, &left, &fault);
    if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return STATUS_USAGE;
    }
    tell_left(run, &left);
    int connected = connect_session(run->globals, CONNECT_OR_START, &session);
    if (connected < 0)
        return connect_status(run->globals, connected);
    enum exit_status status = single_send(&session, job, NULL, "run-program");
    if (status == STATUS_OK)
        status = wait_for_answer(run, &session, &answer);
    if (status != STATUS_OK)
        return status;
    return show(&answer, names, run->source, run->options, run->globals->no_fail);
}

/* --- watching ----------------------------------------------------------------------------- */

/* Says since when which file is another. */
static void say_changed(const struct run *run)
{
    char at[16] = "";
    struct tm local;
    const time_t now = time(NULL);
    if (localtime_r(&now, &local))
        (void)strftime(at, sizeof(at), "%H:%M:%S ", &local);
    complain("%s%s has changed: running again", at, run->changes.changed);
}

/* Watches all files that the run depends on. */
static int watch_files(struct run *run, struct fault *fault)
{
    const struct program_options *options = run->options;
    int r = changes_add_file(&run->changes, run->source, fault);
    if (r == 0 && options->checker)
        r = changes_add_file(&run->changes, options->checker, fault);
    if (r == 0 && options->interactor)
        r = changes_add_file(&run->changes, options->interactor, fault);
    if (r == 0 && options->tests)
        r = changes_add_tree(&run->changes, options->tests, fault);
    return r;
}

/* Waits until the source has been written and left alone for a moment, or a signal comes. */
static void wait_for_change(struct run *run)
{
    struct pollfd fd = {.fd = run->wake_fd, .events = POLLIN};
    while (!run->ended) {
        int r = poll(&fd, 1, run->changed ? QUIET_MS : -1);
        if (r == 0)
            return;
        if (r > 0)
            (void)look(run);
        else if (errno != EINTR)
            run->ended = true;
    }
}

static enum exit_status watch(struct run *run)
{
    enum exit_status status = run_once(run);
    if (status == STATUS_USAGE)
        return status; /* it would not get better by itself */
    while (!run->ended) {
        if (!run->changed)
            complain("watching %s; Ctrl-C ends", run->source);
        wait_for_change(run);
        if (run->ended)
            break;
        run->changed = false;
        say_changed(run);
        (void)watch_files(run, NULL); /* folders that are new; those before are watched anyway */
        status = run_once(run);
    }
    return STATUS_INTERRUPTED;
}

static int add_wake(int wake_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(wake_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int prepare(struct run *run, struct fault *fault)
{
    int r = interrupt_init(&run->interrupt);
    if (r == 0)
        r = run->wake_fd = epoll_create1(EPOLL_CLOEXEC);
    if (r < 0)
        return run->interrupt.fd < 0 ? r : -errno;
    r = add_wake(run->wake_fd, run->interrupt.fd);
    if (r == 0 && run->options->watch)
        r = changes_open(&run->changes);
    if (r == 0 && run->options->watch)
        r = watch_files(run, fault);
    if (r == 0 && run->options->watch)
        r = add_wake(run->wake_fd, run->changes.fd);
    return r;
}

/* --- the command -------------------------------------------------------------------------- */

static enum exit_status run_program_run(const struct globals *globals, const void *options,
                                        const struct text_list *arguments)
{
    struct fault fault = FAULT_NULL;
    struct run run = {
        .globals = globals,
        .options = options,
        .source = arguments->items[0],
        .interrupt = INTERRUPT_NULL,
        .changes = CHANGES_NULL,
        .wake_fd = -1,
    };
    enum exit_status status = STATUS_USAGE;
    int r = prepare(&run, &fault);
    if (r < 0)
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
    else
        status = run.options->watch ? watch(&run) : run_once(&run);
    changes_close(&run.changes);
    interrupt_deinit(&run.interrupt);
    run.wake_fd = close_fd(run.wake_fd);
    return status;
}

static const struct option_spec run_program_specs[] = {
    {
        .letter = 't',
        .name = "tests",
        .argument = "PATH",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct program_options, tests),
        .help = "the folder or zip archive with the tests (needed)",
    },
    {
        .name = "language",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct program_options, language),
        .help = "the language of SOURCE, as in cpp or python; rubricctl status lists them "
                "(default: what the ending of its name says)",
    },
    {
        .name = "compare",
        .argument = "RULE",
        .kind = OPTION_TEXT,
        .value = VALUE_CHOICE,
        .choices = "exact lines tokens float:1e-6,1e-6 livecodebench apps codecontests",
        .offset = offsetof(struct program_options, compare),
        .help = "when an output is right: exact, lines (blanks at the ends of lines do not count; "
                "the default), tokens, float:ABS,REL, livecodebench, apps or codecontests",
    },
    {
        .name = "checker",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct program_options, checker),
        .help = "have this program judge the outputs; its arguments are input, output and answer, "
                "and its exit status is as of testlib: 0 right, 1 wrong, 3 the checker failed",
    },
    {
        .name = "interactor",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct program_options, interactor),
        .help = "have this program talk with SOURCE over stdin and stdout, and judge it; arguments "
                "and exit status as of a checker",
    },
    {
        .name = "time",
        .argument = "TIME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct program_options, time),
        .help = "how long one test may take: 2, 1.5s or 500ms",
    },
    {
        .name = "memory",
        .argument = "SIZE",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct program_options, memory),
        .help = "how much memory one test may use: 256M or 1G, at least 1M",
    },
    {
        .letter = 'l',
        .name = "limit",
        .argument = "NAME=VALUE",
        .kind = OPTION_LIST,
        .value = VALUE_LIMIT,
        .offset = offsetof(struct program_options, limits),
        .help = LIMITS_HELP,
    },
    {
        .letter = 'a',
        .name = "all",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct program_options, all),
        .help = "run all tests, even after one that does not pass",
    },
    {
        .letter = 'w',
        .name = "watch",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct program_options, watch),
        .help = "run again whenever SOURCE, a test or the checker changes, until Ctrl-C",
    },
    COLLECT_SPECS(offsetof(struct program_options, collect),
                  "from the first test that did not pass, or the last one if all did"),
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct program_options, json),
        .help = "print the daemon's whole answer as JSON",
    },
};

const struct command command_run_program = {
    .name = "run-program",
    .arguments = "SOURCE",
    .argument_value = VALUE_FILE,
    .arguments_min = 1,
    .arguments_max = 1,
    .brief = "compile a program and try it on tests",
    .description =
        "Compiles SOURCE and runs it on each test, all in the sandbox: every test in a fresh\n"
        "process and a fresh directory, with the test's input on standard input. Prints for\n"
        "each test its verdict, its time and memory and, if it did not pass, the first\n"
        "difference between what the program wrote and what was expected. If the program\n"
        "does not compile, prints what the compiler wrote.\n"
        "\n"
        "Tests are files as judges export them, in a folder (and folders in it) or a zip\n"
        "archive: 1.in and 1.out, 1.in and 1.ans, input1.txt and output1.txt, in/01.txt and\n"
        "out/01.txt, test.in.1 and test.out.1, or 01 and 01.a. An input without an output,\n"
        "or an output without an input, is an error. Sources and documents are left out;\n"
        "so are other files, and such as would be a pair, but standard error names them\n"
        "(at most three).\n"
        "\n"
        "The expected outputs never enter the sandbox: the daemon compares. Only a checker or\n"
        "an interactor gets them, in a sandbox of its own. Either may be in any language that\n"
        "its name tells; a testlib.h that lies beside it comes along.\n",
    .examples = "  rubricctl run-program main.cpp --tests tests/\n"
                "  rubricctl run-program main.py -t problem.zip --time 2s --memory 256M --all\n"
                "  rubricctl run-program main.cpp -t tests/ --checker check.cpp\n"
                "  rubricctl run-program --watch --compare tokens Main.java -t samples\n",
    .exits = "  0    all tests passed\n"
             "  1    a test did not, or the program did not compile (--no-fail: 0)\n"
             "  2    wrong usage, also a value of an option that the daemon refuses; no tests;\n"
             "       an unusable file, also one of --collect-to\n"
             "  3    no daemon, or the connection was lost\n"
             "  4    an error instead of a verdict: a language that the host lacks, say\n"
             "  130  interrupted; that is how --watch ends\n",
    .options = run_program_specs,
    .n_options = ARRAY_SIZE(run_program_specs),
    .options_size = sizeof(struct program_options),
    .run = run_program_run,
};
