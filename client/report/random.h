/* SPDX-License-Identifier: MIT */
#pragma once
/* Pseudo-random numbers: the same seed gives the same numbers on every machine. Not for secrets.
 * Pure. */

#include <stdint.h>

/* xoshiro256++ by Blackman and Vigna. */
struct random {
    uint64_t s[4];
};

void random_init(struct random *random, uint64_t seed);

static inline uint64_t random_next(struct random *random)
{
    uint64_t *s = random->s, sum = s[0] + s[3];
    uint64_t result = ((sum << 23) | (sum >> 41)) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* Returns a uniform number in (0, 1), without the ends. */
double random_unit(struct random *random);

/* Draws how many of N independent trials succeed, each with probability P in [0, 1]. */
uint64_t random_binomial(struct random *random, uint64_t n, double p);
