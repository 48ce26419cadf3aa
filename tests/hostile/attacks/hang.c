/* SPDX-License-Identifier: MIT */
/* Ignores and blocks every signal. Argument: for how many seconds.
 * Stopped on every host: the supervisor enforces the wall clock. */
#include "attack.h"

#include <time.h>

int main(int argc, char **argv)
{
    time_t end = time(NULL) + argument_number(argc, argv, 1);
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN);
    while (time(NULL) < end)
        (void)usleep(50000);
    succeeded("nobody has stopped this");
}
