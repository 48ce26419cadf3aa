/* SPDX-License-Identifier: MIT */
/* Theory of operation. This program starts itself a second time with --serve-fd and is its client:
 * it submits a job of kind `program` for each program of a language's file, one after another, and
 * reads messages until each is answered. So the programs meet the jails, limits and judging that
 * those of clients meet. The last message is a status, for the versions. */
#include "check_languages.h"

#include "daemon/version.h"
#include "proto/frame.h"
#include "proto/json.h"
#include "proto/printer.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SERVE_FD 3

/* For one answer: compilers of slow languages on a slow host, and the daemon's own start. */
#define ANSWER_TIMEOUT_S 600

#define SUM_INPUT "1 2 3\n40 -6\n2\n"
#define SUM_OUTPUT "42\n"

/* The most bytes of a compiler's words that a line of the table shows. */
#define WORDS_SHOWN 160

struct checker {
    int fd;
    pid_t pid;
};

/* --- the private daemon -------------------------------------------------------------------- */

static int spawn(char *const *argv, int fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, fd, SERVE_FD);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, SERVE_FD + 1);
    if (r == 0)
        r = posix_spawn(ret_pid, "/proc/self/exe", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* The arguments under which a private daemon reads what this one would read. */
static int make_arguments(const struct arguments *arguments, const struct config *config,
                          struct string_list *ret)
{
    const char *path = arguments->config_path;
    if (!path && access(RUBRICD_CONFIG, R_OK) == 0)
        path = RUBRICD_CONFIG;
    int r = string_list_add(ret, "rubricd");
    if (r == 0)
        r = string_list_add(ret, "--serve-fd=3");
    if (r == 0 && path)
        r = string_list_add(ret, "--config");
    if (r == 0 && path)
        r = string_list_add(ret, path);
    /* A private daemon has the files that are built in unless it is told otherwise. */
    char directory[2048];
    (void)snprintf(directory, sizeof(directory), "languages.directory=%s",
                   config->languages_directory);
    bool has_directory =
        *config->languages_directory && access(config->languages_directory, F_OK) == 0;
    if (r == 0 && has_directory)
        r = string_list_add(ret, "--set");
    if (r == 0 && has_directory)
        r = string_list_add(ret, directory);
    for (size_t i = 0; i < arguments->settings.n && r == 0; i++) {
        r = string_list_add(ret, "--set");
        if (r == 0)
            r = string_list_add(ret, arguments->settings.items[i]);
    }
    return r;
}

static int start(struct checker *checker, const struct arguments *arguments,
                 const struct config *config)
{
    _cleanup_string_list_ struct string_list argv = STRING_LIST_NULL;
    const struct timeval patience = {.tv_sec = ANSWER_TIMEOUT_S};
    int pair[2];
    int r = make_arguments(arguments, config, &argv);
    if (r < 0)
        return r;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    checker->fd = pair[0];
    _cleanup_close_ int theirs = pair[1];
    if (setsockopt(checker->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
        return -errno;
    (void)signal(SIGPIPE, SIG_IGN);
    return spawn(argv.item, theirs, &checker->pid);
}

/* --- messages ------------------------------------------------------------------------------ */

static int write_all(int fd, const void *data, size_t n)
{
    for (const char *at = data; n > 0;) {
        ssize_t written = write(fd, at, n);
        if (written < 0 && errno != EINTR)
            return -errno;
        at += MAX(written, (ssize_t)0);
        n -= (size_t)MAX(written, (ssize_t)0);
    }
    return 0;
}

static int read_all(int fd, void *data, size_t n)
{
    for (char *at = data; n > 0;) {
        ssize_t got = read(fd, at, n);
        if (got == 0)
            return -EPIPE;
        if (got < 0 && errno != EINTR)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        at += MAX(got, (ssize_t)0);
        n -= (size_t)MAX(got, (ssize_t)0);
    }
    return 0;
}

static int send_message(const struct checker *checker, const json_t *message)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    uint8_t header[FRAME_HEADER_SIZE];
    int r = message ? json_print(message, &text) : -ENOMEM;
    if (r < 0)
        return r;
    frame_write_header(header, (uint32_t)text.length);
    r = write_all(checker->fd, header, sizeof(header));
    return r < 0 ? r : write_all(checker->fd, text.data, text.length);
}

static int receive_message(const struct checker *checker, json_t **ret)
{
    uint8_t header[FRAME_HEADER_SIZE];
    uint32_t length;
    struct fault fault;
    int r = read_all(checker->fd, header, sizeof(header));
    if (r < 0)
        return r;
    if (frame_read_header(header, UINT32_MAX, &length) != FRAME_OK)
        return -EPROTO;
    _cleanup_free_ char *text = malloc(length);
    if (!text)
        return -ENOMEM;
    r = read_all(checker->fd, text, length);
    return r < 0 ? r : json_read_object(text, length, ret, &fault);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* Reads on until a message has TYPE, or is an error. */
static int await(const struct checker *checker, const char *type, json_t **ret)
{
    for (;;) {
        json_t *message = NULL;
        int r = receive_message(checker, &message);
        if (r < 0)
            return r;
        if (strcmp(text_of(message, "type"), type) == 0 ||
            strcmp(text_of(message, "type"), "error") == 0) {
            *ret = message;
            return 0;
        }
        json_decref(message);
    }
}

/* --- the programs -------------------------------------------------------------------------- */

/* How the programs of a language went: "ok", or what is wrong. */
struct finding {
    char text[512];
    bool is_missing; /* the host lacks the language */
    bool is_bad;
};

/* Cuts TEXT to what a line of a table can show. */
static void shorten(const char *text, char line[WORDS_SHOWN + 1])
{
    (void)snprintf(line, WORDS_SHOWN + 1, "%s", text);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

/* Says what became of the job WHAT, which did not pass. */
static void describe(const json_t *answer, const char *what, struct finding *ret)
{
    char words[WORDS_SHOWN + 1];
    const json_t *test = json_array_get(json_object_get(answer, "tests"), 0);
    const json_t *difference = json_object_get(test, "difference");
    ret->is_bad = true;
    if (strcmp(text_of(answer, "type"), "error") == 0) {
        ret->is_missing = strcmp(text_of(answer, "code"), "language_not_found") == 0;
        ret->is_bad = !ret->is_missing;
        (void)snprintf(ret->text, sizeof(ret->text), "%s", text_of(answer, "message"));
        return;
    }
    const char *stderr_text = text_of(test, "stderr");
    shorten(*stderr_text ? stderr_text : text_of(json_object_get(answer, "compile"), "output"),
            words);
    if (json_is_object(difference))
        (void)snprintf(ret->text, sizeof(ret->text), "%s: %s: got \"%.100s\", expected \"%.100s\"",
                       what, text_of(answer, "verdict"), text_of(difference, "got"),
                       text_of(difference, "expected"));
    else
        (void)snprintf(ret->text, sizeof(ret->text), "%s: %s%s%s", what, text_of(answer, "verdict"),
                       *words ? ": " : "", words);
}

static int run(const struct checker *checker, const struct language *language, const char *what,
               const char *code, const char *input, const char *output, struct finding *ret)
{
    _cleanup_json_ json_t *request =
        json_pack("{s:s,s:s,s:{s:s,s:s,s:s,s:[{s:s,s:s}]}}", "type", "submit", "id", what, "job",
                  "kind", "program", "language", language->name, "code", code, "tests", "input",
                  input, "output", output);
    _cleanup_json_ json_t *answer = NULL;
    int r = send_message(checker, request);
    if (r == 0)
        r = await(checker, "result", &answer);
    if (r < 0)
        return r;
    if (strcmp(text_of(answer, "verdict"), "pass") == 0)
        (void)snprintf(ret->text, sizeof(ret->text), "ok");
    else
        describe(answer, what, ret);
    return 0;
}

static int check_one(const struct checker *checker, const struct language *language,
                     struct finding *ret)
{
    int r = run(checker, language, "hello", language->hello, "", "hello\n", ret);
    if (r == 0 && *language->sum && !ret->is_bad && !ret->is_missing)
        r = run(checker, language, "sum", language->sum, SUM_INPUT, SUM_OUTPUT, ret);
    return r;
}

/* Asks for the version that the daemon has found; "" if there is none. */
static int find_version(const struct checker *checker, const char *name, char ret[64])
{
    _cleanup_json_ json_t *request = json_pack("{s:s}", "type", "status");
    _cleanup_json_ json_t *status = NULL;
    const json_t *language;
    size_t i;
    int r = send_message(checker, request);
    if (r == 0)
        r = await(checker, "status", &status);
    if (r < 0)
        return r;
    ret[0] = '\0';
    json_array_foreach(json_object_get(status, "languages"), i,
                       language) if (strcmp(text_of(language, "name"), name) == 0)(void)
        snprintf(ret, 64, "%.60s", text_of(language, "version"));
    return 0;
}

static int check_all(const struct checker *checker, const struct language_list *languages,
                     FILE *out)
{
    int bad = 0;
    (void)fprintf(out, "%-12s  %-60s  %s\n", "LANGUAGE", "VERSION", "HELLO");
    for (size_t i = 0; i < languages->count; i++) {
        const struct language *language = &languages->item[i];
        struct finding finding = {.text = ""};
        char version[64];
        int r = check_one(checker, language, &finding);
        if (r == 0)
            r = find_version(checker, language->name, version);
        if (r < 0)
            return r;
        (void)fprintf(out, "%-12s  %-60s  %s\n", language->name, *version ? version : "-",
                      finding.text);
        (void)fflush(out);
        bad += finding.is_bad;
    }
    return bad;
}

int check_languages(const struct arguments *arguments, const struct config *config, FILE *out)
{
    struct checker checker = {.fd = -1};
    int r = start(&checker, arguments, config);
    if (r == 0)
        r = check_all(&checker, &config->languages, out);
    checker.fd = close_fd(checker.fd);
    if (checker.pid > 0)
        (void)waitpid(checker.pid, NULL, 0); /* it ends without its client */
    if (r < 0)
        (void)fprintf(stderr, "rubricd: the languages could not be checked: %s\n",
                      r == -EPIPE || r == -ECONNRESET ? "the private daemon has ended"
                                                      : strerror(-r));
    return r;
}
