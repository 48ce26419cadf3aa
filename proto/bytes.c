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

size_t bytes_memory(const struct bytes *bytes)
{
    return bytes->data ? bytes->length + ALLOCATION_OVERHEAD : 0;
}

size_t text_memory(const char *text)
{
    return text ? strlen(text) + ALLOCATION_OVERHEAD : 0;
}

size_t texts_length(char *const *texts)
{
    size_t length = 0;
    for (char *const *item = texts; item && *item; item++)
        length += strlen(*item) + 1;
    return length;
}

size_t texts_memory(char *const *texts)
{
    size_t memory = texts ? sizeof(*texts) + ALLOCATION_OVERHEAD : 0;
    for (char *const *item = texts; item && *item; item++)
        memory += sizeof(*item) + text_memory(*item);
    return memory;
}
