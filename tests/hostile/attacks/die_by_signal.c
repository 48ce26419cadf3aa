/* SPDX-License-Identifier: MIT */
/* Sends itself a signal, and says so if it survives. Argument: the signal's number. */
#include "attack.h"

int main(int argc, char **argv)
{
    int number = (int)argument_number(argc, argv, 1);
    (void)raise(number);
    (void)printf("alive after signal %d\n", number);
    return 0;
}
