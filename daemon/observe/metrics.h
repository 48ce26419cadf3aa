/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's metrics: which there are and what they are called. Names and labels are an
 * interface: packaging/monitoring has rules and a dashboard that use them. No label has more values
 * than this program knows: no ids, no clients, no task classes. */

#include "exposition.h"
#include "status.h"

/* All of them as text, to be freed. 0 or -ENOMEM. */
int metrics_print(const struct status_view *view, enum exposition_format format, struct bytes *ret);

/* The payload of the reply to `metrics`, to be freed. 0 or -ENOMEM. */
int metrics_reply(const struct status_view *view, struct bytes *ret);
