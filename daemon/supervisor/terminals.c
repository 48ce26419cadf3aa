/* SPDX-License-Identifier: MIT */
#include "terminals.h"

#include "daemon/pool/slot.h"

#include <errno.h>
#include <string.h>

/* The job of CONN whose terminal REQUEST is about, while its program runs. NULL: there is none, or
 * it is answered with an error. */
static struct job *find(struct conn *conn, const struct request *request)
{
    const char *fault = NULL;
    struct job *job;
    TAILQ_FOREACH(job, &conn->jobs.list, of_conn)
    if (job->number == request->job_no)
        break;
    if (!job)
        return NULL;
    if (job->spec->kind != JOB_SANDBOX || !job->spec->sandbox.terminal.is_wanted)
        fault = "job_no: this job has no terminal";
    else if (job->place != JOB_ON_SLOT || job->began_ns == 0)
        fault = "job_no: this job has not started";
    if (fault)
        conn_send_error(conn, NULL, request->job_no, ERROR_BAD_REQUEST, fault);
    return fault ? NULL : job;
}

void terminals_type(struct conn *conn, const struct request *request)
{
    struct fault fault = FAULT_NULL;
    struct job *job = find(conn, request);
    int r = job ? slot_type(job->slot, job, request->input.data, request->input.length) : 0;
    if (r >= 0)
        return;
    if (r == -ENOSPC)
        (void)fault_set(&fault,
                        "base64: more than %d bytes would wait for the terminal; send what "
                        "input_taken makes room for",
                        TERMINAL_INPUT_MAX);
    else
        (void)fault_set(&fault, "%s", strerror(-r));
    conn_send_error(conn, NULL, request->job_no, r == -ENOSPC ? ERROR_BAD_REQUEST : ERROR_INTERNAL,
                    fault.text);
}

void terminals_resize(struct conn *conn, const struct request *request)
{
    struct job *job = find(conn, request);
    if (job)
        slot_resize(job->slot, job, request->size);
}
