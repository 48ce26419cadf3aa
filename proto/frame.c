/* SPDX-License-Identifier: MIT */
#include "frame.h"

enum frame_check frame_read_header(const uint8_t header[FRAME_HEADER_SIZE], uint32_t max,
                                   uint32_t *ret_length)
{
    uint32_t length = (uint32_t)header[0] << 24 | (uint32_t)header[1] << 16 |
                      (uint32_t)header[2] << 8 | (uint32_t)header[3];
    *ret_length = length;
    if (length == 0)
        return FRAME_EMPTY;
    return length > max ? FRAME_TOO_LARGE : FRAME_OK;
}

void frame_write_header(uint8_t header[FRAME_HEADER_SIZE], uint32_t length)
{
    header[0] = (uint8_t)(length >> 24);
    header[1] = (uint8_t)(length >> 16);
    header[2] = (uint8_t)(length >> 8);
    header[3] = (uint8_t)length;
}
