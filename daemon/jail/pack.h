/* SPDX-License-Identifier: MIT */
#pragma once
/* The C library's heap in an interpreter whose process is forked for each job. Its memory for
 * objects is that of large.h. */

/* Takes what is free between the chunks that there are, for good, so that everything allocated
 * from here on, in this process and in its forks, lies side by side in pages of its own. A fork
 * copies each page that it writes to; without this, nearly every chunk that it takes is in another
 * page. */
void pack_memory(void);
