/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "suggest.h"

#include "client/terminal/text.h"

#include <getopt.h>
#include <string.h>

#define OPTIONS_MAX 32

const struct option_spec global_options[] = {
    {
        .letter = 's',
        .name = "socket",
        .argument = "PATH",
        .kind = OPTION_TEXT,
        .value = VALUE_SOCKET,
        .offset = offsetof(struct globals, socket),
        .help = "the daemon's socket (default: $RUBRICD_SOCKET, else /run/rubricd/rubricd.sock)",
    },
    {
        .letter = 'e',
        .name = "embedded",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, embedded),
        .help = "start a private daemon for the length of this command (not with cancel, drain and "
                "reload)",
    },
    {
        .name = "config",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct globals, config),
        .help = "configuration of the private daemon",
    },
    {
        .name = "slots",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct globals, slots),
        .min = 1,
        .max = 4096,
        .help = "how many jobs the private daemon runs at once",
    },
    {
        .name = "no-fail",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, no_fail),
        .help = "exit 0, not 1, when a verdict failed",
    },
    {
        .letter = 'h',
        .name = "help",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, help),
        .help = "explain the command and exit",
    },
    {
        .letter = 'V',
        .name = "version",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, version),
        .help = "print the version and exit",
    },
};
const size_t n_global_options = ARRAY_SIZE(global_options);

/* The options that are valid at one place, and where their values go. */
struct parser {
    size_t n;
    const struct option_spec *specs[OPTIONS_MAX];
    void *targets[OPTIONS_MAX];
    struct option longs[OPTIONS_MAX + 1];
    char letters[3 * OPTIONS_MAX + 3];
};

/* PREFIX: "+" stops at the first word that is no option. */
static void parser_init(struct parser *parser, const char *prefix)
{
    *parser = (struct parser){.n = 0};
    (void)snprintf(parser->letters, sizeof(parser->letters), "%s:", prefix);
}

static void parser_add(struct parser *parser, const struct option_spec *specs, size_t n,
                       void *target)
{
    for (size_t i = 0; i < n && parser->n < OPTIONS_MAX; i++) {
        const struct option_spec *spec = &specs[i];
        int has_argument = !spec->argument ? no_argument
                           : spec->absent  ? optional_argument
                                           : required_argument;
        parser->longs[parser->n] = (struct option){
            .name = spec->name,
            .has_arg = has_argument,
            /* Above any letter, so that the two kinds don't meet. */
            .val = 256 + (int)parser->n,
        };
        if (spec->letter) {
            size_t used = strlen(parser->letters);
            parser->letters[used++] = spec->letter;
            for (int colons = has_argument; colons > 0; colons--) /* 1: needed, 2: optional */
                parser->letters[used++] = ':';
            parser->letters[used] = '\0';
        }
        parser->specs[parser->n] = spec;
        parser->targets[parser->n] = target;
        parser->n++;
    }
}

/* The index of what getopt_long returned or put into optopt; parser->n where it is unknown. */
static size_t parser_find(const struct parser *parser, int value)
{
    if (value >= 256)
        return (size_t)value - 256;
    for (size_t i = 0; i < parser->n; i++)
        if (parser->specs[i]->letter && parser->specs[i]->letter == value)
            return i;
    return parser->n;
}

static int list_append(struct text_list *list, const char *item)
{
    const char **grown = reallocarray(list->items, list->n + 1, sizeof(*grown));
    if (!grown) {
        complain("out of memory");
        return -ENOMEM;
    }
    list->items = grown;
    list->items[list->n++] = item;
    return 0;
}

static int parse_number(const struct option_spec *spec, const char *text, long *ret)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < spec->min || value > spec->max) {
        complain("--%s: expected a whole number from %ld to %ld, got \"%s\"", spec->name, spec->min,
                 spec->max, text);
        return -EINVAL;
    }
    *ret = value;
    return 0;
}

static int store(const struct option_spec *spec, void *target, const char *argument)
{
    void *field = (char *)target + spec->offset;
    switch (spec->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)field = argument;
        return 0;
    case OPTION_NUMBER:
        if (!argument) {
            *(long *)field = spec->absent;
            return 0;
        }
        return parse_number(spec, argument, field);
    case OPTION_LIST:
        return list_append(field, argument);
    }
    return -EINVAL;
}

/* Says what is wrong with WORD, which getopt_long did not take. COMMAND is NULL before its name. */
static void complain_unknown(const struct parser *parser, const char *word,
                             const struct command *command)
{
    const char *names[OPTIONS_MAX];
    for (size_t i = 0; i < parser->n; i++)
        names[i] = parser->specs[i]->name;

    const char *help = command ? command->name : "";
    const char *space = command ? " " : "";
    char name[64];
    const char *near = NULL;
    if (strncmp(word, "--", 2) == 0) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        near = suggest(name, names, parser->n);
    }
    if (near)
        complain("unknown option %s; did you mean --%s?", word, near);
    else if (!command)
        complain("unknown option %s (a command's own options stand behind its name; see "
                 "rubricctl --help)",
                 word);
    else
        complain("unknown option %s; see rubricctl%s%s --help", word, space, help);
}

/* What getopt_long answered with '?'. */
static void complain_refused(const struct parser *parser, char **argv,
                             const struct command *command)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    if (optopt >= 256) /* a flag that was given a value */
        complain("--%s takes no value", parser->specs[parser_find(parser, optopt)]->name);
    else
        complain_unknown(parser, optopt ? letter : argv[optind - 1], command);
}

/* Returns the index of the first word that is no option, or -1. */
static int parser_run(struct parser *parser, int argc, char **argv, const struct command *command)
{
    optind = 0; /* glibc: start anew, and read the "+" */
    opterr = 0;
    for (;;) {
        int value = getopt_long(argc, argv, parser->letters, parser->longs, NULL);
        if (value == -1)
            return optind;
        if (value == '?') {
            complain_refused(parser, argv, command);
            return -1;
        }
        size_t i = parser_find(parser, value == ':' ? optopt : value);
        const struct option_spec *spec = parser->specs[i];
        if (value == ':') {
            complain("--%s: %s is missing", spec->name, spec->argument);
            return -1;
        }
        if (store(spec, parser->targets[i], optarg) < 0)
            return -1;
    }
}

int options_parse_globals(int argc, char **argv, struct globals *globals)
{
    struct parser parser;
    parser_init(&parser, "+");
    parser_add(&parser, global_options, n_global_options, globals);
    return parser_run(&parser, argc, argv, NULL);
}

static int check_arguments(const struct command *command, size_t n, const char *const *items)
{
    if (n < (size_t)command->arguments_min) {
        complain("%s: %s is missing; see rubricctl %s --help", command->name, command->arguments,
                 command->name);
        return -1;
    }
    if (command->arguments_max >= 0 && n > (size_t)command->arguments_max) {
        complain("%s: unexpected argument \"%s\"; see rubricctl %s --help", command->name,
                 items[command->arguments_max], command->name);
        return -1;
    }
    return 0;
}

int options_parse_command(const struct command *command, int argc, char **argv,
                          struct globals *globals, void *options, struct text_list *arguments)
{
    struct parser parser;
    parser_init(&parser, command->takes_command ? "+" : "");
    parser_add(&parser, command->options, command->n_options, options);
    parser_add(&parser, command->shared.specs, command->shared.n,
               (char *)options + command->shared.offset);
    parser_add(&parser, global_options, n_global_options, globals);

    int first = parser_run(&parser, argc, argv, command);
    if (first < 0)
        return -1;
    for (int i = first; i < argc; i++)
        if (list_append(arguments, argv[i]) < 0)
            return -1;
    if (globals->help || globals->version)
        return 0;
    return check_arguments(command, arguments->n, arguments->items);
}

void text_list_deinit(struct text_list *list)
{
    free(list->items);
    *list = (struct text_list){.items = NULL};
}

static void deinit_lists(const struct option_spec *specs, size_t n, void *target)
{
    for (size_t i = 0; i < n; i++)
        if (specs[i].kind == OPTION_LIST)
            text_list_deinit((struct text_list *)(void *)((char *)target + specs[i].offset));
}

void options_deinit(const struct command *command, void *options)
{
    deinit_lists(command->options, command->n_options, options);
    deinit_lists(command->shared.specs, command->shared.n,
                 (char *)options + command->shared.offset);
}
