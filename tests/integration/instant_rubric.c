/* SPDX-License-Identifier: MIT */
/* Stands in for the interpreter where a test wants many jobs and not their Python: prints a passing
 * BenchScore, or a version when it is asked for one as the daemon does at its start. */
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const char version[] = "instant 1.0\n";
    static const char score[] = "{\"passed\": true, \"score\": 1}\n";
    int is_version = argc == 2 && strcmp(argv[1], "-V") == 0;
    const char *text = is_version ? version : score;
    size_t length = is_version ? sizeof(version) - 1 : sizeof(score) - 1;
    return write(STDOUT_FILENO, text, length) == (ssize_t)length ? 0 : 1;
}
