/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the code in a model's free-text answer. protocol.md promises clients the rules marked [c];
 * the other rules settle what those leave open. "Blank" is a space, a tab or a
 * CR; a line ends at LF.
 *
 * Before the search for fences
 *  - <think>...</think> is dropped [c], nested ones as a whole. Where starts and ends do not
 *    balance, a thought goes up to the last </think>; one that never ends is all the rest of the
 *    text: an answer that was cut off while thinking has no code.
 *  - A </think> without a start ends a thought that began in the prompt: all before it is dropped.
 *  - Code and prose may speak of the tags: <think> directly behind ', " or ` and </think> directly
 *    before ', " or a ` that begins no fence are text, and a </think> without a start is text too
 *    once the answer has spoken of <think>.
 *  - CRLF becomes LF [c]; a CR alone stays.
 *  - A byte order mark at the beginning of the text is dropped [c].
 *  - An end mark is what models end their turn with: </s>, <eos>, <end_of_turn>, or <|WORD|>, where
 *    WORD consists of ASCII letters, digits and _. Those that end the text are dropped, with the
 *    white space between and behind them [c].
 *
 * What opens a block
 *  - A fence is three or more of ` or of ~ [c]. It may stand anywhere [c]; what follows on its line
 *    is the info string and never code.
 *  - Behind text on its line it opens only with nothing but blanks or a tag directly behind it (a
 *    letter or `{`): "wrap it in ``` please" and '```' in quotes open nothing. A ~~~ directly
 *    behind a letter, a digit or a non-ASCII byte is decoration ("Sure~~~").
 *  - With another fence of that character further on the same line it opens nothing that goes
 *    beyond the line. If that other one is at least as long and ends the line, the two enclose a
 *    one-line block, in which a wanted tag and a blank may come first; else it is a code span in
 *    prose, which is not looked into.
 *  - The tag is the first word of the info string: letters, digits and _ + # - . and non-ASCII
 *    bytes; a leading `{`, blanks and one `.` are passed over. "Python", "python title=x",
 *    "python:a.py" and "{.python .x}" are all python; case does not matter. No word: no tag.
 *
 * What ends a block
 *  - A fence of the same character, at least as long, that is alone on its line, however indented,
 *    or that ends a line of code (glued) [c]; not if another such fence stands before it on that
 *    line. End marks and blanks may follow it on its line [c]. A shorter fence, or one of the other
 *    character, is content.
 *  - A line that begins with such a fence and a wanted tag ends the block and opens the next: the
 *    closing one was forgotten, or the opening one was itself a stray closing one.
 *  - Neither does inside a """ or ''' string that begins and ends in the block: a docstring may
 *    show fences. If a string never ends, its first fence counts after all.
 *  - The end of the text [c].
 *
 * Which block
 *  - Of those that are not empty (hold more than white space): the first with a wanted tag, else
 *    the first untagged, else the first of any tag [c], else the first one-line block. It is
 *    dedented as Python 3.11's textwrap.dedent does [c].
 *  - A stray closing fence alone keeps the text before it [c], as it is. Such a one is the first
 *    fence, without info string and with text before it, if all blocks are empty. If there is text
 *    behind it too, which is one unended block then, it is a closing one only where the text begins
 *    like code and that behind it like prose: with a capital (but not two, nor one and `_`), a
 *    non-ASCII character, `*` or `##`.
 *  - With blocks, all empty, and no stray closing fence: no code, which is an empty one.
 *  - With no fence: the text, as it is [c], without its thoughts and with LF.
 *
 * Takes time linear in N and allocates N + 1 bytes once, extraction_read() at most three times
 * that.
 */

#include "json.h"

#include <stdbool.h>
#include <stddef.h>

/* Tags that mark the blocks that a job kind wants; NULL ends the list. */
extern const char *const extraction_python_tags[];
extern const char *const extraction_shell_tags[];

/* Finds the code in N bytes of TEXT, which may hold NUL, by the rules above with the wanted TAGS
 * (in lower case; NULL ends the list; none is better than another). *ret_fenced says whether a
 * fence has marked it: a block that is not empty, or the text before a stray closing fence. If it
 * is false, the code is the whole text for those kinds that take bare code. 0 or -ENOMEM; the
 * caller owns *ret_code. */
int extraction_find(const char *text, size_t n, const char *const *tags, struct bytes *ret_code,
                    bool *ret_fenced);

/* Blocks that extraction_read() keeps. */
#define EXTRACTION_BLOCKS_MAX 32

/* A text and what stands in its fences. */
struct extraction {
    struct bytes code;   /* as extraction_find() finds it */
    struct bytes answer; /* the text without its thoughts, marks and CRs, as the rules above say */
    struct bytes blocks[EXTRACTION_BLOCKS_MAX]; /* those that are not empty, dedented; in order */
    size_t block_count;
};

#define EXTRACTION_NULL         \
    {                           \
        .code = {.data = NULL } \
    }

/* Finds the code in N bytes of TEXT as extraction_find() does, and tells the rest as well: for who
 * can judge better which block is the code. Further blocks than EXTRACTION_BLOCKS_MAX are left out.
 * 0 or -ENOMEM; the caller owns *ret. */
int extraction_read(const char *text, size_t n, const char *const *tags, struct extraction *ret);

void extraction_deinit(struct extraction *extraction);
#define _cleanup_extraction_ _cleanup_(extraction_deinit)
