/* SPDX-License-Identifier: MIT */
#include "service.h"

#include "daemon/base/events.h"
#include "proto/shortage.h"
#include "proto/util.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

/* How long after it had no room the manager is tried again. */
#define AGAIN_MS 200

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

/* sd_notify() would wait until the manager reads. */
static int open_notify(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    if (length == 0 || length >= sizeof(address.sun_path) || (*path != '/' && *path != '@'))
        return -EINVAL;
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (connect(fd, (const struct sockaddr *)&address, size) == 0)
        return fd;
    int r = -errno;
    close_fd(fd);
    return r;
}

/* False: there is no room for it now. A manager that is gone gets nothing, and is owed nothing. */
static bool try_to_send(struct service *service, const char *text)
{
    if (service->notify_fd < 0)
        service->notify_fd = open_notify();
    if (service->notify_fd < 0)
        return !is_shortage(-service->notify_fd) && service->notify_fd != -ECONNREFUSED;
    if (send(service->notify_fd, text, strlen(text), MSG_NOSIGNAL) >= 0)
        return true;
    int error = errno;
    if (!is_shortage(error))
        service->notify_fd = close_fd(service->notify_fd); /* the next one looks for it anew */
    return !is_shortage(error);
}

static void on_again(evutil_socket_t fd, short what, void *userdata)
{
    struct service *service = userdata;
    (void)fd;
    (void)what;
    while (service->owed_count > 0 && try_to_send(service, service->owed[0])) {
        service->owed_count--;
        memmove(service->owed[0], service->owed[1],
                sizeof(service->owed) - sizeof(service->owed[0]));
    }
    if (service->owed_count > 0)
        start_timer(service->again, AGAIN_MS);
}

/* Sends what is said once: at once or, behind what is owed already, later. */
static void send_surely(struct service *service, const char *text)
{
    if (!service->is_managed || (service->owed_count == 0 && try_to_send(service, text)))
        return;
    if (service->owed_count == SERVICE_OWED_MAX) {
        memmove(service->owed[0], service->owed[1],
                sizeof(service->owed) - sizeof(service->owed[0]));
        service->owed_count--;
    }
    (void)snprintf(service->owed[service->owed_count++], SERVICE_OWED_SIZE, "%s", text);
    start_timer(service->again, AGAIN_MS);
}

static void on_watchdog(evutil_socket_t fd, short what, void *userdata)
{
    struct service *service = userdata;
    (void)fd;
    (void)what;
    if (service->is_healthy(service->userdata))
        (void)try_to_send(service, "WATCHDOG=1");
}

int service_init(struct service *service, struct event_base *base,
                 bool (*is_healthy)(void *userdata), void *userdata)
{
    uint64_t period_us;
    *service = (struct service){
        .is_managed = getenv("NOTIFY_SOCKET") != NULL,
        .notify_fd = -1,
        .is_healthy = is_healthy,
        .userdata = userdata,
    };
    service->again = event_new(base, -1, 0, on_again, service);
    if (!service->again)
        return -ENOMEM;
    if (sd_watchdog_enabled(0, &period_us) <= 0)
        return 0;
    struct timeval half = {.tv_sec = (time_t)(period_us / 2 / 1000000),
                           .tv_usec = (suseconds_t)(period_us / 2 % 1000000)};
    service->watchdog = event_new(base, -1, EV_PERSIST, on_watchdog, service);
    return service->watchdog && event_add(service->watchdog, &half) == 0 ? 0 : -ENOMEM;
}

void service_ready(struct service *service)
{
    send_surely(service, "READY=1");
}

void service_reloading(struct service *service)
{
    struct timespec now;
    char text[SERVICE_OWED_SIZE];
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    /* In one message: a manager that asked for the reload recognises the reply by its time. */
    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "%s",
                   (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
                   service->watchdog ? "\nWATCHDOG=1" : "");
    send_surely(service, text);
}

void service_stopping(struct service *service)
{
    send_surely(service, "STOPPING=1");
}

void service_extend(struct service *service, uint64_t ms)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "EXTEND_TIMEOUT_USEC=%" PRIu64, ms * 1000);
    if (service->is_managed)
        (void)try_to_send(service, text);
}

void service_status(struct service *service, const char *text)
{
    char message[sizeof("STATUS=") + SERVICE_STATUS_MAX];
    if (!service->is_managed || strcmp(service->status, text) == 0)
        return;
    (void)snprintf(message, sizeof(message), "STATUS=%.*s", SERVICE_STATUS_MAX - 1, text);
    if (try_to_send(service, message))
        (void)snprintf(service->status, sizeof(service->status), "%s", text);
}

void service_deinit(struct service *service)
{
    service->watchdog = consume_event(service->watchdog);
    service->again = consume_event(service->again);
    if (service->is_managed)
        service->notify_fd = close_fd(service->notify_fd);
}
