/* SPDX-License-Identifier: MIT */
#include "collect_to.h"

#include "client/terminal/text.h"
#include "proto/base64.h"
#include "proto/util.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Whether NAME is relative, without empty, "." and ".." parts. */
static bool is_name(const char *name)
{
    for (const char *part = name;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || n > NAME_MAX || (n <= 2 && strspn(part, ".") >= n))
            return false;
        part += n;
        if (!*part)
            return true;
    }
}

/* Opens the directory that holds NAME below TOP, making what is missing, and points *ret_last at
 * the last part. Follows no link. */
static int open_parent(int top, const char *name, const char **ret_last)
{
    char part[NAME_MAX + 1];
    int dir = fcntl(top, F_DUPFD_CLOEXEC, 3);
    while (dir >= 0) {
        size_t n = strcspn(name, "/");
        _cleanup_close_ int above = dir;
        if (!name[n]) {
            *ret_last = name;
            return TAKE_FD(above);
        }
        memcpy(part, name, n);
        part[n] = '\0';
        if (mkdirat(above, part, 0777) < 0 && errno != EEXIST)
            return -errno;
        dir = openat(above, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        name += n + 1;
    }
    return -errno;
}

static int write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, data, n);
        if (written < 0 && errno != EINTR)
            return -errno;
        data += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static int write_file(int top, const char *name, unsigned mode, const char *data, size_t n)
{
    const char *last = name;
    if (!is_name(name))
        return -EINVAL;
    _cleanup_close_ int dir = open_parent(top, name, &last);
    if (dir < 0)
        return dir;
    /* Not into a file that is there: it may have other names. */
    if (unlinkat(dir, last, 0) < 0 && errno != ENOENT)
        return -errno;
    _cleanup_close_ int fd =
        openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
    if (fd < 0)
        return -errno;
    return write_all(fd, data, n);
}

/* Finds the content of FILE. DECODED holds it if it is in base64. */
static int find_content(const json_t *file, struct bytes *decoded, const char **ret, size_t *ret_n)
{
    const json_t *text = json_object_get(file, "content");
    const json_t *base64 = json_object_get(file, "content_base64");
    if (json_is_string(text)) {
        *ret = json_string_value(text);
        *ret_n = json_string_length(text);
        return 0;
    }
    if (!json_is_string(base64))
        return -EPROTO;
    int r = base64_decode(json_string_value(base64), json_string_length(base64), decoded);
    *ret = decoded->data;
    *ret_n = decoded->length;
    return r;
}

static int put_file(int top, const json_t *file)
{
    _cleanup_bytes_ struct bytes decoded = BYTES_NULL;
    const json_t *name = json_object_get(file, "name");
    const char *mode = json_string_value(json_object_get(file, "mode")), *data = NULL;
    size_t n = 0;
    if (!json_is_string(name) || strlen(json_string_value(name)) != json_string_length(name) ||
        !mode)
        return -EPROTO;
    int r = find_content(file, &decoded, &data, &n);
    if (r < 0)
        return r;
    return write_file(top, json_string_value(name), (unsigned)strtoul(mode, NULL, 8), data, n);
}

int collect_to(const json_t *result, const char *directory, struct fault *fault)
{
    const json_t *files = json_object_get(result, "files");
    if (mkdir(directory, 0777) < 0 && errno != EEXIST) {
        int r = -errno;
        (void)fault_set(fault, "--collect-to: %s: %s", directory, strerror(-r));
        return r;
    }
    _cleanup_close_ int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) {
        int r = -errno;
        (void)fault_set(fault, "--collect-to: %s: %s", directory, strerror(-r));
        return r;
    }
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        const char *name = json_string_value(json_object_get(file, "name"));
        int r = put_file(top, file);
        if (r < 0) {
            (void)fault_set(fault, "--collect-to: %s/%s: %s", directory, name ? name : "",
                            strerror(-r));
            return r;
        }
    }
    return 0;
}

bool collect_keep(const json_t *result, const char *directory, bool quiet)
{
    struct fault fault = FAULT_NULL;
    const json_t *left_out = json_object_get(result, "left_out");
    if (!directory)
        return true;
    for (size_t i = 0; i < json_array_size(left_out) && !quiet; i++) {
        const json_t *file = json_array_get(left_out, i);
        complain("--collect: %s is left out: %s", json_string_value(json_object_get(file, "name")),
                 json_string_value(json_object_get(file, "why")));
    }
    if (collect_to(result, directory, &fault) == 0)
        return true;
    complain("%s", fault.text);
    return false;
}
