/* SPDX-License-Identifier: MIT */
/* Theory of operation. A module that is loaded ahead is hidden from a job until that imports it
 * (daemon/checker/hidden.py). A job that looks at what is loaded in another way than by importing,
 * or changes how Python imports, could tell the difference nevertheless. So none whose texts have a
 * word that such a job needs is of a class. A text that has the word in parts gains nothing but
 * that difference. */
#include "code_exec_class.h"
#include "warm_class.h"

#include "proto/util.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether TEXT has WORD, with nothing around it that belongs to a name. */
static bool has_word(const struct bytes *text, const char *word)
{
    const size_t n = strlen(word);
    const char *from = text->data, *end = from ? from + text->length : NULL;
    while (from && (from = memmem(from, (size_t)(end - from), word, n))) {
        bool begins = from == text->data || !is_of_word(from[-1]);
        if (begins && (from + n == end || !is_of_word(from[n])))
            return true;
        from += n;
    }
    return false;
}

/* Returns the word in TEXT for which a job is of no class; NULL: there is none. */
static const char *telling_word(const struct bytes *text)
{
    static const char *const words[] = {
        "modules",
        "importlib",
        "__import__",
        "_frozen_importlib",
        "imp",
        "meta_path",
        "path_hooks",
        "find_spec",
        "path_importer_cache",
        "__loader__",
        "__spec__",
        "reload",
        "pkgutil",
        "runpy",
        "zipimport",
        "distutils",
        "__subclasses__",
        "gc",
        "builtins",
        "__builtins__",
        "environ",
        "environb",
        "putenv",
        "addaudithook",
        "settrace",
        "setprofile",
        "tracemalloc",
        "_getframe",
        "sys_modules",
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (has_word(text, words[i]))
            return words[i];
    return NULL;
}

static const char *telling_word_of(const struct code_exec_spec *spec)
{
    const struct bytes *texts[] = {&spec->text, &spec->prelude, &spec->test_setup, &spec->test};
    const char *word = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(texts) && !word; i++)
        word = telling_word(texts[i]);
    for (size_t i = 0; i < spec->target_count && !word; i++)
        word = telling_word(&spec->targets[i]);
    return word;
}

/* Returns whether the job can be of a class, and otherwise says why not in CLASS. */
static bool can_share(struct code_exec_class *class, const struct code_exec_spec *spec)
{
    const char *word = telling_word_of(spec);
    if (spec->cold)
        (void)snprintf(class->why_not, sizeof(class->why_not), "the job wants a fresh interpreter");
    else if (spec->is_replay)
        (void)snprintf(class->why_not, sizeof(class->why_not), "no code runs in a replay");
    else if (word)
        (void)snprintf(class->why_not, sizeof(class->why_not),
                       "its texts have the word %s, and may look at what is loaded", word);
    return !spec->cold && !spec->is_replay && !word;
}

void code_exec_class_deinit(struct code_exec_class *class)
{
    free(class->names);
    *class = (struct code_exec_class)CODE_EXEC_CLASS_NULL;
}

static int copy_names(struct code_exec_class *class, const struct code_exec_spec *spec)
{
    size_t size = 0;
    for (size_t i = 0; i < spec->warm_module_count; i++)
        size += strlen(spec->warm_modules[i]) + 2;
    char *at = class->names = malloc(size);
    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < spec->warm_module_count; i++) {
        class->parts[1 + i] = at;
        at += snprintf(at, strlen(spec->warm_modules[i]) + 2, "m%s", spec->warm_modules[i]) + 1;
    }
    return 0;
}

int code_exec_class_init(struct code_exec_class *class, const struct code_exec_spec *spec,
                         const struct launch *launch, struct launch_class *ret)
{
    SHA2_CTX context;
    *ret = (struct launch_class){.parts = NULL};
    if (spec->warm_module_count == 0)
        return 0;
    if (!can_share(class, spec)) {
        ret->why_not = class->why_not;
        return 0;
    }
    if (copy_names(class, spec) < 0)
        return -ENOMEM;
    SHA256Init(&context);
    warm_class_add_text(&context, "code_exec");
    for (const char *const *argument = launch->candidate; *argument; argument++)
        warm_class_add_text(&context, *argument);
    warm_class_add_limits(&context, &launch->limits);
    for (size_t i = 0; i < spec->warm_module_count; i++)
        warm_class_add_text(&context, class->parts[1 + i]);
    (void)SHA256End(&context, class->key);
    class->parts[0] = class->key;
    *ret = (struct launch_class){.parts = class->parts, .affinity = code_exec_class_affinity(spec)};
    return 0;
}

uint64_t code_exec_class_affinity(const struct code_exec_spec *spec)
{
    if (spec->warm_module_count == 0 || spec->cold)
        return 0;
    return warm_class_affinity((const char *const *)spec->warm_modules, spec->warm_module_count);
}
