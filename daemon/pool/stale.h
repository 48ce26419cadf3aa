/* SPDX-License-Identifier: MIT */
#pragma once
/* Directories of slots that an earlier daemon had, which was killed and had more slots than this
 * one.
 *
 * May include: nothing of this room. */

/* Puts away those in the work directory of slot SLOT_COUNT and above. Empty ones go. Others hold
 * files of jobs, which a jail removes: they move into the directory of slot 0, which its jail
 * empties before its first job unless its jobs have a file system of their own. What cannot be put
 * away stays where it is; it does no harm there. */
void stale_put_away(int work_directory_fd, unsigned slot_count);
