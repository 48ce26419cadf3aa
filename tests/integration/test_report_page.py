# SPDX-License-Identifier: MIT
"""The HTML page of rubricctl report: its data, and how a browser renders it.

The page's own script builds it from a report that is embedded as JSON. Tests without a browser check
that report. Tests with a browser check what people see."""

import base64
import hashlib
import html.parser
import json
import re
import shutil
import subprocess
import urllib.request

import pytest
from conftest import DEADLINE
from test_report import HOSTILE, Place, error, result

pytestmark = pytest.mark.once

SHOWN = "</script><script>alert(1)</script>\"'&\\x1b[31m\\u202e\ud7ff\ufffd\\n"
VOID = {"meta", "input", "br"}


class Page(html.parser.HTMLParser):
    """A strict parser: every element must be closed, in the right order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words, self.tables, self.raw = [], [], [], {}, {}
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "table":
            self.tables[dict(attrs)["id"]] = self.rows = []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"{tag} closes {self.open}"
        self.open.pop()

    def handle_data(self, data):
        if self.open[-1:] in (["script"], ["style"]):
            tag, attributes = self.elements[-1]
            name = attributes.get("id", tag)
            self.raw[name] = self.raw.get(name, "") + data
            return
        self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


@pytest.fixture(name="place")
def make_place(tmp_path):
    return Place(tmp_path)


def some_results():
    modes = [
        {"code": f"c{HOSTILE}", "severity": "block", "detail": f"d{HOSTILE}"},
        {"code": "late", "severity": "warn"},
    ]
    return [
        *[result(f"good/{n}", 1, task_class="one") for n in range(5)],
        result("bad/10", 0.5, task_class="one", usage={"wall_clock_ms": 1200}),
        result("bad/9", 0.25, task_class="two", usage={"wall_clock_ms": 900},
               modes=[{"code": "odd", "severity": "block"}]),
        result(f"bad/8{HOSTILE}", 0, task_class=f"three{HOSTILE}", modes=modes),
        error(f"lost{HOSTILE}", message=f"m{HOSTILE}"),
    ]  # fmt: skip


def make_page(place, *lines):
    place.write("r.jsonl", *lines)
    done = place.run("r.jsonl", "-q", "-f", "-o", "page.html")
    assert done.returncode in (0, 4), done.stderr
    return (place.directory / "page.html").read_text()


def data_of(text):
    """Returns the data that the page embeds for its script."""
    return json.loads(Page(text).raw["data"])


def report_of(place, *arguments):
    """Returns the report of --json. It prints 15 digits of a number; the page has 17."""
    return json.loads(place.run("--json", *arguments).stdout)


def shortened(data):
    return json.loads(json.dumps(data), parse_float=lambda number: float(f"{float(number):.15g}"))


# The file


def test_page_cannot_be_broken_out_of(place):
    text = make_page(place, *some_results(), result(f"\u2028\x7f<!--{HOSTILE}", 0))
    page = Page(text)
    # One element has the report and one the script. Neither loads anything from elsewhere.
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    for tag, attributes in page.elements:
        assert not attributes.keys() & {"src", "href", "style", "srcset"}, (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    assert "url(" not in text and "@import" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u202e]", text)
    assert not re.search(r"[<>&]", page.raw["data"]) and page.raw["data"].isascii()
    assert "alert(1)" not in text.replace(page.raw["data"], "")


def test_policy_allows_the_page_alone(place):
    page = Page(make_page(place, *some_results()))
    policies = [attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes]

    def digest(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    assert policies == [
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {digest(page.raw['style'])}; script-src {digest(page.raw['script'])}"
    ]


def test_data_are_the_report(place):
    """The script gets everything that --json prints, except the list of cases."""
    host = {"cpus": 2, "limits": {"slots": 2**60 + 1}, "memory_bytes": 2**30, "x": f"</script>{HOSTILE}"}
    lines = [*some_results(), result("h", 1 / 3, run={"host": host})]
    place.write("before.jsonl", *[result(f"good/{n}", 0) for n in range(5)], result("bad/9", 1))
    seed = ["--seed", "9223372036854775807"]
    text = make_page(place, *lines)
    for arguments in ([], ["--against", "before.jsonl"], seed, ["--cases"], ["-k", "1,9"]):
        text = place.run("--html", "r.jsonl", *arguments).stdout
        report, data = report_of(place, "r.jsonl", *arguments), data_of(text)
        assert data.keys() == {"report", "exact"}
        assert shortened(data["report"]) == {**report, "cases": None}
        # Values that do not fit into a number of JavaScript.
        assert data["exact"]["seed"] == str(report["reproducibility"]["bootstrap"]["seed"])
        (exact,) = data["exact"]["hosts"]
        assert json.loads(exact["json"]) == host
        assert exact["words"] == "interpreter not known, system not known, 2 CPUs, 1.0 GiB, 1152921504606846977 slots"
    # The script uses only members that a report has.
    read = set(re.findall(r"\breport\.([a-z_]+)", Page(text).raw["script"]))
    assert len(read) > 10 and read <= report.keys()


def test_without_scripts(place):
    page = Page(make_page(place, *some_results()))
    assert "noscript" in [tag for tag, _ in page.elements]
    assert "your browser does not run scripts" in " ".join(page.words)


def test_many_failures_are_cut(place):
    text = make_page(place, *[result(f"bad/{n}", n / 3000) for n in range(1500)])
    failures = data_of(text)["report"]["failures"]
    assert (len(failures["shown"]), failures["total"]) == (1000, 1500)
    assert failures["shown"][-1]["id"] == "bad/999"
    assert len(text) < 400_000


# In a browser


class Browser:
    """A headless Chromium, controlled by the WebDriver protocol."""

    def __init__(self, directory, scheme):
        driver = shutil.which("chromedriver")
        if not driver or not (shutil.which("chromium") or shutil.which("google-chrome")):
            pytest.skip("chromium or chromedriver is not installed")
        self.driver = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.session = None
        for line in self.driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                self.url = f"http://127.0.0.1:{found[1]}/session"
                break
        arguments = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", f"--user-data-dir={directory / 'profile'}",
            f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
        ]  # fmt: skip
        options = {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        made = self.ask("POST", "", {"capabilities": {"alwaysMatch": options}})
        self.session = made["sessionId"]

    def ask(self, method, path, body=None):
        session = f"/{self.session}" if self.session else ""
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        # The browser listens on loopback: ignore the environment's proxy.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(
            self.url + session + path, data, {"Content-Type": "application/json"}, method=method
        )
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        self.ask("POST", "/url", {"url": f"file://{path}"})

    def run(self, script):
        return self.ask("POST", "/execute/sync", {"script": script, "args": []})

    def press(self, key):
        """Presses a key on the element that has the focus."""
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": keys}]})

    def log(self):
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})]

    def close(self):
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(DEADLINE)
            self.driver.stdout.close()


@pytest.fixture(name="browser")
def start_browser(tmp_path, request):
    browser = Browser(tmp_path, getattr(request, "param", "light"))
    yield browser
    browser.close()


RENDERED = "return document.documentElement.outerHTML"


def render(place, browser, *lines):
    """Returns the page of LINES after its script has run."""
    make_page(place, *lines)
    browser.open(place.directory / "page.html")
    return Page(browser.run(RENDERED))


def test_page(place, browser):
    page = render(place, browser, *some_results())
    assert [row[0] for row in page.tables["failures"][1:]] == [f"bad/8{SHOWN}", "bad/9", "bad/10"]
    assert page.tables["failures"][1][2] == f"c{SHOWN}, late"
    assert page.tables["failures"][1][5] == f"d{SHOWN}"
    assert [row[0] for row in page.tables["classes"][1:]] == ["(not known)", "one", f"three{SHOWN}", "two"]
    assert page.tables["errors"][1] == ["internal", "1", f"lost{SHOWN}m{SHOWN}"]
    # No text from the results has become an element or an attribute.
    assert [tag for tag, _ in page.elements].count("script") == 2
    for tag, attributes in page.elements:
        assert not attributes.keys() & {"src", "href", "style", "srcset", "data"}, (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", "".join(page.words))
    assert browser.log() == []


def test_every_plot_is_described(place, browser):
    page = render(place, browser, *some_results())
    plots = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(plots) == 4
    assert all(plot["role"] == "img" and plot["aria-label"] for plot in plots)


def test_many_failures_are_shown_cut(place, browser):
    page = render(place, browser, *[result(f"bad/{n}", n / 3000) for n in range(1500)])
    assert len(page.tables["failures"]) == 1 + 1000
    assert page.tables["failures"][1000][0] == "bad/999"
    assert "The 1000 with the lowest scores of 1500 that failed." in " ".join(page.words)


def test_nothing_failed(place, browser):
    page = render(place, browser, result("a", 1), result("b", 1))
    assert "failures" not in page.tables and "No result failed." in page.words


def test_numbers_are_those_of_the_text(place, browser):
    """Including numbers halfway between two roundings, and numbers too large for JavaScript."""
    scores = [n / 32 for n in range(32)]
    lines = [result(f"{n}", score, task_class=f"c{n:02}") for n, score in enumerate(scores)]
    host = {"cpus": 1, "limits": {"slots": 2**60 + 1}, "memory_bytes": 1}
    lines.append(result("h", 1, task_class="last", run={"host": host, "rubricd": "0.1"}))
    place.write("r.jsonl", *lines)
    place.run("--html", "-o", "page.html", "--seed", "9223372036854775807", "r.jsonl")
    browser.open(place.directory / "page.html")
    page = Page(browser.run(RENDERED))
    text = place.run("r.jsonl").stdout
    for row in page.tables["classes"][1:]:
        assert re.search(rf"^  {row[0]} .*\d/1 +{row[5]}\b", text, re.M), (row, text)
    words = " ".join(page.words)
    assert "seed 9223372036854775807." in words
    assert "1152921504606846977 slots" in words and '{"slots":1152921504606846977}' in words


def test_a_page_that_fails_says_so(place, browser):
    text = make_page(place, *some_results())
    data = Page(text).raw["data"]
    (place.directory / "page.html").write_text(text.replace(data, data.replace('"classes":', '"other":', 1)))
    browser.open(place.directory / "page.html")
    assert "The script of this page failed" in " ".join(Page(browser.run(RENDERED)).words)


def test_plots_are_drawn_to_their_width(place, browser):
    render(place, browser, *some_results())
    for width in (None, 1200, 500):
        if width:
            browser.ask("POST", "/window/rect", {"width": width, "height": 800})
        scales = browser.run("""return [...document.querySelectorAll("svg")]
            .map((plot) => plot.clientWidth / plot.viewBox.baseVal.width)""")
        assert all(0.98 < scale < 1.02 for scale in scales), (width, scales)


CELLS = """return [...document.querySelectorAll("#failures tbody tr")]
    .filter((row) => !row.hidden).map((row) => row.cells[%d].textContent)"""
SORTED = """return [...document.querySelectorAll("#failures th")]
    .map((head) => head.getAttribute("aria-sort"))"""


def test_sorting_and_filtering(place, browser):
    make_page(place, *some_results())
    browser.open(place.directory / "page.html")
    heads = browser.run('return [...document.querySelectorAll("#failures th")].map((h) => h.textContent)')
    assert heads == ["Case", "Task class", "Failure modes", "Score", "Wall clock", "Reason"]
    worst = [f"bad/8{SHOWN}", "bad/9", "bad/10"]
    assert browser.run(CELLS % 0) == worst
    assert browser.run(SORTED) == [None] * 6
    # By score, ascending and then descending, with the keyboard alone.
    browser.run('document.querySelectorAll("#failures th button")[3].focus()')
    browser.press("\ue007")
    assert browser.run(CELLS % 3) == ["0.0000", "0.2500", "0.5000"]
    assert browser.run(SORTED) == [None, None, None, "ascending", None, None]
    browser.press(" ")
    assert browser.run(CELLS % 3) == ["0.5000", "0.2500", "0.0000"]
    assert browser.run(SORTED) == [None, None, None, "descending", None, None]
    # By time: the order is that of the durations, not of their texts.
    browser.run('document.querySelectorAll("#failures th button")[4].click()')
    assert browser.run(CELLS % 4) == ["5 ms", "900 ms", "1.2 s"]
    # By case: 9 comes before 10.
    browser.run('document.querySelector("#failures th button").click()')
    assert browser.run(CELLS % 0) == worst
    assert browser.run(SORTED) == ["ascending", None, None, None, None, None]

    browser.run('words.value = "BAD/1"; words.dispatchEvent(new Event("input"))')
    assert browser.run(CELLS % 0) == ["bad/10"]
    assert browser.run("return shown.textContent") == "1 of 3 shown"
    browser.run('words.value = ""; code.value = "late"; code.dispatchEvent(new Event("change"))')
    assert browser.run(CELLS % 0) == worst[:1]
    # No text from the results has run, and the page's policy has blocked no part of the page.
    assert browser.log() == []


CONTRAST = """
const luminance = (colour) => {
  const [r, g, b] = colour.match(/\\d+/g).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
};
let least = 21;
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const of = element instanceof SVGElement ? style.fill : style.color;
  const [a, b] = [luminance(of), luminance(behind(element))].sort((x, y) => y - x);
  least = Math.min(least, (a + 0.05) / (b + 0.05));
}
return [least, getComputedStyle(document.body).backgroundColor];
"""


@pytest.mark.parametrize("browser, background", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(13, 17, 23)")],
                         indirect=["browser"])  # fmt: skip
def test_both_schemes_can_be_read(place, browser, background):
    """Each text has the contrast to its background that WCAG requires, 4.5 to 1."""
    make_page(place, *some_results())
    browser.open(place.directory / "page.html")
    least, behind = browser.run(CONTRAST)
    assert behind == background
    assert least >= 4.5
    # The page fits the width of a telephone; wide tables scroll on their own.
    browser.ask("POST", "/window/rect", {"width": 500, "height": 800})
    width, room = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert width <= room


def test_page_of_a_comparison(place, browser):
    place.write("before.jsonl", *[result(f"c{n}{HOSTILE}", 1) for n in range(5)])
    place.write("after.jsonl", *[result(f"c{n}{HOSTILE}", int(n > 1)) for n in range(5)])
    place.run("after.jsonl", "--against", "before.jsonl", "--html", "-o", "page.html")
    browser.open(place.directory / "page.html")
    page = Page(browser.run(RENDERED))
    assert page.tables["regressions"][1:] == [[f"c{n}{SHOWN}", "1.0000", "0.0000"] for n in range(2)]
    assert "-0.4000" in page.words and "improvements" not in page.tables


def test_failures_come_first_with_what_they_wrote(place, browser):
    """Also on a telephone, where the table is a list of blocks."""
    crash = result("a", 0, passed=False, modes=[
        {"code": "rubric.malformed_output", "severity": "block", "detail": "Traceback (most recent call last):\n  F"}
    ])
    crash["outcome"] = {"stderr": 'Traceback (most recent call last):\n  File "x"\n\tkey()\nKeyError: \'<b>k</b>\'\n'}
    place.write("now.jsonl", crash, result("b", 1))
    place.write("old.jsonl", result("a", 1), result("b", 0))
    assert place.run("now.jsonl", "--against", "old.jsonl", "-o", "page.html", "--quiet").returncode == 0
    browser.open(place.directory / "page.html")
    heads = browser.run('return [...document.querySelectorAll("main h2")].map((h) => h.textContent)')
    assert heads[0] == "Failed results"
    row = browser.run('return document.querySelector("#failures tbody tr").innerText')
    lines = [line.strip() for line in row.splitlines()]
    assert "KeyError: '<b>k</b>'" in lines
    assert 'File "x"' in lines
    assert lines.count("Traceback (most recent call last):") == 1
    styles = browser.run("""return [...document.querySelectorAll("circle.fall, circle.rise")]
        .map((dot) => dot.getAttribute("class"))""")
    assert styles == ["fall", "rise"]
    browser.ask("POST", "/window/rect", {"width": 500, "height": 800})
    browser.run('document.documentElement.style.width = "400px"')
    wide = browser.run("""return [...document.querySelectorAll("#failures td, #failures pre")]
        .filter((e) => e.getBoundingClientRect().right > 401).length""")
    assert wide == 0
