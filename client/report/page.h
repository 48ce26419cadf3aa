/* SPDX-License-Identifier: MIT */
#pragma once
/* The HTML page around its data: page.html with page.css and page.js in it, cut in two by embed.py
 * at build time. */

extern const char page_head[]; /* comes before the data */
extern const char page_tail[]; /* comes behind them */
