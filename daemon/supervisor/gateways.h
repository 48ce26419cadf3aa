/* SPDX-License-Identifier: MIT */
#pragma once
/* Clients that ask for users of their own: who may be one, and for which of these users a
 * connection is. */

#include "state.h"

/* Whether PEER's account is among [daemon] gateway_users. Looks up names at most once a second for
 * each uid, because that may take long, and every client that connects asks. */
bool gateways_is_one(struct supervisor *supervisor, const struct ucred *peer);

/* Makes CONN one of the share that REQUEST names, if it is one of those that decide for which it
 * is. False: it cannot be, and REQUEST was answered. */
bool gateways_join(struct supervisor *supervisor, struct conn *conn, const struct request *request);
