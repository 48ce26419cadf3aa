/* SPDX-License-Identifier: MIT */
#pragma once
/* What clients type on the terminals of their jobs, and how large these are. */

#include "daemon/net/conn.h"

/* Handles an `input` of CONN. What is typed for a job that has ended is dropped: its client cannot
 * know yet. */
void terminals_type(struct conn *conn, const struct request *request);

/* Handles a `resize` of CONN, likewise. */
void terminals_resize(struct conn *conn, const struct request *request);
