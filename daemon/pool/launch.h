/* SPDX-License-Identifier: MIT */
#pragma once
/* Describes a program for a slot to run. The kinds of jobs fill it in. A struct, no code.
 *
 * May include: proto. */

#include "proto/json.h"
#include "proto/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* A file that is written to the working directory before the program starts. */
struct launch_file {
    const char *name; /* relative, without empty, "." and ".." parts; directories are made for it */
    unsigned mode;    /* permission bits, at most 0777 */
    const struct bytes *content;
};

/* A directory that the job sees read-only. */
struct launch_bench {
    const char *path; /* canonical; NULL: none */
    uint64_t device, inode;
};

/* The other program of a joined pair (jail/link.h): the candidate, in a jail of its own. */
struct launch_joined {
    const char *const *argv; /* NULL-terminated; NULL: there is none */
    const char *const *envp;
    struct limits limits;     /* of the candidate */
    struct limits own_limits; /* of the program that is launched; those of the launch are of both */
    const struct launch_file *files;
    size_t file_count;
    int prepared; /* as that of the launch */
    bool warm, any_address_space, any_stack;
};

/* What the process of a launch does: as enum link_act of jail/link.h. All but LAUNCH_JOB are
 * commands of a session. */
enum launch_act {
    LAUNCH_JOB,
    LAUNCH_EXEC,
    LAUNCH_WRITE,
    LAUNCH_READ,
};

/* A terminal of the job's own: its stdin, stdout and stderr, in place of the input and the pipes.
 * What it shows is told as stdout, and neither counts nor is kept. */
struct launch_terminal {
    bool is_wanted;
    unsigned rows, columns; /* 0: not known */
};

/* Characters of the key of a class, with its NUL. */
#define LAUNCH_CLASS_KEY_SIZE 65

/* The class of a job that is a script: what can be loaded once for all its jobs (jail/link.h). */
struct launch_class {
    const char *const *parts; /* NULL-terminated: the key, and what is to be loaded; NULL: none */
    uint64_t affinity;        /* as that of the queue's entry */
    uint64_t bytes_max;       /* memory that a template may take */
    const char *why_not;      /* with `parts` NULL: why the job of a class runs without a template;
                                 NULL: it is of no class */
};

struct confinement;

/* Steps of one job at most. */
#define LAUNCH_STEPS_MAX 65536

/* All of it is borrowed, for the length of slot_run(). */
struct launch {
    struct confinement *confinement; /* of the jail that the job wants */
    unsigned cpu_percent;            /* of one CPU; 0: no limit */
    const char *const *argv;         /* NULL-terminated; argv[0] is the program's absolute path */
    const char *const *envp;
    struct limits limits;
    size_t free_output;        /* bytes of stdout that do not count as output */
    size_t free_stderr;        /* the same of stderr */
    bool keeps_little;         /* of stdout no more is kept than of stderr */
    const struct bytes *input; /* its stdin */
    const char *const
        *candidate; /* arguments of the candidate of a pair (jail/link.h); NULL: none */
    int code;       /* sealed memory with what both programs of a pair run; a pair has no files */
    struct launch_joined joined; /* excludes a candidate. The stderr of the joined program is the
                                    job's stdout */
    /* No name is a directory of another. */
    const struct launch_file *files;
    size_t file_count;
    struct launch_bench bench;
    const char *const
        *readable; /* NULL-terminated canonical paths that the job may read; or NULL */
    bool warm;     /* run argv in the jail's waiting interpreter, if there is one */
    struct launch_class of_class;
    bool any_address_space; /* the memory limit holds for what the processes use alone, not for
                               the addresses that they reserve */
    bool any_stack;         /* nothing but the memory limit bounds the stack of its processes */
    bool network;           /* the job may use the host's network */
    bool streams;           /* what it writes is told as it comes */
    struct launch_terminal terminal; /* such a job streams, and is not sent ahead */
    const char *const *collect; /* NULL-terminated patterns (jail/pattern.h) of files that are taken
                                   out when the program's tree is dead; NULL: none. Their names are
                                   relative to the work directory */
    uint64_t collect_max;       /* bytes of the contents of all of them */
    int prepared; /* sealed memory with files that were collected (collected.h): they are written
                     to the working directory, but for those whose names are among `files`; 0 or
                     less: none. Several launches may use it at the same time */
    enum launch_act act;
    const char *cwd;    /* LAUNCH_EXEC: where it starts; NULL: in the work directory */
    unsigned file_mode; /* LAUNCH_WRITE: permission bits of a new file */
    bool appends;       /* LAUNCH_WRITE: after what is there */
    unsigned step;      /* which launch of its job this is, from 0; below LAUNCH_STEPS_MAX */
    bool more;          /* another step of the job may follow: no other job is sent ahead of that */
};
