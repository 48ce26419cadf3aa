/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes templates. */

#include "template_parts.h"

/* Makes the template for the class of JOB, confined as that is. Returns its entry, which has none
 * if that is not possible, and says why. */
struct template *template_make(struct templates *templates, const struct template_parts *parts,
                               const struct template_job *job);
