/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include "client/terminal/json.h"

int format_json(FILE *out, const struct report_view *view)
{
    int bad = json_dumpf(view->report, out,
                         JSON_INDENT(2) | JSON_REAL_PRECISION(15) | terminal_json_flags(out));
    (void)fputc('\n', out);
    return bad && !ferror(out) ? -ENOMEM : 0;
}
