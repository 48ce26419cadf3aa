/* SPDX-License-Identifier: MIT */
#pragma once
/* Whether a stopped process has nothing that a fork of it would share with another. All of it is
 * the kernel's word (/proc). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The descriptors that it may have, from 0 on, by what they lead to. */
struct template_file {
    uint64_t device, inode;
};

/* Stores what FD leads to. 0 or a negative errno. */
int template_file_of(int fd, struct template_file *ret);

/* Returns NULL if the stopped process PID has one thread and no child; otherwise what it has. */
const char *template_look_at_tasks(int proc, pid_t pid);

/* Returns how many descriptors process PID has, -1 if that is not known. */
long template_count_files(int proc, pid_t pid);

/* Whether process PID, whose user is UID, may be looked into by others of that user; true also if
 * it is gone. */
bool template_is_dumpable(int proc, pid_t pid, uid_t uid);

/* Looks at the stopped process PID in PROC, a /proc of its pid namespace that hides none. FILES are
 * its N descriptors. Returns NULL if it has one thread, no child, those descriptors and no other,
 * and no shared mapping that could be written to; otherwise what it has. The kernel shows this of a
 * process that is dumpable. */
const char *template_look(int proc, pid_t pid, const struct template_file *files, size_t n);
