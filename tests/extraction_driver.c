/* SPDX-License-Identifier: MIT */
/* Extracts code from each text on standard input, for tests/extraction_check.py. A text is one byte
 * that says which tags are wanted ('p' or 's'), its length in 4 bytes, big-endian, and the text;
 * the answer is one byte that says whether a fence was found (0 or 1), a length, and the code. */
#include "proto/extraction.h"

#include <arpa/inet.h>
#include <stdio.h>

int main(void)
{
    int kind;
    while ((kind = getchar()) != EOF) {
        uint32_t length;
        if (fread(&length, sizeof(length), 1, stdin) != 1)
            return 1;
        length = ntohl(length);
        /* An allocation of exactly that size: a sanitizer sees what is read behind it. */
        _cleanup_free_ char *text = malloc(length ? length : 1);
        if (!text || fread(text, 1, length, stdin) != length)
            return 1;

        _cleanup_bytes_ struct bytes code = BYTES_NULL;
        bool fenced;
        const char *const *tags = kind == 'p' ? extraction_python_tags : extraction_shell_tags;
        if (extraction_find(text, length, tags, &code, &fenced) < 0)
            return 1;
        if (code.data[code.length] != '\0')
            return 1;
        length = htonl((uint32_t)code.length);
        (void)putchar(fenced);
        (void)fwrite(&length, sizeof(length), 1, stdout);
        (void)fwrite(code.data, 1, code.length, stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
