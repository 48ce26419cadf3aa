/* SPDX-License-Identifier: MIT */
#include "pyhead.h"
#include "langname.h"
#include "textbuf.h"

#include <string.h>

int pyhead_join(const char *head, const char *language, enum sample_form form, const json_t *text,
                json_t **ret)
{
    const char *data = json_string_value(text);
    size_t n = json_string_length(text);
    _cleanup_bytes_ struct bytes code = BYTES_NULL;
    _cleanup_textbuf_ struct textbuf out = TEXTBUF_NULL;
    int r = form == SAMPLE_GENERATION ? langname_extract(language, data, n, &code)
                                      : bytes_copy(data, n, &code);
    if (r == 0)
        r = textbuf_open(&out);
    if (r < 0)
        return r;
    if (strcmp(language, "python") == 0)
        (void)fputs(head, out.out);
    textbuf_add(&out, code.data, code.length);
    return textbuf_finish(&out, ret);
}
