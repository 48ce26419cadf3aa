/* SPDX-License-Identifier: MIT */
#include "extraction.h"
#include "extraction_text.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Theory of operation: extraction_clean() copies the text once, without what is not looked into.
 * scan() then goes through the copy from fence to fence: fence_at() judges a run of fence
 * characters outside a block, and find_block_end() searches line by line for the end of a block.
 * scan() keeps only the first block and the best one. Finally the chosen part moves to the
 * beginning of the copy, which becomes the result.
 *
 * All this takes linear time, although two searches may look ahead in vain and start over. A
 * thought with unbalanced tags does so at most once, because no </think> follows the last one. A
 * string in a block that never ends does so at most twice, because its kind of quotes does not
 * occur again after it and there are two kinds. */

#define FENCE_MIN 3

const char *const extraction_python_tags[] = {"python", "py", "python3", "py3", NULL};
const char *const extraction_shell_tags[] = {"sh", "bash", "shell", NULL};

/* How likely a block is the code, from best to worst. */
enum rank {
    RANK_WANTED,
    RANK_UNTAGGED,
    RANK_TAGGED,
    RANK_ONE_LINE,
    RANK_NONE, /* no block, or an empty block */
};

/* All positions are offsets into the cleaned copy. */
struct block {
    size_t fence;      /* start of the opening fence */
    size_t start, end; /* the code */
    enum rank rank;
    bool bare;  /* the opening fence has no info string */
    bool ended; /* the block ends before the text does */
};

struct scan {
    const char *text;
    size_t n;
    const char *const *tags;
    size_t count; /* of blocks found */
    struct block first, best;
    struct block *full; /* the first EXTRACTION_BLOCKS_MAX that are not empty; NULL: not wanted */
    size_t full_count;
};

enum fence_kind {
    FENCE_NONE,
    FENCE_OPENS,
    FENCE_ONE_LINE,
};

struct fence {
    char mark;
    size_t start, length;
    size_t inner, inner_end; /* the info string, or the code of a one-line block */
    size_t next;             /* where the scan resumes */
};

static bool is_mark(char c)
{
    return c == '`' || c == '~';
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
    while (at < end && is_blank(text[at]))
        at++;
    return at;
}

static size_t skip_space(const char *text, size_t at, size_t end)
{
    while (at < end && (is_blank(text[at]) || (text[at] >= '\n' && text[at] <= '\f')))
        at++;
    return at;
}

static size_t skip_run(const char *text, size_t at, size_t end)
{
    char mark = text[at];
    while (at < end && text[at] == mark)
        at++;
    return at;
}

/* Returns the start of the first run of at least LENGTH MARKs in the line at AT. Without one,
 * returns the end of the line or END. */
static size_t find_run(const char *text, size_t at, size_t end, char mark, size_t length)
{
    while (at < end && text[at] != '\n') {
        if (text[at] != mark) {
            at++;
            continue;
        }
        size_t behind = skip_run(text, at, end);
        if (behind - at >= length)
            return at;
        at = behind;
    }
    return at;
}

/* --- fences ------------------------------------------------------------------------------- */

static bool is_tag_byte(char c)
{
    return is_word(c) || c == '_' || c == '+' || c == '#' || c == '-' || c == '.';
}

/* Finds the tag in the info string from AT to END. Returns its start; *ret_end is its end. */
static size_t find_tag(const char *text, size_t at, size_t end, size_t *ret_end)
{
    at = skip_blanks(text, at, end);
    if (at < end && text[at] == '{') {
        at = skip_blanks(text, at + 1, end);
        if (at < end && text[at] == '.')
            at++;
    }
    *ret_end = at;
    while (*ret_end < end && is_tag_byte(text[*ret_end]))
        (*ret_end)++;
    return at;
}

static bool is_wanted(const struct scan *s, size_t tag, size_t end)
{
    for (const char *const *t = s->tags; *t; t++)
        if (strlen(*t) == end - tag && strncasecmp(*t, s->text + tag, end - tag) == 0)
            return true;
    return false;
}

static enum rank rank_of(const struct scan *s, const struct fence *fence)
{
    size_t end, tag = find_tag(s->text, fence->inner, fence->inner_end, &end);
    if (tag == end)
        return RANK_UNTAGGED;
    return is_wanted(s, tag, end) ? RANK_WANTED : RANK_TAGGED;
}

/* Decides whether the run of marks at START, outside a block, is a fence. */
static enum fence_kind fence_at(const struct scan *s, size_t start, bool first_on_line,
                                struct fence *ret)
{
    const char *text = s->text;
    size_t inner = skip_run(text, start, s->n);
    *ret = (struct fence){.mark = text[start],
                          .start = start,
                          .length = inner - start,
                          .inner = inner,
                          .next = inner};
    if (ret->length < FENCE_MIN || (ret->mark == '~' && start > 0 && is_word(text[start - 1])))
        return FENCE_NONE;

    /* Stop at the next run that could be a fence: a line of many fences must take linear time. */
    size_t end = find_run(text, inner, s->n, ret->mark, FENCE_MIN);
    ret->inner_end = end;
    if (end < s->n && text[end] == ret->mark) {
        size_t behind = skip_run(text, end, s->n);
        if (behind - end < ret->length)
            return FENCE_NONE;
        ret->next = behind;
        end = skip_blanks(text, behind, s->n);
        return end == s->n || text[end] == '\n' ? FENCE_ONE_LINE : FENCE_NONE;
    }
    if (!first_on_line && skip_blanks(text, inner, end) < end && !is_letter(text[inner]) &&
        text[inner] != '{')
        return FENCE_NONE;
    ret->next = MIN(end + 1, s->n);
    return FENCE_OPENS;
}

/* --- the end of a block ------------------------------------------------------------------- */

/* The end of a block's code, and the position where the scan resumes. */
struct block_end {
    size_t end, next;
};

/* Returns whether the line from AT to EOL ends the block that FENCE opens, unless a string hides
 * it. */
static bool line_ends_block(const struct scan *s, const struct fence *fence, size_t at, size_t eol,
                            struct block_end *ret)
{
    const char *text = s->text;
    size_t first = skip_blanks(text, at, eol), last = extraction_skip_end_marks(text, first, eol);
    size_t run = last;
    while (run > first && text[run - 1] == fence->mark)
        run--;

    if (last - run >= fence->length) {
        if (find_run(text, first, last, fence->mark, fence->length) != run)
            return false; /* the run closes a code span */
        *ret = (struct block_end){run == first ? at : run, MIN(eol + 1, s->n)};
        return true;
    }
    struct fence next;
    *ret = (struct block_end){at, at};
    return first < eol && text[first] == fence->mark &&
           fence_at(s, first, true, &next) == FENCE_OPENS && next.length >= fence->length &&
           rank_of(s, &next) == RANK_WANTED;
}

/* Tracks the triple quotes between AT and END. *QUOTE is the kind of the open string, 0 for none.
 * Returns whether a string was closed. */
static bool pass_quotes(const char *text, size_t at, size_t end, char *quote)
{
    bool closed = false;
    while (at < end) {
        char c = text[at];
        bool triple =
            (c == '"' || c == '\'') && end - at >= 3 && text[at + 1] == c && text[at + 2] == c;
        if (!triple || (*quote && *quote != c)) {
            at++;
        } else {
            closed |= *quote != 0;
            *quote = *quote ? 0 : c;
            at += 3;
        }
    }
    return closed;
}

/* Finds the end of the block that FENCE opens. Returns false if the block reaches the end of the
 * text. */
static bool find_block_end(const struct scan *s, const struct fence *fence, struct block_end *ret)
{
    struct block_end hidden; /* an end inside the open string */
    bool has_hidden = false;
    char quote = 0;
    for (size_t at = fence->next, eol; at < s->n; at = MIN(eol + 1, s->n)) {
        struct block_end found;
        for (eol = at; eol < s->n && s->text[eol] != '\n';)
            eol++;
        bool ends = line_ends_block(s, fence, at, eol, &found);
        if (pass_quotes(s->text, at, ends ? found.end : eol, &quote))
            has_hidden = false;
        if (!ends)
            continue;
        if (!quote) {
            *ret = found;
            return true;
        }
        if (!has_hidden)
            hidden = found;
        has_hidden = true;
        if (pass_quotes(s->text, found.end, eol, &quote))
            has_hidden = false;
    }
    *ret = (struct block_end){s->n, s->n};
    if (!quote || !has_hidden)
        return false;
    *ret = hidden;
    return true;
}

/* --- blocks ------------------------------------------------------------------------------- */

/* Trims a one-line block to its code: removes blanks, and a wanted tag at the start. */
static void trim_one_line(const struct scan *s, struct block *block)
{
    block->start = skip_blanks(s->text, block->start, block->end);
    while (block->end > block->start && is_blank(s->text[block->end - 1]))
        block->end--;

    size_t behind = block->start;
    while (behind < block->end && !is_blank(s->text[behind]))
        behind++;
    if (behind < block->end && is_wanted(s, block->start, behind))
        block->start = skip_blanks(s->text, behind, block->end);
}

/* Records the block that FENCE begins. Returns the position where the scan resumes. */
static size_t take_block(struct scan *s, const struct fence *fence, enum fence_kind kind)
{
    struct block block = {.fence = fence->start, .start = fence->inner, .end = fence->inner_end};
    size_t next = fence->next;
    if (kind == FENCE_ONE_LINE) {
        block.rank = RANK_ONE_LINE;
        block.ended = true;
        trim_one_line(s, &block);
    } else {
        struct block_end end;
        block.rank = rank_of(s, fence);
        block.bare = skip_blanks(s->text, fence->inner, fence->inner_end) == fence->inner_end;
        block.ended = find_block_end(s, fence, &end);
        block.start = fence->next;
        block.end = end.end;
        next = end.next;
    }
    if (skip_space(s->text, block.start, block.end) == block.end)
        block.rank = RANK_NONE;

    if (s->count++ == 0)
        s->first = block;
    if (block.rank < s->best.rank)
        s->best = block;
    if (s->full && block.rank != RANK_NONE && s->full_count < EXTRACTION_BLOCKS_MAX)
        s->full[s->full_count++] = block;
    return next;
}

static void scan(struct scan *s)
{
    bool first_on_line = true;
    for (size_t i = 0; i < s->n;) {
        char c = s->text[i];
        if (!is_mark(c)) {
            first_on_line = c == '\n' || (first_on_line && is_blank(c));
            i++;
            continue;
        }
        struct fence fence;
        enum fence_kind kind = fence_at(s, i, first_on_line, &fence);
        i = kind == FENCE_NONE ? fence.next : take_block(s, &fence, kind);
        first_on_line = kind == FENCE_OPENS;
    }
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool begins_like_prose(const char *text, size_t at, size_t end)
{
    at = skip_space(text, at, end);
    if (at == end)
        return false;
    if (is_capital(text[at])) /* except a NAME_LIKE_THIS */
        return at + 1 == end || !(is_capital(text[at + 1]) || text[at + 1] == '_');
    return (unsigned char)text[at] >= 0x80 || text[at] == '*' ||
           begins_with(text + at, end - at, "##");
}

/* Returns the end of the text before the first block's fence, without the blanks on the fence's
 * line. */
static size_t end_before(const struct scan *s)
{
    size_t end = s->first.fence;
    while (end > 0 && is_blank(s->text[end - 1]))
        end--;
    return end == 0 || s->text[end - 1] == '\n' ? end : s->first.fence;
}

/* Returns whether the first fence is a stray closing one, so that the code is the text up to
 * BEFORE. */
static bool is_stray_closing(const struct scan *s, size_t before)
{
    const struct block *first = &s->first;
    if (!first->bare || skip_space(s->text, 0, before) == before)
        return false;
    if (s->best.rank == RANK_NONE)
        return true;
    return !first->ended && !begins_like_prose(s->text, 0, before) &&
           begins_like_prose(s->text, first->start, first->end);
}

/* --- the result --------------------------------------------------------------------------- */

/* Returns the length of the common indent of the lines from AT to END. Ignores blank lines. */
static size_t common_indent(const char *text, size_t at, size_t end)
{
    size_t margin = 0, length = SIZE_MAX; /* SIZE_MAX: no line yet */
    while (at < end) {
        size_t inner = at;
        while (inner < end && (text[inner] == ' ' || text[inner] == '\t'))
            inner++;
        if (inner < end && text[inner] != '\n') {
            size_t same = 0;
            if (length == SIZE_MAX)
                margin = at;
            while (same < MIN(length, inner - at) && text[margin + same] == text[at + same])
                same++;
            length = same;
        }
        while (inner < end && text[inner] != '\n')
            inner++;
        at = inner + 1;
    }
    return length == SIZE_MAX ? 0 : length;
}

/* Moves the bytes from AT to END to the start of TEXT, dedented as by Python's textwrap.dedent.
 * Returns their number. */
static size_t dedent(char *text, size_t at, size_t end)
{
    size_t indent = common_indent(text, at, end), length = 0;
    while (at < end) {
        size_t inner = at;
        while (inner < end && (text[inner] == ' ' || text[inner] == '\t'))
            inner++;
        if (inner < end && text[inner] != '\n')
            at += indent;
        else
            at = inner;
        while (at < end && text[at] != '\n')
            text[length++] = text[at++];
        if (at < end)
            text[length++] = text[at++];
    }
    return length;
}

/* Moves what S has found to be the code to the start of TEXT, which S has scanned. Returns whether
 * a fence has marked it. */
static bool keep_code(const struct scan *s, struct bytes *text)
{
    bool fenced = false;
    if (s->count > 0 && is_stray_closing(s, end_before(s))) {
        fenced = true;
        text->length = end_before(s);
    } else if (s->count > 0) {
        fenced = s->best.rank != RANK_NONE;
        text->length = fenced ? dedent(text->data, s->best.start, s->best.end) : 0;
    }
    text->data[text->length] = '\0';
    return fenced;
}

int extraction_find(const char *text, size_t n, const char *const *tags, struct bytes *ret_code,
                    bool *ret_fenced)
{
    struct bytes copy = BYTES_NULL;
    int r = extraction_clean(text, n, &copy);
    if (r < 0)
        return r;
    struct scan s = {.text = copy.data, .n = copy.length, .tags = tags};
    s.best.rank = RANK_NONE;
    scan(&s);
    *ret_fenced = keep_code(&s, &copy);
    *ret_code = copy;
    return 0;
}

void extraction_deinit(struct extraction *extraction)
{
    bytes_deinit(&extraction->code);
    bytes_deinit(&extraction->answer);
    for (size_t i = 0; i < extraction->block_count; i++)
        bytes_deinit(&extraction->blocks[i]);
    *extraction = (struct extraction)EXTRACTION_NULL;
}

static int copy_blocks(const struct scan *s, struct extraction *extraction)
{
    for (size_t i = 0; i < s->full_count; i++) {
        const struct block *block = &s->full[i];
        struct bytes *copy = &extraction->blocks[i];
        int r = bytes_copy(s->text + block->start, block->end - block->start, copy);
        if (r < 0)
            return r;
        extraction->block_count = i + 1;
        if (block->rank != RANK_ONE_LINE)
            copy->length = dedent(copy->data, 0, copy->length);
        copy->data[copy->length] = '\0';
    }
    return 0;
}

int extraction_read(const char *text, size_t n, const char *const *tags, struct extraction *ret)
{
    _cleanup_extraction_ struct extraction extraction = EXTRACTION_NULL;
    struct block full[EXTRACTION_BLOCKS_MAX];
    int r = extraction_clean(text, n, &extraction.code);
    if (r < 0)
        return r;
    struct bytes *code = &extraction.code;
    struct scan s = {.text = code->data, .n = code->length, .tags = tags, .full = full};
    s.best.rank = RANK_NONE;
    scan(&s);
    r = bytes_copy(code->data, code->length, &extraction.answer);
    if (r == 0)
        r = copy_blocks(&s, &extraction);
    if (r < 0)
        return r;
    (void)keep_code(&s, code);
    *ret = TAKE_STRUCT(extraction, EXTRACTION_NULL);
    return 0;
}
