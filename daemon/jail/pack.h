/* SPDX-License-Identifier: MIT */
#pragma once
/* Memory of an interpreter whose process is forked for each job. Include Python.h first. */

/* Takes what is free between the objects that there are, for good, so that everything allocated
 * from here on, in this process and in its forks, lies side by side in pages of its own. A fork
 * copies each page that it writes to; without this, nearly every object that it makes is in another
 * page. */
void pack_memory(void);
