/* SPDX-License-Identifier: MIT */
#include "rubric_place.h"

#include "proto/util.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 255

bool rubric_name_is_good(const char *name)
{
    bool good = isalnum((unsigned char)name[0]) && strlen(name) <= NAME_BYTES_MAX;
    for (const char *c = name; good && *c; c++)
        good = (*c > 0 && isalnum((unsigned char)*c)) || strchr("._-", *c);
    return good;
}

int rubric_place(const char *path, char **ret_path, const char **ret_name, struct fault *fault)
{
    char *whole = realpath(path, NULL);
    if (!whole)
        whole = strdup(path);
    if (!whole)
        return -ENOMEM;
    for (size_t n = strlen(whole); n > 1 && whole[n - 1] == '/'; n--)
        whole[n - 1] = '\0';
    const char *slash = strrchr(whole, '/'), *name = slash ? slash + 1 : whole;
    if (!rubric_name_is_good(name)) {
        (void)fault_set(fault,
                        "%s: \"%.100s\" cannot be the name of a task class: letters, digits, "
                        "\".\", \"_\" and \"-\", the first a letter or digit",
                        path, name);
        free(whole);
        return -EINVAL;
    }
    *ret_path = whole;
    *ret_name = name;
    return 0;
}
