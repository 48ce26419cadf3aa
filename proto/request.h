/* SPDX-License-Identifier: MIT */
#pragma once
/* Messages from client to daemon: JSON to a validated plain struct.
 * Whatever passes here is well-formed; whether it is allowed and possible is decided later. */

#include "json.h"
#include "limits.h"

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_ID_MAX 128
#define REQUEST_PRIORITY_MAX 10

enum request_type {
    REQUEST_SUBMIT,
    REQUEST_CANCEL,
    REQUEST_STATUS,
    REQUEST_METRICS,
    REQUEST_PING,
    REQUEST_DRAIN,
    REQUEST_RELOAD,
};

enum job_kind {
    JOB_RUBRIC,
    JOB_SANDBOX,
    JOB_CODE_EXEC,
    JOB_KIND_COUNT,
};

const char *job_kind_name(enum job_kind kind);

/* What became of the system under test, as its harness tells: anything but OK is a verdict in
 * itself and the rubric is not run. */
enum sut_status {
    SUT_OK,
    SUT_EXCEPTION,
    SUT_TIMEOUT,
};

struct rubric_spec {
    char *task_class;   /* [A-Za-z0-9][A-Za-z0-9._-]* */
    char *bench_root;   /* absolute, or NULL: the daemon's default */
    struct bytes input; /* stdin of the rubric: {"case": ..., "harness_output": ...} */
    bool cold;          /* not in an interpreter that waits */
    enum sut_status sut;
    struct bytes sut_detail; /* data is NULL where there is none */
};

/* What runs a snippet. */
enum sandbox_runner {
    SANDBOX_SHELL,  /* /bin/sh */
    SANDBOX_PYTHON, /* the configured interpreter */
};

/* Where the snippet stands in the working directory while it runs; no file of the job may. */
const char *sandbox_runner_file(enum sandbox_runner runner);

enum sandbox_program {
    SANDBOX_ARGV,
    SANDBOX_SNIPPET,
    SANDBOX_GENERATION, /* free text: the code in it is run like a snippet */
};

struct sandbox_file {
    char *name;    /* relative, in normal form; no name is a directory of another */
    unsigned mode; /* permission bits, at most 0777 */
    struct bytes content;
};

struct sandbox_spec {
    enum sandbox_program program;
    char **argv;       /* SANDBOX_ARGV: NULL-terminated; argv[0] is an absolute path */
    struct bytes text; /* SANDBOX_SNIPPET, SANDBOX_GENERATION */
    enum sandbox_runner runner;
    struct sandbox_file *files;
    size_t file_count;
    struct bytes input; /* its stdin */
    char **env;         /* NULL-terminated NAME=VALUE, each NAME allowed and once; or NULL */
    char **readable;    /* NULL-terminated absolute paths as the client wrote them; or NULL */
    bool network;
};

struct code_exec_spec {
    bool is_generation;    /* `text` is free text with the code somewhere in it */
    struct bytes text;     /* may be empty */
    struct bytes *targets; /* assertions, none of them blank; NULL where there is a `test` */
    size_t target_count;
    struct bytes test;       /* a program that defines check(candidate); data NULL: `targets` */
    char *entry_point;       /* a name in Python; NULL: none. `test` always has one */
    struct bytes prelude;    /* what stands before the code; data NULL: nothing */
    struct bytes test_setup; /* what runs before the assertions; data NULL: nothing */
    bool shared;             /* the assertions run in the process of the code */
    bool cold;               /* not in an interpreter that waits */
};

struct job_spec {
    enum job_kind kind;
    int priority; /* -10 to 10; higher runs first */
    struct limits limits;
    union {
        struct rubric_spec rubric;
        struct sandbox_spec sandbox;
        struct code_exec_spec code_exec;
    };
};

/* About how much memory SPEC takes, in bytes. */
size_t job_spec_size(const struct job_spec *spec);

/* Frees what SPEC holds and SPEC itself; returns NULL. */
struct job_spec *job_spec_free(struct job_spec *spec);

struct request {
    enum request_type type;
    struct bytes id;      /* submit, cancel; data is NULL where there is none */
    uint64_t job_no;      /* cancel; 0 where there is none */
    struct job_spec *job; /* submit */
};

#define REQUEST_NULL         \
    {                        \
        .type = REQUEST_PING \
    }

void request_deinit(struct request *request);
#define _cleanup_request_ _cleanup_(request_deinit)

#define SANDBOX_ARGV_MAX 60
#define SANDBOX_STRINGS_MAX (44u << 10) /* bytes of argv and env, each with its NUL */
#define SANDBOX_FILES_MAX 1024
#define SANDBOX_DIRECTORIES_MAX 1024 /* that the names of the files need */
#define SANDBOX_NAME_MAX 1023        /* bytes of a file's name */
#define SANDBOX_COMPONENT_MAX 255    /* and of one part of it */
#define SANDBOX_READABLE_MAX 16
#define SANDBOX_PATH_MAX 4095

#define CODE_EXEC_TARGETS_MAX 4096
#define CODE_EXEC_ENTRY_POINT_MAX 255 /* bytes */

/* What the configuration says; the strings are borrowed. */
struct request_policy {
    struct limits defaults[JOB_KIND_COUNT];
    struct limits ceilings[JOB_KIND_COUNT];
    const char *const *env_names; /* variables that a sandbox job may set */
    size_t env_name_count;
    bool allow_network; /* a sandbox job may ask for it */
};

/* Decodes MESSAGE. -EINVAL: it is wrong; -EPERM: the policy forbids it; both with FAULT naming the
 * JSON path. -ENOMEM. */
int request_decode(const json_t *message, const struct request_policy *policy, struct request *ret,
                   struct fault *fault);

/* The `id` of a message that may be otherwise wrong, for the error that answers it: borrowed, NULL
 * where there is no usable one. */
const json_t *request_peek_id(const json_t *message);
