/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "daemon/version.h"
#include "proto/util.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define OPTIONS_MAX 16
#define HELP_COLUMN 28
#define HELP_COLUMNS 79

static const char introduction[] =
    "Usage: rubricd [OPTION]...\n"
    "\n"
    "Runs untrusted graders: takes jobs over a Unix socket, runs each in a confined\n"
    "child process, and answers with its score. Usually systemd starts it; use\n"
    "rubricctl to talk to it.\n"
    "\n"
    "Options:\n";

static const char rest[] =
    "\n"
    "Signals: SIGTERM and SIGINT drain: running jobs finish, queued ones are\n"
    "answered 'draining'. A second one kills the jobs that still run. SIGHUP reloads\n"
    "the configuration; one with a mistake changes nothing, and the log says why.\n"
    "\n"
    "Exit status: 0 after a drain; 64 wrong usage; 69 something required is missing;\n"
    "71 the system failed; 78 the configuration is wrong.\n"
    "\n"
    "Examples:\n"
    "  rubricd --check-config --config=/etc/rubricd/rubricd.conf\n"
    "  rubricd --set=daemon.socket=/tmp/s --set=daemon.work_dir=/tmp/w\n"
    "  systemctl enable --now rubricd.socket\n";

const struct option_spec daemon_options[] = {
    {
        .letter = 'c',
        .name = "config",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct arguments, config_path),
        .help = "read FILE (and FILE.d/*.conf) instead of " RUBRICD_CONFIG,
    },
    {
        .name = "set",
        .argument = "SECTION.KEY=VALUE",
        .kind = OPTION_LIST,
        .value = VALUE_SETTING,
        .offset = offsetof(struct arguments, settings),
        .help = "override one setting of the configuration; may be repeated",
    },
    {
        .name = "check-config",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct arguments, check_config),
        .help = "print every mistake in the configuration, then exit",
    },
    {
        .name = "serve-fd",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct arguments, serve_fd),
        .min = 3,
        .max = INT_MAX,
        .help = "serve only the connected socket N, and end with it",
    },
    {
        .letter = 'h',
        .name = "help",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct arguments, help),
        .help = "show this text",
    },
    {
        .letter = 'V',
        .name = "version",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct arguments, version),
        .help = "show the version",
    },
};
const size_t n_daemon_options = ARRAY_SIZE(daemon_options);
_Static_assert(ARRAY_SIZE(daemon_options) <= OPTIONS_MAX, "OPTIONS_MAX");

/* --- the parser ---------------------------------------------------------------------------- */

/* Stores a number. The only option with one is a descriptor. */
static int store_socket(const struct option_spec *spec, const char *text, long *ret)
{
    char *end;
    errno = 0;
    long fd = strtol(text, &end, 10);
    struct stat st;
    if (errno != 0 || end == text || *end || fd < spec->min || fd > spec->max ||
        fstat((int)fd, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        (void)fprintf(stderr, "rubricd: --%s: '%s' is not an open socket\n", spec->name, text);
        return -EINVAL;
    }
    *ret = fd;
    return 0;
}

static int store(const struct option_spec *spec, const char *value, struct arguments *arguments)
{
    void *field = (char *)arguments + spec->offset;
    struct setting_list *list = field;
    switch (spec->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)field = value;
        return 0;
    case OPTION_NUMBER:
        return store_socket(spec, value, field);
    case OPTION_LIST:
        if (list->n == SETTINGS_MAX) {
            (void)fprintf(stderr, "rubricd: --%s: given more than %d times\n", spec->name,
                          SETTINGS_MAX);
            return -EINVAL;
        }
        list->items[list->n++] = value;
        return 0;
    }
    return -EINVAL;
}

/* Fills the tables that getopt_long() reads. LONGS and LETTERS have room for all options. */
static void make_tables(struct option *longs, char *letters)
{
    for (size_t i = 0; i < n_daemon_options; i++) {
        const struct option_spec *spec = &daemon_options[i];
        longs[i] = (struct option){
            .name = spec->name,
            .has_arg = spec->argument ? required_argument : no_argument,
            .val = 256 + (int)i, /* above any letter */
        };
        if (spec->letter)
            *letters++ = spec->letter;
        if (spec->letter && spec->argument)
            *letters++ = ':';
    }
}

static const struct option_spec *find(int value)
{
    for (size_t i = 0; i < n_daemon_options; i++)
        if (value == 256 + (int)i ||
            (daemon_options[i].letter && value == daemon_options[i].letter))
            return &daemon_options[i];
    return NULL;
}

int options_parse(int argc, char **argv, struct arguments *arguments)
{
    struct option longs[OPTIONS_MAX + 1] = {{.name = NULL}};
    char letters[2 * OPTIONS_MAX + 1] = "";
    int value;
    make_tables(longs, letters);
    while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct option_spec *spec = find(value);
        if (!spec)
            (void)fputs("Try 'rubricd --help'.\n", stderr);
        if (!spec || store(spec, optarg, arguments) < 0)
            return -EINVAL;
        if (arguments->help || arguments->version)
            return 0;
    }
    if (optind < argc) {
        (void)fprintf(stderr, "rubricd: unexpected argument '%s'\nTry 'rubricd --help'.\n",
                      argv[optind]);
        return -EINVAL;
    }
    return 0;
}

/* --- help ---------------------------------------------------------------------------------- */

/* Prints TEXT from HELP_COLUMN on, wrapped at blanks. */
static void put_wrapped(FILE *out, const char *text)
{
    size_t at = HELP_COLUMN;
    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " ");
        if (at > HELP_COLUMN && at + 1 + n > HELP_COLUMNS) {
            (void)fprintf(out, "\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        }
        if (at > HELP_COLUMN)
            at += (size_t)fprintf(out, " ");
        at += (size_t)fprintf(out, "%.*s", (int)n, text);
        text += n;
    }
    (void)fputc('\n', out);
}

static void put_option(FILE *out, const struct option_spec *spec)
{
    const char letter[] = {'-', spec->letter, ',', ' ', '\0'};
    int n = fprintf(out, "  %s--%s%s%s", spec->letter ? letter : "    ", spec->name,
                    spec->argument ? "=" : "", spec->argument ? spec->argument : "");
    if (n >= HELP_COLUMN - 1) {
        (void)fputc('\n', out);
        n = 0;
    }
    (void)fprintf(out, "%*s", HELP_COLUMN - n, "");
    put_wrapped(out, spec->help);
}

void options_help(FILE *out)
{
    (void)fputs(introduction, out);
    for (size_t i = 0; i < n_daemon_options; i++)
        put_option(out, &daemon_options[i]);
    (void)fputs(rest, out);
}
