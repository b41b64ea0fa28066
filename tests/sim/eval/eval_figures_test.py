#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a tiny evaluation leaves becomes figures that parse, say what they show, and are the same every time; what was not
measured is not drawn; a page gets its tables, and numbers as they were stored. Skipped where matplotlib is missing."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as xml

from harness import ROCELAB, SANITIZED, SOURCE, check, command, scratch, skip, reported

FIGURES = SOURCE / "scripts/eval-figures"
PAPER = ("contention", "incast", "pfc-storm", "backpressure")
SCALE = "0.01"
PAGE = "# Page\n\n<!-- accuracy -->\nold\n<!-- /accuracy -->\nprose\n<!-- budget -->\n<!-- /budget -->\n<!-- rules -->\n<!-- /rules -->\n<!-- others -->\n<!-- /others -->\n<!-- shapes -->\n<!-- /shapes -->\n"

if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode != 0:
    skip("matplotlib is missing: scripts/setup figures")


def evaluate(directory, *args):
    """At this scale cases may well be wrong by construction: the exit code says so, no more."""
    done = command(ROCELAB, "eval", *args, "--cases", 1, "--scale", SCALE, "--out", directory, expect=None, timeout=1500)
    check(done.returncode in (0, 1), f"eval {' '.join(args)}", reported(done))


def draw(directory, out, *args, expect=0):
    return command(FIGURES, directory, "--out", out, *args, expect=expect, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def texts(path):
    root = xml.parse(path).getroot()
    check(root.tag.endswith("svg"), f"{path.name} is well-formed SVG", root.tag)
    return " ".join(element.text or "" for element in root.iter() if element.tag.endswith("text"))


def same(first, again):
    """Files of the same names and contents."""
    names = sorted(path.name for path in first.iterdir())
    check(names == sorted(path.name for path in again.iterdir()), "the same figures again", names)
    for name in names:
        check((first / name).read_bytes() == (again / name).read_bytes(), f"{name} is the same again", again / name)


def figures_of_a_slice():
    directory, out, again = scratch(), scratch(), scratch()
    page = scratch() / "page.md"
    page.write_text(PAGE)
    evaluate(directory, *PAPER, "--policy", "vedrfolnir,full-polling")
    evaluate(directory, "contention", "--policy", "vedrfolnir,vedrfolnir+rtt_fixed=20us")
    evaluate(directory / "rules", "pfc-storm", "--ablation", "rules")
    evaluate(directory / "also-again", "incast", "--policy", "vedrfolnir")
    evaluate(directory / "beyond", "pfc-storm", "loop", "--policy", "vedrfolnir")
    evaluate(directory / "shape-k6", "pfc-storm", "--policy", "vedrfolnir", "--shape", "k6")
    command(ROCELAB, "run", SOURCE / "topo/scenarios/case-study.cfg", "--out", directory / "case-study", timeout=900)
    done = draw(directory, out, "--page", page)
    expected = {"fig09-precision-recall": "Recall (%)", "fig10-overhead": "Full polling", "fig13a-fixed-threshold": "20 us",
                "beyond-precision-recall": "Forwarding loop",
                "fig14a-waiting-graph": "critical path", "fig14b-provenance-graph": "17->18/10000>4791"}
    check({path.stem for path in out.iterdir()} == set(expected), "what was measured is drawn, and nothing else",
          sorted(out.iterdir()))
    for name, words in expected.items():
        check(words in texts(out / f"{name}.svg"), f"{name} says \"{words}\"", texts(out / f"{name}.svg"))
    check("fig12-threshold-detections: not measured" in done.stderr, "what is missing is reported", done.stderr)

    runs = [run for run in json.loads((directory / "runs.json").read_text())
            if (run["family"], run["policy"]) == ("contention", "vedrfolnir")]
    right = sum(run["outcome"] == "tp" for run in runs)
    row = re.search(r"^\| Flow contention \| VEDRFOLNIR \| (\d+) \| (\d+) ", page.read_text(), re.MULTILINE)
    check(row and (int(row[1]), int(row[2])) == (len(runs), right), "the page's table has the stored scores", page.read_text())
    check("old" not in page.read_text() and "prose" in page.read_text(), "marks are filled, prose stays", page.read_text())
    check("<!-- budget -->\nNot measured.\n" in page.read_text(), "what is missing is missing on the page", page.read_text())
    ruled = dict(re.findall(r"^\| PFC storm \| (ours|paper|poster) \| (.*?) \| 1 \|", page.read_text(), re.MULTILINE))
    wrong = {run["policy"]: run["outcome"] != "tp" for run in json.loads((directory / "rules/runs.json").read_text())}
    check([(text != "-") for text in ruled.values()] == list(wrong.values()) and len(ruled) == 3,
          "a row for each rule says what is wrong, if anything", (ruled, wrong))
    rows = re.findall(rf"^\| Incast \| - \| {SCALE} \| 1 \| 1 \|", page.read_text(), re.MULTILINE)
    check(len(rows) == 2, "other evaluations stand beside the first, with scale, seed and cases", page.read_text())
    check(re.search(r"^\| Forwarding loop \| VEDRFOLNIR \| 1 ", page.read_text(), re.MULTILINE), "so do the families beyond the paper's",
          page.read_text())
    check("--shape k6 --cases 1 --out " in page.read_text(), "the command of another shape says which", page.read_text())
    check(re.search(r"^\| k6 \| PFC storm \| 1 \| 1 \| .*\| [0-9]+ \| [0-9a-f]{16} \|$", page.read_text(), re.MULTILINE),
          "another shape has its row", page.read_text())
    check(re.search(r"^Seed 1, runs [0-9a-f]{16}\.$", page.read_text(), re.MULTILINE), "a table says what its runs came to",
          page.read_text())
    written = page.read_text()
    page.write_text(written.replace("| Flow contention |", "| stale |").replace("| Incast |", "| stale |"))
    draw(directory, scratch(), "--page", page, "--only", "accuracy")
    part = page.read_text().split("<!-- /accuracy -->")
    check("| stale |" not in part[0] and "| stale |" in part[1], "--only writes what it names and keeps the rest", page.read_text())
    draw(directory, scratch(), "--page", page, "--only", "accurate", expect=2)
    draw(directory, again, "--page", page)
    same(out, again)
    check(page.read_text() == written, "the page is the same again", page.read_text())


    uneven(directory)


def uneven(directory):
    """An evaluation that was interrupted: policies without a case in common are not compared; and a baseline that needs
    nothing is no division."""
    other = scratch() / "what? #1 %41"
    page = scratch() / "page.md"
    page.write_text("<!-- accuracy -->\n<!-- /accuracy -->\n<!-- savings -->\n<!-- /savings -->\n<!-- fixed -->\n<!-- /fixed -->\n")
    other.mkdir()
    shutil.copy(directory / "eval.sqlite", other)
    with sqlite3.connect(other / "eval.sqlite") as db:
        db.execute("UPDATE runs SET idx = 1 WHERE family = 'incast' AND policy = 'full-polling' OR policy LIKE '%rtt_fixed%'")
        db.execute("UPDATE runs SET telemetry_bytes = 0 WHERE family = 'contention' AND policy = 'full-polling'")
    draw(other, scratch(), "--page", page)
    text = page.read_text()
    check("| Incast | VEDRFOLNIR | 1 " in text and "| Incast | Full polling" not in text, "what has no case in common is left out",
          text)
    check("<!-- fixed -->\nNot measured.\n" in text, "an ablation too", text)
    with sqlite3.connect(other / "eval.sqlite") as db:
        db.execute("DELETE FROM runs WHERE family <> 'contention'")
    draw(other, scratch(), "--page", page)
    check("| Flow contention | Full polling | - |" in page.read_text(), "no share of nothing", page.read_text())
    check("--out '" in page.read_text(), "the command is one that a shell takes", page.read_text())

    with sqlite3.connect(other / "eval.sqlite") as db:
        db.execute("DELETE FROM runs")
    (other / "case-study").mkdir()
    (other / "case-study/waiting.dot").touch()
    (other / "analyzer.json").write_text("[]")
    page.write_text("<!-- failed -->\n<!-- /failed -->\n<!-- analyzer -->\n<!-- /analyzer -->\n")
    out = scratch()
    draw(other, out, "--page", page)
    check(not list(out.iterdir()), "of nothing there are no figures", list(out.iterdir()))
    check(page.read_text().count("Not measured.") == 2, "nothing was measured: nor that no case failed", page.read_text())


def refused():
    empty = scratch()
    done = draw(empty, scratch(), expect=2)
    check("eval-runs" in reported(done), "no evaluation: it says how to make one", reported(done))
    (empty / "eval.sqlite").write_text("not a database, but as long as the header of one would have to be" * 4)
    done = draw(empty, scratch(), expect=2)
    check("is no evaluation" in reported(done), "another file is refused", reported(done))


refused()
if not SANITIZED:  # what sanitizers see of it, the evaluation's own test runs
    figures_of_a_slice()
