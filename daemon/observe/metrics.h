/* SPDX-License-Identifier: MIT */
#pragma once
/* Which metrics the daemon has, and their names. Names and labels are an interface: the rules and
 * the dashboard in packaging/monitoring use them. Every value of a label is known to this program:
 * no ids, clients or task classes, whose number has no bound. */

#include "exposition.h"
#include "status.h"

/* Prints all metrics; the caller frees the text. 0 or -ENOMEM. */
int metrics_print(const struct status_view *view, enum exposition_format format, struct bytes *ret);

/* Prints the reply to a `metrics` request; the caller frees it. 0 or -ENOMEM. */
int metrics_reply(const struct status_view *view, struct bytes *ret);
