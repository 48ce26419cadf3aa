/* SPDX-License-Identifier: MIT */
#pragma once
/* The kinds of job and what a job of each kind asks for, as plain structs. */

#include "bytes.h"
#include "limits.h"

#include <stdbool.h>
#include <stdint.h>

/* One row per kind: ROW(ID, name, keys). `name` is what messages and the configuration call it.
 * `keys` is a macro of conf/keys.c that makes the keys of its section. It is
 * LIMIT_KEYS_WITH_CEILING for a kind that has a ceiling of its own for the wall clock, and
 * LIMIT_KEYS_OF_KIND for the others. proto/kind_NAME.c defines the struct job_kind of the row, and
 * daemon/kinds/NAME.c its struct kind_ops; the build finds both by the name. A new row also needs a
 * member in struct job_spec. CONTRIBUTING.md lists what else a kind consists of. */
#define JOB_KINDS(ROW)                                 \
    ROW(RUBRIC, rubric, LIMIT_KEYS_WITH_CEILING)       \
    ROW(SANDBOX, sandbox, LIMIT_KEYS_OF_KIND)          \
    ROW(CODE_EXEC, code_exec, LIMIT_KEYS_WITH_CEILING) \
    ROW(PROGRAM, program, LIMIT_KEYS_OF_KIND)          \
    ROW(SESSION, session, LIMIT_KEYS_OF_KIND)

#define JOB_KIND_ID_(ID, name, keys) JOB_##ID,
enum job_kind_id { JOB_KINDS(JOB_KIND_ID_) JOB_KIND_COUNT };
#undef JOB_KIND_ID_

#define SANDBOX_ARGV_MAX 60
#define SANDBOX_STRINGS_MAX (44u << 10) /* bytes of argv and env, each with its NUL */
#define SANDBOX_FILES_MAX 1024
#define SANDBOX_DIRECTORIES_MAX 1024 /* that the names of the files need */
#define SANDBOX_NAME_MAX 1023        /* bytes of a file's name */
#define SANDBOX_COMPONENT_MAX 255    /* and of one part of it */
#define SANDBOX_READABLE_MAX 16
#define SANDBOX_PATH_MAX 4095
#define SANDBOX_STEPS_MAX 64
#define SANDBOX_COLLECT_MAX 64 /* names and patterns of files to collect */
/* Bytes of the files in a result. With a full stdout and names of full length they fit in one
 * frame, even if every byte is escaped that may have to be. */
#define SANDBOX_COLLECTED_MAX ((size_t)4 << 20)
/* Bytes of the files that one step leaves for the next. */
#define SANDBOX_CARRIED_MAX ((size_t)64 << 20)
/* Bytes of stdout and stderr of all steps together in a result. */
#define SANDBOX_STEPS_OUTPUT_MAX ((size_t)8 << 20)

#define CODE_EXEC_TARGETS_MAX 4096
#define CODE_EXEC_ENTRY_POINT_MAX 255 /* bytes; also of each of the names */
#define CODE_EXEC_NAMES_MAX 256
#define CODE_EXEC_WARM_MODULES_MAX 60
/* Maximum bytes of the line in which a job's program tells a transcript: 3 MiB in base64, and the
 * rest of the line (DATA_MAX in daemon/checker/transcript.py). */
#define CODE_EXEC_TRANSCRIPT_MAX ((4u << 20) + 256)

/* How the system under test ended, as its harness reports. Anything but OK decides the verdict, and
 * the rubric does not run. */
enum sut_status {
    SUT_OK,
    SUT_EXCEPTION,
    SUT_TIMEOUT,
};

struct rubric_spec {
    char *task_class;   /* [A-Za-z0-9][A-Za-z0-9._-]* */
    char *bench_root;   /* absolute, or NULL: the daemon's default */
    char *digest;       /* that the rubric's directory must have: 64 digits; NULL: any */
    struct bytes input; /* stdin of the rubric: {"case": ..., "harness_output": ...} */
    bool cold;          /* start a new interpreter instead of forking the waiting one */
    enum sut_status sut;
    struct bytes sut_detail; /* data is NULL if absent */
    /* The daemon's own, and 0 in a request: */
    uint64_t user;   /* whose job it is */
    uint64_t awaits; /* what it waits for, while its directory is read (rubricdir/digests.h) */
};

/* The program that runs a snippet. */
enum sandbox_runner {
    SANDBOX_SHELL,  /* /bin/sh */
    SANDBOX_PYTHON, /* the configured interpreter */
};

/* Returns the name of the snippet's file in the work directory. No file of the job may have it. */
const char *sandbox_runner_file(enum sandbox_runner runner);

enum sandbox_program {
    SANDBOX_ARGV,
    SANDBOX_SNIPPET,
    SANDBOX_GENERATION, /* free text: the code in it runs like a snippet */
    SANDBOX_STEPS,      /* several programs, one after another */
};

struct sandbox_file {
    char *name;    /* relative, in normal form; no name is a directory of another */
    unsigned mode; /* permission bits, at most 0777 */
    struct bytes content;
};

/* One program of several. Each finds the files that the one before has left. */
struct sandbox_step {
    char **argv; /* as that of a job */
    struct bytes input;
    struct limits limits;
    bool may_fail; /* the next step follows even if this one fails */
};

#define TERMINAL_SIZE_MAX 65535 /* rows, and columns; 0: not known */
#define TERMINAL_NAME_MAX 64    /* bytes */
/* Bytes of what is typed that may wait for the terminal of a job. */
#define TERMINAL_INPUT_MAX (64 << 10)

struct terminal_size {
    unsigned rows, columns;
};

/* A terminal of a job's own. */
struct job_terminal {
    bool is_wanted; /* false: there is none, and nothing else is set */
    struct terminal_size size;
    char *name; /* the variable TERM; NULL: not set */
};

struct sandbox_spec {
    enum sandbox_program program;
    struct sandbox_step *steps; /* SANDBOX_STEPS */
    size_t step_count;
    char **collect;    /* NULL-terminated names and patterns (daemon/jail/pattern.h); or NULL */
    char **argv;       /* SANDBOX_ARGV: NULL-terminated; argv[0] is an absolute path */
    struct bytes text; /* SANDBOX_SNIPPET, SANDBOX_GENERATION */
    enum sandbox_runner runner;
    struct sandbox_file *files;
    size_t file_count;
    struct bytes input; /* its stdin */
    char **env;         /* NULL-terminated NAME=VALUE, each NAME allowed and once; or NULL */
    char **readable;    /* NULL-terminated absolute paths as the client wrote them; or NULL */
    struct job_terminal terminal; /* is its stdin, stdout and stderr */
};

struct code_exec_spec {
    bool is_generation;    /* `text` is free text with the code somewhere in it */
    struct bytes text;     /* may be empty */
    struct bytes *targets; /* assertions, none of them blank; NULL if there is a `test` */
    size_t target_count;
    struct bytes test; /* a program that defines check(candidate); data NULL: `targets` */
    char *entry_point; /* a Python name; NULL: none. Always there with `test` */
    char **names;      /* Python names that are under test, all different; NULL if none */
    size_t name_count;
    char *
        *warm_modules; /* names of modules to load ahead, sorted and all different; NULL if none */
    size_t warm_module_count;
    struct bytes prelude;    /* runs before the code; data NULL: nothing */
    struct bytes test_setup; /* runs before the assertions; data NULL: nothing */
    bool shared;             /* the assertions run in the process of the code */
    bool cold;               /* start a new interpreter instead of forking the waiting one */
    bool transcript;         /* a pass is to come with its transcript */
    bool is_replay;          /* there is a transcript to judge from, without the code */
    struct bytes replay;     /* it; data NULL: there is none, or only its job's process has it */
};

#define PROGRAM_TESTS_MAX 10000
#define PROGRAM_TEST_NAME_MAX 255 /* bytes */
#define PROGRAM_ARGV_MAX 32       /* arguments of one test */
#define PROGRAM_STRINGS_MAX 8192  /* bytes of them, each with its NUL */
#define PROGRAM_COLLECT_STRINGS_MAX \
    (24u << 10)                 /* bytes of the names to collect, each with its NUL */
#define PROGRAM_LANGUAGE_MAX 64 /* bytes of a language's name */
#define PROGRAM_COMPARE_MAX 128 /* bytes of a comparer with its tolerances */
#define PROGRAM_CALL_MAX 255    /* bytes of a function's name */
#define PROGRAM_DIGEST_SIZE 72  /* "sha256:", 64 digits and a NUL */

struct program_test {
    struct bytes input; /* its stdin; of a call: the arguments, an array as JSON text */
    struct bytes
        output; /* what is expected; of a call: a value as JSON text. Data NULL: anything */
    struct bytes alternative; /* of a call: another value that is right. Data NULL: none */
    char *name;               /* NULL: none */
    char **argv;         /* NULL-terminated arguments of the program, one allocation; NULL: none */
    uint64_t wall_clock; /* milliseconds; 0: the job's */
};

/* Tests, immutable and reference-counted: those that were put are shared by the jobs that use them
 * (program_tests.h). */
struct program_tests {
    unsigned references;
    bool is_call; /* they have arguments and values instead of inputs and outputs */
    struct program_test *test;
    size_t count;    /* 1 to PROGRAM_TESTS_MAX */
    size_t size;     /* bytes that all of it takes */
    size_t *charged; /* a count of bytes that `size` is part of until they are freed; or NULL */
};

/* A program of the task: its checker. */
struct program_helper {
    char *language;
    struct bytes code;
    struct sandbox_file *files;
    size_t file_count;
};

struct program_spec {
    char *language;
    bool is_generation; /* `text` is free text with the code somewhere in it */
    struct bytes text;
    struct bytes prelude; /* stands before the code; data NULL: nothing does */
    struct sandbox_file *files;
    size_t file_count;
    struct program_tests *tests; /* a reference; NULL: those that were put as `digest` */
    char digest[PROGRAM_DIGEST_SIZE];
    char *compare; /* NULL: the default */
    bool all;      /* run all tests, also behind one that did not pass */
    char *call;    /* name of the function; NULL: the program is run */
    struct program_helper *checker, *interactor; /* NULL: none; not both */
    char **collect; /* of the work directory of a test: as in struct sandbox_spec; or NULL */
    struct limits defaults;       /* of jobs that set no limits */
    unsigned limits_given;        /* 1u << enum limit: the request sets it */
    struct limits compile_limits; /* 0 where the request sets none */
};

#define SESSION_ENV_MAX 40 /* variables of a session, and of a command */

/* What a command does in its session. */
enum session_act {
    SESSION_EXEC,  /* runs argv */
    SESSION_WRITE, /* writes `input` to the file `path` */
    SESSION_READ,  /* tells what the file `path` holds */
};

/* A job of kind `session`: one command. The limits that hold for the whole session are those of the
 * session. */
struct session_spec {
    uint64_t number; /* of the session */
    enum session_act act;
    char **argv; /* EXEC: NULL-terminated; a name without a slash is looked for in PATH */
    char **env;  /* EXEC: NULL-terminated NAME=VALUE; or NULL */
    char *const *common_env; /* the same of the session, which outlives this; borrowed; or NULL */
    char *cwd;               /* EXEC: relative to the work directory, or absolute; NULL: that */
    struct bytes input;      /* EXEC: its stdin. WRITE: the content */
    char *path;              /* WRITE, READ: as cwd */
    unsigned mode;           /* WRITE: permission bits of a new file */
    bool append;             /* WRITE: add to what is there */
    unsigned limits_given;   /* 1u << enum limit: the request sets it */
};

/* What a client asks for when it opens a session. */
struct session_wish {
    struct limits limits;
    uint64_t lease_ms, idle_ms;
    char **env; /* NULL-terminated NAME=VALUE that every command gets; or NULL */
};

#define JOB_PRIORITY_MAX 10

struct job_spec {
    enum job_kind_id kind;
    int priority; /* -JOB_PRIORITY_MAX to JOB_PRIORITY_MAX; higher runs first */
    struct limits limits;
    bool network; /* the job may use the host's network */
    bool streams; /* what its programs write is told as it comes */
    union {
        struct rubric_spec rubric;
        struct sandbox_spec sandbox;
        struct code_exec_spec code_exec;
        struct program_spec program;
        struct session_spec session;
    };
};
