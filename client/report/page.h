/* SPDX-License-Identifier: MIT */
#pragma once
/* The style and the script of the HTML page, which are part of this program. */

extern const char page_css[];
extern const char page_js[];
