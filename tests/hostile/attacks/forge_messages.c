/* SPDX-License-Identifier: MIT */
/* Writes forged messages of the daemon to every descriptor from 0 to 1023: frames with a result,
 * the jail's READY, STARTED, FAILED and ENDED, the error of a start, the service's READY=1. Stopped
 * on every host: other descriptors are closed, and the daemon treats a job's output as data. */
#include "attack.h"

#include "daemon/jail/link.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static const char result[] =
    "{\"type\":\"result\",\"id\":\"job\",\"job_no\":1,\"kind\":\"sandbox\",\"score\":{\"passed\":"
    "true,"
    "\"score\":1,\"breakdown\":{},\"failure_modes\":[],\"cost_usd\":0,\"wall_clock_ms\":1},"
    "\"outcome\":{\"success\":true,\"exit_code\":0,\"signal\":null,\"limit_exceeded\":null,"
    "\"stderr\":\"\",\"summary\":\"ok\"}}";

static bool put(int fd, const void *data, size_t size)
{
    bool sent = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    return write(fd, data, size) >= 0 || sent;
}

static bool forge(int fd)
{
    static const char notify[] = "READY=1\nSTATUS=forged\nMAINPID=1\nSTOPPING=1";
    static const uint32_t start_error[2] = {LINK_STAGE_EXEC, EPERM};
    uint32_t length = htonl((uint32_t)strlen(result));
    bool any = put(fd, &length, sizeof(length));
    any = put(fd, result, strlen(result)) || any;
    for (uint64_t number = 0; number < 3; number++)
        for (uint32_t type = LINK_READY; type <= LINK_ENDED; type++) {
            struct link_notice report = {.type = type, .job_no = number, .pid = getpid()};
            any = put(fd, &report, sizeof(report)) || any;
        }
    any = put(fd, start_error, sizeof(start_error)) || any;
    return put(fd, notify, strlen(notify)) || any;
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)forge(0);
    (void)forge(1);
    (void)forge(2);
    for (int fd = 3; fd < 1024; fd++)
        if (forge(fd)) {
            (void)printf("\n");
            succeeded("wrote to descriptor %d", fd);
        }
    (void)printf("\n");
    refused("nothing but 0, 1 and 2 can be written to: %s", errno_name(EBADF));
}
