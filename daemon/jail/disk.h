/* SPDX-License-Identifier: MIT */
#pragma once
/* Tells what fits on a job's own disk. That is a tmpfs, which counts the pages that files take, and
 * how many files and directories there are. */

#include "proto/util.h"

#include <stdint.h>

#define DISK_PAGE UINT64_C(4096)
/* One file or directory per page, with room for a few small files at least. */
#define DISK_INODES_MIN UINT64_C(256)
#define DISK_INODES_MAX UINT64_C(65536)

/* How many pages a disk of SIZE bytes has, and how many a file of SIZE bytes takes. */
static inline uint64_t disk_pages(uint64_t size)
{
    return size / DISK_PAGE + (size % DISK_PAGE != 0);
}

/* How many files and directories of the job a disk of SIZE bytes has room for. */
static inline uint64_t disk_inodes(uint64_t size)
{
    return MIN(MAX(size / DISK_PAGE, DISK_INODES_MIN), DISK_INODES_MAX);
}
