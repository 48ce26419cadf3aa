/* SPDX-License-Identifier: MIT */
#include "options.h"

const struct option_spec fleet_options[FLEET_OPTIONS] = {
    {
        .name = "server",
        .argument = "URL",
        .kind = OPTION_LIST,
        .max = BUS_SERVERS_MAX,
        .offset = offsetof(struct fleet_globals, bus.servers),
        .help =
            "a NATS server, nats://HOST:PORT, or tls://HOST:PORT to talk to it with TLS alone; "
            "may be repeated (default: $NATS_URL, a list with commas, or else " BUS_SERVER_DEFAULT
            ")",
    },
    {
        .name = "fleet",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct fleet_globals, bus.fleet),
        .help = "the fleet, of which a server may have several (default: " BUS_FLEET_DEFAULT ")",
    },
    {
        .name = "creds",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct fleet_globals, bus.creds),
        .help = "credentials as nsc writes them (default: the credential nats.creds of systemd)",
    },
    {
        .name = "token-file",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct fleet_globals, bus.token_file),
        .help = "file with a token for the server (default: the credential nats.token)",
    },
    {
        .name = "user",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct fleet_globals, bus.user),
        .help = "account at the server that the password is for (default: rubricd)",
    },
    {
        .name = "password-file",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct fleet_globals, bus.password_file),
        .help = "file with the account's password (default: the credential nats.password)",
    },
    {
        .name = "ca",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct fleet_globals, bus.ca),
        .help = "use TLS, and trust servers that an authority in FILE vouches for (default: the "
                "credential nats.ca)",
    },
    {
        .name = "cert",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct fleet_globals, bus.cert),
        .help = "own certificate for TLS, with --key (default: the credential nats.cert)",
    },
    {
        .name = "key",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct fleet_globals, bus.key),
        .help = "key of --cert (default: the credential nats.key)",
    },
    {
        .name = "no-fail",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct fleet_globals, base.no_fail),
        .help = "exit with 0 instead of 1 if a job did not pass",
    },
    {
        .letter = 'h',
        .name = "help",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct fleet_globals, base.help),
        .help = "explain the program or the command, then exit",
    },
    {
        .letter = 'V',
        .name = "version",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct fleet_globals, base.version),
        .help = "print the version, then exit",
    },
};
