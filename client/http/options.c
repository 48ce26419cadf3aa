/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "settings.h"

#include "conf/layout.h"
#include "conf/optparse.h"

#define SETTINGS_MAX 64

static const char introduction[] =
    "Usage: rubricd-http [OPTION]...\n"
    "\n"
    "Takes jobs over HTTP for a rubricd on this host: its own JSON, and the requests of\n"
    "SandboxFusion and Piston.\n"
    "\n"
    "Options:\n";

static const char rest[] =
    "\n"
    "Signals:\n"
    "  SIGTERM  accept no more connections, finish the requests under way, and exit; a\n"
    "           second SIGTERM exits at once\n"
    "  SIGINT   as SIGTERM\n"
    "\n"
    "Exit status:\n"
    "  0   stopped by a signal, or did all that the options ask for\n"
    "  64  wrong usage\n"
    "  69  cannot listen\n"
    "  71  the system failed\n"
    "  78  the configuration is wrong\n"
    "\n"
    "Examples:\n"
    "  rubricd-http --set=listen=127.0.0.1:8650\n"
    "  rubricd-http --set=listen=unix:/tmp/http.sock --set=socket=/tmp/rubricd.sock\n"
    "  rubricd-http --check-config --config=/etc/rubricd/http.conf\n";

const struct option_spec http_options[] = {
    {
        .letter = 'c',
        .name = "config",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct http_arguments, config),
        .help = "read FILE instead of " HTTP_CONFIG_DEFAULT,
    },
    {
        .name = "set",
        .argument = "NAME=VALUE",
        .kind = OPTION_LIST,
        .offset = offsetof(struct http_arguments, settings),
        .max = SETTINGS_MAX,
        .help = "override one setting of the configuration; may be repeated",
    },
    {
        .name = "check-config",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct http_arguments, check),
        .help = "print every mistake in the configuration, then exit",
    },
    {
        .letter = 'h',
        .name = "help",
        .kind = OPTION_FLAG,
        .last = true,
        .offset = offsetof(struct http_arguments, help),
        .help = "print this text, then exit",
    },
    {
        .letter = 'V',
        .name = "version",
        .kind = OPTION_FLAG,
        .last = true,
        .offset = offsetof(struct http_arguments, version),
        .help = "print the version, then exit",
    },
};
const size_t n_http_options = ARRAY_SIZE(http_options);

int http_options_parse(int argc, char **argv, struct http_arguments *ret)
{
    struct fault fault = FAULT_NULL;
    const struct command_line line = {
        .sets = {{http_options, n_http_options, ret}},
        .hint = "; see rubricd-http --help",
    };
    int r = optparse_read(&line, argc, argv, &fault);
    if (r >= 0 && r < argc)
        r = fault_set(&fault, "unexpected argument \"%.200s\"; see rubricd-http --help", argv[r]);
    if (r < 0)
        (void)fprintf(stderr, "rubricd-http: %s\n", fault.text);
    return MIN(r, 0);
}

void http_arguments_deinit(struct http_arguments *arguments)
{
    optparse_deinit(http_options, n_http_options, arguments);
}

void http_options_help(FILE *out)
{
    static const struct layout_style style = {.column = 24, .separator = '='};
    size_t columns = layout_columns(out);
    layout_put(out, introduction, false, columns);
    layout_put_options(out, http_options, n_http_options, &style, columns);
    layout_put(out, rest, false, columns);
}
