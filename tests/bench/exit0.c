/* SPDX-License-Identifier: MIT */
/* A program that does nothing, so that benchmarks measure what happens around it. Linked
 * statically. */
int main(void)
{
    return 0;
}
