/* SPDX-License-Identifier: MIT */
#include "unpack.h"
#include "idmap.h"

#include <stdbool.h>
#include <sys/fsuid.h>
#include <unistd.h>

int unpack_files(struct enclosure *enclosure, int cwd, const struct link_job *request,
                 const int fds[LINK_JOB_FDS])
{
    const bool is_joined = request->is_joined == 1;
    bool has_files = request->candidate_argc == 0 || is_joined; /* otherwise they are the code */
    int files = has_files ? fds[LINK_FILES] : -1, of_candidate = -1;
    if (files < 0 && fds[LINK_PREPARED] < 0 && !is_joined)
        return 0;
    int r = 0;
    if (is_joined)
        r = work_begin_candidate(&enclosure->work, request->job_no,
                                 request->candidate_limits.of[LIMIT_DISK], &of_candidate);
    /* They belong to the job, whose uid may be another than the jail's. */
    if (layer_in(enclosure->layers, LAYER_OWN_UID))
        (void)setfsuid(IDMAP_JOB);
    if (r == 0)
        r = work_unpack(cwd, files, fds[LINK_PREPARED]);
    if (r == 0 && is_joined)
        r = work_unpack(of_candidate, fds[LINK_CANDIDATE_FILES], fds[LINK_CANDIDATE_PREPARED]);
    (void)setfsuid(geteuid());
    return r;
}
