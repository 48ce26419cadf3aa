/* SPDX-License-Identifier: MIT */
#pragma once
/* Where a job may write. In a view (view.h) that is one tmpfs with bounds on bytes and inodes, seen
 * as /work, /tmp and /dev/shm; without one a directory per job in the slot's own, with no bound but
 * that on the size of a file. Empty before each job and after. */

#include "view.h"

#include <stdbool.h>
#include <stdint.h>

enum { WORK_CWD, WORK_TMP, WORK_SHM, WORK_DIRECTORIES };

struct work {
    int top;                           /* the tmpfs, or the slot's directory */
    int directories[WORK_DIRECTORIES]; /* of the tmpfs; -1: not seen by jobs */
    bool is_tmpfs;
    uint64_t size; /* what the tmpfs is bounded to */
    uint64_t pass; /* what changing that takes (mounts.h) */
    int job;       /* without a tmpfs: the job's directory */
};

#define WORK_NULL                                         \
    {                                                     \
        .top = -1, .directories = {-1, -1, -1}, .job = -1 \
    }

/* Makes the tmpfs and attaches it in VIEW; at /tmp unless SHOWN_TMP, where the view has something
 * of the host's there. */
int work_open_tmpfs(struct work *work, const struct view *view, bool shown_tmp);

/* Opens the slot's directory at PATH, whatever a job has made of it, and empties it. */
int work_open_directory(struct work *work, const char *path);

/* Makes room for a job: *ret_cwd is its working directory, borrowed. DISK_BYTES bounds the tmpfs.
 */
int work_begin(struct work *work, uint64_t job_no, uint64_t disk_bytes, int *ret_cwd);

/* Writes the files packed in FILES (link.h) beneath the directory CWD; -EPROTO if they are not
 * packed right. */
int work_unpack(int cwd, int files);

/* Whether the tmpfs is full: evidence for why a job failed. False where that cannot be known. */
bool work_is_full(const struct work *work);

/* Removes all that a job has left; nothing of it is alive any more. */
int work_empty(struct work *work);
