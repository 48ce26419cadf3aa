/* SPDX-License-Identifier: MIT */
#pragma once
/* POST /v1/jobs: one job, or a stream of them. */

#include "exchange.h"

int jobs_start(struct exchange *exchange);
