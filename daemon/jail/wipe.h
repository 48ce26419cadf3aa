/* SPDX-License-Identifier: MIT */
#pragma once
/* Removes what a job left in its directory. Nothing that wrote there is alive any more, but
 * everything in it was made by untrusted code: links are never followed, depth costs no memory and
 * no descriptor, and mode bits do not stop it. */

/* Removes the entry NAME of the directory PARENT and everything beneath it. 0, also if it is not
 * there, or a negative errno; then something may be left. */
int wipe_tree(int parent, const char *name);

/* Removes everything in the directory DIR, not DIR itself. */
int wipe_contents(int dir);
