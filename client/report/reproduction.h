/* SPDX-License-Identifier: MIT */
#pragma once
/* What it takes to grade the same again, as far as the lines tell it. Pure. */

#include "runreport.h"

/* Null, with a reason in `missing`, where they do not. NULL when memory runs out. */
json_t *reproduction_json(const struct results *results, const struct runreport_options *options);
