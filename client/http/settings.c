/* SPDX-License-Identifier: MIT */
#include "settings.h"
#include "listen.h"

#include "conf/lines.h"
#include "conf/suggest.h"
#include "conf/types.h"

#include <string.h>

#define SECTION "[http]"
#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define SECOND UINT64_C(1000)

static bool is_listen_address(char *text)
{
    struct listen_address address;
    return listen_parse(text, &address) == 0;
}

static const struct config_type type_listen = {
    .kind = CONFIG_STRING,
    .what = "an address and a port, or unix: and a path",
    .hint = "127.0.0.1:8650, [::1]:8650, unix:/run/rubricd-http/http.sock",
    .accept = is_listen_address,
};

struct setting {
    const char *name;
    const struct config_type *type;
    size_t offset, size;
    struct config_bounds bounds;
    const char *preset;
};

#define FIELD(name) \
    offsetof(struct http_settings, name), sizeof(((struct http_settings *)NULL)->name)

static const struct setting table[] = {
    {"listen", &type_listen, FIELD(listen), {1, 120}, "127.0.0.1:8650"},
    {"socket_mode", &type_mode, FIELD(socket_mode), {0, 0777}, "0660"},
    {"socket", &type_path, FIELD(socket), {1, 107}, "/run/rubricd/rubricd.sock"},
    {"tokens", &type_path, FIELD(tokens), {0, 1023}, ""},
    {"languages", &type_path, FIELD(languages), {0, 1023}, "/etc/rubricd/languages.d"},
    {"connections", &type_count, FIELD(connections), {1, 100000}, "4096"},
    {"connections_per_address", &type_count, FIELD(connections_per_address), {1, 100000}, "2048"},
    {"jobs_per_connection", &type_count, FIELD(jobs_per_connection), {1, 10000}, "64"},
    {"header_bytes", &type_size, FIELD(header_bytes), {4 * KIB, MIB}, "32K"},
    {"body_bytes", &type_size, FIELD(body_bytes), {KIB, 64 * GIB}, "256M"},
    {"bodies_bytes", &type_size, FIELD(bodies_bytes), {KIB, 1024 * GIB}, "1G"},
    {"unread_bytes", &type_size, FIELD(unread_bytes), {KIB, GIB}, "4M"},
    {"results_bytes", &type_size, FIELD(results_bytes), {KIB, 1024 * GIB}, "512M"},
    {"header_time", &type_duration, FIELD(header_time), {100, 3600 * SECOND}, "30s"},
    {"body_time", &type_duration, FIELD(body_time), {100, 3600 * SECOND}, "30s"},
    {"reply_time", &type_duration, FIELD(reply_time), {100, 3600 * SECOND}, "60s"},
    {"daemon_time", &type_duration, FIELD(daemon_time), {100, 3600 * SECOND}, "10s"},
};

static void *field_of(struct http_settings *settings, const struct setting *setting)
{
    return (char *)settings + setting->offset;
}

int http_settings_init(struct http_settings *settings)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        int r = config_type_set(table[i].type, table[i].bounds, table[i].preset,
                                field_of(settings, &table[i]), table[i].size, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

void http_settings_deinit(struct http_settings *settings)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        config_type_clear(table[i].type, field_of(settings, &table[i]), table[i].size);
}

/* Returns TEXT without the blanks around it, which are overwritten. */
static char *strip(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

/* Sets what TEXT says; it is changed. */
static int set_pair(struct http_settings *settings, char *text, struct fault *fault)
{
    struct fault why = FAULT_NULL;
    char *value = strchr(text, '=');
    if (!value)
        return fault_set(fault, "expected NAME = VALUE, got '%.100s'", text);
    *value++ = '\0';
    const char *name = strip(text);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        int r = config_type_set(table[i].type, table[i].bounds, strip(value),
                                field_of(settings, &table[i]), table[i].size, &why);
        if (r == -EINVAL)
            (void)fault_set(fault, "%s: %s", name, why.text);
        return r;
    }
    const char *names[ARRAY_SIZE(table)];
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        names[i] = table[i].name;
    const char *meant = suggest(name, names, ARRAY_SIZE(names));
    return fault_set(fault, "there is no setting '%.100s'%s%s%s", name,
                     meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

int http_settings_set(struct http_settings *settings, const char *text, struct fault *fault)
{
    _cleanup_free_ char *copy = strdup(text);
    return copy ? set_pair(settings, copy, fault) : -ENOMEM;
}

/* Takes a line that has passed lines_next(). -EINVAL with WHY. */
static int take_line(struct http_settings *settings, char *line, bool *in_section,
                     struct fault *why)
{
    char *text = strip(line);
    if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
        return 0;
    if (text[0] == '[') {
        *in_section = strcmp(text, SECTION) == 0;
        return *in_section ? 0 : fault_set(why, "there is no section %.100s, only " SECTION, text);
    }
    if (!*in_section)
        return fault_set(why, "expected " SECTION " before the first setting");
    return set_pair(settings, text, why);
}

static int read_stream(struct http_settings *settings, const char *path, FILE *stream, FILE *errors)
{
    struct lines lines;
    bool in_section = false;
    int result = 0;
    lines_init(&lines, stream);
    for (;;) {
        struct fault why = FAULT_NULL;
        int r = lines_next(&lines, &why);
        if (r == 0)
            return result;
        bool unreadable = r < 0 && r != -EINVAL;
        if (r > 0)
            r = take_line(settings, lines.text, &in_section, &why);
        if (r < 0) {
            (void)fprintf(errors, "%s:%u: %s\n", path, lines.number,
                          why.text[0] ? why.text : strerror(-r));
            result = r;
        }
        if (unreadable || r == -ENOMEM)
            return r;
    }
}

int http_settings_read(struct http_settings *settings, const char *path, FILE *errors)
{
    FILE *stream = fopen(path, "re");
    if (!stream) {
        int error = errno;
        if (error != ENOENT)
            (void)fprintf(errors, "%s: %s\n", path, strerror(error));
        return -error;
    }
    int r = read_stream(settings, path, stream, errors);
    (void)fclose(stream);
    return r;
}
