/* SPDX-License-Identifier: MIT */
#pragma once
/* Messages from client to daemon: JSON to a validated plain struct (contract, sections 2 and 4).
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
    REQUEST_PING,
    REQUEST_DRAIN,
};

enum job_kind {
    JOB_RUBRIC,
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
    enum sut_status sut;
    struct bytes sut_detail; /* data is NULL where there is none */
};

struct job_spec {
    enum job_kind kind;
    int priority; /* -10 to 10; higher runs first */
    struct limits limits;
    struct rubric_spec rubric;
};

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

/* What the configuration says of limits. */
struct request_policy {
    struct limits defaults[JOB_KIND_COUNT];
    struct limits ceilings[JOB_KIND_COUNT];
};

/* Decodes MESSAGE; -EINVAL with FAULT naming the JSON path, -ENOMEM. */
int request_decode(const json_t *message, const struct request_policy *policy, struct request *ret,
                   struct fault *fault);

/* The `id` of a message that may be otherwise wrong, for the error that answers it: borrowed, NULL
 * where there is no usable one. */
const json_t *request_peek_id(const json_t *message);
