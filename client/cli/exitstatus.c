/* SPDX-License-Identifier: MIT */
#include "exitstatus.h"

enum exit_status ending_status(const struct ending *ending, bool no_fail)
{
    if (ending->interrupted)
        return STATUS_INTERRUPTED;
    if (ending->unwritten)
        return STATUS_UNWRITTEN;
    if (ending->lost)
        return STATUS_NO_DAEMON;
    if (ending->cost_capped)
        return STATUS_COST_CAP;
    if (ending->bad_input)
        return STATUS_USAGE;
    if (ending->errors)
        return STATUS_ERRORS;
    return ending->failed && !no_fail ? STATUS_FAILED : STATUS_OK;
}
