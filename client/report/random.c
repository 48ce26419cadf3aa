/* SPDX-License-Identifier: MIT */
#include "random.h"

#include <math.h>

/* Below this many expected successes, they are counted one by one. */
#define BINOMIAL_FEW 10

/* splitmix64: any seed, even 0, gives four unrelated words. */
void random_init(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        random->s[i] = z ^ (z >> 31);
    }
}

double random_unit(struct random *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) * 0x1p-53;
}

/* Inversion: subtracts the probabilities of 0, 1, 2, ... successes from U until it is used up. */
static uint64_t binomial_of_few(struct random *random, uint64_t n, double p)
{
    const double odds = p / (1 - p);
    double u = random_unit(random), probability = exp((double)n * log1p(-p));
    uint64_t k = 0;
    while (u > probability && k < n) {
        u -= probability;
        k++;
        probability *= odds * (double)(n - k + 1) / (double)k;
    }
    return k;
}

/* Hormann (1993), "The generation of binomial random variates", algorithm BTRS: transformed
 * rejection with a squeeze. P is at most 1/2. */
static uint64_t binomial_of_many(struct random *random, uint64_t trials, double p)
{
    const double n = (double)trials, q = 1 - p, spq = sqrt(n * p * q);
    const double b = 1.15 + 2.53 * spq, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
    const double squeeze = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spq;
    const double mode = floor((n + 1) * p), log_odds = log(p / q);
    const double at_mode = lgamma(mode + 1) + lgamma(n - mode + 1);
    for (;;) {
        double u = random_unit(random) - 0.5, v = random_unit(random);
        double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
        if (us >= 0.07 && v <= squeeze)
            return (uint64_t)k;
        if (k < 0 || k > n)
            continue;
        if (log(v * alpha / (a / (us * us) + b)) <=
            at_mode - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * log_odds)
            return (uint64_t)k;
    }
}

uint64_t random_binomial(struct random *random, uint64_t n, double p)
{
    if (n == 0 || p <= 0)
        return 0;
    if (p >= 1)
        return n;
    if (p > 0.5)
        return n - random_binomial(random, n, 1 - p);
    return (double)n * p < BINOMIAL_FEW ? binomial_of_few(random, n, p)
                                        : binomial_of_many(random, n, p);
}
