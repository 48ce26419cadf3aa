/* SPDX-License-Identifier: MIT */
#include "service.h"

#include "daemon/base/events.h"
#include "proto/util.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

/* --- passed sockets ------------------------------------------------------------------------ */

static void free_names(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

static int check_socket(int fd, const char *name, struct fault *fault)
{
    if (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0)
        return fault_set(fault,
                         "the service manager passed descriptor %d, \"%s\": expected a "
                         "listening Unix stream socket (ListenStream= with a path)",
                         fd, name);
    /* Otherwise accept() would block when a client is gone before it is accepted. */
    return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int service_sockets(struct service_sockets *ret, struct fault *fault)
{
    struct service_sockets sockets = {.count = 0};
    char **names = NULL;
    int n = sd_listen_fds_with_names(1, &names);
    int r = MIN(n, 0);
    if (n < 0)
        fault_set(fault, "the sockets that the service manager passed: %s", strerror(-n));
    if (n > SERVICE_SOCKETS_MAX) {
        fault_set(fault, "the service manager passed %d sockets; the maximum is %d", n,
                  SERVICE_SOCKETS_MAX);
        r = -E2BIG;
    }
    for (int i = 0; r == 0 && i < n; i++) {
        sockets.fd[i] = SD_LISTEN_FDS_START + i;
        r = check_socket(sockets.fd[i], names[i], fault);
        sockets.count++;
    }
    free_names(names);
    if (r == 0)
        *ret = sockets;
    return r;
}

/* --- notifications ------------------------------------------------------------------------- */

static void on_watchdog(evutil_socket_t fd, short what, void *userdata)
{
    const struct service *service = userdata;
    (void)fd;
    (void)what;
    if (service->is_healthy(service->userdata))
        (void)sd_notify(0, "WATCHDOG=1");
}

int service_init(struct service *service, struct event_base *base,
                 bool (*is_healthy)(void *userdata), void *userdata)
{
    uint64_t period_us;
    *service = (struct service){
        .is_managed = getenv("NOTIFY_SOCKET") != NULL,
        .is_healthy = is_healthy,
        .userdata = userdata,
    };
    if (sd_watchdog_enabled(0, &period_us) <= 0)
        return 0;
    struct timeval half = {.tv_sec = (time_t)(period_us / 2 / 1000000),
                           .tv_usec = (suseconds_t)(period_us / 2 % 1000000)};
    service->watchdog = event_new(base, -1, EV_PERSIST, on_watchdog, service);
    return service->watchdog && event_add(service->watchdog, &half) == 0 ? 0 : -ENOMEM;
}

void service_ready(const struct service *service)
{
    if (service->is_managed)
        (void)sd_notify(0, "READY=1");
}

void service_reloading(const struct service *service)
{
    struct timespec now;
    if (!service->is_managed)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    /* In one message: a manager that asked for the reload recognises the reply by its time. */
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "%s",
                     (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
                     service->watchdog ? "\nWATCHDOG=1" : "");
}

void service_stopping(const struct service *service)
{
    if (service->is_managed)
        (void)sd_notify(0, "STOPPING=1");
}

void service_extend(const struct service *service, uint64_t ms)
{
    if (service->is_managed)
        (void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, ms * 1000);
}

void service_status(struct service *service, const char *text)
{
    if (!service->is_managed || strcmp(service->status, text) == 0)
        return;
    (void)snprintf(service->status, sizeof(service->status), "%s", text);
    (void)sd_notifyf(0, "STATUS=%s", service->status);
}

void service_deinit(struct service *service)
{
    service->watchdog = consume_event(service->watchdog);
}
