/* SPDX-License-Identifier: MIT */
/* Ends by the signal that the argument says, or tells that it lives. */
#include "attack.h"

int main(int argc, char **argv)
{
    int number = (int)argument_number(argc, argv, 1);
    (void)raise(number);
    (void)printf("alive after signal %d\n", number);
    return 0;
}
