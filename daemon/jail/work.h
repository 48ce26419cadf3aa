/* SPDX-License-Identifier: MIT */
#pragma once
/* Where a job may write. In a view (view.h), that is one tmpfs with limits on bytes and inodes,
 * seen as /work, /tmp and /dev/shm; the last two differ for a jail and its twin. The candidate of a
 * joined pair has a second tmpfs, so that neither takes the other's room. Without a view, it
 * is one directory per job inside the slot's directory, limited only by RLIMIT_FSIZE per file. It
 * is empty before and after each job. */

#include "view.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WORK_CWD,
    WORK_TMP,
    WORK_SHM,
    WORK_SEEN, /* number of directories that jobs see */
    WORK_TWIN_TMP = WORK_SEEN,
    WORK_TWIN_SHM,
    WORK_APART, /* where the tmpfs of joined candidates (link.h) lies; empty beneath it */
    WORK_DIRECTORIES
};

struct work {
    int top;                           /* the tmpfs, or the slot's directory */
    int directories[WORK_DIRECTORIES]; /* of the tmpfs; -1: jobs do not see it */
    const char *place; /* where the tmpfs was put by for the twin (view.h); borrowed */
    int twin_tmp, twin_shm, twin_cwd; /* mounts for the next twin, attached nowhere; -1: none */
    bool is_tmpfs;
    uint64_t size; /* size limit of the tmpfs in bytes */
    int apart;     /* the tmpfs of joined candidates; -1: there is none */
    int apart_directories[WORK_SEEN];
    uint64_t apart_size;
    bool is_apart_used; /* by the candidate of this job */
    uint64_t pass;      /* authorises changing it (mounts.h) */
    int job;            /* the job's directory if there is no tmpfs */
    int candidate;      /* likewise, that of a joined candidate; -1: there is none */
    bool is_apart;      /* in a twin: its candidates have a working directory of their own */
};

#define WORK_NULL                                                                           \
    {                                                                                       \
        .top = -1, .directories = {-1, -1, -1, -1, -1, -1}, .twin_tmp = -1, .twin_shm = -1, \
        .twin_cwd = -1, .job = -1, .candidate = -1, .apart = -1, .apart_directories = {     \
            -1,                                                                             \
            -1,                                                                             \
            -1                                                                              \
        }                                                                                   \
    }

/* Makes the tmpfs and attaches its parts in VIEW; at /tmp only unless SHOWN_TMP, which says that
 * the view shows a path of the host there. Puts the tmpfs by at PLACE, a directory of the host,
 * which is borrowed for the life of WORK. A negative errno. */
int work_open_tmpfs(struct work *work, const struct view *view, bool shown_tmp, const char *place);

/* Opens the slot's directory at PATH, whatever a job has made of it, and empties it. A negative
 * errno. */
int work_open_directory(struct work *work, const char *path);

/* Prepares for a job: *ret_cwd becomes its working directory, borrowed. DISK_BYTES limits the
 * tmpfs. A negative errno. */
int work_begin(struct work *work, uint64_t job_no, uint64_t disk_bytes, int *ret_cwd);

/* The working directory of the job that work_begin() has prepared for last, borrowed. */
static inline int work_resume(const struct work *work)
{
    return work->is_tmpfs ? work->directories[WORK_CWD] : work->job;
}

/* Prepares the working directory of the candidate of a joined pair, after work_begin(): *ret_cwd is
 * it, borrowed. DISK_BYTES limits its tmpfs. A negative errno. */
int work_begin_candidate(struct work *work, uint64_t job_no, uint64_t disk_bytes, int *ret_cwd);

/* Prepares the mounts of the next twin, whose candidates have a working directory of their own if
 * IS_APART; work_forget_twin() closes them in the jail, which has given them to it. A negative
 * errno. */
int work_prepare_twin(struct work *work, const struct view *view, bool is_apart);
void work_forget_twin(struct work *work);

/* Makes WORK, which is a copy of a jail's, that of its twin: the working directory is the jail's
 * unless it is apart, /tmp and /dev/shm are the twin's own. The jail empties all of them. A
 * negative errno. */
int work_enter_twin(struct work *work, bool is_apart);

/* Prepares for the twin's part of a job, for which the jail has called work_begin(). Returns
 * what work_begin() does, and *ret_cwd, which is borrowed. */
int work_join(struct work *work, uint64_t job_no, int *ret_cwd);

/* Removes what a pair's first program and the tests have left where the second program works: it
 * finds what a script would find. For a twin, after work_join(); no process of the candidate may be
 * alive. A negative errno if something is left. */
int work_clear(const struct work *work);

/* Closes what work_join() opened. */
void work_leave(struct work *work);

/* Writes the files packed in FILES (struct link_file; -1: none) beneath the directory CWD, and then
 * those packed in PREPARED (likewise), which leave alone what is there. The offsets of both stay as
 * they are. -EPROTO if they are malformed. */
int work_unpack(int cwd, int files, int prepared);

/* Returns whether the tmpfs is full, which is evidence for why a job failed; false if that is not
 * known. */
bool work_is_full(const struct work *work);

/* The same of the tmpfs of a joined candidate. */
bool work_candidate_is_full(const struct work *work);

/* Returns whether the host's file system on which the job's directory lies is full, so that the job
 * may have failed for want of what is not its own; false where the job has a tmpfs. */
bool work_lacks_room(const struct work *work);

/* Whether there is nothing in the directories of the tmpfs that a job sees; false also if there is
 * no tmpfs or that cannot be found out. */
bool work_is_clear(const struct work *work);

/* Removes everything that a job left; no process of it may be alive. A negative errno if something
 * is left. */
int work_empty(struct work *work);
