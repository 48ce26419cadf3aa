/* SPDX-License-Identifier: MIT */
/* Watches files by fanotify.
 * Stopped by: seccomp. Without it even an ordinary account may watch its own files. */
#include "attack.h"

#include <sys/fanotify.h>

int main(void)
{
    if (fanotify_init(FAN_CLASS_NOTIF, O_RDONLY) >= 0)
        succeeded("fanotify");
    barred("fanotify_init");
    if (fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY) >= 0)
        succeeded("fanotify of handles");
    barred("fanotify_init(FAN_REPORT_FID)");
    all_barred();
}
