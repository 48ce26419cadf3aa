/* SPDX-License-Identifier: MIT */
#pragma once
/* Every result that did not pass, with why, for people. */

#include "formats.h"

/* Lists the failures and the errors of VIEW's results, whose spool has the reasons, in their order:
 * a line with the id and the codes, then the reason as a whole, then what explains it. 0, -ENOMEM,
 * or -EIO. */
int listing_put(FILE *out, const struct report_view *view);
