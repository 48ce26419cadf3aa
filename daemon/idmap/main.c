/* SPDX-License-Identifier: MIT */
/* rubricd-idmap [SUBUIDS]: serves one request after the other on the socket that the service
 * manager has passed (serve.h). SUBUIDS is a file to use instead of /etc/subuid. */
#include "serve.h"
#include "subids.h"

#include "proto/util.h"

#include <string.h>
#include <sys/socket.h>

/* The first descriptor that a service manager passes (sd_listen_fds(3)). */
#define LISTENER 3

int main(int argc, char **argv)
{
    const char *subuids = argc > 1 ? argv[1] : SUBIDS_PATH;
    int is_listening = 0;
    socklen_t length = sizeof(is_listening);
    if (getsockopt(LISTENER, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &length) < 0 ||
        !is_listening) {
        (void)fprintf(stderr, "rubricd-idmap is started by its socket unit, not by hand\n");
        return 64;
    }
    for (;;) {
        _cleanup_close_ int connection = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            (void)fprintf(stderr, "rubricd-idmap: accept: %s\n", strerror(errno));
            return 71;
        }
        int error = serve_one(connection, subuids);
        if (error > 0)
            (void)fprintf(stderr, "rubricd-idmap: a jail gets no uid of its own: %s\n",
                          strerror(error));
    }
}
