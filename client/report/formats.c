/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include "client/terminal/member.h"

#include "client/terminal/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_ROW(name_, endings_, write_, help_) \
    {.name = #name_, .endings = (endings_), .write = (write_)},
#define OPTION_ROW(name_, endings_, write_, help_) \
    {.name = #name_, .endings = (endings_), .write = (write_), .has_option = true},
const struct report_format report_formats[FORMATS_N] = {REPORT_FORMATS(DEFAULT_ROW, OPTION_ROW)};

/* Whether ENDING is one of LIST, whose items are separated by ", ". */
static bool is_listed(const char *list, const char *ending)
{
    for (size_t n; *list; list += n + strspn(list + n, ", ")) {
        n = strcspn(list, ",");
        if (strlen(ending) == n && strncasecmp(ending, list, n) == 0)
            return true;
    }
    return false;
}

const struct report_format *formats_of_path(const char *path)
{
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending && i < FORMATS_N; i++)
        if (is_listed(report_formats[i].endings, ending))
            return &report_formats[i];
    return NULL;
}

const char *formats_options(char out[FORMATS_OPTIONS_MAX])
{
    size_t used = 0, left = 0;
    for (size_t i = 0; i < FORMATS_N; i++)
        left += report_formats[i].has_option;
    out[0] = '\0';
    for (size_t i = 0; i < FORMATS_N; i++) {
        if (!report_formats[i].has_option)
            continue;
        left--;
        used += (size_t)snprintf(out + used, FORMATS_OPTIONS_MAX - used, "%s--%s",
                                 used == 0  ? ""
                                 : left > 0 ? ", "
                                            : " and ",
                                 report_formats[i].name);
        assert(used < FORMATS_OPTIONS_MAX);
    }
    return out;
}

static const char *string_or(const json_t *object, const char *name, const char *otherwise)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : otherwise;
}

char *formats_host_in_words(const json_t *host)
{
    char *text = NULL, memory[TEXT_QUANTITY_MAX];
    int64_t cpus = json_integer_value(json_object_get(host, "cpus"));
    int64_t bytes = json_integer_value(json_object_get(host, "memory_bytes"));
    const json_t *limits = json_object_get(host, "limits");
    int64_t slots = json_integer_value(json_object_get(limits, "slots"));
    if (asprintf(
            &text, "%s, %s, %" PRId64 " CPU%s, %s, %" PRId64 " slot%s",
            string_or(json_object_get(host, "interpreter"), "version", "interpreter not known"),
            string_or(host, "system", "system not known"), cpus, text_plural((uint64_t)cpus),
            text_size(bytes, memory), slots, text_plural((uint64_t)slots)) < 0)
        return NULL;
    return text;
}

int64_t formats_crashed(const json_t *report)
{
    const json_t *modes = json_object_get(report, "failure_modes");
    for (size_t i = 0; i < json_array_size(modes); i++) {
        const json_t *mode = json_array_get(modes, i);
        if (strcmp(member_text(mode, "code"), "rubric.malformed_output") == 0)
            return member_integer(mode, "count");
    }
    return 0;
}
