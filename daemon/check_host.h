/* SPDX-License-Identifier: MIT */
#pragma once
/* What `rubricd --check-config` asks of the host: whether what the configuration names is there. */

#include "conf/config.h"

#include <stdio.h>

/* Looks for the account, the interpreter, the modules and the bench that CONFIG names, and writes a
 * line to ERR for each that is missing. Runs the interpreter, which takes at most 20 s. Returns how
 * many of them would keep the daemon from starting. Modules do so only where [warm] use is yes;
 * otherwise the line is a warning, as it is for the bench. */
int check_host(const struct config *config, FILE *err);
