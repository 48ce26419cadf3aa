/* SPDX-License-Identifier: MIT */
#include "tokens.h"

#include "conf/lines.h"

#include <sha2.h>
#include <string.h>
#include <sys/stat.h>

static void make_digest(const char *text, uint8_t ret[TOKEN_DIGEST_SIZE])
{
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)text, strlen(text));
    SHA256Final(ret, &context);
}

static bool is_name(const char *text, size_t n)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return n >= 1 && n <= TOKEN_NAME_MAX && strspn(text, allowed) >= n;
}

/* Adds the token of a LINE that is "NAME TOKEN". -EINVAL with WHY, which shows nothing of it. */
static int add_line(struct tokens *tokens, const char *line, struct fault *why)
{
    struct token token = {.name = ""};
    size_t n = strcspn(line, " \t");
    const char *text = line + n + strspn(line + n, " \t");
    if (!is_name(line, n))
        return fault_set(why,
                         "expected a name of at most %d letters, digits, '.', '_' and '-', "
                         "and a token behind it",
                         TOKEN_NAME_MAX);
    if (strlen(text) < TOKEN_LENGTH_MIN || text[strcspn(text, " \t")] != '\0')
        return fault_set(why, "expected a token of at least %d characters, without blanks",
                         TOKEN_LENGTH_MIN);
    if (tokens->count == TOKENS_MAX)
        return fault_set(why, "more than %d tokens", TOKENS_MAX);
    memcpy(token.name, line, n);
    make_digest(text, token.digest);
    for (size_t i = 0; i < tokens->count; i++) {
        if (strcmp(tokens->item[i].name, token.name) == 0)
            return fault_set(why, "the name %s is there twice", token.name);
        if (memcmp(tokens->item[i].digest, token.digest, TOKEN_DIGEST_SIZE) == 0)
            return fault_set(why, "the token of %s is that of %s", token.name,
                             tokens->item[i].name);
    }
    struct token *item = reallocarray(tokens->item, tokens->count + 1, sizeof(*item));
    if (!item)
        return -ENOMEM;
    tokens->item = item;
    tokens->item[tokens->count++] = token;
    return 0;
}

static int read_lines(const char *path, FILE *stream, struct tokens *tokens, struct fault *fault)
{
    struct lines lines;
    struct fault why = FAULT_NULL;
    int r;
    lines_init(&lines, stream);
    while ((r = lines_next(&lines, &why)) > 0) {
        char *text = lines.text + strspn(lines.text, " \t");
        for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]); n--)
            text[n - 1] = '\0';
        if (text[0] == '\0' || text[0] == '#')
            continue;
        if ((r = add_line(tokens, text, &why)) < 0)
            break;
    }
    explicit_bzero(lines.text, sizeof(lines.text));
    if (r < 0)
        (void)fault_set(fault, "%s:%u: %s", path, lines.number,
                        why.text[0] ? why.text : strerror(-r));
    return MIN(r, 0);
}

static int check_mode(const char *path, FILE *stream, struct fault *fault)
{
    struct stat st;
    if (fstat(fileno(stream), &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return fault_set(fault, "%s: not a regular file", path);
    if (st.st_mode & S_IRWXO)
        return fault_set(fault, "%s: everybody may read or write it; chmod o= it", path);
    return 0;
}

int tokens_load(const char *path, struct tokens *ret, struct fault *fault)
{
    struct tokens tokens = TOKENS_NULL;
    FILE *stream = fopen(path, "re");
    if (!stream) {
        int error = errno;
        (void)fault_set(fault, "%s: %s", path, strerror(error));
        return -error;
    }
    int r = check_mode(path, stream, fault);
    if (r == 0)
        r = read_lines(path, stream, &tokens, fault);
    (void)fclose(stream);
    if (r == 0 && tokens.count == 0)
        r = fault_set(fault, "%s: there is no token in it", path);
    if (r < 0) {
        tokens_deinit(&tokens);
        return r;
    }
    *ret = tokens;
    return 0;
}

const char *tokens_match(const struct tokens *tokens, const char *presented)
{
    uint8_t digest[TOKEN_DIGEST_SIZE];
    size_t found = tokens->count;
    if (!presented)
        return NULL;
    make_digest(presented, digest);
    for (size_t i = 0; i < tokens->count; i++) {
        volatile uint8_t difference = 0;
        for (size_t at = 0; at < TOKEN_DIGEST_SIZE; at++)
            difference = (uint8_t)(difference | (digest[at] ^ tokens->item[i].digest[at]));
        found = difference == 0 ? i : found;
    }
    return found < tokens->count ? tokens->item[found].name : NULL;
}

void tokens_deinit(struct tokens *tokens)
{
    free(tokens->item);
    *tokens = (struct tokens)TOKENS_NULL;
}
