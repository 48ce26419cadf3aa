/* SPDX-License-Identifier: MIT */
/* Tests the outcome of a process: exit codes, signals, limits by evidence, the summary, usage. */
#include "daemon/base/clock.h"
#include "daemon/jobs/job.h"
#include "daemon/kinds/outcome.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(literal) (literal), sizeof(literal) - 1
#define EXITED(code) ((code) << 8)
#define CORE_DUMPED 0x80
#define CPU_LIMIT_MS 2000
#define CPU_LIMIT_US (CPU_LIMIT_MS * UINT64_C(1000))
#define SUMMARY_MAX 4096

static struct limits make_limits(void)
{
    struct limits limits = job_kind_get(JOB_SANDBOX)->defaults;
    limits.of[LIMIT_CPU] = CPU_LIMIT_MS;
    return limits;
}

/* Returns the outcome of RESULT with the N bytes of ERR, in an exact allocation, as stderr. */
static struct outcome make_outcome(struct slot_result result, const char *err, size_t n)
{
    const struct limits limits = make_limits();
    struct bytes out = BYTES_NULL, kept = BYTES_NULL;
    struct outcome outcome = OUTCOME_NULL;
    if (err)
        assert_int_equal(bytes_copy(err, n, &kept), 0);
    result.out = &out;
    result.err = &kept;
    assert_int_equal(outcome_from_result(&result, &limits, &outcome), 0);
    bytes_deinit(&kept);
    assert_non_null(outcome.stderr_text);
    assert_non_null(outcome.summary);
    assert_int_equal(outcome.stderr_text[outcome.stderr_length], '\0');
    return outcome;
}

static void expect_description(const struct outcome *outcome, const char *expected)
{
    char text[80];
    outcome_describe(outcome, text, sizeof(text));
    assert_string_equal(text, expected);
}

/* Lines for which there is no room do not take that of earlier ones. */
static void test_a_full_summary(void **state)
{
    static char err[SUMMARY_MAX + 5], expected[SUMMARY_MAX + 1];
    (void)state;
    memset(expected, 'a', SUMMARY_MAX);
    memcpy(err, expected, SUMMARY_MAX);
    memcpy(err + SUMMARY_MAX, "\nb\nc", 4);
    struct outcome outcome =
        make_outcome((struct slot_result){.wait_status = EXITED(1)}, err, SUMMARY_MAX + 4);
    assert_string_equal(outcome.summary, expected);
    outcome_deinit(&outcome);
}

/* --- exit codes and signals --------------------------------------------------------------- */

static void test_exit_codes(void **state)
{
    (void)state;
    for (int code = 0; code <= 255; code++) {
        char expected[40];
        struct outcome outcome = make_outcome(
            (struct slot_result){.end = SLOT_END_EXITED, .wait_status = EXITED(code)}, NULL, 0);
        (void)snprintf(expected, sizeof(expected), "exit status %d", code);
        assert_int_equal(outcome.exit_code, code);
        assert_int_equal(outcome.signal, 0);
        assert_int_equal(outcome.limit, LIMIT_NONE);
        assert_int_equal(outcome.success, code == 0);
        assert_string_equal(outcome.stderr_text, "");
        assert_string_equal(outcome.summary, code == 0 ? "ok" : expected);
        expect_description(&outcome, expected);
        outcome_deinit(&outcome);
    }
}

static void check_signal(int number, int status, const char *description)
{
    char summary[40];
    struct outcome outcome =
        make_outcome((struct slot_result){.end = SLOT_END_EXITED, .wait_status = status}, NULL, 0);
    (void)snprintf(summary, sizeof(summary), "signal %d", number);
    assert_int_equal(outcome.signal, number);
    assert_int_equal(outcome.exit_code, -1);
    assert_false(outcome.success);
    assert_int_equal(outcome.limit, LIMIT_NONE);
    assert_string_equal(outcome.summary, summary);
    expect_description(&outcome, description);
    outcome_deinit(&outcome);
}

static void test_signals(void **state)
{
#define NAMED(name)            \
    {                          \
        SIG##name, "SIG" #name \
    }
    static const struct {
        int number;
        const char *name;
    } cases[] = {
        NAMED(HUP),  NAMED(INT),  NAMED(QUIT), NAMED(ILL),    NAMED(TRAP),   NAMED(ABRT),
        NAMED(BUS),  NAMED(FPE),  NAMED(KILL), NAMED(USR1),   NAMED(SEGV),   NAMED(USR2),
        NAMED(PIPE), NAMED(ALRM), NAMED(TERM), NAMED(STKFLT), NAMED(CHLD),   NAMED(CONT),
        NAMED(STOP), NAMED(TSTP), NAMED(TTIN), NAMED(TTOU),   NAMED(URG),    NAMED(XCPU),
        NAMED(PROF), NAMED(POLL), NAMED(PWR),  NAMED(SYS),    NAMED(VTALRM), NAMED(WINCH),
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char description[40];
        (void)snprintf(description, sizeof(description), "signal %d (%s)", cases[i].number,
                       cases[i].name);
        check_signal(cases[i].number, cases[i].number, description);
        check_signal(cases[i].number, cases[i].number | CORE_DUMPED, description);
    }
}

static void test_signals_without_a_name(void **state)
{
    (void)state;
    for (int number = 32; number <= 64; number++) {
        char description[40];
        (void)snprintf(description, sizeof(description), "signal %d", number);
        check_signal(number, number, description);
    }
}

/* --- limits ------------------------------------------------------------------------------- */

struct limit_case {
    enum slot_end end;
    enum slot_kill killed;
    int wait_status;
    uint64_t cpu_us;
    enum limit expected;
    int signal; /* expected */
};

static void check_limit(const struct limit_case *c, unsigned evidence, size_t number)
{
    struct outcome outcome = make_outcome((struct slot_result){.end = c->end,
                                                               .killed = c->killed,
                                                               .wait_status = c->wait_status,
                                                               .cpu_us = c->cpu_us,
                                                               .evidence = evidence},
                                          TEXT("something on stderr"));
    char summary[80] = "something on stderr", description[80];
    if (outcome.limit != c->expected || outcome.signal != c->signal)
        fail_msg("case %zu: limit %d, signal %d", number, (int)outcome.limit, outcome.signal);
    if (c->expected != LIMIT_NONE) {
        (void)snprintf(summary, sizeof(summary), "sandbox limit exceeded: %s",
                       limit_name(c->expected));
        (void)snprintf(description, sizeof(description), "limit exceeded: %s",
                       limit_name(c->expected));
        assert_false(outcome.success);
        expect_description(&outcome, description);
    } else if (outcome.success) {
        (void)snprintf(summary, sizeof(summary), "ok");
    }
    assert_string_equal(outcome.summary, summary);
    assert_string_equal(outcome.stderr_text, "something on stderr");
    outcome_deinit(&outcome);
}

static void check_limits(const struct limit_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_limit(&cases[i], 0, i);
}

#define E SLOT_END_EXITED
#define LOST SLOT_END_JAIL_LOST

static void test_limits_that_the_supervisor_enforces(void **state)
{
    static const struct limit_case cases[] = {
        {E, SLOT_KILL_DEADLINE, SIGKILL, 0, LIMIT_WALL_CLOCK, SIGKILL},
        {E, SLOT_KILL_OUTPUT, SIGKILL, 0, LIMIT_OUTPUT, SIGKILL},
        /* It ended by itself just before the kill, but after its deadline. */
        {E, SLOT_KILL_DEADLINE, EXITED(0), 0, LIMIT_WALL_CLOCK, 0},
        {E, SLOT_KILL_DEADLINE, EXITED(1), 0, LIMIT_WALL_CLOCK, 0},
        {E, SLOT_KILL_OUTPUT, EXITED(0), 0, LIMIT_OUTPUT, 0},
        {E, SLOT_KILL_OUTPUT, SIGSEGV, 0, LIMIT_OUTPUT, SIGSEGV},
        /* The supervisor's decision comes before the kernel's evidence. */
        {E, SLOT_KILL_DEADLINE, SIGKILL, CPU_LIMIT_US, LIMIT_WALL_CLOCK, SIGKILL},
        {E, SLOT_KILL_OUTPUT, SIGKILL, CPU_LIMIT_US, LIMIT_OUTPUT, SIGKILL},
        {E, SLOT_KILL_DEADLINE, SIGXCPU, CPU_LIMIT_US, LIMIT_WALL_CLOCK, SIGXCPU},
        {E, SLOT_KILL_OUTPUT, SIGXFSZ, 0, LIMIT_OUTPUT, SIGXFSZ},
        /* Its end was lost with the jail. */
        {LOST, SLOT_KILL_DEADLINE, 0, 0, LIMIT_WALL_CLOCK, SIGKILL},
        {LOST, SLOT_KILL_OUTPUT, 0, 0, LIMIT_OUTPUT, SIGKILL},
        {LOST, SLOT_KILL_DEADLINE, EXITED(0), 0, LIMIT_WALL_CLOCK, SIGKILL},
    };
    (void)state;
    check_limits(cases, ARRAY_SIZE(cases));
}

static void test_limits_that_the_kernel_enforces(void **state)
{
    static const struct limit_case cases[] = {
        {E, SLOT_KILL_NONE, SIGXCPU, CPU_LIMIT_US, LIMIT_CPU, SIGXCPU},
        {E, SLOT_KILL_NONE, SIGXCPU | CORE_DUMPED, CPU_LIMIT_US, LIMIT_CPU, SIGXCPU},
        {E, SLOT_KILL_NONE, SIGXCPU, CPU_LIMIT_US * 10, LIMIT_CPU, SIGXCPU},
        /* The kernel counts the limit in ticks but reports precise time. */
        {E, SLOT_KILL_NONE, SIGXCPU, CPU_LIMIT_US / 2, LIMIT_CPU, SIGXCPU},
        {E, SLOT_KILL_NONE, SIGKILL, CPU_LIMIT_US, LIMIT_CPU, SIGKILL},
        {E, SLOT_KILL_NONE, SIGKILL, UINT64_MAX, LIMIT_CPU, SIGKILL},
        {E, SLOT_KILL_NONE, SIGXFSZ, 0, LIMIT_DISK, SIGXFSZ},
        {E, SLOT_KILL_NONE, SIGXFSZ | CORE_DUMPED, 0, LIMIT_DISK, SIGXFSZ},
        {E, SLOT_KILL_NONE, SIGXFSZ, CPU_LIMIT_US, LIMIT_DISK, SIGXFSZ},
    };
    (void)state;
    check_limits(cases, ARRAY_SIZE(cases));
}

static void test_no_limit_without_evidence(void **state)
{
    static const struct limit_case cases[] = {
        /* Signals that any process can send, without the CPU time. */
        {E, SLOT_KILL_NONE, SIGXCPU, 0, LIMIT_NONE, SIGXCPU},
        {E, SLOT_KILL_NONE, SIGXCPU, CPU_LIMIT_US / 2 - 1, LIMIT_NONE, SIGXCPU},
        {E, SLOT_KILL_NONE, SIGKILL, 0, LIMIT_NONE, SIGKILL},
        {E, SLOT_KILL_NONE, SIGKILL, CPU_LIMIT_US - 1, LIMIT_NONE, SIGKILL},
        /* The CPU time, without the signal. */
        {E, SLOT_KILL_NONE, EXITED(0), CPU_LIMIT_US * 2, LIMIT_NONE, 0},
        {E, SLOT_KILL_NONE, EXITED(1), CPU_LIMIT_US * 2, LIMIT_NONE, 0},
        {E, SLOT_KILL_NONE, SIGTERM, CPU_LIMIT_US * 2, LIMIT_NONE, SIGTERM},
        {E, SLOT_KILL_NONE, SIGSEGV, CPU_LIMIT_US * 2, LIMIT_NONE, SIGSEGV},
        /* Exit codes that look like signals. */
        {E, SLOT_KILL_NONE, EXITED(128 + SIGXCPU), CPU_LIMIT_US, LIMIT_NONE, 0},
        {E, SLOT_KILL_NONE, EXITED(128 + SIGXFSZ), 0, LIMIT_NONE, 0},
        {E, SLOT_KILL_NONE, EXITED(128 + SIGKILL), CPU_LIMIT_US, LIMIT_NONE, 0},
        {E, SLOT_KILL_CANCELLED, SIGKILL, 0, LIMIT_NONE, SIGKILL},
        {E, SLOT_KILL_CANCELLED, EXITED(0), 0, LIMIT_NONE, 0},
    };
    (void)state;
    check_limits(cases, ARRAY_SIZE(cases));
}

#define BIT(limit) (1u << (limit))
#define ALL (BIT(LIMIT_COUNT) - 1)

static void test_evidence(void **state)
{
    static const struct {
        struct limit_case of;
        unsigned evidence;
    } cases[] = {
        /* Each alone, whether the job exits or dies. */
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_CPU, 0}, BIT(LIMIT_CPU)},
        {{E, SLOT_KILL_NONE, SIGKILL, 0, LIMIT_CPU, SIGKILL}, BIT(LIMIT_CPU)},
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_MEMORY, 0}, BIT(LIMIT_MEMORY)},
        {{E, SLOT_KILL_NONE, SIGKILL, 0, LIMIT_MEMORY, SIGKILL}, BIT(LIMIT_MEMORY)},
        {{E, SLOT_KILL_NONE, EXITED(254), 0, LIMIT_PROCESSES, 0}, BIT(LIMIT_PROCESSES)},
        {{E, SLOT_KILL_NONE, SIGABRT, 0, LIMIT_PROCESSES, SIGABRT}, BIT(LIMIT_PROCESSES)},
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_DISK, 0}, BIT(LIMIT_DISK)},
        {{E, SLOT_KILL_NONE, SIGBUS, 0, LIMIT_DISK, SIGBUS}, BIT(LIMIT_DISK)},
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_OPEN_FILES, 0}, BIT(LIMIT_OPEN_FILES)},
        {{LOST, SLOT_KILL_DEADLINE, 0, 0, LIMIT_WALL_CLOCK, SIGKILL}, BIT(LIMIT_MEMORY)},
        /* The first of several. */
        {{E, SLOT_KILL_DEADLINE, SIGKILL, 0, LIMIT_WALL_CLOCK, SIGKILL}, ALL},
        {{E, SLOT_KILL_OUTPUT, SIGKILL, 0, LIMIT_OUTPUT, SIGKILL}, ALL},
        {{E, SLOT_KILL_NONE, SIGKILL, 0, LIMIT_CPU, SIGKILL}, ALL},
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_MEMORY, 0}, ALL & ~BIT(LIMIT_CPU)},
        {{E, SLOT_KILL_NONE, SIGXCPU, CPU_LIMIT_US, LIMIT_CPU, SIGXCPU}, BIT(LIMIT_MEMORY)},
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_PROCESSES, 0},
         BIT(LIMIT_PROCESSES) | BIT(LIMIT_DISK) | BIT(LIMIT_OPEN_FILES)},
        {{E, SLOT_KILL_NONE, SIGXFSZ, 0, LIMIT_PROCESSES, SIGXFSZ}, BIT(LIMIT_PROCESSES)},
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_DISK, 0}, BIT(LIMIT_DISK) | BIT(LIMIT_OPEN_FILES)},
        /* The evidence has no bits for these two; only the supervisor's kill proves them. */
        {{E, SLOT_KILL_NONE, EXITED(1), 0, LIMIT_NONE, 0},
         BIT(LIMIT_WALL_CLOCK) | BIT(LIMIT_OUTPUT)},
        /* The job handled it. */
        {{E, SLOT_KILL_NONE, EXITED(0), 0, LIMIT_NONE, 0}, ALL},
        {{E, SLOT_KILL_NONE, EXITED(0), CPU_LIMIT_US * 2, LIMIT_NONE, 0}, BIT(LIMIT_CPU)},
        {{E, SLOT_KILL_OUTPUT, EXITED(0), 0, LIMIT_OUTPUT, 0}, ALL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_limit(&cases[i].of, cases[i].evidence, i);
}

static void test_descriptions_are_cut(void **state)
{
    const struct outcome outcome = {.exit_code = -1, .signal = SIGSEGV, .limit = LIMIT_NONE};
    char text[] = "##########";
    (void)state;
    outcome_describe(&outcome, text, 9);
    assert_string_equal(text, "signal 1");
    assert_int_equal(text[9], '#');
}

/* --- the summary -------------------------------------------------------------------------- */

/* Returns the summary of a program that exited with 3 and wrote N bytes to stderr. */
static char *summary_of(const char *err, size_t n)
{
    struct outcome outcome = make_outcome(
        (struct slot_result){.end = SLOT_END_EXITED, .wait_status = EXITED(3)}, err, n);
    char *summary = TAKE_PTR(outcome.summary);
    outcome_deinit(&outcome);
    return summary;
}

static void expect_summary(const char *err, size_t n, const char *expected)
{
    _cleanup_free_ char *summary = summary_of(err, n);
    assert_string_equal(summary, expected);
}

struct summary_case {
    const char *err;
    size_t n;
    const char *expected;
};

static void check_summaries(const struct summary_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        expect_summary(cases[i].err, cases[i].n, cases[i].expected);
}

static void test_summary_lines(void **state)
{
    static const struct summary_case cases[] = {
        {NULL, 0, "exit status 3"},
        {TEXT(""), "exit status 3"},
        {TEXT("a"), "a"},
        {TEXT("a\n"), "a"},
        {TEXT("a\nb"), "a\nb"},
        {TEXT("1\n2\n3\n4\n5\n6\n7\n8"), "1\n2\n3\n4\n5\n6\n7\n8"},
        {TEXT("1\n2\n3\n4\n5\n6\n7\n8\n"), "1\n2\n3\n4\n5\n6\n7\n8"},
        {TEXT("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"), "1\n2\n3\n4\n5\n6\n7\n8"},
        {TEXT("  indented\n\ttoo \n"), "  indented\n\ttoo "},
    };
    (void)state;
    check_summaries(cases, ARRAY_SIZE(cases));
}

static void test_summary_passes_over_blank_lines(void **state)
{
    static const struct summary_case cases[] = {
        {TEXT("\n"), "exit status 3"},
        {TEXT(" \t \n\n\r\n\f\v\n   "), "exit status 3"},
        {TEXT("\n\n\na\n\n \n\t\nb\n\n"), "a\nb"},
        {TEXT("\n1\n\n2\n \n3\n\t\n4\n\r\n5\n\n6\n\n7\n\n8\n\n9\n"), "1\n2\n3\n4\n5\n6\n7\n8"},
    };
    (void)state;
    check_summaries(cases, ARRAY_SIZE(cases));
}

/* A line ends with LF or CR LF, which is not a part of the line. */
static void test_summary_of_crlf_lines(void **state)
{
    static const struct summary_case cases[] = {
        {TEXT("a\r\nb\r\n"), "a\nb"},
        {TEXT("a\r\n"), "a"},
        {TEXT("\r\na\r\n\r\n \r\nb"), "a\nb"},
        {TEXT("10%\r20%\r30%\n"), "10%\r20%\r30%"},
    };
    (void)state;
    check_summaries(cases, ARRAY_SIZE(cases));
}

static void test_summary_ends_at_nul(void **state)
{
    static const struct summary_case cases[] = {
        {TEXT("a\0b\nc\n"), "a"},
        {TEXT("a\nb\0c\n"), "a\nb"},
        {TEXT("a\n\0b"), "a"},
        {TEXT("\0"), "exit status 3"},
    };
    (void)state;
    check_summaries(cases, ARRAY_SIZE(cases));
}

static void test_summary_replaces_ill_formed_utf8(void **state)
{
    static const struct summary_case cases[] = {
        {TEXT("\xff\n\xc3"), "\xef\xbf\xbd\n\xef\xbf\xbd"},
        {TEXT("caf\xc3\xa9 \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xf0\x9f\x98\x80"},
        {TEXT("\xe2\x82\n"), "\xef\xbf\xbd"},
        {TEXT("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    (void)state;
    check_summaries(cases, ARRAY_SIZE(cases));
}

/* Makes one line of BEFORE bytes and 2,500 times CHARACTER, at most 10 KB. */
static void check_long_line(size_t before, const char *character)
{
    size_t width = strlen(character), n = before + 2500 * width;
    _cleanup_free_ char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'x', before);
    for (size_t i = 0; i < 2500; i++)
        memcpy(text + before + i * width, character, width);
    text[n] = '\0';

    _cleanup_free_ char *summary = summary_of(text, n);
    size_t expected = MIN(n, before + (SUMMARY_MAX - before) / width * width);
    assert_int_equal(strlen(summary), expected);
    assert_memory_equal(summary, text, expected);
}

static void test_summary_is_cut_at_a_character(void **state)
{
    static const char *const characters[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(characters); i++)
        for (size_t before = 0; before < 8; before++)
            check_long_line(before, characters[i]);
}

/* Makes a first line of N bytes, then SECOND. */
static void check_two_lines(size_t n, const char *second, const char *shown)
{
    _cleanup_free_ char *text = malloc(n + 1 + strlen(second) + 1);
    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = '\n';
    strcpy(text + n + 1, second);

    _cleanup_free_ char *summary = summary_of(text, strlen(text));
    assert_memory_equal(summary, text, MIN(n, (size_t)SUMMARY_MAX));
    assert_string_equal(summary + MIN(n, (size_t)SUMMARY_MAX), shown);
}

static void test_summary_is_cut_between_lines(void **state)
{
    (void)state;
    check_two_lines(SUMMARY_MAX - 3, "yz", "\nyz");
    check_two_lines(SUMMARY_MAX - 3, "yyz", "\nyy");
    check_two_lines(SUMMARY_MAX - 2, "yyz", "\ny");
    check_two_lines(SUMMARY_MAX - 1, "yyz", "");
    check_two_lines(SUMMARY_MAX, "yyz", "");
    check_two_lines(SUMMARY_MAX + 1, "yyz", "");
    check_two_lines(10000, "yyz", "");
    check_two_lines(SUMMARY_MAX - 3, "\xc3\xa9", "\n\xc3\xa9");
    /* If no whole character of a line fits, the line is left out. */
    check_two_lines(SUMMARY_MAX - 2, "\xc3\xa9", "");
}

static void test_summary_of_a_signal(void **state)
{
    struct outcome outcome =
        make_outcome((struct slot_result){.end = SLOT_END_EXITED, .wait_status = SIGABRT},
                     TEXT("\n\nAborted: why\n"));
    (void)state;
    assert_string_equal(outcome.summary, "Aborted: why");
    expect_description(&outcome, "signal 6 (SIGABRT)");
    outcome_deinit(&outcome);
}

/* --- stderr ------------------------------------------------------------------------------- */

static void test_stderr_is_valid_utf8(void **state)
{
    static const struct {
        const char *err;
        size_t n;
        const char *expected;
        size_t length;
    } cases[] = {
        {TEXT(""), TEXT("")},
        {TEXT("plain\n"), TEXT("plain\n")},
        {TEXT("a\0b\0"), TEXT("a\0b\0")},
        {TEXT("\x80"), TEXT("\xef\xbf\xbd")},
        {TEXT("a\xff\xfe\n"), TEXT("a\xef\xbf\xbd\xef\xbf\xbd\n")},
        {TEXT("\xf0\x9f\x98"), TEXT("\xef\xbf\xbd")},
        {TEXT("\xf0\x9f\x98\x80"), TEXT("\xf0\x9f\x98\x80")},
        {TEXT("\xc0\x80"), TEXT("\xef\xbf\xbd\xef\xbf\xbd")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct outcome outcome =
            make_outcome((struct slot_result){.end = SLOT_END_EXITED, .wait_status = EXITED(1)},
                         cases[i].err, cases[i].n);
        assert_int_equal(outcome.stderr_length, cases[i].length);
        assert_memory_equal(outcome.stderr_text, cases[i].expected, cases[i].length);
        outcome_deinit(&outcome);
    }
}

static void test_stderr_can_be_dropped(void **state)
{
    struct outcome outcome =
        make_outcome((struct slot_result){.end = SLOT_END_EXITED}, TEXT("a warning\n"));
    (void)state;
    assert_string_equal(outcome.summary, "ok");
    outcome_drop_stderr(&outcome);
    outcome_drop_stderr(&outcome);
    assert_null(outcome.stderr_text);
    assert_int_equal(outcome.stderr_length, 0);
    assert_string_equal(outcome.summary, "ok");
    assert_true(outcome.success);
    outcome_deinit(&outcome);
}

/* --- usage -------------------------------------------------------------------------------- */

static void test_wall_clock_is_rounded_up(void **state)
{
    static const struct {
        uint64_t started_ns, ended_ns;
        int64_t expected;
    } cases[] = {
        {0, 5 * NS_PER_S, 1}, /* never started */
        {0, 0, 1},
        {7, 7, 1},
        {7, 8, 1},
        {NS_PER_S, NS_PER_S + NS_PER_MS - 1, 1},
        {NS_PER_S, NS_PER_S + NS_PER_MS, 1},
        {NS_PER_S, NS_PER_S + NS_PER_MS + 1, 2},
        {NS_PER_S, 61 * NS_PER_S, 60000},
        {NS_PER_S, 61 * NS_PER_S + 1, 60001},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct slot_result result = {.started_ns = cases[i].started_ns,
                                           .ended_ns = cases[i].ended_ns};
        assert_int_equal(usage_from_result(&result, 0).wall_clock_ms, cases[i].expected);
    }
}

static void test_cpu_time_is_rounded_up(void **state)
{
    static const struct {
        uint64_t cpu_us, run_delay_ns;
        int64_t cpu_ms, cpu_wait_ms;
    } cases[] = {
        {0, 0, 0, 0},
        {1, 1, 1, 1},
        {1000, NS_PER_MS, 1, 1},
        {1001, NS_PER_MS + 1, 2, 2},
        {123456789, 123456789, 123457, 124},
        {5, UINT64_MAX, 1, -1}, /* the kernel does not report it */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct slot_result result = {.cpu_us = cases[i].cpu_us,
                                           .run_delay_ns = cases[i].run_delay_ns};
        struct usage usage = usage_from_result(&result, 0);
        assert_int_equal(usage.cpu_ms, cases[i].cpu_ms);
        assert_int_equal(usage.cpu_wait_ms, cases[i].cpu_wait_ms);
    }
}

static void test_times_count_from_the_start_of_the_program(void **state)
{
    const struct slot_result result = {.started_ns = 900 * NS_PER_S,
                                       .ended_ns = 901 * NS_PER_S,
                                       .max_rss_bytes = UINT64_C(5) << 30};
    const struct job job = {.queued_ns = 100 * NS_PER_S, .began_ns = 700 * NS_PER_S + NS_PER_MS};
    struct usage usage = usage_from_result(&result, job_queue_ms(&job));
    (void)state;
    assert_int_equal(usage.wall_clock_ms, 1000);
    assert_int_equal(usage.queue_ms, 600001);
    assert_int_equal(usage.max_rss_bytes, INT64_C(5) << 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_summary),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_signals_without_a_name),
        cmocka_unit_test(test_limits_that_the_supervisor_enforces),
        cmocka_unit_test(test_limits_that_the_kernel_enforces),
        cmocka_unit_test(test_no_limit_without_evidence),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_descriptions_are_cut),
        cmocka_unit_test(test_summary_lines),
        cmocka_unit_test(test_summary_passes_over_blank_lines),
        cmocka_unit_test(test_summary_of_crlf_lines),
        cmocka_unit_test(test_summary_ends_at_nul),
        cmocka_unit_test(test_summary_replaces_ill_formed_utf8),
        cmocka_unit_test(test_summary_is_cut_at_a_character),
        cmocka_unit_test(test_summary_is_cut_between_lines),
        cmocka_unit_test(test_summary_of_a_signal),
        cmocka_unit_test(test_stderr_is_valid_utf8),
        cmocka_unit_test(test_stderr_can_be_dropped),
        cmocka_unit_test(test_wall_clock_is_rounded_up),
        cmocka_unit_test(test_cpu_time_is_rounded_up),
        cmocka_unit_test(test_times_count_from_the_start_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
