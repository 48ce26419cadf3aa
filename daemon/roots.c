/* SPDX-License-Identifier: MIT */
#include "roots.h"

#include "proto/util.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

char *roots_path_of(int fd)
{
    char link[32], path[PATH_MAX];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    if (n < 0 || n == (ssize_t)sizeof(path) - 1)
        return NULL;
    path[n] = '\0';
    return strdup(path);
}

bool roots_contain(const char *root, const char *path)
{
    size_t n = strlen(root);
    while (n > 0 && root[n - 1] == '/')
        n--;
    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool roots_allow(const struct roots *roots, const char *path)
{
    for (size_t i = 0; i < roots->count; i++) {
        _cleanup_free_ char *root = realpath(roots->item[i], NULL);
        if (root && roots_contain(root, path))
            return true;
    }
    return false;
}
