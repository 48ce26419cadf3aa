/* SPDX-License-Identifier: MIT */
/* The program that does nothing: what is measured is everything around it. Linked statically. */
int main(void)
{
    return 0;
}
