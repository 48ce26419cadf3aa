/* SPDX-License-Identifier: MIT */
#include "refusal.h"

#include <stdio.h>
#include <string.h>

static const char limits_path[] = "job.limits.";

/* Returns what stands behind PATH in MESSAGE, or NULL if MESSAGE is not about it or a part of it.
 */
static const char *behind(const char *message, const char *path)
{
    size_t n = strlen(path);
    if (strncmp(message, path, n) != 0 || !message[n] || !strchr(":.[", message[n]))
        return NULL;
    const char *text = strstr(message + n, ": ");
    return text ? text + 2 : NULL;
}

static bool tell_limit(const char *message, const struct program_options *options, char *out,
                       size_t size)
{
    if (strncmp(message, limits_path, strlen(limits_path)) != 0)
        return false;
    const char *name = message + strlen(limits_path), *colon = strstr(name, ": ");
    if (!colon)
        return false;
    if (options->time && behind(message, "job.limits.wall_clock"))
        (void)snprintf(out, size, "--time%s", colon);
    else if (options->memory && behind(message, "job.limits.memory_bytes"))
        (void)snprintf(out, size, "--memory%s", colon);
    else
        (void)snprintf(out, size, "--limit %s", name);
    return true;
}

bool refusal_tell(const char *message, const char *source, const struct program_options *options,
                  char *out, size_t size)
{
    const struct {
        const char *path, *option;
    } members[] = {
        {"job.compare", "--compare"},
        {"job.language", options->language ? "--language" : source},
        {"job.code", source},
        {"job.checker", "--checker"},
        {"job.interactor", "--interactor"},
        {"job.tests", "--tests"},
        {"job.collect", "--collect"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *text = behind(message, members[i].path);
        if (text) {
            (void)snprintf(out, size, "%s: %s", members[i].option, text);
            return true;
        }
    }
    return tell_limit(message, options, out, size);
}

bool refusal_tell_compile(const char *message, const struct program_options *options, char *out,
                          size_t size, const char **ret_words, const char **ret_path)
{
    static const char what[] = "does not compile: ", limit[] = "limit exceeded: ";
    const bool is_checker = options->checker != NULL;
    const char *why = behind(message, is_checker ? "job.checker" : "job.interactor");
    if (!why || strncmp(why, what, strlen(what)) != 0)
        return false;
    const char *reason = why + strlen(what);
    if (strncmp(reason, limit, strlen(limit)) == 0)
        reason += strlen(limit);
    const char *end = strstr(reason, ": ");
    size_t n = end ? (size_t)(end - why) : strlen(why);
    (void)snprintf(out, size, "%s: %.*s", is_checker ? "--checker" : "--interactor", (int)n, why);
    *ret_words = end ? end + 2 : "";
    *ret_path = is_checker ? options->checker : options->interactor;
    return true;
}
