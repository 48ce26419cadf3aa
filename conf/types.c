/* SPDX-License-Identifier: MIT */
#include "types.h"
#include "address.h"
#include "config_data.h"
#include "value.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define BLANKS " \t"

#define LAYERS                                                                                 \
    "env tempdir rlimits no_new_privs tree_kill user_namespace pid_namespace mount_namespace " \
    "net_namespace network filesystem landlock seccomp cgroup own_uid"

/* Variables that every job has with fixed values; the configuration must not set them. */
#define FIXED_ENVIRONMENT "PATH LANG PYTHONHASHSEED PYTHONIOENCODING"

static const char *const log_level_names[] = {
    [CONFIG_LOG_ERROR] = "error",
    [CONFIG_LOG_WARNING] = "warning",
    [CONFIG_LOG_INFO] = "info",
    [CONFIG_LOG_DEBUG] = "debug",
};

static const char *const log_format_names[] = {
    [CONFIG_LOG_AUTO] = "auto",
    [CONFIG_LOG_JOURNAL] = "journal",
    [CONFIG_LOG_PLAIN] = "plain",
    [CONFIG_LOG_JSON] = "json",
};
static const char *const warm_names[] = {
    [CONFIG_WARM_AUTO] = "auto",
    [CONFIG_WARM_NO] = "no",
    [CONFIG_WARM_YES] = "yes",
};

/* Returns whether the N bytes at WORD are one of WORDS, which single spaces separate. */
static bool is_one_of(const char *words, const char *word, size_t n)
{
    for (;;) {
        size_t length = strcspn(words, " ");
        if (length == n && memcmp(words, word, n) == 0)
            return true;
        if (words[length] == '\0')
            return false;
        words += length + 1;
    }
}

/* Reads TEXT, one of the N NAMES, as its index. 0 or -EINVAL. */
static int read_name(const char *const *names, size_t n, const char *text, uint64_t *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

static void write_name(const char *const *names, size_t n, uint64_t value, char *text)
{
    (void)snprintf(text, VALUE_TEXT_MAX, "%s", value < n ? names[value] : "?");
}

static int log_level_read(const char *text, uint64_t *ret)
{
    return read_name(log_level_names, ARRAY_SIZE(log_level_names), text, ret);
}

static void log_level_write(uint64_t value, char *text)
{
    write_name(log_level_names, ARRAY_SIZE(log_level_names), value, text);
}

static int log_format_read(const char *text, uint64_t *ret)
{
    return read_name(log_format_names, ARRAY_SIZE(log_format_names), text, ret);
}

static void log_format_write(uint64_t value, char *text)
{
    write_name(log_format_names, ARRAY_SIZE(log_format_names), value, text);
}

static int warm_read(const char *text, uint64_t *ret)
{
    return read_name(warm_names, ARRAY_SIZE(warm_names), text, ret);
}

static void warm_write(uint64_t value, char *text)
{
    write_name(warm_names, ARRAY_SIZE(warm_names), value, text);
}

static bool has_dotted_part(const char *path)
{
    for (;;) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        if (length == 0)
            return false;
        if (is_one_of(". ..", path, length))
            return true;
        path += length;
    }
}

static bool accept_path(char *path)
{
    char *out = path;

    if (path[0] != '/' || has_dotted_part(path))
        return false;
    /* Of several slashes keep the last, of those at the end none except the root. */
    for (const char *in = path; *in; in++)
        if (in[0] != '/' || (in[1] != '/' && (in[1] != '\0' || out == path)))
            *out++ = *in;
    *out = '\0';
    return true;
}

/* Directory services allow more names than useradd does. Refuse only those that no group file can
 * hold, and those that would be taken for a number. */
static bool accept_group(char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= 255 && name[0] != '-' && strcspn(name, ":/," BLANKS) == length &&
           strspn(name, "0123456789") < length;
}

/* The name of an account, or its uid. */
static bool accept_user(char *name)
{
    size_t length = strlen(name);
    bool is_number = length > 0 && strspn(name, "0123456789") == length;
    return is_number ? length <= 10 && strtoul(name, NULL, 10) < UINT32_MAX : accept_group(name);
}

/* Brings the path of a Unix socket into its normal form, like every path. */
static bool accept_address(char *text)
{
    struct address address;
    if (strncmp(text, ADDRESS_UNIX_PREFIX, strlen(ADDRESS_UNIX_PREFIX)) == 0 &&
        !accept_path(text + strlen(ADDRESS_UNIX_PREFIX)))
        return false;
    return address_parse(text, &address) == 0;
}

/* Accepts a Python module: names, separated by dots. */
static bool accept_module(char *name)
{
    for (;;) {
        size_t length = 0;
        while (isalnum((unsigned char)name[length]) || name[length] == '_')
            length++;
        if (length == 0 || isdigit((unsigned char)name[0]))
            return false;
        if (name[length] == '\0')
            return true;
        if (name[length] != '.')
            return false;
        name += length + 1;
    }
}

static bool accept_layer(char *name)
{
    return is_one_of(LAYERS, name, strlen(name));
}

/* Returns the length of the variable's name at the head of TEXT; 0 if there is none, or if the name
 * is reserved. */
static size_t variable_length(const char *text)
{
    size_t length = 0;

    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    if (isdigit((unsigned char)text[0]) || strncmp(text, "LD_", 3) == 0 ||
        is_one_of(FIXED_ENVIRONMENT, text, length))
        return 0;
    return length;
}

static bool accept_environment(char *entry)
{
    size_t length = variable_length(entry);
    return length > 0 && entry[length] == '=';
}

static bool accept_variable(char *name)
{
    size_t length = variable_length(name);
    return length > 0 && name[length] == '\0';
}

const struct config_type type_count = {
    .kind = CONFIG_NUMBER,
    .what = "a whole number",
    .read = value_read_count,
    .write = value_write_count,
};

const struct config_type type_count_or_auto = {
    .kind = CONFIG_NUMBER,
    .what = "auto or a whole number",
    .zero_word = "auto",
    .read = value_read_count,
    .write = value_write_count,
};

const struct config_type type_mode = {
    .kind = CONFIG_NUMBER,
    .what = "an octal mode",
    .read = value_read_octal,
    .write = value_write_octal,
};

const struct config_type type_size = {
    .kind = CONFIG_NUMBER,
    .what = "a size",
    .hint = "bytes, or with K, M, G or T behind the number",
    .read = value_read_size,
    .write = value_write_size,
};

const struct config_type type_duration = {
    .kind = CONFIG_NUMBER,
    .what = "a duration",
    .hint = "as 500ms, 1.5s, 30s, 5min or 1h; seconds without a unit",
    .read = value_read_duration,
    .write = value_write_duration,
};

const struct config_type type_log_level = {
    .kind = CONFIG_NUMBER,
    .what = "a level",
    .hint = "error, warning, info or debug",
    .read = log_level_read,
    .write = log_level_write,
};

const struct config_type type_log_format = {
    .kind = CONFIG_NUMBER,
    .what = "a format",
    .hint = "auto, journal, plain or json",
    .unordered = true,
    .read = log_format_read,
    .write = log_format_write,
};

const struct config_type type_warm = {
    .kind = CONFIG_NUMBER,
    .what = "auto, yes or no",
    .unordered = true,
    .read = warm_read,
    .write = warm_write,
};

const struct config_type type_modules = {
    .kind = CONFIG_LIST,
    .what = "names of Python modules with blanks between them",
    .accept = accept_module,
};

const struct config_type type_path = {
    .kind = CONFIG_STRING,
    .what = "an absolute path without . and .. in it",
    .accept = accept_path,
};

const struct config_type type_paths = {
    .kind = CONFIG_LIST,
    .what = "absolute paths without . and .. in them, with blanks between",
    .accept = accept_path,
};

const struct config_type type_account = {
    .kind = CONFIG_STRING,
    .what = "the name of an account",
    .accept = accept_group,
};

const struct config_type type_group = {
    .kind = CONFIG_STRING,
    .what = "the name of a group",
    .accept = accept_group,
};

const struct config_type type_groups = {
    .kind = CONFIG_LIST,
    .what = "names of groups with blanks between them",
    .accept = accept_group,
};

const struct config_type type_users = {
    .kind = CONFIG_LIST,
    .what = "names of accounts, or uids, with blanks between them",
    .accept = accept_user,
};

const struct config_type type_address = {
    .kind = CONFIG_STRING,
    .what = "unix:PATH, or a loopback address with a port",
    .hint = "as unix:/run/rubricd/metrics.sock, 127.0.0.1:9643 or [::1]:9643",
    .accept = accept_address,
};

const struct config_type type_layers = {
    .kind = CONFIG_LIST,
    .what = "names of layers with blanks between them",
    .hint = LAYERS,
    .accept = accept_layer,
};

const struct config_type type_environment = {
    .kind = CONFIG_LIST,
    .what = "NAME=VALUE",
    .hint = "NAME of letters, digits and _, none of " FIXED_ENVIRONMENT
            ", nor one that begins with LD_",
    .accept = accept_environment,
    .repeatable = true,
};

const struct config_type type_env_names = {
    .kind = CONFIG_LIST,
    .what = "names of variables with blanks between them",
    .hint = "letters, digits and _, none of " FIXED_ENVIRONMENT ", nor one that begins with LD_",
    .accept = accept_variable,
};

const struct config_type type_boolean = {
    .kind = CONFIG_BOOLEAN,
    .what = "yes or no",
};

/* Says "expected WHAT RANGE (HINT), got 'TEXT'". Returns -EINVAL. */
static int refuse(const struct config_type *type, const char *range, const char *text,
                  struct fault *why)
{
    const char *quote = *text ? "'" : "";
    return fault_set(why, "expected %s%s%s%s%s, got %s%s%s", type->what, range,
                     type->hint ? " (" : "", type->hint ? type->hint : "", type->hint ? ")" : "",
                     quote, *text ? text : "nothing", quote);
}

uint64_t config_type_number(const void *field, size_t size)
{
    assert(size == sizeof(uint64_t) || size == sizeof(unsigned));
    return size == sizeof(uint64_t) ? *(const uint64_t *)field : *(const unsigned *)field;
}

static void store_number(void *field, size_t size, uint64_t value)
{
    assert(size == sizeof(uint64_t) || (size == sizeof(unsigned) && value <= UINT_MAX));
    if (size == sizeof(uint64_t))
        *(uint64_t *)field = value;
    else
        *(unsigned *)field = (unsigned)value;
}

static int set_number(const struct config_type *type, struct config_bounds bounds, const char *text,
                      void *field, size_t size, struct fault *why)
{
    uint64_t value = 0;

    if (type->zero_word && strcmp(text, type->zero_word) == 0) {
        store_number(field, size, 0);
        return 0;
    }
    if (type->read(text, &value) < 0 || value < bounds.min || value > bounds.max) {
        char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX], range[2 * VALUE_TEXT_MAX + 16];
        type->write(bounds.min, min);
        type->write(bounds.max, max);
        (void)snprintf(range, sizeof(range), " from %s to %s", min, max);
        return refuse(type, type->unordered ? "" : range, text, why);
    }
    store_number(field, size, value);
    return 0;
}

static int set_boolean(const struct config_type *type, const char *text, bool *field,
                       struct fault *why)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return refuse(type, "", text, why);
    *field = strcmp(text, "yes") == 0;
    return 0;
}

static int set_string(const struct config_type *type, struct config_bounds bounds, const char *text,
                      char **field, struct fault *why)
{
    size_t length = strlen(text);
    _cleanup_free_ char *copy = strdup(text);
    if (!copy)
        return -ENOMEM;

    if (length > bounds.max) {
        char range[64];
        (void)snprintf(range, sizeof(range), ", at most %" PRIu64 " bytes", bounds.max);
        return refuse(type, range, text, why);
    }
    if (length < bounds.min || (length > 0 && !type->accept(copy)))
        return refuse(type, "", text, why);
    free(*field);
    *field = TAKE_PTR(copy);
    return 0;
}

static int check_count(const struct config_type *type, struct config_bounds bounds, size_t count,
                       struct fault *why)
{
    if (count < bounds.min || count > bounds.max)
        return fault_set(why, "expected %s, from %" PRIu64 " to %" PRIu64 " of them, got %zu",
                         type->what, bounds.min, bounds.max, count);
    return 0;
}

static int set_list(const struct config_type *type, struct config_bounds bounds, const char *text,
                    struct string_list *field, struct fault *why)
{
    _cleanup_string_list_ struct string_list list = STRING_LIST_NULL;
    _cleanup_free_ char *copy = strdup(text);
    char *rest = NULL;
    int r;

    if (!copy)
        return -ENOMEM;
    for (char *item = strtok_r(copy, BLANKS, &rest); item; item = strtok_r(NULL, BLANKS, &rest)) {
        if (!type->accept(item))
            return refuse(type, "", item, why);
        if (!type->repeats && string_list_contains(&list, item))
            return fault_set(why, "'%s' is given twice", item);
        r = string_list_add(&list, item);
        if (r < 0)
            return r;
    }
    r = check_count(type, bounds, list.count, why);
    if (r < 0)
        return r;
    string_list_deinit(field);
    *field = list;
    list = (struct string_list)STRING_LIST_NULL;
    return 0;
}

static int add_environment(const struct config_type *type, struct config_bounds bounds,
                           const char *text, struct string_list *list, struct fault *why)
{
    int name_length = (int)strcspn(text, "=");
    _cleanup_free_ char *copy = strdup(text);

    if (!copy)
        return -ENOMEM;
    if (!*text) {
        string_list_deinit(list);
        return 0;
    }
    if (!type->accept(copy))
        return refuse(type, "", text, why);
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->item[i], text, (size_t)name_length + 1) == 0)
            return fault_set(why, "%.*s is already set, as '%s'", name_length, text, list->item[i]);
    int r = check_count(type, bounds, list->count + 1, why);
    return r < 0 ? r : string_list_add(list, copy);
}

int config_type_set(const struct config_type *type, struct config_bounds bounds, const char *text,
                    void *field, size_t size, struct fault *why)
{
    switch (type->kind) {
    case CONFIG_NUMBER:
        return set_number(type, bounds, text, field, size, why);
    case CONFIG_BOOLEAN:
        return set_boolean(type, text, field, why);
    case CONFIG_STRING:
        return set_string(type, bounds, text, field, why);
    case CONFIG_LIST:
        if (type->repeatable)
            return add_environment(type, bounds, text, field, why);
        return set_list(type, bounds, text, field, why);
    }
    return -EINVAL;
}

void config_type_clear(const struct config_type *type, void *field, size_t size)
{
    switch (type->kind) {
    case CONFIG_NUMBER:
        store_number(field, size, 0);
        break;
    case CONFIG_BOOLEAN:
        *(bool *)field = false;
        break;
    case CONFIG_STRING:
        free(*(char **)field);
        *(char **)field = NULL;
        break;
    case CONFIG_LIST:
        string_list_deinit(field);
        break;
    }
}

static bool equal_lists(const struct string_list *list, const struct string_list *other)
{
    if (list->count != other->count)
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i], other->item[i]) != 0)
            return false;
    return true;
}

bool config_type_equal(const struct config_type *type, const void *field, const void *other,
                       size_t size)
{
    switch (type->kind) {
    case CONFIG_NUMBER:
        return config_type_number(field, size) == config_type_number(other, size);
    case CONFIG_BOOLEAN:
        return *(const bool *)field == *(const bool *)other;
    case CONFIG_STRING:
        return strcmp(*(char *const *)field, *(char *const *)other) == 0;
    case CONFIG_LIST:
        return equal_lists(field, other);
    }
    return false;
}

static int copy_string(char **field, const char *other)
{
    char *copy = strdup(other);
    if (!copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

static int copy_list(struct string_list *field, const struct string_list *other)
{
    _cleanup_string_list_ struct string_list list = STRING_LIST_NULL;
    for (size_t i = 0; i < other->count; i++) {
        int r = string_list_add(&list, other->item[i]);
        if (r < 0)
            return r;
    }
    string_list_deinit(field);
    *field = list;
    list = (struct string_list)STRING_LIST_NULL;
    return 0;
}

int config_type_copy(const struct config_type *type, void *field, const void *other, size_t size)
{
    switch (type->kind) {
    case CONFIG_NUMBER:
        store_number(field, size, config_type_number(other, size));
        return 0;
    case CONFIG_BOOLEAN:
        *(bool *)field = *(const bool *)other;
        return 0;
    case CONFIG_STRING:
        return copy_string(field, *(char *const *)other);
    case CONFIG_LIST:
        return copy_list(field, other);
    }
    return -EINVAL;
}
