/* SPDX-License-Identifier: MIT */
#pragma once
/* The length-prefix codec: a payload length of 4 bytes, big-endian, then the payload. Pure: it does
 * no I/O. */

#include <stdint.h>

#define FRAME_HEADER_SIZE 4
#define FRAME_MAX_DEFAULT (UINT32_C(16) << 20)

enum frame_check {
    FRAME_OK,
    FRAME_EMPTY,     /* length 0: not even an empty JSON object fits */
    FRAME_TOO_LARGE, /* above the maximum in force */
};

/* Reads the payload length in bytes and checks it against MAX, before the caller allocates
 * anything. Sets *ret_length in every case. */
enum frame_check frame_read_header(const uint8_t header[FRAME_HEADER_SIZE], uint32_t max,
                                   uint32_t *ret_length);

void frame_write_header(uint8_t header[FRAME_HEADER_SIZE], uint32_t length);
