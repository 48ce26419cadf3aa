/* SPDX-License-Identifier: MIT */
#include "extraction.h"

#include <string.h>

/* All of the text, unless it is blank: fences are not looked for yet. */
int extraction_find(const char *text, size_t n, struct bytes *ret_code, bool *ret_found)
{
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", text[i]))
        i++;
    *ret_found = i < n;
    return i < n ? bytes_copy(text, n, ret_code) : 0;
}
