/* SPDX-License-Identifier: MIT */
/* What a slot does with the terminal of its job. */
#include "slot.h"

int slot_type(struct slot *slot, const void *owner, const char *data, size_t n)
{
    bool is_there = slot->job.owner == owner && slot->job.terminal.fd >= 0;
    return is_there ? terminal_type(&slot->job.terminal, data, n) : 0;
}

void slot_resize(struct slot *slot, const void *owner, struct terminal_size size)
{
    if (slot->job.owner == owner && slot->job.terminal.fd >= 0)
        terminal_resize(&slot->job.terminal, size);
}
