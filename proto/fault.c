/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include <string.h>

/* vsnprintf() cuts at any byte: remove the rest of a UTF-8 character that it cut in two. */
static void trim_cut_character(char *text)
{
    size_t end = strlen(text), start = end;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (end - (start - 1) < need)
        text[start - 1] = '\0';
}

int fault_set(struct fault *fault, const char *format, ...)
{
    if (!fault)
        return -EINVAL;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(fault->text, sizeof(fault->text), format, args);
    va_end(args);
    if (n >= (int)sizeof(fault->text))
        trim_cut_character(fault->text);
    return -EINVAL;
}
