/* SPDX-License-Identifier: MIT */
#pragma once
/* A client for fuzz targets that run the daemon. It sends frames in whatever pieces the target
 * says, knows what each of them asks for, and checks every answer against that:
 *
 *  - each submit gets one answer, and `started` at most once and before it;
 *  - pongs and the other answers that are given at once come in the order of their requests;
 *  - what is refused is answered with the id that the message has, and with none that it has not;
 *  - a job passes only if a jail has said that its program ended well;
 *  - nothing comes that was not asked for, and the daemon hangs up only after it has said why. */

#include "proto/bytes.h"
#include "proto/jobkinds.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define FAKE_EXPECTED_MAX 4096

struct fake_expected;

struct fake_address {
    struct sockaddr_un name;
    socklen_t length;
};

struct fake_client {
    int fd; /* -1: not connected */
    const struct request_policy *policy;
    struct bytes unsent;            /* frames; owned */
    struct bytes unread;            /* the beginning of a frame; owned */
    struct fake_expected *expected; /* requests that may still be answered, in their order; owned */
    size_t expected_count;
    json_t *jobs;    /* by id: how often it was submitted, started and answered; owned */
    bool is_garbled; /* it has sent what is no frame */
    bool has_greeted, has_excuse; /* the daemon has said hello; why it is about to hang up */
    bool is_shut;                 /* it has shut down its sending side */
    bool is_over;                 /* the daemon has hung up */
    bool has_failed;              /* it could not send what it wanted to */
};

/* Connects to whoever listens at ADDRESS. The client stays as it is, not connected, if there is no
 * room, or nobody listens any more. */
void fake_client_connect(struct fake_client *client, const struct fake_address *address,
                         const struct request_policy *policy);

/* Hangs up, whatever is on the way. */
void fake_client_close(struct fake_client *client);

/* Prepares to send a frame with N bytes of PAYLOAD. */
void fake_client_ask(struct fake_client *client, const char *payload, size_t n);

/* Prepares to send N bytes that begin no frame, or one that is too long. */
void fake_client_garble(struct fake_client *client, const uint8_t *bytes, size_t n);

/* Sends at most MAX bytes. Returns whether there were any. */
bool fake_client_push(struct fake_client *client, size_t max);

/* Shuts its sending side down once all is sent. */
void fake_client_shut(struct fake_client *client);

/* Reads at most MAX bytes and checks the answers. Returns whether there were any. */
bool fake_client_read(struct fake_client *client, size_t max);

/* Everything that will come has come: checks that nothing is missing. */
void fake_client_check_end(const struct fake_client *client);
