/* SPDX-License-Identifier: MIT */
/* One page for browsers: page.html with the report in it as JSON. Its script, page.js, builds what
 * people read. Results can quote what untrusted programs wrote, so the page relies on three layers:
 * the JSON here cannot end its element, the script adds text as text only, and the page's
 * Content-Security-Policy allows no other script and no network. */
#include "formats.h"
#include "page.h"

#include "proto/printer.h"

#include <inttypes.h>
#include <string.h>

static json_t *host_json(const json_t *host)
{
    _cleanup_free_ char *words = formats_host_in_words(host);
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!words || json_print(host, &text) < 0)
        return NULL;
    return json_pack("{s:o,s:o}", "words", json_text(words, strlen(words)), "json",
                     json_text(text.data, text.length));
}

/* Numbers that a script would round, as text: its numbers are doubles. */
static json_t *exact_json(const json_t *report)
{
    const json_t *made = json_object_get(report, "reproducibility");
    const json_t *seed = json_object_get(json_object_get(made, "bootstrap"), "seed");
    const json_t *hosts = json_object_get(made, "hosts");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(hosts); i++)
        if (json_array_append_new(list, host_json(json_array_get(hosts, i))) < 0)
            return json_decref(list), NULL;
    return json_pack("{s:o,s:o}", "seed",
                     json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(seed)), "hosts",
                     list);
}

/* The report without its list of cases, which the page does not show and which can be long. */
static json_t *data_json(const json_t *report)
{
    json_t *shown = json_copy((json_t *)(uintptr_t)report);
    if (json_object_set_new(shown, "cases", json_null()) < 0)
        return json_decref(shown), NULL;
    return json_pack("{s:o,s:o}", "report", shown, "exact", exact_json(report));
}

/* Writes JSON so that HTML sees nothing in it but text. In JSON the escaped characters
 * occur only in strings, where the escape means the same character. */
static int put_inert(const char *json, size_t n, void *out_)
{
    FILE *out = out_;
    for (size_t i = 0; i < n; i++) {
        const char c = json[i];
        if (c == '<' || c == '>' || c == '&' || c == '\x7f')
            (void)fprintf(out, "\\u%04x", (unsigned char)c);
        else
            (void)fputc(c, out);
    }
    return 0;
}

int format_html(FILE *out, const struct report_view *view)
{
    _cleanup_json_ json_t *data = data_json(view->report);
    (void)fputs(page_head, out);
    int bad = json_dump_callback(data, put_inert, out,
                                 JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
    (void)fputs(page_tail, out);
    return bad ? -ENOMEM : 0;
}
