/* SPDX-License-Identifier: MIT */
#pragma once
/* The room: rubricdir. Duty: the files of a rubric's directory, which is
 * <bench root>/<task class>, and the digest over them. The daemon says with it which rubric has
 * graded, the clients whether a rubric has changed, and a fleet which one its hosts need.
 *
 * May include proto. Knows nothing of jobs, of events and of connections.
 *
 * Invariants:
 *  - manifest.c is pure, and alone knows the form of what is digested.
 *  - A directory is read as a job would see it: no link leads out of the bench root.
 *  - Every size is bounded here, before anything is read. */

/* Regular files, and directories, of one rubric. */
#define RUBRICDIR_FILES_MAX 1000
#define RUBRICDIR_DIRECTORIES_MAX 200
/* Directories below each other. */
#define RUBRICDIR_DEPTH_MAX 8
/* Bytes of all files together. */
#define RUBRICDIR_BYTES_MAX (64u << 20)
/* Bytes of a file's name from the rubric's directory on, without the NUL. */
#define RUBRICDIR_NAME_MAX 255

/* SHA-256 as 64 hexadecimal digits, and a NUL. */
#define RUBRICDIR_DIGEST_SIZE 65
