/* SPDX-License-Identifier: MIT */
/* Programs in Rust. The tests are functions for `cargo test`; here they are called by a main(), and
 * `use` of crates that the code does not need is left out, since there is no cargo to bring them.
 */
#include "hxprogram.h"

#include <string.h>

/* Random numbers, the same in each run: what the tests and declarations use of the crate rand 0.4.
 */
static const char rand_module[] =
    "mod rand {\n"
    "use std::sync::atomic::{AtomicUsize, Ordering};\n"
    "static STATE: AtomicUsize = AtomicUsize::new(0x2545_f491);\n"
    "fn next() -> u64 {\n"
    "let mut x = STATE.fetch_add(0x9e37_79b9, Ordering::SeqCst) as u64;\n"
    "x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);\n"
    "x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);\n"
    "x ^ (x >> 31)\n"
    "}\n"
    "pub trait Random { fn make() -> Self; }\n"
    "pub trait Ranged { fn pick(low: Self, high: Self) -> Self; }\n"
    "macro_rules! whole { ($($t:ty)*) => { $(\n"
    "impl Random for $t { fn make() -> $t { next() as $t } }\n"
    "impl Ranged for $t { fn pick(low: $t, high: $t) -> $t {\n"
    "assert!(low < high);\n"
    "(low as i128 + next() as i128 % (high as i128 - low as i128)) as $t\n"
    "} }\n"
    ")* } }\n"
    "whole!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize);\n"
    "macro_rules! real { ($($t:ty)*) => { $(\n"
    "impl Random for $t { fn make() -> $t { (next() >> 11) as $t / (1u64 << 53) as $t } }\n"
    "impl Ranged for $t { fn pick(low: $t, high: $t) -> $t {\n"
    "low + <$t as Random>::make() * (high - low)\n"
    "} }\n"
    ")* } }\n"
    "real!(f32 f64);\n"
    "impl Random for bool { fn make() -> bool { next() & 1 == 1 } }\n"
    "pub trait Rng {\n"
    "fn gen<T: Random>(&mut self) -> T { T::make() }\n"
    "fn gen_range<T: Ranged>(&mut self, low: T, high: T) -> T { T::pick(low, high) }\n"
    "}\n"
    "pub struct ThreadRng;\n"
    "impl Rng for ThreadRng {}\n"
    "pub fn thread_rng() -> ThreadRng { ThreadRng }\n"
    "pub fn random<T: Random>() -> T { T::make() }\n"
    "}\n";

/* What the tests use of the crate md5. */
static const char md5_module[] =
    "mod md5 {\n"
    "pub struct Digest(pub [u8; 16]);\n"
    "impl ::std::fmt::LowerHex for Digest {\n"
    "fn fmt(&self, f: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {\n"
    "for byte in self.0.iter() { write!(f, \"{:02x}\", byte)?; }\n"
    "Ok(())\n"
    "}\n"
    "}\n"
    "pub fn compute<T: AsRef<[u8]>>(data: T) -> Digest {\n"
    "let turns: [u32; 16] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];\n"
    "let mut text = data.as_ref().to_vec();\n"
    "let bits = text.len() as u64 * 8;\n"
    "let mut s: [u32; 4] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];\n"
    "text.push(0x80);\n"
    "while text.len() % 64 != 56 { text.push(0); }\n"
    "for i in 0..8 { text.push((bits >> (8 * i)) as u8); }\n"
    "for block in text.chunks(64) {\n"
    "let mut w = [0u32; 16];\n"
    "for i in 0..64 { w[i / 4] |= (block[i] as u32) << (8 * (i % 4)); }\n"
    "let (mut a, mut b, mut c, mut e) = (s[0], s[1], s[2], s[3]);\n"
    "for i in 0..64 {\n"
    "let (f, k) = match i / 16 {\n"
    "0 => ((b & c) | (!b & e), i),\n"
    "1 => ((e & b) | (!e & c), 5 * i + 1),\n"
    "2 => (b ^ c ^ e, 3 * i + 5),\n"
    "_ => (c ^ (b | !e), 7 * i),\n"
    "};\n"
    "let sine = ((i as f64 + 1.0).sin().abs() * 4294967296.0) as u32;\n"
    "let sum = f.wrapping_add(a).wrapping_add(sine).wrapping_add(w[k % 16]);\n"
    "a = e;\n"
    "e = c;\n"
    "c = b;\n"
    "b = b.wrapping_add(sum.rotate_left(turns[4 * (i / 16) + i % 4]));\n"
    "}\n"
    "s[0] = s[0].wrapping_add(a);\n"
    "s[1] = s[1].wrapping_add(b);\n"
    "s[2] = s[2].wrapping_add(c);\n"
    "s[3] = s[3].wrapping_add(e);\n"
    "}\n"
    "let mut out = [0u8; 16];\n"
    "for i in 0..16 { out[i] = (s[i / 4] >> (8 * (i % 4))) as u8; }\n"
    "Digest(out)\n"
    "}\n"
    "}\n";

/* Crates that HumanEval-X's declarations name in every task; what a program that needs one has, and
 * what stands in for it. */
static const struct {
    const char *line;
    const char *signs[3]; /* one of them; NULL: no more */
    const char *module;   /* NULL: there is none, and the program does not compile */
    bool is_dropped;      /* the line: the module itself has the name */
} crates[] = {
    {"use rand::Rng;", {"rand::", "gen_range", "rng.gen"}, rand_module, false},
    {"use regex::Regex;", {"Regex::"}, NULL, false},
    {"use md5;", {"md5::"}, md5_module, true},
};

static bool has(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Whether the N bytes of TEXT need crate I, beside naming it. */
static bool needs(size_t i, const char *text, size_t n)
{
    const char *named = memmem(text, n, crates[i].line, strlen(crates[i].line));
    const char *rest = named ? named + strlen(crates[i].line) : text;
    for (size_t k = 0; k < ARRAY_SIZE(crates[i].signs) && crates[i].signs[k]; k++)
        if (has(rest, n - (size_t)(rest - text), crates[i].signs[k]) ||
            (named && has(text, (size_t)(named - text), crates[i].signs[k])))
            return true;
    return false;
}

/* The crates that a program needs: bit I is crate I. */
static unsigned needed(const struct bytes *code, const json_t *tests)
{
    unsigned found = 0;
    for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
        if (needs(i, code->data, code->length) ||
            needs(i, json_string_value(tests), json_string_length(tests)))
            found |= 1u << i;
    return found;
}

/* Whether LINE is `use` of a crate that is not NEEDED, or that a module stands in for. */
static bool is_needless(const char *line, size_t length, unsigned needed)
{
    for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
        if (has(line, length, crates[i].line) && (!(needed >> i & 1) || crates[i].is_dropped))
            return true;
    return false;
}

/* The bytes of `fn main() {}` at TEXT, or 0; with a body of its own, all N. */
static size_t main_at(const char *text, size_t n)
{
    static const char word[] = "fn main";
    size_t at = strlen(word);
    if (n < at || memcmp(text, word, at) != 0)
        return 0;
    while (at < n && strchr(" \t\r\n(){", text[at]))
        at++;
    return at < n && text[at] == '}' ? at + 1 : n;
}

/* Copies the code without main() and without needless crates. */
static void put_code(struct textbuf *out, const char *text, size_t n, unsigned needed)
{
    const char *from = text;
    size_t left = n;
    while (left > 0) {
        const char *end = memchr(from, '\n', left);
        size_t length = end ? (size_t)(end - from) + 1 : left;
        const char *found = memmem(from, length, "fn main", strlen("fn main"));
        if (is_needless(from, length, needed)) {
            (void)fputs("\n", out->out);
        } else if (found) {
            textbuf_add(out, from, (size_t)(found - from));
            length = (size_t)(found - from) + main_at(found, left - (size_t)(found - from));
        } else {
            textbuf_add(out, from, length);
        }
        from += length;
        left -= length;
    }
}

/* The length of the comment at the beginning of the N bytes of TEXT; 0 if there is none. Comments
 * in comments do not end the outer one. */
static size_t comment_at(const char *text, size_t n)
{
    size_t at = 2, depth = 1;
    if (n < 2 || text[0] != '/' || (text[1] != '/' && text[1] != '*'))
        return 0;
    if (text[1] == '/') {
        const char *end = memchr(text, '\n', n);
        return end ? (size_t)(end - text) : n;
    }
    for (; at < n && depth > 0; at++) {
        if (at + 1 < n && text[at] == '/' && text[at + 1] == '*')
            depth++, at++;
        else if (at + 1 < n && text[at] == '*' && text[at + 1] == '/')
            depth--, at++;
    }
    return at;
}

/* Finds the name of the next function in the N bytes of TEXT, behind comments. */
static const char *next_function(const char *text, size_t n)
{
    static const char function[] = "fn ";
    for (size_t at = 0; at + strlen(function) < n;) {
        size_t comment = comment_at(text + at, n - at);
        if (comment == 0 && memcmp(text + at, function, strlen(function)) == 0)
            return text + at + strlen(function);
        at += comment > 0 ? comment : 1;
    }
    return NULL;
}

/* Copies the tests with their functions open to main(), and writes the calls of them: those in `mod
 * tests`, and those beside it. Returns how many there are. */
static size_t put_tests(struct textbuf *out, FILE *calls, const char *text, size_t n)
{
    static const char only[] = "#[cfg(test)]", test[] = "#[test]", module[] = "mod tests";
    size_t count = 0;
    bool in_module = false, begins_line = true;
    while (n > 0) {
        size_t length = comment_at(text, n);
        if (length > 0) {
            textbuf_add(out, text, length);
        } else if (n >= strlen(only) && memcmp(text, only, strlen(only)) == 0) {
            length = strlen(only);
        } else if (n >= strlen(test) && memcmp(text, test, strlen(test)) == 0) {
            const char *name = next_function(text, n);
            length = strlen(test);
            (void)fputs("pub ", out->out);
            if (name)
                (void)fprintf(calls, "    %s%.*s();\n", in_module ? "tests::" : "",
                              (int)MIN(strcspn(name, "( \n"), (size_t)200), name);
            count += name != NULL;
        } else {
            /* Braces in texts do not count: the module ends at one that is not indented. */
            length = 1;
            in_module |= n >= strlen(module) && memcmp(text, module, strlen(module)) == 0;
            in_module &= !(begins_line && *text == '}');
            textbuf_add(out, text, 1);
        }
        begins_line = text[length - 1] == '\n';
        text += length;
        n -= length;
    }
    return count;
}

/* Without a function that is a test a program would pass for nothing. */
int hx_check_rust(const json_t *tests, struct fault *fault)
{
    struct textbuf copy = TEXTBUF_NULL, calls = TEXTBUF_NULL;
    size_t count = 0;
    int r = textbuf_open(&copy);
    if (r == 0)
        r = textbuf_open(&calls);
    if (r == 0)
        count = put_tests(&copy, calls.out, json_string_value(tests), json_string_length(tests));
    textbuf_deinit(&copy);
    textbuf_deinit(&calls);
    if (r == 0 && count == 0)
        return fault_set(fault, "test: no function in it is a test (#[test]), other than in "
                                "comments: whatever compiles would pass");
    return r;
}

int hx_put_rust(struct textbuf *out, const struct bytes *code, const json_t *tests)
{
    struct textbuf calls = TEXTBUF_NULL;
    const unsigned wanted = needed(code, tests);
    if (textbuf_open(&calls) < 0)
        return -ENOMEM;
    put_code(out, code->data, code->length, wanted);
    (void)fputs("\n", out->out);
    for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
        if ((wanted >> i & 1) && crates[i].module)
            (void)fputs(crates[i].module, out->out);
    (void)put_tests(out, calls.out, json_string_value(tests), json_string_length(tests));
    if (fflush(calls.out) != 0) {
        textbuf_deinit(&calls);
        return -ENOMEM;
    }
    (void)fputs("\nfn main() {\n", out->out);
    textbuf_add(out, calls.data, calls.n);
    (void)fputs("}\n", out->out);
    bool failed = ferror(calls.out) != 0;
    textbuf_deinit(&calls);
    return failed ? -ENOMEM : 0;
}
