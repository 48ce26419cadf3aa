/* SPDX-License-Identifier: MIT */
#pragma once
/* Frames on their way to a client. */

#include "proto/bytes.h"

#include <event2/buffer.h>
#include <stdbool.h>

/* Adds a frame of PAYLOAD, which is taken, to BUFFER. 0 or -ENOMEM: a part of it may be there. */
int outgoing_add(struct evbuffer *buffer, struct bytes *payload);

/* Whether the client at the other end of FD takes nothing any more. */
bool outgoing_is_gone(int fd);
