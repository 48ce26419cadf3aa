/* SPDX-License-Identifier: MIT */
#pragma once
/* What runs in a template (template.h), and what its jail sends it. */

#include "template_parts.h"

/* The descriptors of a job that a template is sent, as bits and in this order. */
enum sent {
    SENT_STDOUT,
    SENT_STDERR,
    SENT_CWD,
    SENT_FAILURE, /* a pipe for a lockdown_error */
    SENT_RULESET,
    SENT_STDIN,     /* may be missing */
    SENT_GATE,      /* likewise; otherwise wait for a byte here */
    SENT_WIRE_READ, /* of a program of a pair */
    SENT_WIRE_WRITE,
    SENT_COUNT,
};

_Static_assert((int)SENT_COUNT <= (int)LINK_JOB_FDS, "a packet of the link has room for them");

/* Beside those bits: it is the second program of a pair. */
#define SENT_SECOND (1u << SENT_COUNT)

/* The standard streams of a template, as the jail has them. The input holds one byte, which shows
 * that nobody has read it. */
struct template_ends {
    int input;   /* its end to read */
    int output;  /* its end to write */
    int printed; /* the other end of that */
};

#define TEMPLATE_INPUT "\n"

/* Makes this fork of the jail the template of PARTS, whose end of the link is LINK. */
_Noreturn void template_live(const struct template_parts *parts, int link,
                             const struct template_ends *ends);
