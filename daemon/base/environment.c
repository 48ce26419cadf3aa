/* SPDX-License-Identifier: MIT */
#include "environment.h"

#include "proto/util.h"

#include <string.h>

static const char *const kept[] = {
    "NOTIFY_SOCKET",  "WATCHDOG_USEC",  "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
    "LISTEN_FDNAMES", "JOURNAL_STREAM", "TMPDIR",       "container",  "KUBERNETES_SERVICE_HOST",
};

int environment_forget(void)
{
    char *values[ARRAY_SIZE(kept)] = {NULL};
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        const char *value = getenv(kept[i]);
        if (value && !(values[i] = strdup(value)))
            r = -ENOMEM;
    }
    for (char **entry = environ; entry && *entry; entry++)
        explicit_bzero(*entry, strlen(*entry));
    if (clearenv() != 0)
        r = -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        if (values[i] && setenv(kept[i], values[i], 1) < 0)
            r = -ENOMEM;
        free(values[i]);
    }
    return r;
}
