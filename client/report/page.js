"use strict";
/* Builds the page from the report that is embedded in it as JSON:

     {report: the BenchRunReport, exact: {seed, hosts: [{words, json}]}}

   `exact` holds, as text, numbers that JavaScript would round. A report quotes untrusted programs, so
   all text reaches the page through add(), as text and never as markup. */

const ABSENT = "\u2013";
const LEAST = -1; /* sorts below every number */

/* --- elements ----------------------------------------------------------------------------- */

/* Escapes the characters of TEXT that are invisible or change the direction of writing. */
function printable(text) {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]/g, (character) => {
    const point = character.codePointAt(0);
    if (point >= 0xfffe) return "\ufffd";
    const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
    if (named) return named;
    const hex = point.toString(16);
    return point < 0x80 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
  });
}

/* Adds attributes (unless undefined) and children (nodes and texts, unless null) to ELEMENT. */
function add(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(name, value);
  for (const child of children.flat(Infinity))
    if (child !== null) element.append(typeof child === "string" ? printable(child) : child);
  return element;
}

const make = (name, attributes, ...children) => add(document.createElement(name), attributes, children);
const draw = (name, attributes, ...children) =>
  add(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const section = (title, ...children) => make("section", {}, make("h2", {}, title), ...children);
const notice = (...children) => make("p", { class: "notice" }, ...children);
const mono = (text) => make("span", { class: "id" }, text);
const lineBreak = () => make("br", {});

/* ITEMS with a separator between each two. */
const joined = (items, separator) => items.flatMap((item, i) => (i > 0 ? [separator(), item] : [item]));

/* --- numbers ------------------------------------------------------------------------------ */

/* Prints VALUE with DIGITS decimals. Rounds ties to even, as printf() does in the other forms of a
   report; toFixed() rounds them away from zero. */
function fixed(value, digits = 4) {
  const text = value.toFixed(digits), last = Number(text.at(-1));
  const isTie = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  return isTie && last % 2 === 1 ? text.slice(0, -1) + (last - 1) : text;
}

const signed = (value) => (value < 0 ? "" : "+") + fixed(value);
const real = (value) => (value === null ? ABSENT : fixed(value));
const dollars = (value) => `$${fixed(value)}`;
const rounded = (value) => String(Number(value.toPrecision(6)));
const plural = (n) => (n === 1 ? "" : "s");
const two = (n) => String(n).padStart(2, "0");

function duration(ms) {
  const s = Math.trunc(ms / 1000);
  if (ms < 1000) return `${ms} ms`;
  if (s < 60) return `${s}.${Math.trunc((ms % 1000) / 100)} s`;
  if (s < 3600) return `${Math.trunc(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.trunc(s / 3600)} h ${two(Math.trunc((s % 3600) / 60))} min`;
  return `${Math.trunc(s / 86400)} d ${Math.trunc((s % 86400) / 3600)} h`;
}

/* --- intervals ---------------------------------------------------------------------------- */

const METHODS = { bca: "BCa", wilson: "Wilson" };
const methodOf = (interval) => METHODS[interval.method] ?? interval.method;

function confidence(report) {
  return `${rounded(100 * report.reproducibility.bootstrap.confidence)}%`;
}

/* --- tables ------------------------------------------------------------------------------- */

const cell = (style, ...children) => make("td", { class: style }, ...children);
const numberCell = (value, text) => make("td", { class: "n", "data-v": value ?? LEAST }, text);
const countCell = (count) => numberCell(count, String(count));
const realCell = (value) => numberCell(value, real(value));

function exampleCell(examples) {
  const first = examples[0];
  if (!first) return cell("d");
  return cell("d", mono(first.id), first.detail === null ? null : [lineBreak(), first.detail]);
}

function compare(a, b) {
  const x = Number(a.dataset.v ?? NaN), y = Number(b.dataset.v ?? NaN);
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  return a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
}

function sortBy(table, head) {
  const column = [...head.parentNode.children].indexOf(head);
  const descending = head.getAttribute("aria-sort") === "ascending";
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(a.cells[column], b.cells[column]) * (descending ? -1 : 1));
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  table.tBodies[0].append(...rows);
}

/* Makes a table of ITEMS that sorts by the column whose head is clicked. COLUMNS lists [head, function
   that makes the cell of an item]; "#" before a head marks a column of numbers. */
function sortable(id, caption, items, columns) {
  const heads = columns.map(([title]) => {
    const button = make("button", { type: "button" }, title.replace("#", ""));
    const head = make("th", { scope: "col", class: title.startsWith("#") ? "n" : undefined }, button);
    button.addEventListener("click", () => sortBy(table, head));
    return head;
  });
  const named = (made, title) => add(made, { "data-k": title.replace("#", "") }, []);
  const rows = items.map((item) =>
    make("tr", {}, columns.map(([title, makeCell]) => named(makeCell(item), title))));
  const table = make("table", { class: "sortable", id },
    make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}

function intervalCells(estimate) {
  const { low, high, method, why_not: whyNot } = estimate.interval;
  const why = whyNot === null ? null : [lineBreak(), make("span", { class: "muted" }, `BCa is undefined: ${whyNot}`)];
  const style = why === null ? undefined : "why";
  if (method === null) return [numberCell(null, ABSENT), cell(style, "none", why)];
  return [numberCell(low, `${fixed(low)} to ${fixed(high)}`), cell(style, methodOf(estimate.interval), why)];
}

function classes(report) {
  return section("Task classes", sortable("classes", "Task classes", report.classes, [
    ["Task class", (item) => cell("d", item.task_class)],
    ["#Cases", (item) => countCell(item.cases)],
    ["#Passed", (item) => countCell(item.passed)],
    ["#Failed", (item) => countCell(item.failed)],
    ["#Errors", (item) => countCell(item.errors)],
    ["#Score", (item) => realCell(item.score.mean)],
    ["#Interval", (item) => intervalCells(item.score)[0]],
    ["Method", (item) => intervalCells(item.score)[1]],
    ["#Pass rate", (item) => realCell(item.pass_rate.mean)],
    ["#Cost, $", (item) => realCell(item.cost_usd)],
  ]));
}

function modes(report) {
  const styles = { block: "bad", warn: "warn", info: "muted" };
  if (report.failure_modes.length === 0) return null;
  return section("Failure modes", sortable("modes", "Failure modes", report.failure_modes, [
    ["Failure mode", (item) => cell("id", item.code)],
    ["Severity", (item) => cell(styles[item.severity], item.severity)],
    ["#Results", (item) => countCell(item.count)],
    ["First example", (item) => exampleCell(item.examples)],
  ]));
}

function errors(report) {
  if (report.errors.length === 0) return null;
  return section("Errors",
    make("p", {}, "These jobs ended without a verdict. They count neither as passed nor as failed."),
    sortable("errors", "Errors", report.errors, [
      ["Error", (item) => cell("id bad", item.code)],
      ["#Jobs", (item) => countCell(item.count)],
      ["First example", (item) => exampleCell(item.examples)],
    ]));
}

/* --- what failed -------------------------------------------------------------------------- */

/* Makes the fields that show only the rows of TABLE with certain words or a certain failure mode. */
function failureFilter(report, table) {
  const input = make("input", { id: "words", type: "search" });
  const options = report.failure_modes.map((mode) => make("option", {}, mode.code));
  const select = make("select", { id: "code" }, make("option", { value: "" }, "any"), options);
  const shown = make("span", { id: "shown", class: "muted", role: "status" });
  const rows = [...table.querySelectorAll("tbody tr")];
  const filter = () => {
    const wanted = input.value.toLowerCase();
    for (const row of rows) {
      const codes = row.cells[2].textContent.split(", ");
      const hasWords = row.textContent.toLowerCase().includes(wanted);
      row.hidden = !hasWords || (select.value !== "" && !codes.includes(select.value));
    }
    shown.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} shown`;
  };
  input.addEventListener("input", filter);
  select.addEventListener("change", filter);
  filter();
  return make("div", { class: "tools" },
    make("label", { for: "words" }, "Containing", lineBreak(), input),
    make("label", { for: "code" }, "Failure mode", lineBreak(), select), shown);
}

/* So many are shown with their output open. */
const OUTPUTS_OPEN = 20;

/* What a job wrote, line by line: add() would show a line feed as its escape. */
const output = (text) => make("pre", { class: "output", tabindex: "0" },
  joined(text.replaceAll("\t", "    ").split("\n"), lineBreak));

/* Why ITEM failed. The start of a traceback says nothing that the end of the output does not. */
function reasonCell({ detail, output: text }, open) {
  const isStart = text !== null && detail !== null && detail.startsWith("Traceback (most recent call last)");
  if (text === null) return cell("d", detail);
  const words = text.slice(text.lastIndexOf("\n") + 1);
  return cell("d", isStart || detail === null ? null : make("p", {}, detail),
    make("details", open ? { open: "" } : {}, make("summary", {}, words), output(text)));
}

function failures(report) {
  const { shown, total } = report.failures;
  if (shown.length === 0) return section("Failed results", make("p", {}, "No result failed."));
  const cut = shown.length === total ? null : notice(
    `The ${shown.length} with the lowest scores of ${total} that failed. The files of results have all of them.`);
  const table = sortable("failures", "Failed results", shown, [
    ["Case", (item) => cell("id", item.id)],
    ["Task class", (item) => cell("", item.task_class)],
    ["Failure modes", (item) => cell("id", item.codes)],
    ["#Score", (item) => realCell(item.score)],
    ["#Wall clock", (item) => numberCell(item.wall_clock_ms, item.wall_clock_ms === null ? ABSENT : duration(item.wall_clock_ms))],
    ["Reason", (item) => reasonCell(item, shown.indexOf(item) < OUTPUTS_OPEN)],
  ]);
  return section("Failed results", cut, failureFilter(report, table), table);
}

/* --- another run -------------------------------------------------------------------------- */

function difference(name, estimate) {
  const { low, high, method } = estimate.interval;
  return make("p", {}, `${name}: `,
    estimate.mean === null ? "unknown" : make("strong", {}, signed(estimate.mean)),
    method === null ? null : `, ${methodOf(estimate.interval)} ${signed(low)} to ${signed(high)}`);
}

function changes(id, title, { shown, total }) {
  return [
    make("h3", {}, `${title}: ${total}`),
    shown.length < total ? make("p", { class: "muted" }, `The first ${shown.length} are shown.`) : null,
    shown.length === 0 ? null : sortable(id, title, shown, [
      ["Case", (item) => cell("id", item.id)],
      ["#Pass rate before", (item) => realCell(item.before)],
      ["#Now", (item) => realCell(item.after)],
    ]),
  ];
}

function against({ against: other }) {
  if (other === null) return null;
  return section("Comparison with another run",
    other.comparable ? null : notice(make("strong", {}, "Not comparable."), " The jobs of the two runs were isolated in different ways."),
    make("p", {}, `${other.paired_cases} cases are in both runs, ${other.only_here} only in this one, ` +
      `${other.only_there} only in the other; ${other.changed_cases} have changed, and ` +
      `${other.without_verdict} have no verdict in one of the runs.`),
    difference("Difference of the mean score", other.score_difference),
    difference("Difference of the pass rate", other.pass_rate_difference),
    other.changed_rubrics.map((name) => notice(`The rubric of ${name} has changed.`)),
    changesPlot(other),
    changes("regressions", "Regressions", other.regressions),
    changes("improvements", "Improvements", other.improvements));
}

/* --- plots -------------------------------------------------------------------------------- */

/* In units of an image, which are pixels. */
const BARS = { height: 200, left: 44, top: 14, bottom: 28, widest: 60, most: 40, gridSteps: 4 };
const ROWS = { height: 26, left: 190, right: 60, most: 40 };
const CHARACTER = 6.9;

/* A plot is an image with a description for those who cannot see it; tables have its numbers. */
const image = (width, height, description, ...children) =>
  draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": description }, ...children);
const label = (x, y, anchor, text, style) => draw("text", { class: style, x, y, "text-anchor": anchor }, text);
const line = (style, x1, y1, x2, y2) => draw("line", { class: style, x1, x2, y1, y2 });

/* Makes a plot with title and caption. drawAt(width) draws its image, again whenever the window
   changes its size, so that letters keep theirs. */
function figure(title, drawAt, ...caption) {
  const made = make("figure", {}, make("h3", {}, title), drawAt(560), make("figcaption", {}, ...caption));
  addEventListener("resize", () => made.querySelector("svg").replaceWith(drawAt(Math.max(made.clientWidth, 240))));
  return made;
}

/* Returns a whole number with few digits, not below VALUE. */
function roundUp(value) {
  const scale = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return scale * ([1, 2, 3, 4, 5, 6, 8].find((part) => value <= scale * part) ?? 10);
}

function barGrid(width, top) {
  const height = BARS.height - BARS.top - BARS.bottom, steps = Math.min(top, BARS.gridSteps);
  return Array.from({ length: steps + 1 }, (_, i) => {
    const y = BARS.top + height * (1 - i / steps);
    return [line("grid", BARS.left, fixed(y, 1), width, fixed(y, 1)),
      label(BARS.left - 6, fixed(y + 4, 1), "end", rounded((top * i) / steps))];
  });
}

/* Draws BARS of {count, label, title}. A label belongs to the left edge (atEdges) or to the middle of
   its bar. Leaves out labels that would touch. */
function histogram(width, description, bars, atEdges) {
  const height = BARS.height - BARS.top - BARS.bottom, labelY = BARS.height - 10;
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const top = most <= BARS.gridSteps ? most : BARS.gridSteps * roundUp(most / BARS.gridSteps);
  const step = Math.min((width - BARS.left) / bars.length, BARS.widest);
  const labelWidth = CHARACTER * (1 + Math.max(...bars.map((bar) => bar.label.length)));
  const every = 2 ** Math.ceil(Math.log2(Math.max(labelWidth / step, 1)));
  const drawn = bars.map((bar, i) => {
    const x = BARS.left + step * i, h = Math.max((height * bar.count) / top, 1);
    return [
      bar.count === 0 ? null : draw("rect", { class: "bar", x: fixed(x + 1, 1), y: fixed(BARS.top + height - h, 1),
        width: fixed(step - 2, 1), height: fixed(h, 1) }, draw("title", {}, `${bar.title}: ${bar.count}`)),
      i % every === 0 ? label(fixed(x + (atEdges ? 0 : step / 2), 1), labelY, "middle", bar.label) : null,
    ];
  });
  return image(width, BARS.height, description, barGrid(width, top), drawn,
    atEdges ? label(width, labelY, "end", "1") : null);
}

function scorePlot(report) {
  const bars = report.score_histogram.slice(0, BARS.most).map(({ from, to, count }) =>
    ({ count, label: rounded(from), title: `${rounded(from)} to ${rounded(to)}` }));
  const description = "Histogram of the scores of all results, from 0 to 1";
  return figure("Score", (width) => histogram(width, description, bars, true), "results by score");
}

function latencyPlot(title, latency) {
  if (latency === null || latency.histogram.length === 0) return null;
  const bars = latency.histogram.slice(0, BARS.most).map(({ up_to_ms: ms, count }) => {
    const text = ms < 1000 ? `${ms} ms` : `${rounded(ms / 1000)} s`;
    return { count, label: text, title: `up to ${text}` };
  });
  return figure(title, (width) => histogram(width, title, bars, false), "results by duration, each bar up to its label; " +
    ["p50", "p90", "p99", "max"].map((name) => `${name} ${duration(latency[name])}`).join(", "));
}

/* Cuts TEXT to at most N columns; a wide character takes two. */
function fit(text, n) {
  const columns = (character) => (/\p{Mn}/u.test(character) ? 0 : character >= "\u2e80" ? 2 : 1);
  const characters = [...printable(text)];
  if (characters.reduce((sum, character) => sum + columns(character), 0) <= n) return text;
  let room = n - 3;
  return characters.slice(0, characters.findIndex((character) => (room -= columns(character)) < 0)).join("") + "...";
}

/* Draws a row with the mean and the interval of all cases, and one for each task class. */
function classImage(width, report, shown) {
  const height = (shown.length + 1) * ROWS.height + 30, left = Math.min(ROWS.left, Math.round(0.34 * width));
  const xOf = (value) => fixed(left + value * (width - left - ROWS.right), 1);
  const row = (name, { mean, interval }, y) => [
    label(left - 10, fixed(y + 4, 1), "end", fit(name, Math.floor((left - 10) / CHARACTER)), "name"),
    interval.low === null ? null : line("range", xOf(interval.low), fixed(y, 1), xOf(interval.high), fixed(y, 1)),
    mean === null ? null : draw("circle", { class: "dot", cx: xOf(mean), cy: fixed(y, 1), r: 4 }),
    mean === null ? null : label(width, fixed(y + 4, 1), "end", fixed(mean)),
  ];
  const grid = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    line("grid", xOf(value), 4, xOf(value), height - 22), label(xOf(value), height - 8, "middle", String(value))]);
  const { mean } = report.score;
  return image(width, height, "Mean score of each task class with its interval; the table below has the numbers",
    grid, mean === null ? null : line("mean", xOf(mean), 4, xOf(mean), height - 22),
    row("all", report.score, ROWS.height / 2 + 4),
    shown.map((item, i) => row(item.task_class, item.score, ROWS.height * (i + 1.5) + 4)));
}

function classPlot(report) {
  const shown = report.classes.slice(0, ROWS.most);
  return figure("Mean score by task class", (width) => classImage(width, report, shown),
    "dot: mean; bar: interval; dashed: mean of all",
    shown.length < report.classes.length ? `; the first ${shown.length} of ${report.classes.length} classes` : null);
}

/* Draws a row for each case: a line from what it was to a dot at what it is. */
function changesImage(width, items) {
  const height = items.length * ROWS.height + 30, left = Math.min(ROWS.left, Math.round(0.34 * width));
  const xOf = (value) => fixed(left + value * (width - left - ROWS.right), 1);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    line("grid", xOf(value), 4, xOf(value), height - 22), label(xOf(value), height - 8, "middle", String(value))]);
  const row = ({ id, before, after }, y) => {
    const style = after < before ? "fall" : "rise";
    return [label(left - 10, fixed(y + 4, 1), "end", fit(id, Math.floor((left - 10) / CHARACTER)), "name"),
      line(style, xOf(before), fixed(y, 1), xOf(after), fixed(y, 1)),
      draw("circle", { class: style, cx: xOf(after), cy: fixed(y, 1), r: 5 }),
      label(width, fixed(y + 4, 1), "end", signed(after - before).slice(0, 5))];
  };
  return image(width, height, "Pass rate of each case that changed, before and now; the tables have the numbers",
    grid, items.map((item, i) => row(item, ROWS.height * (i + 0.5) + 4)));
}

function changesPlot({ regressions, improvements }) {
  const all = [...regressions.shown, ...improvements.shown], shown = all.slice(0, ROWS.most);
  if (shown.length === 0) return null;
  return figure("Before and now", (width) => changesImage(width, shown),
    "dot: pass rate now; line: from what it was before",
    shown.length < all.length ? `; the first ${shown.length} of ${all.length} cases` : null);
}

function plots(report) {
  return section("Scores and times", make("div", { class: "charts" },
    scorePlot(report), classPlot(report), latencyPlot("Wall clock", report.latency_ms.wall_clock),
    latencyPlot("Queue time", report.latency_ms.queue)));
}

/* --- how it was run ----------------------------------------------------------------------- */

const fact = (name, ...children) => [make("dt", {}, name), make("dd", {}, ...children)];
/* A result line may have any JSON in place of these texts. */
const textOf = (value) => (typeof value === "string" ? value : "");

function population({ class: name, digest, layers, mode, results, why_not: whyNot }) {
  const list = Array.isArray(layers) ? layers.map(textOf).join(", ") : "";
  const told = [textOf(name), " ", mono(textOf(digest)), lineBreak(), list];
  const shared = [lineBreak(), "shared mode: the graded code could forge its verdict"];
  return fact("Isolation", `${results} results: `, name === null ? textOf(whyNot) : told, mode === "shared" ? shared : null);
}

/* In words, and complete as JSON. */
const host = ({ words, json }) => fact("Host", words,
  make("details", {}, make("summary", {}, "the whole description"), make("code", {}, json)));

function circumstances(report, exact) {
  const { rubricd, rubrics, cases, missing, bootstrap, rubricctl } = report.reproducibility;
  const rubric = (item) => [item.task_class, " ", mono(item.digest)];
  return section("How it was run", make("dl", { class: "facts" },
    report.populations.flatMap(population),
    rubricd === null ? null : fact("rubricd", rubricd.join(", ")),
    exact.hosts.flatMap(host),
    rubrics === null ? null : fact("Rubrics", joined(rubrics.map(rubric), lineBreak).flat()),
    cases === null ? null : fact("Cases", `${cases.cases}, digest `, mono(cases.digest)),
    Object.entries(missing).flatMap(([name, why]) => fact(name, `not known: ${why}`)),
    fact("Intervals", `${confidence(report)} intervals of the mean over cases, by the BCa bootstrap with ` +
      `${bootstrap.resamples} resamples and seed ${exact.seed}. A case counts once, with the mean of its samples.`),
    fact("Report by", `rubricctl ${rubricctl}`)));
}

/* --- the head of the page ----------------------------------------------------------------- */

function subtitle(report) {
  const { started_at: started, finished_at: finished } = report.reproducibility;
  const shown = report.files.slice(0, 5), more = report.files.length - shown.length;
  return make("p", { class: "muted" }, joined(shown.map((file) => mono(file.name)), () => ", "),
    more > 0 ? ` and ${more} more` : null, started === null ? null : ` \u00b7 ${started} to ${finished}`);
}

function notices(report) {
  const unusable = report.files.reduce((sum, file) => sum + file.unusable, 0);
  const crashed = report.failure_modes.filter(({ code }) => code === "rubric.malformed_output")
    .reduce((sum, { count }) => sum + count, 0);
  return [
    report.mixed ? notice(make("strong", {}, "Mixed populations."),
      " The jobs were isolated in different ways: a mean over their results compares nothing.") : null,
    crashed > 0 ? notice(`Of ${crashed} of the failed the rubric crashed or wrote no score, so the score of 0 ` +
      "says nothing of the answer.") : null,
    report.changed_cases > 0 ? notice("Some case ids came with different content; each id counts as one case.") : null,
    unusable > 0 ? notice(`${unusable} line${plural(unusable)} of the input could not be used.`) : null,
  ];
}

const tile = (name, value, note, style = "") => make("div", {}, make("dt", {}, name),
  make("dd", { class: `value${style}` }, value), make("dd", { class: "muted" }, note));

function estimateTile(report, name, { mean, interval }) {
  const note = interval.method === null ? `no interval: ${interval.why_not}`
    : `${fixed(interval.low)} to ${fixed(interval.high)}, ${methodOf(interval)} ${confidence(report)}`;
  return tile(name, real(mean), note);
}

function tiles(report) {
  const { totals, cost_usd: cost } = report, wasted = cost.of_attempts_that_do_not_count;
  const ks = report.pass_at_k.filter((item) => item.estimate !== null);
  return make("dl", { class: "tiles" },
    estimateTile(report, "Mean score", report.score),
    estimateTile(report, "Pass rate", report.pass_rate),
    ks.map((item) => estimateTile(report, `pass@${item.k}`, item.estimate)),
    tile("Cases", String(totals.cases), `${totals.results} results: ${totals.passed} passed, ${totals.failed} failed`),
    tile("Errors", String(totals.errors), "without a verdict; not counted as failed", totals.errors > 0 ? " bad" : ""),
    tile("Cost", dollars(cost.total), wasted > 0 ? `plus ${dollars(wasted)} for attempts that do not count` : "for all results"));
}

/* --- the page ----------------------------------------------------------------------------- */

function build({ report, exact }) {
  document.querySelector("header").append(subtitle(report));
  add(document.body, {}, [...notices(report), tiles(report),
    make("main", {}, failures(report), errors(report), against(report), plots(report), classes(report),
      modes(report), circumstances(report, exact))]);
  dispatchEvent(new Event("resize")); /* now that each plot has its width */
}

try {
  build(JSON.parse(document.getElementById("data").textContent));
} catch (error) {
  document.body.append(notice(`The script of this page failed, and parts of the report are missing: ${error}`));
  throw error;
}
