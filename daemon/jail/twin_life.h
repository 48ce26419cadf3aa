/* SPDX-License-Identifier: MIT */
#pragma once
/* What runs in a twin (twin.h). */

#include "twin_parts.h"

/* Makes this copy of the jail the twin whose end of the link is LINK, and runs the candidates that
 * the jail sends until that wants no more. OF_JOB are the descriptors of the job for which it was
 * made. */
_Noreturn void twin_live(const struct twin_parts *parts, int link, bool is_apart,
                         const int of_job[LINK_JOB_FDS]);
