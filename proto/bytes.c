/* SPDX-License-Identifier: MIT */
#include "bytes.h"

#include <string.h>

void bytes_deinit(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes)BYTES_NULL;
}

int bytes_copy(const char *data, size_t n, struct bytes *ret)
{
    char *copy = malloc(n + 1);
    if (!copy)
        return -ENOMEM;
    if (n > 0)
        memcpy(copy, data, n);
    copy[n] = '\0';
    *ret = (struct bytes){.data = copy, .length = n};
    return 0;
}
