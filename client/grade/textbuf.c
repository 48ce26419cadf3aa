/* SPDX-License-Identifier: MIT */
#include "textbuf.h"

int textbuf_open(struct textbuf *text)
{
    *text = (struct textbuf)TEXTBUF_NULL;
    text->out = open_memstream(&text->data, &text->n);
    return text->out ? 0 : -ENOMEM;
}

void textbuf_add(struct textbuf *text, const char *data, size_t n)
{
    if (n > 0)
        (void)fwrite(data, 1, n, text->out);
}

void textbuf_add_json(struct textbuf *text, const json_t *string)
{
    textbuf_add(text, json_string_value(string), json_string_length(string));
}

int textbuf_finish(struct textbuf *text, json_t **ret)
{
    bool failed = ferror(text->out) != 0;
    failed |= fclose(TAKE_PTR(text->out)) != 0;
    json_t *string = failed ? NULL : json_text(text->data, text->n);
    textbuf_deinit(text);
    *ret = string;
    return string ? 0 : -ENOMEM;
}

void textbuf_deinit(struct textbuf *text)
{
    if (text->out)
        (void)fclose(text->out);
    free(text->data);
    *text = (struct textbuf)TEXTBUF_NULL;
}
