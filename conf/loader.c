/* SPDX-License-Identifier: MIT */
/* Theory of operation: a file passes four stages, each of which knows one thing.
 *
 *   lines.c    turns bytes into lines, each whole, short enough, and printable UTF-8;
 *   feed_line  refuses lines that libinih would read in an unexpected way (a continued value, text
 *              behind a section's name) and hands it the others, line by line;
 *   libinih    parses sections, names, values and comments; calls take_pair for each NAME = VALUE;
 *   keys.c     knows what a name means and which values it takes.
 *
 * libinih asks for one line at a time. So lines.number is the line of the current pair, and a line
 * for which libinih did not call take_pair before it asked for the next was no NAME = VALUE. */
#include "loader.h"

#include "proto/shortage.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define BLANKS " \t"

/* Stands for an unknown section towards libinih; take_pair skips its keys, since the section itself
 * was reported. */
#define SECTION_UNKNOWN "?"

/* libinih splits a line at the end of its buffer, which has 200 bytes unless the distribution lets
 * the program change that, as Debian does. The symbol is weak: elsewhere it does not exist, and
 * offer_line() refuses a line that does not fit. */
extern int ini_max_line __attribute__((weak));

int loader_init(struct loader *loader, struct config *config, struct config_problems *problems)
{
    *loader = (struct loader){.config = config, .problems = problems};
    loader->origin = calloc(config_key_count(), sizeof(*loader->origin));
    return loader->origin ? 0 : -ENOMEM;
}

void loader_deinit(struct loader *loader)
{
    free(loader->origin);
    string_list_deinit(&loader->files);
    *loader = (struct loader){.origin = NULL};
}

struct origin *loader_origin(struct loader *loader, const struct config_key *key)
{
    assert(key >= config_key_at(0) && key < config_key_at(0) + config_key_count());
    return &loader->origin[key - config_key_at(0)];
}

static const char *current_file(const struct loader *loader)
{
    assert(loader->files.count > 0);
    return loader->files.item[loader->files.count - 1];
}

void loader_report(struct loader *loader, const char *file, unsigned line, const char *section,
                   const char *name, const char *format, ...)
{
    _cleanup_free_ char *text = NULL, *key = NULL;
    va_list args;
    int r;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (section)
        r = asprintf(&key, "[%s]%s%s", section, name ? " " : "", name ? name : "");
    else
        r = name ? asprintf(&key, "%s", name) : 0;
    if (r < 0)
        key = NULL;

    if (!text || r < 0 || config_problems_add(loader->problems, file, line, key, &text) < 0)
        loader->error = -ENOMEM;
    else if (loader->error == 0)
        loader->error = -EINVAL;
}

#define report_here(loader, section, name, ...) \
    loader_report(loader, current_file(loader), (loader)->lines.number, section, name, __VA_ARGS__)

static void settle_pending(struct loader *loader, unsigned line)
{
    if (loader->pending)
        loader_report(loader, current_file(loader), line, NULL, NULL, "expected NAME = VALUE");
    loader->pending = false;
}

/* Returns the section that the header TEXT opens, SECTION_UNKNOWN after a mistake. */
static const char *read_header(struct loader *loader, char *text)
{
    char *name = text + 1, *end = strchr(name, ']');
    const char *behind = end ? end + 1 + strspn(end + 1, BLANKS) : NULL;

    if (!end || (*behind && (*behind != ';' || behind == end + 1))) {
        report_here(loader, NULL, NULL, "expected [SECTION] and nothing behind it");
        return SECTION_UNKNOWN;
    }
    *end = '\0';
    const char *section = config_section_find(name);
    if (section)
        return section;
    const char *meant = config_section_suggest(name);
    report_here(loader, name, NULL, "unknown section%s%s%s", meant ? ", did you mean [" : "",
                meant ? meant : "", meant ? "]?" : "");
    return SECTION_UNKNOWN;
}

/* Writes the current line with a newline into BUFFER of SIZE bytes. Returns false if libinih is not
 * to see the line. */
static bool offer_line(struct loader *loader, char *buffer, size_t size)
{
    char *text = loader->lines.text;
    size_t blank = strspn(text, BLANKS);

    if (text[blank] == '\0' || text[blank] == ';' || text[blank] == '#')
        return false;
    if (blank > 0) {
        report_here(loader, NULL, NULL,
                    "begins with a space or tab; a value cannot be continued on the next line");
        return false;
    }
    if (text[0] == '[') {
        (void)snprintf(buffer, size, "[%s]\n", read_header(loader, text));
        return true;
    }
    if (loader->lines.length + 2 > size) {
        report_here(loader, NULL, NULL, "longer than %zu bytes", size - 2);
        return false;
    }
    (void)snprintf(buffer, size, "%s\n", text);
    loader->pending = true;
    return true;
}

/* A shortage is no mistake of whoever wrote the file. */
static void report_failure(struct loader *loader, const char *file, const char *what, int r)
{
    loader_report(loader, file, 0, NULL, NULL, "%s: %s", what, strerror(-r));
    if (is_shortage(-r) && loader->error != -ENOMEM)
        loader->error = r;
}

/* The ini_reader: like fgets, returns the next line for libinih, or NULL at the end. */
static char *feed_line(char *buffer, int size, void *user)
{
    struct loader *loader = user;
    struct fault why = FAULT_NULL;

    for (;;) {
        unsigned line = loader->lines.number;
        int r = lines_next(&loader->lines, &why);
        settle_pending(loader, line);
        if (r == -EINVAL)
            report_here(loader, NULL, NULL, "%s", why.text);
        else if (r == -ENOMEM)
            loader->error = r;
        else if (r == -EFBIG)
            loader_report(loader, current_file(loader), 0, NULL, NULL, "larger than %u bytes",
                          LINES_FILE_MAX);
        else if (r < 0)
            report_failure(loader, current_file(loader), "cannot be read", r);
        if (r <= 0 && r != -EINVAL)
            return NULL;
        if (r == 1 && offer_line(loader, buffer, (size_t)size))
            return buffer;
    }
}

static void report_unknown_key(struct loader *loader, const char *section, const char *name)
{
    const struct config_key *meant = config_key_suggest(section, name);

    if (!meant)
        report_here(loader, section, name, "unknown key");
    else if (strcmp(meant->section, section) == 0)
        report_here(loader, section, name, "unknown key, did you mean %s?", meant->name);
    else
        report_here(loader, section, name, "unknown key, did you mean [%s] %s?", meant->section,
                    meant->name);
}

static void set_key(struct loader *loader, const struct config_key *key, const char *value)
{
    struct origin *origin = loader_origin(loader, key);
    struct fault why = FAULT_NULL;

    if (origin->file == current_file(loader) && !key->type->repeatable)
        report_here(loader, key->section, key->name, "already set on line %u", origin->line);
    int r = config_key_set(key, loader->config, value, &why);
    if (r == -EINVAL)
        report_here(loader, key->section, key->name, "%s", why.text);
    else if (r < 0)
        loader->error = r;
    *origin = (struct origin){
        .file = current_file(loader),
        .line = loader->lines.number,
        .order = ++loader->order,
        .refused = r < 0,
    };
}

/* The ini_handler. Always returns nonzero for success, because the loader counts the mistakes. */
static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    struct loader *loader = user;

    if (!value || !*name)
        return 1; /* stays pending */
    loader->pending = false;
    if (strcmp(section, SECTION_UNKNOWN) == 0)
        return 1;
    if (!*section) {
        report_here(loader, NULL, name, "comes before the first [SECTION]");
        return 1;
    }
    const struct config_key *key = config_key_find(section, name);
    if (key)
        set_key(loader, key, value);
    else
        report_unknown_key(loader, section, name);
    return 1;
}

/* Opens what can be read to its end: a file, or /dev/null, which masks a drop-in. */
static int open_file(const char *path, FILE **ret, struct fault *why)
{
    struct stat st;
    /* Non-blocking: a FIFO without a writer would hold us here. */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 || fstat(fd, &st) < 0) {
        int r = -errno;
        (void)fault_set(why, "cannot be opened: %s", strerror(-r));
        return r;
    }
    if (S_ISDIR(st.st_mode))
        return fault_set(why, "is a directory");
    if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
        return fault_set(why, "is not a regular file");
    FILE *stream = fdopen(fd, "r");
    if (!stream)
        return -ENOMEM;
    TAKE_FD(fd);
    *ret = stream;
    return 0;
}

void loader_read_file(struct loader *loader, const char *path, bool must_exist)
{
    struct fault why = FAULT_NULL;
    FILE *stream = NULL;

    int r = string_list_add(&loader->files, path);
    if (r == 0)
        r = open_file(path, &stream, &why);
    if (r == -ENOENT && !must_exist)
        return;
    if (r == -ENOMEM)
        loader->error = r;
    else if (r < 0)
        loader_report(loader, path, 0, NULL, NULL, "%s", why.text);
    if (is_shortage(-r))
        loader->error = r;
    if (r < 0)
        return;

    lines_init(&loader->lines, stream);
    if (&ini_max_line != NULL)
        ini_max_line = LINES_LINE_MAX + 2;
    /* Its result is the first line with a mistake; ours are all reported by now. */
    if (ini_parse_stream(feed_line, loader, take_pair, loader) == -2)
        loader->error = -ENOMEM;
    settle_pending(loader, loader->lines.number);
    (void)fclose(stream);
}

static int is_drop_in(const struct dirent *entry)
{
    static const char suffix[] = ".conf";
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length >= sizeof(suffix) &&
           strcmp(entry->d_name + length - (sizeof(suffix) - 1), suffix) == 0;
}

void loader_read_drop_ins(struct loader *loader, const char *path)
{
    _cleanup_free_ char *directory = NULL;
    struct dirent **entry = NULL;

    if (asprintf(&directory, "%s.d", path) < 0) {
        directory = NULL;
        loader->error = -ENOMEM;
        return;
    }
    int count = scandir(directory, &entry, is_drop_in, versionsort);
    if (count < 0 && errno == ENOMEM)
        loader->error = -ENOMEM;
    else if (count < 0 && errno != ENOENT)
        report_failure(loader, directory, "cannot be listed", -errno);

    for (int i = 0; i < count; i++) {
        _cleanup_free_ char *file = NULL;
        if (asprintf(&file, "%s/%s", directory, entry[i]->d_name) < 0) {
            file = NULL;
            loader->error = -ENOMEM;
        } else {
            loader_read_file(loader, file, true);
        }
        free(entry[i]);
    }
    free(entry);
}

static void read_setting(struct loader *loader, const char *setting)
{
    _cleanup_free_ char *copy = strdup(setting);
    char *value = copy ? strchr(copy, '=') : NULL;
    char *name = value ? strchr(copy, '.') : NULL;

    struct fault why = FAULT_NULL;
    int r = copy ? lines_check(copy, strlen(copy), &why) : -ENOMEM;
    if (r == -ENOMEM)
        loader->error = r;
    else if (r < 0)
        report_here(loader, NULL, NULL, "%s", why.text);
    if (r < 0)
        return;
    if (!name || name > value) {
        report_here(loader, NULL, NULL, "expected SECTION.KEY=VALUE, got '%s'", setting);
        return;
    }
    *name++ = '\0';
    *value++ = '\0';
    const struct config_key *key = config_key_find(copy, name);
    if (key)
        loader_origin(loader, key)->file = NULL; /* of equal options the last one wins, as usual */
    if (key)
        set_key(loader, key, value);
    else if (config_section_find(copy))
        report_unknown_key(loader, copy, name);
    else
        report_here(loader, copy, NULL, "unknown section");
}

void loader_read_settings(struct loader *loader, const char *const *settings, size_t n)
{
    if (string_list_add(&loader->files, "--set") < 0)
        loader->error = -ENOMEM;
    for (size_t i = 0; i < n && loader->error != -ENOMEM; i++) {
        loader->lines.number = (unsigned)i + 1;
        read_setting(loader, settings[i]);
    }
}
