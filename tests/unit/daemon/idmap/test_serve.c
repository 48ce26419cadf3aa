/* SPDX-License-Identifier: MIT */
/* What the helper answers. This process asks itself. It has a map, so no request writes one. */
#include "daemon/idmap/serve.h"
#include "daemon/jail/idmap.h"
#include "proto/util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static char subuids[] = "/tmp/test_serve.XXXXXX";

static int grant(void **state)
{
    (void)state;
    _cleanup_close_ int fd = mkostemp(subuids, O_CLOEXEC);
    return fd >= 0 && dprintf(fd, "%u:100000:8\n", geteuid()) > 0 ? 0 : -1;
}

static int take_back(void **state)
{
    (void)state;
    return unlink(subuids);
}

/* Sends SIZE bytes of REQUEST, hangs up if that IS_ALL, and returns the error that comes back; -1
 * if there is no answer. */
static int ask(const void *request, size_t size, bool is_all, const char *path)
{
    struct idmap_reply reply = {.error = -1};
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    if (size > 0)
        assert_int_equal(send(ends[0], request, size, 0), size);
    if (is_all)
        assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
    int r = serve_one(ends[1], path);
    close_fd(ends[1]);
    ssize_t n = recv(ends[0], &reply, sizeof(reply), 0);
    close_fd(ends[0]);
    assert_int_equal(n, r < 0 ? 0 : (ssize_t)sizeof(reply));
    assert_int_equal(reply.error, r);
    return r;
}

static int ask_for(uint32_t slot, bool is_all, const char *path)
{
    const struct idmap_request request = {.slot = slot};
    return ask(&request, sizeof(request), is_all, path);
}

static void test_requests(void **state)
{
    const struct idmap_request zygote = {.is_zygote = 1, .slot = 8};
    (void)state;
    assert_int_equal(ask_for(7, false, subuids), EPERM); /* only the kernel refuses it */
    assert_int_equal(ask_for(8, false, subuids), ERANGE);
    assert_int_equal(ask_for(UINT32_MAX, false, subuids), ERANGE);
    assert_int_equal(ask(&zygote, sizeof(zygote), false, subuids), EPERM);
    assert_int_equal(ask_for(0, false, "/dev/null"), ENODATA);
    assert_int_equal(ask_for(0, false, "/no/such"), ENODATA);
    assert_int_equal(ask_for(0, false, "/"), EIO);
}

/* A peer that is gone may have left its pid to another process. */
static void test_a_peer_that_hangs_up(void **state)
{
    (void)state;
    assert_int_equal(ask_for(7, true, subuids), ESRCH);
}

static void test_messages_that_are_none(void **state)
{
    const char bytes[sizeof(struct idmap_request) + 1] = {0};
    (void)state;
    assert_int_equal(ask(bytes, sizeof(bytes), false, subuids), EPROTO);
    assert_int_equal(ask(bytes, sizeof(bytes) - 2, false, subuids), EPROTO);
    assert_int_equal(ask(bytes, 0, true, subuids), -1);
    assert_int_equal(ask(bytes, 0, false, subuids), -1); /* after a while */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_a_peer_that_hangs_up),
        cmocka_unit_test(test_messages_that_are_none),
    };
    return cmocka_run_group_tests(tests, grant, take_back);
}
