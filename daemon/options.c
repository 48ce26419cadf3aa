/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "conf/layout.h"
#include "daemon/version.h"
#include "proto/util.h"

#include <limits.h>
#include <sys/stat.h>

#define SETTINGS_MAX 64

static const char introduction[] =
    "Usage: rubricd [OPTION]...\n"
    "\n"
    "Runs untrusted graders: accepts jobs over a Unix socket, runs each in a confined\n"
    "child process, and answers with its score. systemd usually starts the daemon;\n"
    "rubricctl talks to it.\n"
    "\n"
    "Options:\n";

static const char rest[] =
    "\n"
    "Signals:\n"
    "  SIGTERM  drain: finish the running jobs, answer the queued ones with `draining`,\n"
    "           and exit; a second SIGTERM kills the running jobs\n"
    "  SIGINT   as SIGTERM\n"
    "  SIGHUP   read the configuration again; if it has a mistake, nothing changes and\n"
    "           the log says why\n"
    "\n"
    "Exit status:\n"
    "  0   drained, or did all that the options ask for\n"
    "  64  wrong usage\n"
    "  69  something that the daemon needs is unavailable\n"
    "  71  the system failed\n"
    "  78  the configuration is wrong\n"
    "\n"
    "Examples:\n"
    "  rubricd --check-config --languages\n"
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
        .max = SETTINGS_MAX,
        .help = "override one setting of the configuration; may be repeated",
    },
    {
        .name = "check-config",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct arguments, check_config),
        .help = "print every mistake in the configuration, and what it names that the host lacks "
                "(account, interpreter, modules), then exit",
    },
    {
        .name = "languages",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct arguments, check_languages),
        .help = "with --check-config: also compile and run, in jails, the programs that the "
                "languages' files come with, and print a table of what works",
    },
    {
        .name = "serve-fd",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct arguments, serve_fd),
        .min = 3,
        .max = INT_MAX,
        .help = "serve only the client on the connected socket N; exit when it disconnects",
    },
    {
        .letter = 'h',
        .name = "help",
        .kind = OPTION_FLAG,
        .last = true,
        .offset = offsetof(struct arguments, help),
        .help = "print this text, then exit",
    },
    {
        .letter = 'V',
        .name = "version",
        .kind = OPTION_FLAG,
        .last = true,
        .offset = offsetof(struct arguments, version),
        .help = "print the version, then exit",
    },
};
const size_t n_daemon_options = ARRAY_SIZE(daemon_options);

/* Returns whether FD is an open socket of this process. */
static bool is_socket(long fd)
{
    struct stat st;
    return fstat((int)fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int options_parse(int argc, char **argv, struct arguments *arguments)
{
    struct fault fault = FAULT_NULL;
    const struct command_line line = {
        .sets = {{daemon_options, n_daemon_options, arguments}},
        .hint = "; see rubricd --help",
    };
    int r = optparse_read(&line, argc, argv, &fault);
    if (r >= 0 && r < argc)
        r = fault_set(&fault, "unexpected argument \"%.200s\"; see rubricd --help", argv[r]);
    else if (r >= 0 && arguments->serve_fd >= 0 && !is_socket(arguments->serve_fd))
        r = fault_set(&fault, "--serve-fd: %ld is not an open socket", arguments->serve_fd);
    else if (r >= 0 && arguments->check_languages && !arguments->check_config)
        r = fault_set(&fault, "--languages goes with --check-config");
    if (r < 0)
        (void)fprintf(stderr, "rubricd: %s\n", fault.text);
    return MIN(r, 0);
}

void arguments_deinit(struct arguments *arguments)
{
    optparse_deinit(daemon_options, n_daemon_options, arguments);
}

void options_help(FILE *out)
{
    static const struct layout_style style = {.column = 28, .separator = '='};
    size_t columns = layout_columns(out);
    layout_put(out, introduction, false, columns);
    layout_put_options(out, daemon_options, n_daemon_options, &style, columns);
    layout_put(out, rest, false, columns);
}
