/* SPDX-License-Identifier: MIT */
#pragma once
/* Files that a jail has collected from a job's work directory: memory with link_file records
 * (jail/link.h). The daemon makes it, the jail fills it, and the daemon seals it before anybody
 * reads it. Its content is untrusted: reading checks it. No function here closes FD: it is its
 * owner's.
 *
 * May include: the jail's link, and proto. */

#include "daemon/jail/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collected {
    const char *records; /* mapped; NULL: there are none */
    size_t size, at;
};

#define COLLECTED_NULL \
    {                  \
        .at = 0        \
    }

/* A file, or one that was left out. NAME and CONTENT are borrowed from the mapping. */
struct collected_file {
    const char *name; /* no NUL behind it; any bytes but NUL; relative, without empty, "." and ".."
                         parts */
    size_t name_length;
    bool is_left_out;
    enum link_left why; /* if it is left out */
    unsigned mode;      /* at most 0777 */
    uint64_t size;      /* of one that is left out, too; 0 if that is not known */
    const char *content;
};

/* Makes the memory. Returns a descriptor, or a negative errno. */
int collected_new(void);

/* Forbids all further changes of FD, whose files may have MAX bytes. -EPROTO if it is larger than
 * they can be; another negative errno if it cannot be sealed. */
int collected_seal(int fd, uint64_t max);

/* How large FD is, which is sealed; 0 if it is 0 or less: no files. */
size_t collected_bytes(int fd);

/* Begins to read FD, which is sealed; 0 or less: no files. 0 or a negative errno. */
int collected_init(struct collected *collected, int fd);

/* Gives the next file. 1; 0 at the end; -EPROTO if the jail has not written what it should. */
int collected_next(struct collected *collected, struct collected_file *ret);

/* Tells whether the files in FD, which is sealed, have room on a job's disk of DISK_BYTES
 * (jail/disk.h) beside a file of BESIDE bytes (0: none): 1 or 0, or a negative errno. Files of one
 * directory that do not follow each other count it twice. */
int collected_fit(int fd, uint64_t disk_bytes, uint64_t beside);

void collected_deinit(struct collected *collected);
#define _cleanup_collected_ _cleanup_(collected_deinit)

/* What `why` is called in results: "missing", "irregular", ... */
const char *collected_why(enum link_left why);
