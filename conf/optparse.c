/* SPDX-License-Identifier: MIT */
#include "optparse.h"
#include "suggest.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* getopt_long returns an option's letter, or this plus its index; no letter is as large. */
#define INDEX_BASE 256

/* A longer word is cut in a complaint, so that the hint behind it still fits into a fault. */
#define WORD_SHOWN "%.200s"

/* The options of one command line as getopt_long reads them. */
struct parser {
    size_t n;
    const struct option_spec *specs[OPTPARSE_OPTIONS_MAX];
    void *targets[OPTPARSE_OPTIONS_MAX];
    struct option longs[OPTPARSE_OPTIONS_MAX + 1];
    char letters[3 * OPTPARSE_OPTIONS_MAX + 3];
};

static void add_option(struct parser *parser, const struct option_spec *spec, void *target)
{
    int has_argument = !spec->argument ? no_argument
                       : spec->absent  ? optional_argument
                                       : required_argument;
    assert(parser->n < OPTPARSE_OPTIONS_MAX);
    assert((spec->kind == OPTION_FLAG) == !spec->argument);
    parser->longs[parser->n] = (struct option){
        .name = spec->name,
        .has_arg = has_argument,
        .val = INDEX_BASE + (int)parser->n,
    };
    if (spec->letter) {
        size_t used = strlen(parser->letters);
        parser->letters[used++] = spec->letter;
        for (int colons = has_argument; colons > 0; colons--) /* 1: required, 2: optional */
            parser->letters[used++] = ':';
        parser->letters[used] = '\0';
    }
    parser->specs[parser->n] = spec;
    parser->targets[parser->n] = target;
    parser->n++;
}

static void parser_init(struct parser *parser, const struct command_line *line)
{
    *parser = (struct parser){.n = 0};
    /* The colon makes getopt_long tell a missing argument from an unknown option. */
    (void)snprintf(parser->letters, sizeof(parser->letters), "%s:", line->stop_at_word ? "+" : "");
    for (size_t i = 0; i < OPTPARSE_SETS_MAX; i++)
        for (size_t k = 0; k < line->sets[i].n; k++)
            add_option(parser, &line->sets[i].specs[k], line->sets[i].target);
}

/* Returns the index of VALUE, which getopt_long returned or put into optopt; parser->n if it is
 * unknown. */
static size_t find(const struct parser *parser, int value)
{
    if (value >= INDEX_BASE)
        return (size_t)value - INDEX_BASE;
    for (size_t i = 0; i < parser->n; i++)
        if (parser->specs[i]->letter && parser->specs[i]->letter == value)
            return i;
    return parser->n;
}

/* --- values -------------------------------------------------------------------------------- */

int text_list_add(struct text_list *list, const char *item)
{
    const char **grown = reallocarray(list->items, list->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    list->items = grown;
    list->items[list->n++] = item;
    return 0;
}

void text_list_deinit(struct text_list *list)
{
    free(list->items);
    *list = (struct text_list){.items = NULL};
}

static int store_number(const struct option_spec *spec, const char *text, long *ret,
                        struct fault *fault)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < spec->min || value > spec->max)
        return fault_set(fault,
                         "--%s: expected a whole number from %ld to %ld, got \"" WORD_SHOWN "\"%s",
                         spec->name, spec->min, spec->max, text, spec->hint ? spec->hint : "");
    *ret = value;
    return 0;
}

static int store_item(const struct option_spec *spec, struct text_list *list, const char *item,
                      struct fault *fault)
{
    if (spec->max > 0 && list->n >= (size_t)spec->max)
        return fault_set(fault, "--%s: given more than %ld times", spec->name, spec->max);
    int r = text_list_add(list, item);
    if (r < 0)
        (void)fault_set(fault, "out of memory");
    return r;
}

/* ARGUMENT is NULL if the option has none. */
static int store(const struct option_spec *spec, void *target, const char *argument,
                 struct fault *fault)
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
        if (argument)
            return store_number(spec, argument, field, fault);
        *(long *)field = spec->absent;
        return 0;
    case OPTION_LIST:
        return store_item(spec, field, argument, fault);
    }
    return -EINVAL;
}

/* --- the loop ------------------------------------------------------------------------------ */

/* Says in FAULT that no option is called WORD, and which one was probably meant. */
static int refuse_unknown(const struct parser *parser, const char *word, const char *hint,
                          struct fault *fault)
{
    const char *names[OPTPARSE_OPTIONS_MAX], *meant = NULL;
    char name[64];
    for (size_t i = 0; i < parser->n; i++)
        names[i] = parser->specs[i]->name;
    if (strncmp(word, "--", 2) == 0) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        meant = suggest(name, names, parser->n);
    }
    if (meant)
        return fault_set(fault, "unknown option " WORD_SHOWN "; did you mean --%s?", word, meant);
    return fault_set(fault, "unknown option " WORD_SHOWN "%s", word, hint);
}

/* Says in FAULT why getopt_long returned '?'. */
static int refuse(const struct parser *parser, char **argv, const char *hint, struct fault *fault)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    if (optopt >= INDEX_BASE)
        return fault_set(fault, "--%s takes no value", parser->specs[find(parser, optopt)]->name);
    return refuse_unknown(parser, optopt ? letter : argv[optind - 1], hint, fault);
}

int optparse_read(const struct command_line *line, int argc, char **argv, struct fault *fault)
{
    struct parser parser;
    parser_init(&parser, line);
    optind = 0; /* glibc: start over, and read the "+" */
    opterr = 0;
    for (;;) {
        int value = getopt_long(argc, argv, parser.letters, parser.longs, NULL);
        if (value == -1)
            return optind;
        if (value == '?')
            return refuse(&parser, argv, line->hint, fault);
        size_t i = find(&parser, value == ':' ? optopt : value);
        assert(i < parser.n);
        const struct option_spec *spec = parser.specs[i];
        if (value == ':')
            return fault_set(fault, "--%s: %s is missing", spec->name, spec->argument);
        int r = store(spec, parser.targets[i], optarg, fault);
        if (r < 0)
            return r;
        if (spec->last)
            return argc;
    }
}

void optparse_deinit(const struct option_spec *specs, size_t n, void *target)
{
    for (size_t i = 0; i < n; i++)
        if (specs[i].kind == OPTION_LIST)
            text_list_deinit((struct text_list *)(void *)((char *)target + specs[i].offset));
}
