/* SPDX-License-Identifier: MIT */
#pragma once
/* What is told of the confinement of a job that was given the network. Pure. */

#include <jansson.h>

/* From the summary {class, layers, digest} of the others': without the layer `network`, and with a
 * digest of its own, since the scores are not comparable. Where that layer is not in force anyway
 * it is SUMMARY itself. The caller owns the reference; NULL when memory runs out. */
json_t *networked_summary(const json_t *summary);
