/* SPDX-License-Identifier: MIT */
#pragma once
/* The texts that a worker publishes. Pure. */

#include "client/connection/message.h"

/* Makes the answer of MESSAGE, which the daemon gave to its job LANE_ID, one to the job ID. 0 or
 * -ENOMEM. */
int taskresult_restore(const struct message *message, const char *lane_id, const struct bytes *id,
                       struct bytes *ret);

/* Adds to *TEXT, a result or an error, how the fleet came by it: WORKER ran it after it had STARVED
 * elsewhere or here (entries of its mark), BESIDE so many other jobs although it was to be alone.
 * Without such entries nothing is added. 0; or -ENOMEM, after which *TEXT is empty or as it was. */
int taskresult_label(struct bytes *text, const char *worker, const json_t *starved,
                     unsigned beside);

/* Makes an error that the daemon has not sent. 0 or -ENOMEM. */
int taskresult_error(const struct bytes *id, const char *code, const char *message, bool retriable,
                     struct bytes *ret);
