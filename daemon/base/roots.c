/* SPDX-License-Identifier: MIT */
#include "roots.h"

#include "proto/shortage.h"
#include "proto/util.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

char *roots_path_of(int fd)
{
    char link[32], path[PATH_MAX];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    if (n == (ssize_t)sizeof(path) - 1)
        errno = ENAMETOOLONG;
    if (n < 0 || n == (ssize_t)sizeof(path) - 1)
        return NULL;
    path[n] = '\0';
    return strdup(path);
}

char *roots_closed_to_us(const char *path)
{
    _cleanup_free_ char *part = strdup(path);
    for (char *end = part; end && *end; end++) {
        char *slash = strchrnul(end + 1, '/');
        char kept = *slash;
        *slash = '\0';
        if (faccessat(AT_FDCWD, part, X_OK, AT_EACCESS) < 0 && errno == EACCES)
            return TAKE_PTR(part);
        *slash = kept;
        end = slash - 1;
    }
    return NULL;
}

bool roots_contain(const char *root, const char *path)
{
    size_t n = strlen(root);
    while (n > 0 && root[n - 1] == '/')
        n--;
    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

const char *roots_covered(const char *path)
{
    static const char *const covers[] = {"/work", "/bench", "/dev/shm"};
    for (size_t i = 0; i < ARRAY_SIZE(covers); i++)
        if (roots_contain(covers[i], path))
            return covers[i];
    return NULL;
}

int roots_allow(const struct roots *roots, const char *path)
{
    int r = 0;
    for (size_t i = 0; i < roots->count; i++) {
        _cleanup_free_ char *root = realpath(roots->item[i], NULL);
        if (root && roots_contain(root, path))
            return 1;
        if (!root && is_shortage(errno))
            r = -errno;
    }
    return r;
}
