/* SPDX-License-Identifier: MIT */
#pragma once
/* The code of daemon/checker/, embedded in this program: what both programs of a pair run
 * (daemon/jail/link.h). */

#include <stddef.h>

extern const unsigned char checker_code[];
extern const size_t checker_code_length;
