#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab eval compare: a slice of the corpus in two shards and merged, which is what one run says to the byte; what is there is not
done again, a run that is wanting is; who found what is borne out by the cases; a run that breaks is reported; a program from outside is a row
like any; the rules are those of docs/compare-rules.md; bad input is refused."""
import json
import shutil

from harness import ROCELAB, SANITIZED, SOURCE, check, command, scratch, reported

CASES, ONE_RUN, SEED = (2, 1, 1) if SANITIZED else (40, 2, 1)
SMALL = ("--scale", "0.1", "--no-times", "--seed", SEED)
DEEP = SOURCE / "scripts/records/deep_ports.py"
SYSTEMS = ("vedrfolnir", "flowpulse", "pingmesh", "flowtracer", "hawkeye-minr", "hawkeye-maxr", "full-polling")
FOUND = ("partly", "right")


def compare(*args, expect=0):
    return command(ROCELAB, "eval", "compare", *args, expect=expect, timeout=900)


def shards(root):
    for shard in (1, 2):
        compare(*SMALL, "--cases", CASES, "--shard", f"{shard}/2", "--out", root / f"shard{shard}")
        cases = sorted(int(path.name) for path in (root / f"shard{shard}").glob("0*"))
        check(cases == list(range(shard - 1, CASES, 2)), f"shard {shard} has its cases alone", cases)
    return root / "shard1", root / "shard2"


def merged(root, parts):
    first = compare(*SMALL, "--cases", CASES, "--merge", *parts, "--out", root / "merged")
    compare(*SMALL, "--cases", CASES, "--merge", *reversed(parts), "--out", root / "again")
    text = (root / "merged/compare.json").read_bytes()
    check(text == (root / "again/compare.json").read_bytes(), "merged in any order it is the same")
    check(f"{CASES} of 620 cases" in first.stdout, "the merge has all cases", first.stdout)
    lacks = compare(*SMALL, "--cases", CASES, "--merge", parts[0], "--out", root / "lacks", expect=1)
    check("runs are missing" in reported(lacks), "a merge that lacks a shard is no table", reported(lacks))
    few = compare(*SMALL, "--merge", *parts, "--cases", ONE_RUN, "--out", root / "few", "--json")
    whole = compare(*SMALL, "--cases", ONE_RUN, "--out", root / "whole", "--json")
    check(few.stdout == whole.stdout and (root / "few/compare.json").read_bytes() == (root / "whole/compare.json").read_bytes(),
          "shards and merge say what one run does, to the byte")
    return json.loads(text)


def sums(results):
    rows = results["cases"]
    check([row["case"] for row in rows] == list(range(CASES)), "a row a case", [row["case"] for row in rows])
    costly = [row for row in rows if row["costs"]]
    check(len(costly) == results["costly"] and (SANITIZED or len(costly) >= CASES // 2), "most faults cost time", len(costly))
    for row in costly:
        check(row["without_fault_ns"] < row["job_ns"], f"case {row['case']}: without its fault the job is faster", row)
    for row in rows:
        clean = row["fault"] in ("clean", "busy")
        check(not (clean and row["costs"]), f"case {row['case']}: nothing costs where nothing is wrong", row)
        check(tuple(row["systems"]) == SYSTEMS, f"case {row['case']}: all systems", list(row["systems"]))
    for system in results["systems"]:
        name = system["system"]
        found = [row for row in costly if row["systems"][name]["grade"] in FOUND]
        check(system["recall_of_all"]["part"] == len(found) and system["recall_of_all"]["of"] == len(costly),
              f"{name}: what it found is what the cases say", system)
        check(all(row["systems"][name]["by_design"] for row in found), f"{name}: it found nothing that it cannot see by design", found)
        alone = [row for row in found if all(row["systems"][other]["grade"] not in FOUND for other in SYSTEMS if other != name)]
        check(system["alone"] == len(alone), f"{name}: what it alone found", alone)
        check(system["recall_of_all"]["low"] <= system["recall_of_all"]["share"] <= system["recall_of_all"]["high"],
              f"{name}: the interval has the share", system)
    check(results["pairs"] == sorted(results["pairs"], key=lambda pair: -pair["recall_of_all"]["part"]), "the best pair is first")


def by_design(results):
    rows = {row["fault"]: row["systems"] for row in results["cases"]}
    if SANITIZED:
        return
    check(not rows["slow-host"]["pingmesh"]["by_design"], "probes cannot see a late step")
    check(not rows["rnic-down"]["flowpulse"]["by_design"], "volumes of leaves cannot see a host's RNIC")
    check(rows["rnic-down"]["pingmesh"]["grade"] == "right", "probes see a dead RNIC", rows["rnic-down"]["pingmesh"])
    check(rows["slow-host"]["vedrfolnir"]["grade"] == "right", "steps report a slow host", rows["slow-host"]["vedrfolnir"])


def resumed(root):
    where, first = root / "whole", (root / "whole/compare.json").read_bytes()
    runs = sorted(where.glob("0*/*/run.json"))
    times = [path.stat().st_mtime_ns for path in runs]
    check(not list(where.glob("0*/*/records.bin")), "recordings go")
    args = (*SMALL, "--cases", ONE_RUN, "--out", where)
    compare(*args)
    check([path.stat().st_mtime_ns for path in runs] == times, "the same again runs nothing")
    runs[0].unlink()
    compare(*args)
    check([path.stat().st_mtime_ns for path in runs[1:]] == times[1:], "what is wanting is made again, and nothing else")
    check((where / "compare.json").read_bytes() == first, "and says the same")
    runs[0].unlink()
    recording = runs[0].with_name("records.bin")
    recording.mkdir()
    done = compare(*args, expect=1)
    check("failed" in reported(done) and f"{ONE_RUN - 1} of 620 cases" in done.stdout, "a run that breaks is reported, its case not counted",
          reported(done))
    recording.rmdir()


def program(root):
    """One of others is a row like any, and a folder is of the same programs always."""
    number = 12  # of a polarised fabric, which has queues at any scale
    out = root / "program"
    args = (*SMALL, "--cases", number + 1, "--shard", f"{number + 1}/{number + 1}", "--out", out)
    done = compare(*args, "--diagnoser", DEEP)
    check("./deep_ports" in done.stdout, "a program has a row", done.stdout)
    results = json.loads((out / "compare.json").read_text())
    row, = results["cases"]
    mark = row["systems"]["./deep_ports"]
    check(mark["by_design"] and mark["grade"] in FOUND and mark["finding"].startswith("deep-queue at "), "it is judged by the rules", mark)
    check(mark["bytes"] > row["systems"]["vedrfolnir"]["bytes"], "it reads what all receive", row["systems"])
    check(json.loads((out / "cpu.json").read_text())["./deep_ports"]["median"] > 0, "its own processor time counts")
    observed = reported(compare(*args, expect=2))
    check("program ./deep_ports" in observed and "another folder" in observed, "without it the cases are others", observed)
    edited = scratch() / "deep_ports.py"
    shutil.copy(DEEP, edited)
    edited.write_text(edited.read_text() + "# Another.\n")
    observed = reported(compare(*args, "--diagnoser", edited, expect=2))
    check("./deep_ports has changed" in observed, "what another version of it found is not taken for what this one finds", observed)
    for path, words in (("deep_ports.py", "with a slash"), ("./no-such-program", "./no-such-program: no such file"),
                        (scratch(), "no file that can be run")):
        observed = " ".join(reported(compare(*args, "--diagnoser", path, expect=2)).split())
        check(words in observed, f"--diagnoser {path} is refused, with the reason", observed)
    observed = " ".join(reported(compare(*args, "--diagnoser", DEEP, "--diagnoser", DEEP, expect=2)).split())
    check("the same name, ./deep_ports" in observed, "two of a name are refused", observed)


def refused(root):
    copy = root / "copy"
    shutil.copytree(root / "shard1", copy)
    for args, words in [(("--shard", "3/2"), "--shard"), (("--shard", "1"), "2/4"), (("--cases", "0"), "--cases"), (("roc",), "takes no"),
                        (("--merge", str(root / "none")), "none"), (("--merge", str(root / "shard1"), "--shard", "1/2"), "--shard or --merge"),
                        (("--out", str(copy), "--seed", "5"), "another folder"),
                        (("--merge", str(copy), "--scale", "3"), "another folder")]:
        done = compare(*args, *(() if "--out" in args else ("--out", root / "refused")), expect=2)
        check(words in reported(done), f"{' '.join(args)} is refused, with the reason", reported(done))
    case = copy / "0000/case.cfg"
    written = case.read_text()
    case.write_text(written + "// Another.\n")
    for _ in range(2):
        done = compare(*SMALL, "--cases", 1, "--out", copy, expect=2)
        check("was another case" in reported(done), "a case that is another is not overwritten unseen", reported(done))
    check(case.read_text() == written + "// Another.\n", "and stays as it is")
    case.write_text(written)
    (copy / "0000/shared/vedrfolnir/verdict.json").write_text("{")
    done = compare(*SMALL, "--cases", 1, "--merge", copy, "--out", root / "damaged", expect=1)
    check("cannot be read" in reported(done), "a damaged verdict is reported", reported(done))


def documented():
    page = (SOURCE / "docs/compare-rules.md").read_text(encoding="utf-8")
    rules = compare("--rules").stdout
    check(rules in page, "docs/compare-rules.md has the rules that findings are scored by", "rocelab eval compare --rules prints them anew")


home = scratch()
documented()
table = merged(home, shards(home))
sums(table)
by_design(table)
resumed(home)
program(home)
refused(home)
