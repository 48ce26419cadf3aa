/* SPDX-License-Identifier: MIT */
/* Theory of operation. Each language has an entry, whose state changes in enter() alone:
 *
 *   MISSING   a program of it is in none of the directories of PATH; final
 *   UNASKED   its programs are there
 *   ASKED     its version command runs (query.h)
 *   KNOWN     the command has told a version; final
 *   FAILED    the command ended badly, or could not be run: after a while languages_settle() asks
 *             again
 *
 * After a reload there is a new object, which looks anew. */
#include "languages.h"
#include "query.h"

#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/shortage.h"
#include "proto/util.h"

#include <assert.h>
#include <inttypes.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define QUERY_TIMEOUT_MS UINT64_C(10000)

/* For how long a failure is the answer to who asks. */
#define RETRY_MS UINT64_C(5000)

/* Version commands that run at once for nobody. */
#define BACKGROUND_MAX 1

/* Commands of a language: those that language_argv() gives, and the version. */
enum {
    COMMAND_VERSION = LANGUAGE_RUN + 1,
    COMMANDS,
};

enum state {
    STATE_MISSING,
    STATE_UNASKED,
    STATE_ASKED,
    STATE_KNOWN,
    STATE_FAILED,
};

struct entry {
    struct languages *languages;
    const struct language *language;
    enum state state;
    uint64_t failed_ns;
    int error;               /* FAILED: why it says nothing of the language; 0: it does */
    char *program[COMMANDS]; /* paths; NULL: there is no such command, or no such program */
    char *version;           /* KNOWN */
    char *why_not;           /* MISSING, FAILED */
    char digest[65];         /* KNOWN */
    struct query *query;     /* ASKED */
};

struct languages {
    struct languages_host host;
    struct entry *entry; /* one for each language of the list */
    struct event_base *base;
    struct event *background; /* asks for the versions for which nobody waits */
    void (*settled)(void *userdata);
    void *userdata;
    bool asks_all;
};

/* --- states -------------------------------------------------------------------------------- */

static void enter(struct entry *entry, enum state state)
{
    static const _unused_ unsigned legal[] = {
        [STATE_MISSING] = 0,
        [STATE_UNASKED] =
            1U << STATE_MISSING | 1U << STATE_ASKED | 1U << STATE_KNOWN | 1U << STATE_FAILED,
        [STATE_ASKED] = 1U << STATE_KNOWN | 1U << STATE_FAILED,
        [STATE_KNOWN] = 0,
        [STATE_FAILED] = 1U << STATE_ASKED | 1U << STATE_FAILED,
    };
    assert(legal[entry->state] & 1U << state);
    entry->state = state;
}

/* Enters STATE and says why there is no such language. Without the memory for that, it only says
 * less. */
_printf_(4, 5) static void enter_bad(struct entry *entry, enum state state, int error,
                                     const char *format, ...)
{
    char *text = NULL;
    va_list args;
    enter(entry, state);
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    free(entry->why_not);
    entry->why_not = text;
    entry->error = error;
    entry->failed_ns = clock_now_ns();
}

static struct entry *entry_of(const struct languages *languages, const struct language *language)
{
    size_t i = (size_t)(language - languages->host.list->item);
    assert(language >= languages->host.list->item && i < languages->host.list->count);
    return &languages->entry[i];
}

/* --- programs ------------------------------------------------------------------------------ */

static const char *search_path(const struct languages *languages)
{
    for (const char *const *of = languages->host.environment; *of; of++)
        if (strncmp(*of, "PATH=", 5) == 0)
            return *of + 5;
    return "/usr/bin:/bin";
}

/* 0 if there is a program at PATH; -ENOENT; a shortage. */
static int look_at(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || (S_ISREG(st.st_mode) && access(path, X_OK) < 0))
        return is_shortage(errno) ? -errno : -ENOENT;
    return S_ISREG(st.st_mode) ? 0 : -ENOENT;
}

/* Finds the program NAME: 0 with its path; -ENOENT; -ENOMEM or another shortage. One in the work
 * directory is the compiler's to make. */
static int find_program(const struct languages *languages, const char *name, char **ret)
{
    const char *path = search_path(languages);
    if (strchr(name, '/')) {
        int r = strncmp(name, "./", 2) == 0 ? 0 : look_at(name);
        if (r == 0 && !(*ret = strdup(name)))
            r = -ENOMEM;
        return r;
    }
    for (; *path; path += path[0] == ':') {
        size_t n = strcspn(path, ":");
        _cleanup_free_ char *found = NULL;
        if (asprintf(&found, "%.*s/%s", (int)n, path, name) < 0) {
            found = NULL;
            return -ENOMEM;
        }
        int r = look_at(found);
        if (r == 0)
            *ret = TAKE_PTR(found);
        if (r != -ENOENT)
            return r;
        path += n;
    }
    return -ENOENT;
}

static const struct string_list *words_of(const struct language *language, int command)
{
    return command == COMMAND_VERSION    ? &language->version
           : command == LANGUAGE_COMPILE ? &language->compile
                                         : &language->run;
}

static bool is_python(const char *word)
{
    return strcmp(word, "{python}") == 0;
}

/* Whether one of its commands has the memory limit not as a limit of the address space. */
static bool reserves(const struct language *language)
{
    return !language->address_space ||
           (language->compile.count > 0 && !language->compile_address_space);
}

/* Why jobs of this host cannot run LANGUAGE, whatever is installed; NULL: they can. */
static const char *lacks(const struct languages_host *host, const struct language *language)
{
    if (language->needs_view && !host->has_view)
        return "it needs a /tmp and a /proc, which jobs have only with the layer mount_namespace; "
               "rubricctl status says why that is missing";
    if (reserves(language) && !host->bounds_memory)
        return "nothing would bound its memory: that takes a control group, or the layers "
               "pid_namespace and mount_namespace; rubricctl status says why each is missing";
    return NULL;
}

static void note_missing(struct entry *entry, const char *program)
{
    const char *package = entry->language->package;
    /* Who installs the package alone would come back for the other reason. */
    const char *also = lacks(&entry->languages->host, entry->language);
    enter_bad(entry, STATE_MISSING, 0, "there is no %s%s%s%s%s", program,
              *package ? "; install the Debian package " : "", package, also ? "; besides, " : "",
              also ? also : "");
}

/* Finds the programs of all commands. 0, whether they are there or not; a shortage. */
static int find_programs(struct entry *entry)
{
    const struct languages *languages = entry->languages;
    for (int command = 0; command < COMMANDS; command++) {
        const struct string_list *words = words_of(entry->language, command);
        if (words->count == 0)
            continue;
        const char *name = is_python(words->item[0]) ? languages->host.python : words->item[0];
        int r = find_program(languages, name, &entry->program[command]);
        if (r == -ENOENT && entry->state == STATE_UNASKED)
            note_missing(entry, name);
        else if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

/* --- the version --------------------------------------------------------------------------- */

/* Hashes what scores in the language depend on; see languages_digest(). */
static int make_digest(struct entry *entry)
{
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return -ENOMEM;
    (void)fprintf(stream, "file %s\nversion %s\n", entry->language->digest, entry->version);
    for (size_t i = 0; i < entry->language->readable.count; i++)
        if (access(entry->language->readable.item[i], F_OK) == 0)
            (void)fprintf(stream, "readable %s\n", entry->language->readable.item[i]);
    if (fclose(stream) != 0)
        return -ENOMEM;
    return SHA256Data((const uint8_t *)text, length, entry->digest) ? 0 : -ENOMEM;
}

static void note_version(struct entry *entry, const char *version)
{
    entry->version = strdup(version);
    if (!entry->version || make_digest(entry) < 0) {
        free(entry->version);
        entry->version = NULL;
        enter_bad(entry, STATE_FAILED, -ENOMEM, "out of memory");
        return;
    }
    enter(entry, STATE_KNOWN);
    free(entry->why_not);
    entry->why_not = NULL;
}

static void ask_next(struct languages *languages);

static void on_end(int status, const char *line, void *userdata)
{
    struct entry *entry = userdata;
    struct languages *languages = entry->languages;
    const char *program = entry->program[COMMAND_VERSION];
    if (status == -1)
        enter_bad(entry, STATE_FAILED, -ETIMEDOUT,
                  "%s did not tell its version within %" PRIu64 " seconds", program,
                  QUERY_TIMEOUT_MS / 1000);
    else if (WIFSIGNALED(status))
        enter_bad(entry, STATE_FAILED, -EAGAIN, "%s was to tell its version and died by signal %d",
                  program, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        enter_bad(entry, STATE_FAILED, 0, "%s was to tell its version and exited with %d: %.200s",
                  program, WEXITSTATUS(status), line);
    else if (!*line)
        enter_bad(entry, STATE_FAILED, 0, "%s was to tell its version and printed nothing",
                  program);
    else
        note_version(entry, line);
    entry->query = query_free(entry->query);
    ask_next(languages);
    languages->settled(languages->userdata);
}

/* Starts the version command. 0 or a shortage; a program that cannot be executed is a failure of
 * the language. */
static int ask(struct entry *entry, bool urgent)
{
    const struct languages *languages = entry->languages;
    const struct language_values values = {.python = languages->host.python};
    _cleanup_string_list_ struct string_list words = STRING_LIST_NULL;
    char **envp = NULL;
    int r = language_words(entry->language, &entry->language->version, &values, &words);
    if (r == 0)
        r = language_environment(languages, entry->language, &values, &envp);
    if (r == 0) {
        free(words.item[0]);
        words.item[0] = strdup(entry->program[COMMAND_VERSION]);
        r = words.item[0] ? query_start(languages->base, words.item, envp, urgent, QUERY_TIMEOUT_MS,
                                        on_end, entry, &entry->query)
                          : -ENOMEM;
    }
    language_strings_free(envp);
    if (r == 0)
        enter(entry, STATE_ASKED);
    else
        enter_bad(entry, STATE_FAILED, is_shortage(-r) ? r : 0, "%s cannot be run: %s",
                  entry->program[COMMAND_VERSION], strerror(-r));
    return is_shortage(-r) ? r : 0;
}

/* Keeps BACKGROUND_MAX commands running until all versions were asked for. */
static void ask_next(struct languages *languages)
{
    size_t running = 0;
    for (size_t i = 0; i < languages->host.list->count; i++)
        running += languages->entry[i].state == STATE_ASKED;
    for (size_t i = 0; i < languages->host.list->count && languages->asks_all; i++) {
        struct entry *entry = &languages->entry[i];
        if (running < BACKGROUND_MAX && entry->state == STATE_UNASKED && ask(entry, false) == 0)
            running += entry->state == STATE_ASKED;
    }
}

static void on_background(evutil_socket_t fd, short what, void *userdata)
{
    struct languages *languages = userdata;
    (void)fd;
    (void)what;
    languages->asks_all = true;
    ask_next(languages);
}

void languages_ask_all(struct languages *languages, uint64_t delay_ms)
{
    assert(languages->base);
    if (!languages->asks_all)
        start_timer(languages->background, delay_ms);
}

int languages_settle(struct languages *languages, const struct language *language)
{
    struct entry *entry = entry_of(languages, language);
    bool is_fresh = clock_now_ns() < entry->failed_ns + RETRY_MS * NS_PER_MS;
    assert(languages->base);
    if (entry->state == STATE_UNASKED || (entry->state == STATE_FAILED && !is_fresh))
        (void)ask(entry, true);
    if (entry->state == STATE_FAILED && entry->error < 0)
        return entry->error;
    return entry->state != STATE_ASKED;
}

/* --- the object ---------------------------------------------------------------------------- */

static int init_entry(struct entry *entry)
{
    const struct languages_host *host = &entry->languages->host;
    const struct string_list *version = &entry->language->version;
    const char *unable = lacks(host, entry->language);
    int r = find_programs(entry);
    if (r < 0)
        return r;
    if (unable && entry->state == STATE_UNASKED)
        enter_bad(entry, STATE_MISSING, 0, "%s", unable);
    if (entry->state == STATE_MISSING)
        return 0;
    if (version->count == 2 && is_python(version->item[0]) && strcmp(version->item[1], "-V") == 0)
        note_version(entry, host->python_version);
    return entry->state == STATE_FAILED ? -ENOMEM : 0;
}

int languages_new(const struct languages_host *host, struct languages **ret)
{
    struct languages *languages = calloc(1, sizeof(*languages));
    int r = 0;
    if (!languages)
        return -ENOMEM;
    languages->host = *host;
    languages->entry = calloc(host->list->count + 1, sizeof(*languages->entry));
    if (!languages->entry)
        r = -ENOMEM;
    for (size_t i = 0; i < host->list->count && r == 0; i++) {
        languages->entry[i] = (struct entry){
            .languages = languages, .language = &host->list->item[i], .state = STATE_UNASKED};
        r = init_entry(&languages->entry[i]);
    }
    if (r < 0)
        languages_free(languages);
    else
        *ret = languages;
    return r;
}

int languages_attach(struct languages *languages, struct event_base *base,
                     void (*settled)(void *userdata), void *userdata)
{
    languages->background = event_new(base, -1, 0, on_background, languages);
    if (!languages->background)
        return -ENOMEM;
    languages->base = base;
    languages->settled = settled;
    languages->userdata = userdata;
    return 0;
}

void languages_detach(struct languages *languages)
{
    languages->background = consume_event(languages->background);
    for (size_t i = 0; i < languages->host.list->count; i++)
        languages->entry[i].query = query_free(languages->entry[i].query);
    languages->base = NULL;
}

struct languages *languages_free(struct languages *languages)
{
    if (languages && languages->entry)
        languages_detach(languages);
    for (size_t i = 0; languages && languages->entry && i < languages->host.list->count; i++) {
        struct entry *entry = &languages->entry[i];
        for (int command = 0; command < COMMANDS; command++)
            free(entry->program[command]);
        free(entry->version);
        free(entry->why_not);
    }
    if (languages)
        free(languages->entry);
    free(languages);
    return NULL;
}

/* --- what there is ------------------------------------------------------------------------- */

const struct language *languages_find(const struct languages *languages, const char *name)
{
    return language_find(languages->host.list, name);
}

const char *languages_suggest(const struct languages *languages, const char *typed)
{
    return language_suggest(languages->host.list, typed);
}

bool languages_has(const struct languages *languages, const struct language *language,
                   const char **ret_version, const char **ret_why_not)
{
    const struct entry *entry = entry_of(languages, language);
    bool is_bad = entry->state == STATE_MISSING || entry->state == STATE_FAILED;
    if (ret_version)
        *ret_version = entry->version;
    if (ret_why_not)
        *ret_why_not = !is_bad ? NULL : entry->why_not ? entry->why_not : "out of memory";
    return !is_bad;
}

const char *languages_digest(const struct languages *languages, const struct language *language)
{
    const struct entry *entry = entry_of(languages, language);
    return entry->state == STATE_KNOWN ? entry->digest : NULL;
}

/* --- commands ------------------------------------------------------------------------------ */

int language_argv(const struct languages *languages, const struct language *language,
                  enum language_command command, const struct language_values *values,
                  char ***ret_argv)
{
    const char *program = entry_of(languages, language)->program[command];
    _cleanup_string_list_ struct string_list words = STRING_LIST_NULL;
    if (!program)
        return -ENOENT;
    int r = language_words(language, words_of(language, (int)command), values, &words);
    char *path = r == 0 ? strdup(program) : NULL;
    if (!path)
        return -ENOMEM;
    free(words.item[0]);
    words.item[0] = path;
    *ret_argv = TAKE_PTR(words.item);
    words.count = 0;
    return 0;
}

/* Whether both entries, NAME=VALUE, set the same variable. */
static bool same_variable(const char *a, const char *b)
{
    return strncmp(a, b, strcspn(a, "=") + 1) == 0;
}

int language_environment(const struct languages *languages, const struct language *language,
                         const struct language_values *values, char ***ret_envp)
{
    _cleanup_string_list_ struct string_list all = STRING_LIST_NULL, own = STRING_LIST_NULL;
    int r = language_words(language, &language->env, values, &own);
    for (const char *const *of = languages->host.environment; *of && r == 0; of++) {
        bool is_own = false;
        for (size_t i = 0; i < own.count; i++)
            is_own |= same_variable(own.item[i], *of);
        if (!is_own)
            r = string_list_add(&all, *of);
    }
    for (size_t i = 0; i < own.count && r == 0; i++)
        r = string_list_add(&all, own.item[i]);
    if (r == 0 && all.count == 0) /* a list without items has no NULL at its end */
        r = (all.item = calloc(1, sizeof(*all.item))) ? 0 : -ENOMEM;
    if (r < 0)
        return r;
    *ret_envp = TAKE_PTR(all.item);
    all.count = 0;
    return 0;
}

char **language_strings_free(char **strings)
{
    for (char **string = strings; string && *string; string++)
        free(*string);
    free(strings);
    return NULL;
}
