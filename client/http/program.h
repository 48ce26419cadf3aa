/* SPDX-License-Identifier: MIT */
#pragma once
/* POST /run_code and POST /api/v2/execute: a program in the form of another project's API. */

#include "exchange.h"

int program_start_fusion(struct exchange *exchange);
int program_start_piston(struct exchange *exchange);
