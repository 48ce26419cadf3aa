/* SPDX-License-Identifier: MIT */
#pragma once
/* The messages between the supervisor and a jail, over a SOCK_SEQPACKET socketpair: one packet per
 * message, with descriptors as ancillary data.
 *
 * The supervisor sends a set-up first. The jail confines itself and answers READY, once. Then, for
 * each job, the jail sends STARTED (with a pidfd) and later ENDED; or ENDED alone if the program
 * was quick; or FAILED. The supervisor may send a job while another one runs: the jail accepts it
 * if the running job ends quickly, and answers RETURNED otherwise. While a job runs the supervisor
 * may ask how long it has waited for a CPU: the jail answers TIMES. It says nothing to a question
 * about a job that has ended meanwhile.
 *
 * A jail's messages are untrusted: the receiver checks size and type here, and whether the message
 * makes sense in daemon/pool. */

#include "layers.h"

#include "proto/limits.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The descriptor that the jail's end of the socketpair always has. */
#define LINK_FD 3

/* Of the zygote alone, while it starts: the code of programs of a pair; closed if there is none. */
#define LINK_CODE_FD 5

/* Maximum total size of the strings of one message, in bytes, and maximum length of each list. */
#define LINK_STRINGS_MAX (48u << 10)
#define LINK_LIST_MAX 64

/* One notice tells the start and the end of a program that ends within this time (milliseconds):
 * waking the supervisor once more would cost as much as many programs do. */
#define LINK_SHORT_MS 8

/* Characters of the key of a class, a SHA-256, with its NUL. */
#define LINK_CLASS_KEY_SIZE 65

/* Time that a template has to load what its class has in common. The supervisor waits so much
 * longer for a job of a class to start. */
#define LINK_LOAD_MS 10000

/* Characters of a reason for people, with its NUL. */
#define LINK_WHY_SIZE 160

/* Tells what the template of a class has loaded (template.h), or why it has not. */
struct link_loaded {
    int32_t error;                    /* 0, or a positive errno, and `why` says the reason. EINVAL:
                                         it cannot load this; ENOSPC: it took too much memory;
                                         others: not the fault of the class */
    char digest[LINK_CLASS_KEY_SIZE]; /* SHA-256 of what was loaded, in hexadecimal digits */
    char why[LINK_WHY_SIZE];
    uint64_t bytes; /* memory that the template takes */
};

/* Bytes of the path of a Unix socket, with its NUL. */
#define LINK_IDMAP_MAX 108

/* The set-up: how a jail must confine itself. Strings follow, each with its NUL: the host paths
 * that every job may read; and, for an interpreter that waits in the jail, the program and its
 * options, the environment of its jobs, and the modules to load. If the seccomp layer is wanted, a
 * memfd with its program (struct sock_filter[]) accompanies the message. */
struct link_setup {
    uint32_t layers;   /* bits of enum layer: use each one that the host grants */
    uint32_t uid, gid; /* the supervisor's, to which the jail's identity maps */
    uint32_t path_count;
    uint32_t argc; /* 0: no interpreter */
    uint32_t envc;
    uint32_t module_count;
    uint32_t strings_length;
    uint32_t has_filter;        /* 1: the memfd accompanies the message */
    uint32_t slot;              /* whose uid jobs get (idmap.h) */
    char version[64];           /* the daemon's interpreter: "Python 3.11.2" */
    char idmap[LINK_IDMAP_MAX]; /* socket of the helper that gives it (idmap.h) */
    uint32_t bounds_memory;     /* 1: a control group bounds the memory of each job */
    uint64_t pass;              /* authorises the jail's calls in that filter (mounts.h) */
};

/* The strings of a set-up as NULL-terminated lists. */
struct link_setup_lists {
    char *paths[LINK_LIST_MAX + 1], *argv[LINK_LIST_MAX + 1], *envp[LINK_LIST_MAX + 1],
        *modules[LINK_LIST_MAX + 1];
};

/* A job. Strings follow, each with its NUL: arguments, environment, the bench (one or none),
 * readable paths, the arguments of a candidate, patterns of the files to collect, the
 * environment of a candidate that is joined, the directory of a command (one or none), and the
 * class (none, or its key and what to load).
 *
 * A job of a class is a script that runs in a fork of the class's template (template.h), if there
 * can be one. The key stands for all that decides about a template: what is loaded, the files that
 * it comes from, where they are seen, and the limits. What is loaded, in this order: "m" and the
 * name of each module of the library; "h" and the name of each module beside the script. Of a pair
 * the programs in the candidate's place run in such forks, and the template is in the twin.
 *
 * A job with a candidate is a pair of programs: this one, which judges, in the jail, and the
 * candidate in the jail's twin (twin.h). They share the working directory and two pipes, the wire.
 * Both start as `INTERPRETER OPTIONS... -c LINK_PAIR_BOOT ROLE`. Their descriptors:
 *
 *     0 to 2  of the judge: as of any job. Of the candidate: /dev/null, and a pipe twice whose
 *             content is added to the job's stderr
 *     3, 4    reading and writing end of the wire
 *     5       of the judge: a pipe with the candidate's wait status (an int) once it has ended, and
 *             with that of the second (see below); end of file without one if the twin is lost
 *     6       their code, if the program is executed; closed where an interpreter has learnt it
 *
 * A candidate that exits with LINK_PAIR_AGAIN is followed by another program in its place, whose
 * role is LINK_PAIR_SECOND; nothing that the first has started lives then.
 *
 * A joined pair is another thing: two programs that know nothing of jails, each of which has the
 * other's stdout for its stdin. They share the wire alone: each has a working directory, files, an
 * environment and limits of its own. Their descriptors:
 *
 *     0, 1    the wire
 *     2       of the program in the jail: the job's stderr; of the candidate: the job's stdout
 *
 * A joined pair is over when both have ended, or the program in the jail has failed. Until then it
 * counts as running. Either can go on writing after the other has ended well: the jail drops it
 * (joined.h). */
struct link_job {
    uint64_t job_no;
    struct limits limits;
    uint64_t bench_device, bench_inode; /* of the directory that the supervisor opened */
    uint64_t collect_max;               /* bytes of the contents of all files that are collected */
    uint32_t argc;
    uint32_t envc;
    uint32_t has_bench; /* 1: one directory, shown at VIEW_BENCH in a view and at its own path
                           without one */
    uint32_t readable_count;
    uint32_t candidate_argc; /* 0: no candidate */
    uint32_t collect_count;
    uint32_t candidate_envc; /* of a joined pair */
    uint32_t act;            /* enum link_act. LINK_WRITE and LINK_READ end with an errno as their
                                exit status */
    uint32_t has_cwd;        /* 1: LINK_EXEC starts in a directory of its own */
    uint32_t file_mode;      /* LINK_WRITE: permission bits of a new file */
    uint32_t appends;        /* LINK_WRITE: 1: after what is there */
    uint32_t strings_length;
    uint32_t cgroup_counts;        /* 1: the cgroup limits processes and counts refused forks */
    uint32_t cgroup_bounds_memory; /* 1: the cgroup limits memory; otherwise the jail looks */
    uint32_t has_terminal;         /* 1: its stdin is a terminal, and to be its controlling one */
    uint32_t any_address_space;    /* 1: the memory limit does not bound the address space */
    uint32_t any_stack;            /* 1: only the memory limit bounds the stack */
    uint32_t warm;                 /* 1: run in a fork of the jail's interpreter if that takes it */
    uint32_t class_count;          /* 0: the job is of no class */
    uint64_t class_bytes;          /* memory that the template may take */
    uint32_t class_has_cgroup;     /* 1: jobs of the class have control groups of their own */
    uint32_t only_loads; /* from a jail to its twin, 1: make the template of the class, and start
                            nothing */
    uint32_t fd_mask; /* bits of enum link_job_fd: descriptors that accompany it; always LINK_STDOUT
                         and LINK_STDERR */

    /* Of a joined pair; `limits` are those of both together. */
    uint32_t is_joined; /* 1: it is one */
    uint32_t candidate_any_address_space, candidate_any_stack;
    uint32_t candidate_warm;
    struct limits own_limits, candidate_limits;
};

enum link_job_fd {
    LINK_STDIN, /* without one, the job opens /dev/null of its view: that of the supervisor would
                   let it set the times of the host's */
    LINK_STDOUT,
    LINK_STDERR,
    LINK_STANDARD_FDS,
    LINK_FILES =
        LINK_STANDARD_FDS, /* files to write into the working directory: link_file records */
    LINK_CGROUP,           /* the cgroup in which the job starts */
    LINK_PREPARED,         /* more files, of which those are left out whose names LINK_FILES has */
    LINK_COLLECTED, /* memory that the jail writes the collected files to: link_file records */
    LINK_CANDIDATE_FILES, /* of a joined pair: as LINK_FILES and LINK_PREPARED, for the candidate */
    LINK_CANDIDATE_PREPARED,
    LINK_JOB_FDS,

    /* With a candidate, files are its code. */
    LINK_CODE = LINK_FILES,

    /* From a jail to its twin. */
    LINK_WIRE_READ = LINK_STDIN,
    LINK_WIRE_WRITE = LINK_STDOUT,
    LINK_STATUS = LINK_FILES,
};

/* The descriptors of a pair's program, from 3 on. */
enum {
    LINK_PAIR_READ = LINK_STANDARD_FDS,
    LINK_PAIR_WRITE,
    LINK_PAIR_STATUS,
    LINK_PAIR_CODE,
    LINK_PAIR_FDS,
};

/* The exit status, and the role. */
#define LINK_PAIR_AGAIN 77
#define LINK_PAIR_SECOND "plain"
#define LINK_PAIR_JUDGE "judge"

/* Runs the code up to its first NUL, which finds the rest by itself. */
#define LINK_PAIR_BOOT "import os\nexec(os.pread(6, 65536, 0).partition(b'\\0')[0])"

/* What the process of a job does. All but LINK_RUN are commands of a session: nothing of one is
 * killed or removed when it ends, and the next finds it; only the end of the jail ends the session.
 * Its disk, memory and processes are bounded by the limits of the first command. */
enum link_act {
    LINK_RUN,   /* executes argv[0]; when it has ended, the jail is as before */
    LINK_EXEC,  /* executes argv[0], which is looked for in PATH if it has no slash, in `cwd` */
    LINK_WRITE, /* writes its stdin to the file argv[0] */
    LINK_READ,  /* writes the file argv[0] to its stdout */
    LINK_ACTS,
};

/* How long has the job that runs waited for a CPU? Or: it must end now. */
struct link_question {
    uint64_t job_no;
    uint64_t is_stop; /* 1: end it; there is no answer but ENDED */
};

/* Header before each file's name (without NUL) and content. */
struct link_file {
    uint32_t name_length;
    uint32_t mode; /* 0 to 0777; or LINK_LEFT_OUT with an enum link_left: no content follows */
    uint64_t size;
};

/* Bounds of files that are collected: how many, bytes of a name, and how many records at most say
 * that a file was left out. */
#define LINK_FILES_MAX 1024
#define LINK_NAME_MAX 1023
#define LINK_LEFT_MAX 64

/* Why a file that was to be collected is left out. */
#define LINK_LEFT_OUT (1u << 31)

/* The step of the view that fails where a container engine covers parts of /proc. */
#define LINK_STEP_PROC "mounting /proc"
enum link_left {
    LINK_LEFT_MISSING,   /* there is no file of that name */
    LINK_LEFT_IRREGULAR, /* a link, a directory, a pipe, a socket or a device */
    LINK_LEFT_SHARED,    /* it may be a file from elsewhere */
    LINK_LEFT_CLOSED,    /* it could not be read */
    LINK_LEFT_LARGE,     /* with it there would be more bytes than allowed */
    LINK_LEFT_MANY,      /* there would be more than LINK_FILES_MAX */
    LINK_LEFT_COUNT,
};

/* The strings of a job as NULL-terminated lists. */
struct link_lists {
    char *argv[LINK_LIST_MAX + 1], *envp[LINK_LIST_MAX + 1], *readable[LINK_LIST_MAX + 1];
    char *bench; /* NULL: none */
    char *candidate[LINK_LIST_MAX + 1], *collect[LINK_LIST_MAX + 1];
    char *candidate_envp[LINK_LIST_MAX + 1];
    char *cwd; /* NULL: the work directory */
    char *class_parts[LINK_LIST_MAX + 1];
};

enum link_notice_type {
    LINK_READY,    /* the slot's directory is empty; send jobs */
    LINK_STARTED,  /* the program has been running for LINK_SHORT_MS; a pidfd accompanies it */
    LINK_FAILED,   /* the program could not be started: stage and error. Without a job (job_no 0),
                      instead of READY: the jail could not be set up: view_step and error */
    LINK_ENDED,    /* the program, its descendants and its files are gone; without a STARTED before,
                      the pidfd accompanies this one */
    LINK_RETURNED, /* a job that was sent ahead would have to wait; the jail did nothing with it */
    LINK_TIMES,    /* answers a question */
    LINK_SECOND,   /* from a twin to its jail: the second program of the pair starts */
    LINK_LOADED,   /* likewise: what the template of a class has loaded there */
};

enum link_stage {
    LINK_STAGE_NONE,
    LINK_STAGE_DIRECTORY, /* making the work directory */
    LINK_STAGE_FILES,     /* writing the job's files there */
    LINK_STAGE_BENCH,     /* showing the bench */
    LINK_STAGE_READABLE,  /* showing the other readable paths */
    LINK_STAGE_FORK,
    LINK_STAGE_DESCRIPTORS,
    LINK_STAGE_SESSION,
    LINK_STAGE_LIMITS,
    LINK_STAGE_CGROUP,
    LINK_STAGE_PRIVILEGES,
    LINK_STAGE_LANDLOCK,
    LINK_STAGE_CWD,    /* entering the directory that a command asks for */
    LINK_STAGE_ACCESS, /* finding, with a uid of its own, that it can read its files */
    LINK_STAGE_EXEC,
    LINK_STAGE_TWIN,    /* starting the jail in the jail */
    LINK_STAGE_STOPPED, /* another process has stopped it before it began */
    LINK_STAGE_COUNT,
};

const char *link_stage_name(enum link_stage stage);

/* What became of the candidate of a joined pair. */
enum link_candidate_end {
    LINK_CANDIDATE_NONE,
    LINK_CANDIDATE_ENDED,   /* by itself */
    LINK_CANDIDATE_STOPPED, /* it was running when the pair was over */
    LINK_CANDIDATE_FAILED,  /* it could not be started: stage and error */
    LINK_CANDIDATE_LOST,    /* nobody can tell */
    LINK_CANDIDATE_ENDS,
};

struct link_candidate {
    uint32_t end;
    uint32_t was_first; /* 1: the jail saw its end before that of the other program */
    uint32_t stage;
    int32_t error;
    int32_t wait_status;
    uint32_t met_full_disk; /* 1: its tmpfs was full */
    uint64_t cpu_us, max_rss_bytes;
    uint64_t ended_ns; /* when the jail saw its end; 0: it has not */
};

struct link_notice {
    uint32_t type;
    uint32_t stage;        /* FAILED */
    uint64_t job_no;       /* all but READY */
    int32_t pid;           /* STARTED: pid in the jail's pid namespace, for people */
    int32_t error;         /* FAILED: errno; ENDED: ENOSPC if the host had no room for files; 0 */
    int32_t wait_status;   /* ENDED: as wait(2) gives it */
    int32_t collect_error; /* ENDED: a positive errno: not all files could be collected, ECHILD:
                            * since processes are left that may change them; 0 */
    uint32_t leftover;   /* ENDED, FAILED: 1: something could not be removed, and the jail exits */
    uint32_t layers;     /* READY: bits of enum layer: layers in force */
    uint32_t warm;       /* READY: 1: an interpreter waits; ENDED: 1: the program ran in it */
    uint32_t evidence;   /* ENDED: bits (1 << enum limit) of limits that the job certainly hit */
    uint32_t is_second;  /* TIMES: 1: the second program of a pair has started */
    uint32_t unknown_ms; /* TIMES: for how long since the start nobody can tell what ran; cpu_us and
                            run_delay_ns are those of the rest */
    uint64_t cpu_us;     /* ENDED, TIMES: user and system time of the program and its whole tree */
    uint64_t max_rss_bytes; /* ENDED: of the largest process */
    uint64_t started_ns;    /* STARTED, ENDED: CLOCK_MONOTONIC just before the fork */
    uint64_t ended_ns;      /* ENDED: CLOCK_MONOTONIC when the program had ended; TIMES: when they
                               were read */
    uint64_t run_delay_ns;  /* ENDED, SECOND: time that the program that ended was runnable without
                               a CPU; TIMES: the sum over all threads of its tree; UINT64_MAX: not
                               known */
    struct link_candidate
        candidate; /* ENDED of a joined pair; its times are among the above, too */
    int32_t layer_errors[LAYER_COUNT]; /* READY: errno of each layer that was wanted and failed */
    char view_step[64];    /* READY: failed step in making the view; FAILED without a job: failed
                              step of the set-up; the NUL may be missing */
    char cold_because[96]; /* READY: why no interpreter waits; the NUL may be missing */
    struct link_loaded of_class; /* ENDED: what the template of the job's class has loaded, if the
                                    job was a fork of it; otherwise an error and the reason; NULs
                                    may be missing */
};

/* Sends one packet of the IOV_COUNT parts IOV with COUNT descriptors, at most LINK_JOB_FDS, which
 * stay the caller's. 0 or a negative errno. */
int link_send_packet(int fd, struct iovec *iov, size_t iov_count, const int *fds, size_t count);

/* Receives one packet with up to MAX_FDS descriptors. Returns its length, 0 at end of file, or a
 * negative errno: -EPROTO if it is larger, or has more descriptors, than there is room for here or
 * in this process. The caller owns the *ret_count descriptors. */
ssize_t link_receive_packet(int fd, struct iovec *iov, size_t iov_count, int *fds, size_t max_fds,
                            size_t *ret_count);

/* Sends a set-up. The caller keeps FILTER (-1: none). 0 or a negative errno. */
int link_send_setup(int fd, const struct link_setup *setup, const char *strings, int filter);

/* Receives a set-up into *ret_setup and STRINGS (LINK_STRINGS_MAX bytes). The caller owns
 * *ret_filter. Returns 1 for a set-up, 0 if the other end is closed, -EPROTO for an invalid
 * message. */
int link_receive_setup(int fd, struct link_setup *ret_setup, char *strings, int *ret_filter);

/* Sends a job. The caller keeps the descriptors that job->fd_mask names. 0 or a negative errno:
 * -EAGAIN if the socket's buffer is full, -EMSGSIZE. */
int link_send_job(int fd, const struct link_job *job, const char *strings,
                  const int fds[LINK_JOB_FDS]);

/* Asks about job JOB_NO. 0 or a negative errno, as link_send_job(). */
int link_send_question(int fd, uint64_t job_no);

/* Tells the jail to end job JOB_NO, whose program may have ended, but not what is joined with it.
 * 0 or a negative errno, as link_send_job(). */
int link_send_stop(int fd, uint64_t job_no);

/* link_receive_job() has received a question, or that the job must end. */
#define LINK_ASKED 2
#define LINK_TOLD_TO_STOP 3

/* Receives a job into *ret_job and STRINGS (LINK_STRINGS_MAX bytes). The caller owns ret_fds, in
 * which descriptors that did not come are -1. Returns 1 for a job; LINK_ASKED or LINK_TOLD_TO_STOP
 * about ret_job->job_no, with nothing else set and no descriptors; 0 if the other end is closed;
 * -EPROTO for an invalid message. */
int link_receive_job(int fd, struct link_job *ret_job, char *strings, int ret_fds[LINK_JOB_FDS]);

/* Sends a notice, with PIDFD (borrowed) unless that is -1. 0 or a negative errno. */
int link_send_notice(int fd, const struct link_notice *notice, int pidfd);

/* Receives a notice. The caller owns *ret_pidfd, which is -1 if none came. Returns 1 for a notice,
 * 0 if the other end is closed, -EAGAIN if nothing is there, -EPROTO for an invalid message. */
int link_receive_notice(int fd, struct link_notice *ret_notice, int *ret_pidfd);

/* Points the lists of *ret into STRINGS. -EPROTO if counts and bytes disagree or a list is too
 * long. */
int link_split_job(const struct link_job *job, char *strings, struct link_lists *ret);

/* Like link_split_job(), for a set-up. */
int link_split_setup(const struct link_setup *setup, char *strings, struct link_setup_lists *ret);

/* --- the zygote (zygote.h) ----------------------------------------------------------------- */

/* Last argument of the jail program, after the directory, that makes it the zygote. */
#define LINK_ZYGOTE "zygote"

/* A jail that the supervisor asks the zygote for. Its directory follows, with its NUL, and the
 * jail's end of its link accompanies the message. */
struct link_birth {
    uint64_t namespaces; /* CLONE_NEWUSER, CLONE_NEWPID, ... */
    uint32_t own_uid;    /* 1: its jobs get the uid of the slot (idmap.h) */
    uint32_t slot;
};

/* The zygote's answer. A pidfd accompanies it unless there is an error. */
struct link_born {
    int32_t pid;   /* as the zygote sees it */
    int32_t error; /* errno of the clone; 0: the jail lives */
};

/* Sends a request for a jail. 0 or a negative errno. */
int link_send_birth(int fd, const struct link_birth *birth, const char *directory, int jail_link);

/* Receives such a request, with the directory in STRINGS (LINK_STRINGS_MAX bytes). Returns 1 and
 * gives the caller *ret_jail_link; 0 at end of file; -EPROTO or another negative errno. */
int link_receive_birth(int fd, struct link_birth *ret, char *strings, int *ret_jail_link);

/* Sends the answer with PIDFD, which is -1 on error. 0 or a negative errno. */
int link_send_born(int fd, const struct link_born *born, int pidfd);

/* Receives an answer. Returns 1 and gives the caller *ret_pidfd, -1 on error; 0 at end of file;
 * -EPROTO or another negative errno. */
int link_receive_born(int fd, struct link_born *ret, int *ret_pidfd);
