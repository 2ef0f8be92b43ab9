"""Opens the pages of a site in headless Chromium and reports what is wrong with them as they are shown.

A server on this machine gives out the site, with a script before all others in each page that writes down errors. One
page of the browser opens all others in a frame, of the width of a desk and of a phone, in the light and in the dark,
and as it is printed from the dark, and sends back what it found.
"""

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

WITNESS = """<script>
window.noted = [];
addEventListener("error", e => noted.push(e.message || "cannot load " + (e.target.src || e.target.href)), true);
addEventListener("unhandledrejection", e => noted.push("rejected: " + e.reason));
const said = console.error; console.error = (...words) => { noted.push(words.join(" ")); said(...words); };
</script>"""

VISITOR = """<!doctype html><link rel="icon" href="data:,"><body><iframe id="frame" height="900"></iframe><script>
const SHRINKS = 1.25;  // what is wider than the paper, Chromium prints smaller, up to this factor
const pages = PAGES, PROBES = PROBED, frame = document.getElementById("frame"), found = [];
const pause = ms => new Promise(done => setTimeout(done, ms));
const brightness = colour => {
  const light = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(light);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
function behind(element, view) {
  for (let one = element; one; one = one.parentElement) {
    const colour = view.getComputedStyle(one).backgroundColor;
    if (!/, 0\\)$|transparent/.test(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
}
function contrast(element, view, paper) {
  const style = view.getComputedStyle(element), drawn = element.namespaceURI.endsWith("svg");
  const [a, b] = [brightness(drawn ? style.fill : style.color), brightness(paper || behind(element, view))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
function scrolls(element, view) {
  for (let one = element; one; one = one.parentElement)
    if (/auto|scroll|hidden/.test(view.getComputedStyle(one).overflowX)) return true;
  return false;
}
function look(page, width, view, inside) {
  const wrong = [], root = inside.documentElement, article = inside.querySelector("[role=main]");
  if (root.scrollWidth > root.clientWidth) wrong.push("the page scrolls sideways");
  for (const one of article.querySelectorAll("*")) {
    const box = one.getBoundingClientRect();
    if (box.width && box.right > root.clientWidth + 1 && !scrolls(one.parentElement, view))
      wrong.push("cut off: " + one.tagName + " " + one.textContent.slice(0, 40));
  }
  for (const one of article.querySelectorAll("div.math")) {
    const number = one.querySelector(".eqno"), formula = one.querySelector(".formula");
    if (number && number.getBoundingClientRect().left < formula.getBoundingClientRect().right)
      wrong.push("a number over a formula: " + number.textContent);
  }
  for (const one of article.querySelectorAll("math"))
    if (one.textContent.trim() !== "…" && one.checkVisibility() && one.getBoundingClientRect().height < 4)
      wrong.push("an empty formula: " + one.textContent);
  return wrong.map(words => `${width}px: ${words}`);
}
function read(theme, view, inside) {
  inside.body.dataset.theme = theme;
  const wrong = new Set();
  for (const one of inside.querySelectorAll(
    "[role=main] :is(p, li, td, th, h1, h2, h3, a, code, summary, strong), [role=main] svg.figure text"))
    if (one.tagName !== "a" && one.checkVisibility() && contrast(one, view) < 4.5)
      wrong.add(`${theme}: hard to read: ${one.tagName} ${one.textContent.slice(0, 40)}`);
  return [...wrong];
}
function to_paper(rules) {
  for (const rule of rules) {
    const media = rule.media && rule.media.mediaText;
    if (media) rule.media.mediaText = /screen|not print/.test(media) ? "not all" : media.replace(/\\bprint\\b/, "all");
    if (rule.cssRules) to_paper(rule.cssRules);
  }
}
function print(view, inside) {
  const wrong = [], root = inside.documentElement;
  for (const sheet of inside.styleSheets) to_paper([sheet, ...sheet.cssRules]);
  inside.body.dataset.theme = "dark";
  for (const name of ["sidebar-drawer", "toc-drawer", "mobile-header", "related-pages", "content-icon-container"])
    for (const one of inside.getElementsByClassName(name)) if (one.checkVisibility()) wrong.push("printed: " + name);
  for (const one of inside.querySelectorAll("[role=main] *")) {
    const hides = view.getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
    const fits = one.getBoundingClientRect().right <= SHRINKS * root.clientWidth;
    if (one.checkVisibility() && !one.closest("math math, svg *") && (hides || !fits))
      wrong.push("cut off: " + one.tagName + " " + one.textContent.slice(0, 40));
  }
  for (const one of inside.querySelectorAll("[role=main] :is(p, li, td, h2, code, summary, svg.figure text)"))
    if (one.checkVisibility() && contrast(one, view, "rgb(255, 255, 255)") < 4.5)
      wrong.push("hard to read: " + one.tagName + " " + one.textContent.slice(0, 40));
  return [...new Set(wrong)].map(words => "paper: " + words);
}
async function visit(page) {
  frame.style.width = "1280px";
  await new Promise(done => { frame.onload = done; frame.src = page; });
  const view = frame.contentWindow, inside = frame.contentDocument, wrong = [];
  await inside.fonts.ready;
  for (const one of inside.querySelectorAll("details")) one.open = true;
  for (const width of [1280, 500, 390]) {
    frame.style.width = width + "px";
    await pause(30);
    wrong.push(...look(page, width, view, inside));
  }
  for (const theme of ["light", "dark"]) wrong.push(...read(theme, view, inside));
  const loaded = [...inside.fonts].some(font => font.family.includes("Byheart Math") && font.status === "loaded");
  if (inside.querySelector("math") && !loaded) wrong.push("no font for formulas");
  const probed = page in PROBES ? view.eval(PROBES[page]) : null;
  const hosts = view.performance.getEntriesByType("resource").map(one => new URL(one.name, view.location).host);
  wrong.push(...hosts.filter(host => host !== view.location.host).map(host => "asks " + host));
  frame.style.width = "720px";  // of A4, less its margins
  wrong.push(...print(view, inside));
  return { page, probed, wrong: [...wrong, ...view.noted] };
}
async function search(words) {
  await new Promise(done => { frame.onload = done; frame.src = "search.html?q=" + encodeURIComponent(words); });
  const links_now = () => frame.contentDocument.querySelectorAll("#search-results li a");
  for (let wait = 0; wait < 100 && !links_now().length; wait++) await pause(100);
  await pause(300);
  return { words, links: [...links_now()].map(one => one.getAttribute("href")), wrong: frame.contentWindow.noted };
}
(async () => {
  for (const page of pages) found.push(await visit(page));
  const searched = [];
  for (const words of WORDS) searched.push(await search(words));
  await fetch("/report", { method: "POST", body: JSON.stringify({ pages: found, searched }) });
})().catch(error => fetch("/report", { method: "POST", body: JSON.stringify({ failed: String(error.stack) }) }));
</script>"""


def chromium() -> str | None:
    """The program, where there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class _Server(SimpleHTTPRequestHandler):
    """The site with a witness in each page, the visitor, and a place for its report."""

    visitor = ""
    refused: list[str]
    report: dict[str, Any]
    reported: threading.Event

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if self.path == "/visitor":
            self._send(self.visitor.encode())
        elif path.suffix == ".html" and path.is_file():
            self._send(path.read_text(encoding="utf-8").replace("<head>", "<head>" + WITNESS, 1).encode())
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self.report.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._send(b"")
        self.reported.set()

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        if not str(getattr(code, "value", code)).startswith(("2", "3")):
            self.refused.append(f"{code} {self.path}")

    def log_message(self, format: str, *args: object) -> None:
        pass


def visited(
    site: Path,
    pages: Sequence[str],
    *,
    searches: Sequence[str],
    probes: Mapping[str, str] | None = None,
    seconds: float = 900,
) -> dict[str, Any]:
    """What is wrong with each page, what each search finds, and which requests failed.

    `probes` has a JavaScript expression for some pages; its value there is reported as `probed`.

    Raises:
        TimeoutError: The browser has not reported in time.
    """
    program = chromium()
    assert program is not None
    report: dict[str, Any] = {}
    visitor = VISITOR.replace("PAGES", json.dumps(list(pages))).replace("WORDS", json.dumps(list(searches)))
    visitor = visitor.replace("PROBED", json.dumps(dict(probes or {})))
    parts = {"visitor": visitor, "refused": [], "report": report, "reported": threading.Event()}
    handler = type("Server", (_Server,), parts)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--disable-gpu", "--disable-software-rasterizer", "--no-first-run", "--mute-audio"]
        options += ["--disable-dev-shm-usage", "--disable-background-networking", "--window-size=1400,1000"]
        options += [f"--user-data-dir={profile}"]
        options += ["--no-sandbox"] * (os.geteuid() == 0)
        address = f"http://127.0.0.1:{server.server_port}/visitor"
        quiet = subprocess.DEVNULL
        browser = subprocess.Popen(
            [program, *options, "--remote-debugging-port=0", address], stdout=quiet, stderr=quiet
        )
        try:
            if not parts["reported"].wait(seconds):
                raise TimeoutError(f"no report from {program} within {seconds} seconds")
        finally:
            browser.terminate()
            browser.wait(30)
            server.shutdown()
            server.server_close()
    return {**report, "refused": parts["refused"]}
