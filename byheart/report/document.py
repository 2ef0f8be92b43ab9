"""What every page for a person has in common: one HTML file that needs no network, no script and no other file.

Page: docs/commands.md
"""

import html
from collections.abc import Mapping, Sequence

from byheart.report.drawing import STYLE


def document(title: str, body: str) -> str:
    """Return a whole HTML document with the style sheet of the pages, for the light, the dark and for paper.

    Args:
        title: Of the window, as text.
        body: What it shows, as HTML.

    Example:
        >>> page = document("<A>", "<h1>B</h1>")
        >>> "<title>&lt;A&gt;</title>" in page, "<main>\\n<h1>B</h1></main>" in page
        (True, True)
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{_STYLE}{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n"
        "</html>\n"
    )


def section(title: str, body: str) -> str:
    """Return a heading and what is below it; nothing where nothing is.

    Args:
        title: As HTML.
        body: As HTML.
    """
    return f"<section><h2>{title}</h2>{body}</section>\n" if body else ""


def badge(verdict: str, words: str = "") -> str:
    """Return a verdict in its colour.

    Args:
        verdict: PROVED, REFUTED, or anything else for undecided.
        words: What is shown; the verdict by default.
    """
    kind = {"PROVED": "proved", "REFUTED": "refuted"}.get(verdict, "undecided")
    return f'<span class="verdict {kind}">{escaped(words or verdict)}</span>'


def grouped(value: int) -> str:
    """Return an integer with separators, as every screen has them."""
    return f"{value:,}"


def claims(statements: Sequence[tuple[str, str]]) -> str:
    """Return a table of what a certificate states, each with who can check it; nothing where nothing is stated."""
    rows = "".join(
        f"<tr><td>{badge('PROVED')}</td><td>{escaped(statement)}</td><td class='quiet'>checked by the "
        f"{escaped(checker)}</td></tr>"
        for statement, checker in statements
    )
    return f"<table class='claims'><tbody>{rows}</tbody></table>" if rows else ""


def files(digests: Mapping[str, str], provenance: Mapping[str, str], proved_from: str) -> str:
    """Return the hashes of files, and how everything is checked again.

    Args:
        digests: SHA-256 of each file by its name.
        provenance: Names and versions of what made them.
        proved_from: What a checker needs, in words.
    """
    rows = "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(digest)}</td></tr>" for name, digest in digests.items())
    made = ", ".join(f"{escaped(name)} {escaped(version)}" for name, version in provenance.items())
    return (
        f"<table class='digests'><tbody>{rows}</tbody></table><p>Nobody has to believe this page. In the folder it "
        f"lies in:</p><pre>byheart check . --fast          # proves every claim again, from {proved_from} alone\n"
        "sha256sum *                     # compares the files with the hashes above</pre>"
        f"<p class='quiet'>Made by: {made}.</p>"
    )


def escaped(text: str) -> str:
    """Return a text as HTML; what no file can hold, half of a surrogate pair, is spelled out."""
    return html.escape("".join(c if not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in text))


_STYLE = """
:root{--ink:#1c2430;--soft:#5b6675;--line:#dfe4ea;--ground:#fff;--panel:#f6f8fa;--first:#2457a6;--second:#2a9d8f;
--paper:#d9822b;--good:#1a7f4b;--bad:#b3261e;--open:#9a6700;--mark:#1a7f4b;--token:#eef1f5;--cell:#f3f6fa;--grid:#e9edf1;
--axis:#9aa5b1;--bar:#a9b4c2;color-scheme:light dark}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa7b5;--line:#30363d;--ground:#0d1117;
--panel:#161b22;--first:#6ea8fe;--second:#4cc2b2;--paper:#f0a35e;--mark:#56d364;--token:#262d36;--cell:#161b22;--grid:#21262d;
--axis:#6e7a87;--bar:#56616d}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"DejaVu Sans",sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
.brand{margin:0;color:var(--soft);letter-spacing:.08em;font-size:.85rem;text-transform:uppercase}
h1{font-size:1.75rem;line-height:1.25;margin:.2rem 0 .6rem}
h2{font-size:1.2rem;margin:2.6rem 0 .6rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:.95rem;margin:0 0 .5rem}
p{margin:.4rem 0 .8rem;max-width:46rem}
code,pre,.t,.digests td{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{background:var(--panel);border-radius:6px;padding:.8rem 1rem;overflow-x:auto;font-size:.85rem}
.quiet,figcaption{color:var(--soft);font-size:.88rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(15.5rem,1fr));gap:.75rem;margin:1.2rem 0 0}
.card{background:var(--panel);border-radius:8px;padding:.8rem 1rem}
.card dt{color:var(--soft);font-size:.85rem}
.card dd{margin:.1rem 0;font-size:1.4rem;font-weight:600;white-space:nowrap}
.card dd small{font-size:.9rem;font-weight:400;color:var(--soft)}
.card p{margin:0;color:var(--soft);font-size:.82rem;line-height:1.35}
.verdict{display:inline-block;padding:.1em .6em;border-radius:1em;font-size:.8rem;font-weight:600;color:#fff;
vertical-align:.2em;white-space:nowrap}
.proved{background:var(--good)}.refuted{background:var(--bad)}.undecided{background:var(--open)}
table{border-collapse:collapse}
.claims td{padding:.45rem .8rem .45rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
.scroll{overflow-x:auto;max-width:100%}
.figures{width:100%;font-variant-numeric:tabular-nums}
.figures th,.figures td{text-align:right;padding:.4rem .6rem;border-bottom:1px solid var(--line);white-space:nowrap}
.figures thead th{color:var(--soft);font-weight:400;font-size:.85rem;white-space:normal}
.figures tr>:first-child,.figures tr>:nth-child(2){text-align:left}
.digests th{text-align:left;font-weight:400;padding:.15rem 1rem .15rem 0}
.digests td{font-size:.78rem;color:var(--soft);word-break:break-all}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1rem 2rem;margin:.8rem 0 1.2rem}
.count{font-size:.88rem;margin:.3rem 0}.count>span{color:var(--soft)}
.row{display:flex;align-items:center;gap:.4rem;height:1.15rem}
.fill{display:block;height:.8rem;min-width:1px;border-radius:2px;background:var(--soft)}
.value{font-size:.8rem;font-variant-numeric:tabular-nums;white-space:nowrap}
.fill.first{background:var(--first)}.fill.second{background:var(--second)}.fill.paper{background:var(--paper)}
.fill.true{background:var(--bar)}.fill.quiet{background:var(--bar)}
figure{margin:.8rem 0}
figure svg{width:100%;max-width:48rem;height:auto;display:block;overflow:visible}
.blocks{display:grid;grid-template-columns:repeat(auto-fill,minmax(18rem,1fr));gap:1rem 1.25rem}
.t{background:var(--token);border-radius:3px;padding:.05em .3em;margin:0 1px;white-space:pre;font-weight:400}
.attention{font-size:.8rem;font-variant-numeric:tabular-nums}
.attention th{font-weight:400;color:var(--soft);padding:.1rem .35rem .1rem 0;text-align:left;white-space:nowrap}
.attention thead th{text-align:center;color:var(--ink);padding:.1rem .1rem .3rem}
.attention td{min-width:2.4rem;text-align:center;padding:.12rem .3rem;border:1px solid var(--ground);
background:color-mix(in srgb,var(--first) calc(var(--w)*100%),var(--cell))}
.attention .strong{color:var(--ground)}
.prediction{border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem;break-inside:avoid}
.prediction h3{font-size:1.05rem;margin:0;overflow-wrap:anywhere;line-height:1.7}
.prediction p{margin:.1rem 0 .5rem;color:var(--soft);font-size:.8rem}
.distribution{display:grid;grid-template-columns:fit-content(42%) 1fr;gap:.2rem .6rem;align-items:center;
font-size:.9rem}
.distribution .row{height:.95rem}.distribution .fill{height:.65rem}
.token{display:flex;justify-content:flex-end;align-items:center;gap:.3rem;min-width:0}
.token .t{overflow:hidden;text-overflow:ellipsis}.attention .t{display:inline-block;max-width:9rem;overflow:hidden;
text-overflow:ellipsis;vertical-align:bottom}.mark{color:var(--mark);font-weight:600}
details{border:1px solid var(--line);border-radius:8px;margin:.6rem 0;padding:.1rem .9rem}
summary{cursor:pointer;padding:.45rem 0;overflow-wrap:anywhere}
.piece{border-top:1px solid var(--line);padding:.5rem 0}.piece p{margin:.15rem 0;max-width:none;overflow-wrap:anywhere}
sub,sup{line-height:0;font-size:.78em}.relation{font-size:.92rem}.piece pre{white-space:pre-wrap}
dl.terms{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}.terms dt{color:var(--soft)}
.terms dd{margin:0;overflow-wrap:anywhere}
@media print{body{font-size:11pt}main{max-width:none;padding:0}h2{break-after:avoid}
figure,.card,.count{break-inside:avoid}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
@media (max-width:34rem){main{padding:1rem .9rem 3rem}h1{font-size:1.4rem}
.cards{grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.5rem}.card{padding:.6rem .7rem}
.card dd{font-size:1.05rem}.figures th,.figures td{padding:.35rem .4rem}figure svg text{font-size:19px}
.blocks{grid-template-columns:1fr}}
"""
