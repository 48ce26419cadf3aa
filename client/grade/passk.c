/* SPDX-License-Identifier: MIT */
#include "passk.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define KS_DEFAULT "1,10,100"

double pass_at_k(uint64_t n, uint64_t c, uint64_t k)
{
    assert(c <= n && k > 0);
    if (n < k)
        return NAN;
    if (n - c < k)
        return 1;
    double none = 1;
    for (uint64_t i = n - c + 1; i <= n; i++)
        none *= 1 - (double)k / (double)i;
    return 1 - none;
}

/* Parses the N digits at TEXT; 0 if they are not a number or too large. */
static uint64_t parse_k(const char *text, size_t n)
{
    uint64_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        k = 10 * k + (uint64_t)(text[i] - '0');
        if (k > PASSK_K_MAX)
            return 0;
    }
    return k;
}

static bool has(const struct passk_ks *ks, uint64_t k)
{
    for (size_t i = 0; i < ks->n; i++)
        if (ks->k[i] == k)
            return true;
    return false;
}

int passk_parse_ks(const char *text, struct passk_ks *ret, struct fault *fault)
{
    struct passk_ks ks = {.is_default = !text};
    if (!text)
        text = KS_DEFAULT;
    for (;;) {
        size_t n = strcspn(text, ",");
        uint64_t k = parse_k(text, n);
        if (k == 0)
            return fault_set(fault,
                             "--k: expected whole numbers from 1 to %d with commas between "
                             "them, got \"%.*s\"",
                             PASSK_K_MAX, (int)n, text);
        if (ks.n == PASSK_KS_MAX)
            return fault_set(fault, "--k: more than %d numbers", PASSK_KS_MAX);
        if (!has(&ks, k))
            ks.k[ks.n++] = k;
        if (!text[n])
            break;
        text += n + 1;
    }
    *ret = ks;
    return 0;
}
