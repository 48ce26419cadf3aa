/* SPDX-License-Identifier: MIT */
#pragma once
/* The length-prefix codec: 4 bytes big-endian payload length, then the payload. Pure: it never sees
 * a descriptor. */

#include <stdint.h>

#define FRAME_HEADER_SIZE 4
#define FRAME_MAX_DEFAULT (UINT32_C(16) << 20)

enum frame_verdict {
    FRAME_OK,
    FRAME_EMPTY,     /* length 0: no JSON object is empty */
    FRAME_TOO_LARGE, /* above the maximum in force */
};

/* Reads the length and judges it before anything is allocated for it. *ret_length is set in
 * every case. MAX is in bytes of payload. */
enum frame_verdict frame_read_header(const uint8_t header[FRAME_HEADER_SIZE], uint32_t max,
                                     uint32_t *ret_length);

void frame_write_header(uint8_t header[FRAME_HEADER_SIZE], uint32_t length);
