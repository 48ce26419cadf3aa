/* SPDX-License-Identifier: MIT */
/* Ignores and blocks every signal for as many seconds as the argument says. Stopped by: what is
 * always in force, the supervisor's clock. */
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
