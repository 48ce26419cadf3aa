/* SPDX-License-Identifier: MIT */
#pragma once
/* The files of a job, before it starts. */

#include "enclosure.h"

/* Writes the files of the job's programs, which are among FDS, into their work directories: CWD,
 * which work_begin() has prepared, and that of a candidate that is joined, which this prepares. A
 * negative errno. */
int unpack_files(struct enclosure *enclosure, int cwd, const struct link_job *request,
                 const int fds[LINK_JOB_FDS]);
