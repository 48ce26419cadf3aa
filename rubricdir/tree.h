/* SPDX-License-Identifier: MIT */
#pragma once
/* The files of a rubric's directory, as they were when it was read.
 *
 * Regular files count, with their names, contents, and whether anybody may execute them. Owners,
 * other modes, times and empty directories do not. A link counts as the file that it leads to: that
 * has to be a regular file beneath the bench root which everybody may read, and no other link may
 * be on the way. A link to anything else, and a fifo, a socket or a device, leave a directory
 * without a digest: what a rubric reads there is not in it.
 *
 * Theory of operation. tree_read() lists what there is, with the identity of each (inode, size,
 * mtime, ctime); tree_hash() reads the contents, in as many portions as its caller likes;
 * tree_is_current() asks for the identities again, without opening anything but links.
 * tree_adopt() spares an unchanged file a second reading. The time stamps of the kernel are as
 * coarse as its tick: what had changed just before it was read is `young`, and is read again. */

#include "manifest.h"

#include <sha2.h>
#include <sys/stat.h>

struct tree_identity {
    dev_t device;
    ino_t inode;
    mode_t mode;
    off_t size;
    struct timespec changed, modified;
};

enum tree_kind {
    TREE_FILE,
    TREE_DIRECTORY,
    TREE_LINK, /* to a file */
};

struct tree_node {
    char *name; /* from the rubric's directory on; "" is that itself. Owned */
    enum tree_kind kind;
    struct tree_identity identity; /* of the name */
    struct tree_identity target;   /* of the file that it leads to; the same if it is no link */
    bool is_hashed;
    bool is_young; /* it had changed just before it was read */
    char digest[RUBRICDIR_DIGEST_SIZE];
};

struct tree {
    struct tree_node *nodes; /* in the order of their names */
    size_t n, room;
    size_t files, directories;
    uint64_t bytes; /* of all files */
};

#define TREE_NULL     \
    {                 \
        .nodes = NULL \
    }

void tree_deinit(struct tree *tree);
#define _cleanup_tree_ _cleanup_(tree_deinit)

/* A rubric's directory: NAME, a task class, below the open bench root. Borrowed. */
struct tree_place {
    int root;
    const char *name;
};

/* Opens NAME beneath ROOT with FLAGS, and RESOLVE, flags of openat2(), besides. Returns the
 * descriptor or a negative errno; -EXDEV if a link leads out of ROOT. */
int tree_open_beneath(int root, const char *name, int flags, uint64_t resolve);

/* Opens FILE of the directory with FLAGS, following links, but not out of the bench root. Returns
 * the descriptor or a negative errno. */
int tree_open(const struct tree_place *place, const char *file, int flags);

/* Lists the directory. Negative errno with FAULT, which names the file: a shortage
 * (proto/shortage.h), or the directory can have no digest. */
int tree_read(const struct tree_place *place, struct tree *ret, struct fault *fault);

/* Whether all is as it was when TREE was read, and nothing of it was young. */
bool tree_is_current(const struct tree *tree, const struct tree_place *place);

/* Takes the digests of the files that are as they were in OLD. */
void tree_adopt(struct tree *tree, const struct tree *old);

/* Where tree_hash() is. */
struct tree_cursor {
    size_t at;
    int fd; /* of the file that is being read; -1: none */
    uint64_t read;
    SHA2_CTX context;
};

#define TREE_CURSOR_NULL \
    {                    \
        .fd = -1         \
    }

void tree_cursor_deinit(struct tree_cursor *cursor);

/* Digests files that are not digested, at most *BUDGET bytes, which it counts down. 1: all are
 * digested. 0: there is more to do. -EAGAIN: a file has changed since the tree was read, which has
 * to be read anew. Other negative errnos: FAULT names the file. */
int tree_hash(struct tree *tree, const struct tree_place *place, struct tree_cursor *cursor,
              uint64_t *budget, struct fault *fault);

/* Milliseconds until the next file to be digested is no longer young; 0: it is not. */
int64_t tree_young_ms(const struct tree *tree, const struct tree_cursor *cursor);

/* Writes the manifest of a tree whose files are all digested. 0 or -ENOMEM. */
int tree_manifest(const struct tree *tree, struct bytes *ret);
