/* SPDX-License-Identifier: MIT */
#include "beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int beside_find(const char *const *beside, size_t n, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    if (length <= 0)
        return -ENOENT;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < n; i++) {
        int written = snprintf(out, PATH_MAX, "%s/%s", folder, beside[i]);
        if (written < PATH_MAX && access(out, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}
