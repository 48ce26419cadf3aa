/* SPDX-License-Identifier: MIT */
#pragma once
/* The status and the metrics that `fleet serve` answers with: those of the fleet's daemons, summed,
 * and what it knows itself of clients and of their jobs that wait. */

#include "servejobs.h"

/* Asks the daemons, and answers GUEST a little later. Returns false if it is owed too much already:
 * its caller is to be parked. */
bool servestatus_send(struct guest *guest);
bool servestatus_send_metrics(struct guest *guest);
