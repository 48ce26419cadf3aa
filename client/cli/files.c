/* SPDX-License-Identifier: MIT */
#include "files.h"

#include "client/terminal/text.h"
#include "proto/base64.h"
#include "proto/util.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* No daemon accepts a larger frame. */
#define FILE_MAX (UINT32_C(64) << 20)
#define READ_SIZE ((size_t)65536)

/* Reads FD to its end. The buffer grows as it fills, because a pipe does not know its size. */
static int read_to_end(int fd, size_t max, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes all = BYTES_NULL;
    for (size_t room = 0;;) {
        if (room - all.length < READ_SIZE) {
            room = MAX(2 * room, 2 * READ_SIZE);
            char *grown = realloc(all.data, room + 1);
            if (!grown)
                return -ENOMEM;
            all.data = grown;
        }
        ssize_t n = read(fd, all.data + all.length, READ_SIZE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        all.length += (size_t)n;
        if (all.length > max)
            return -EFBIG;
    }
    all.data[all.length] = '\0';
    *ret = TAKE_STRUCT(all, BYTES_NULL);
    return 0;
}

int file_read_all(const char *path, size_t max, struct bytes *ret, struct fault *fault)
{
    bool is_stdin = strcmp(path, "-") == 0;
    _cleanup_close_ int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int r =
        !is_stdin && opened < 0 ? -errno : read_to_end(is_stdin ? STDIN_FILENO : opened, max, ret);
    if (r < 0)
        (void)fault_set(fault, "%s: %s", is_stdin ? "stdin" : path, strerror(-r));
    return r;
}

json_t *file_content(const struct bytes *content)
{
    json_t *text = json_stringn(content->data, content->length);
    _cleanup_bytes_ struct bytes encoded = BYTES_NULL;
    if (text)
        return text;
    if (base64_encode(content->data, content->length, &encoded) < 0)
        return NULL;
    return json_pack("{s:s%}", "base64", encoded.data, encoded.length);
}

int file_check_readable(const char *path, struct fault *fault)
{
    struct stat st;
    int error = 0;
    if (strcmp(path, "-") == 0)
        return 0;
    if (access(path, R_OK) < 0)
        error = errno;
    else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        error = EISDIR;
    if (error)
        (void)fault_set(fault, "%s: %s", path, strerror(error));
    return -error;
}

int file_read_object(const char *source, const char *what, json_t **ret, struct fault *fault)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    struct fault why = FAULT_NULL;
    bool is_inline = source[0] == '{';
    int r = is_inline ? bytes_copy(source, strlen(source), &text)
                      : file_read_all(source, FILE_MAX, &text, &why);
    if (r < 0) {
        (void)fault_set(fault, "%s: %s", what, why.text[0] ? why.text : strerror(-r));
        return r;
    }
    r = json_read_object(text.data, text.length, ret, &why);
    if (r < 0 && is_inline)
        (void)fault_set(fault, "%s: %s", what, why.text);
    else if (r < 0)
        (void)fault_set(fault, "%s: %s: %s", what, strcmp(source, "-") == 0 ? "stdin" : source,
                        why.text);
    return r;
}

int file_resolve_bench_root(const char *path, char **ret, struct fault *fault)
{
    struct stat st;
    if (!path) {
        *ret = NULL;
        return 0;
    }
    _cleanup_free_ char *absolute = realpath(path, NULL);
    if (!absolute || stat(absolute, &st) < 0)
        return fault_set(fault, "--bench-root: %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fault_set(fault, "--bench-root: %s: %s", path, strerror(ENOTDIR));
    _cleanup_json_ json_t *text = json_string(absolute);
    if (!text)
        return fault_set(fault, "--bench-root: %s: the path is not UTF-8", absolute);
    *ret = TAKE_PTR(absolute);
    return 0;
}

bool file_is_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Whether PATH is a regular file; pipes and standard input may well be named twice. */
static bool is_regular(const char *path, struct stat *ret)
{
    return strcmp(path, "-") != 0 && stat(path, ret) == 0 && S_ISREG(ret->st_mode);
}

int files_once(const struct text_list *files, const char ***ret, size_t *ret_n)
{
    size_t n = 0;
    _cleanup_free_ const char **once = calloc(MAX(files->n, (size_t)1), sizeof(*once));
    _cleanup_free_ struct stat *stats = calloc(MAX(files->n, (size_t)1), sizeof(*stats));
    if (!once || !stats)
        return -ENOMEM;
    for (size_t i = 0; i < files->n; i++) {
        struct stat st = {.st_ino = 0};
        bool regular = is_regular(files->items[i], &st);
        size_t k = regular ? 0 : n;
        while (k < n && (stats[k].st_dev != st.st_dev || stats[k].st_ino != st.st_ino))
            k++;
        if (k < n) {
            complain("%s is the same file as %s: its lines count once", files->items[i], once[k]);
            continue;
        }
        stats[n] = st;
        once[n++] = files->items[i];
    }
    *ret = TAKE_PTR(once);
    *ret_n = n;
    return 0;
}
