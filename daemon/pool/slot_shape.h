/* SPDX-License-Identifier: MIT */
#pragma once
/* The shape of jail that a slot wants: its confinement, whether with the network, whether with an
 * interpreter.
 *
 * May include: slot. */

#include "slot.h"

/* Whether the slot's jail is of the shape that JOB wants. */
bool slot_shape_fits(const struct slot *slot, const struct slot_job *job);

/* Gives the jail that is to be spawned the shape that the slot wants. */
void slot_shape_choose(struct slot *slot);
