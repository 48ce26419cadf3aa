/* SPDX-License-Identifier: MIT */
#include "service.h"
#include "events.h"

#include "proto/util.h"

#include <inttypes.h>
#include <stdint.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

int service_listen_fd(void)
{
    int n = sd_listen_fds(1);
    if (n == 0)
        return -1;
    if (n < 0)
        return n;
    if (n > 1 || sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_STREAM, 1) <= 0)
        return -EINVAL;
    return SD_LISTEN_FDS_START;
}

static void on_watchdog(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    (void)userdata;
    (void)sd_notify(0, "WATCHDOG=1");
}

int service_init(struct service *service, struct event_base *base)
{
    uint64_t period_us;
    *service = (struct service){.watchdog = NULL};
    if (sd_watchdog_enabled(0, &period_us) <= 0)
        return 0;
    struct timeval half = {.tv_sec = (time_t)(period_us / 2 / 1000000),
                           .tv_usec = (suseconds_t)(period_us / 2 % 1000000)};
    service->watchdog = event_new(base, -1, EV_PERSIST, on_watchdog, NULL);
    return service->watchdog && event_add(service->watchdog, &half) == 0 ? 0 : -ENOMEM;
}

void service_ready(void)
{
    (void)sd_notify(0, "READY=1");
}

void service_reloading(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    /* In one message: a manager that has asked for the reload tells by the time that it is meant.
     */
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                     (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void service_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

void service_status(const char *text)
{
    (void)sd_notifyf(0, "STATUS=%s", text);
}

void service_deinit(struct service *service)
{
    service->watchdog = consume_event(service->watchdog);
}
