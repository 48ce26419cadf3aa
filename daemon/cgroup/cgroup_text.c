/* SPDX-License-Identifier: MIT */
#include "cgroup_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of fields in a line of mountinfo: mount, parent, device, root, point. */
#define MOUNT_FIELD_ROOT 3
#define MOUNT_FIELD_POINT 4

static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

int cgroup_text_group(const char *text, char *ret, size_t size)
{
    static const char v2[] = "0::/";
    for (; *text; text = next_line(text)) {
        if (strncmp(text, v2, strlen(v2)) != 0)
            continue;
        const char *path = text + strlen(v2) - 1;
        size_t n = strcspn(path, "\n");
        if (n >= size)
            return -ENAMETOOLONG;
        memcpy(ret, path, n);
        ret[n] = '\0';
        return 0;
    }
    return -ENOENT;
}

bool cgroup_text_is_hybrid(const char *text)
{
    for (; *text; text = next_line(text))
        if (strncmp(text, "0::", 3) != 0)
            return true;
    return false;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Replaces escapes such as "\040" for a blank. Returns false if the result does not fit. */
static bool unescape(const char *field, size_t n, char *ret, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < n; length++) {
        if (length + 1 >= size)
            return false;
        if (field[i] == '\\' && n - i >= 4 && is_octal(field[i + 1]) && is_octal(field[i + 2]) &&
            is_octal(field[i + 3])) {
            ret[length] = (char)((field[i + 1] - '0') << 6 | (field[i + 2] - '0') << 3 |
                                 (field[i + 3] - '0'));
            i += 4;
        } else {
            ret[length] = field[i++];
        }
    }
    ret[length] = '\0';
    return true;
}

/* Parses one line of N bytes. Returns false if it is no cgroup2 mount. */
static bool parse_mount(const char *line, size_t n, struct cgroup_mount *ret)
{
    static const char separator[] = " - cgroup2 ";
    const char *type = memmem(line, n, separator, strlen(separator));
    if (!type)
        return false;
    const char *field = line;
    for (int i = 0; i <= MOUNT_FIELD_POINT; i++) {
        size_t length = strcspn(field, " \n");
        if (field + length > type)
            return false;
        if (i == MOUNT_FIELD_ROOT && !unescape(field, length, ret->root, sizeof(ret->root)))
            return false;
        if (i == MOUNT_FIELD_POINT && !unescape(field, length, ret->point, sizeof(ret->point)))
            return false;
        field += length + 1;
    }
    return ret->root[0] == '/' && ret->point[0] == '/';
}

int cgroup_text_next_mount(const char **text, struct cgroup_mount *ret)
{
    while (**text) {
        const char *line = *text;
        *text = next_line(line);
        if (parse_mount(line, (size_t)(*text - line), ret))
            return 1;
    }
    return 0;
}

int cgroup_text_path(const struct cgroup_mount *mount, const char *group, char *ret, size_t size)
{
    /* "/" is a prefix without a slash of its own */
    size_t n = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(group, mount->root, n) != 0 || (group[n] != '/' && group[n] != '\0'))
        return -ENOENT;
    /* A group outside the cgroup namespace shows as "/../x", which leads nowhere. */
    if (strncmp(group + n, "/..", 3) == 0 && (group[n + 3] == '/' || group[n + 3] == '\0'))
        return -ENOENT;
    const char *below = strcmp(group + n, "/") == 0 ? "" : group + n;
    int length = snprintf(ret, size, "%s%s", mount->point, below);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int cgroup_text_number(const char *text, uint64_t *ret)
{
    size_t n = strcspn(text, "\n");
    if (n == 3 && strncmp(text, "max", n) == 0) {
        *ret = UINT64_MAX;
        return 0;
    }
    if (!isdigit((unsigned char)*text))
        return -EBADMSG;
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end != text + n)
        return -EBADMSG;
    *ret = value;
    return 0;
}

int cgroup_text_value(const char *text, const char *key, uint64_t *ret)
{
    size_t n = strlen(key);
    for (; *text; text = next_line(text))
        if (strncmp(text, key, n) == 0 && text[n] == ' ')
            return cgroup_text_number(text + n + 1, ret);
    return -ENOENT;
}

int cgroup_text_pressure(const char *text, const char *kind, uint64_t *ret_us)
{
    static const char key[] = " total=";
    size_t n = strlen(kind);
    for (; *text; text = next_line(text)) {
        if (strncmp(text, kind, n) != 0 || text[n] != ' ')
            continue;
        const char *at = strstr(text, key), *end = text + strcspn(text, "\n");
        return at && at < end ? cgroup_text_number(at + strlen(key), ret_us) : -EBADMSG;
    }
    return -ENOENT;
}

bool cgroup_text_has_word(const char *text, const char *word)
{
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (n == strlen(word) && strncmp(text, word, n) == 0)
            return true;
        text += n + (text[n] != '\0');
    }
    return false;
}

long cgroup_text_other_process(const char *text, long self)
{
    for (; *text; text = next_line(text)) {
        char *end;
        long pid = strtol(text, &end, 10);
        if (end != text && *end == '\n' && pid != self)
            return pid == 0 ? -1 : pid;
    }
    return 0;
}
