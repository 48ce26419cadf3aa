/* SPDX-License-Identifier: MIT */
/* Reads messages of clients as the daemon does, for tests/request_check.py. Standard input has
 * frames: a length in 4 bytes, big-endian, and the payload. Standard output gets three things for
 * each: one byte that says what becomes of it ('+' a request, '-' refused), the id that the answer
 * carries, and the error's text. Id and text have a length in 4 bytes before them; 0xffffffff means
 * that there is no id. */
#include "proto/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void put(const char *text, size_t n)
{
    uint32_t length = htonl(text ? (uint32_t)n : UINT32_MAX);
    (void)fwrite(&length, sizeof(length), 1, stdout);
    if (text)
        (void)fwrite(text, 1, n, stdout);
}

static void judge(const char *text, size_t n)
{
    const struct request_policy policy = {
        .defaults = {[JOB_RUBRIC] = job_kind_get(JOB_RUBRIC)->defaults},
        .ceilings = {[JOB_RUBRIC] = limits_ceiling_default},
    };
    _cleanup_json_ json_t *id = NULL;
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct fault fault = FAULT_NULL;

    int r = request_read(text, n, &policy, &request, &id, &fault);
    (void)putchar(r == 0 ? '+' : '-');
    if (r == 0)
        put(request.id.data, request.id.length);
    else
        put(id ? json_string_value(id) : NULL, id ? json_string_length(id) : 0);
    put(fault.text, strlen(fault.text));
}

int main(void)
{
    uint32_t length;
    while (fread(&length, sizeof(length), 1, stdin) == 1) {
        length = ntohl(length);
        /* An allocation of exactly that size: a sanitizer sees what is read behind it. */
        _cleanup_free_ char *text = malloc(length ? length : 1);
        if (!text || fread(text, 1, length, stdin) != length)
            return 1;
        judge(text, length);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
