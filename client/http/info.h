/* SPDX-License-Identifier: MIT */
#pragma once
/* GET /v1/status, /metrics, /healthz and /api/v2/runtimes: what the daemon says of itself. The
 * handlers of these paths, each a `start` of struct exchange. */

#include "exchange.h"

int info_status(struct exchange *exchange);
int info_metrics(struct exchange *exchange);
int info_health(struct exchange *exchange);
int info_runtimes(struct exchange *exchange);
