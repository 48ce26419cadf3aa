/* SPDX-License-Identifier: MIT */
/* Makes many threads that do not end. Argument: how many.
 * Stopped by: cgroup (pids.max), rlimits within a user_namespace (RLIMIT_NPROC). */
#include "attack.h"

#include <pthread.h>

static void *stay(void *unused)
{
    (void)pause();
    return unused;
}

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1);
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, 65536);
    for (long i = 0; i < goal; i++) {
        pthread_t thread;
        int error = pthread_create(&thread, &attributes, stay, NULL);
        if (error != 0) {
            errno = error;
            barred("pthread_create after %ld threads", i);
            all_barred();
        }
    }
    succeeded("%ld threads", goal);
}
