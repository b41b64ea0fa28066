#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab eval pingmesh at small size: problems that are plain are found at their place, sums are those of the cases; the same
again runs nothing, a verdict that is wanting is made again; another case in the way and bad input are refused."""
import json

from harness import ROCELAB, SOURCE, check, command, scratch, reported

SEED, CASES = 8, 3
ARGS = ("--seeds", SEED, "--cases", CASES)


def evaluate(directory, *args, expect=0):
    return command(ROCELAB, "eval", "pingmesh", *args, "--out", directory, expect=expect)


def sums(results):
    cases = results["cases"]
    problems = [problem for case in cases for problem in case["problems"]]
    reports = [report for case in cases for report in case["reports"]]
    check(len(cases) == CASES and len(problems) >= CASES, "all cases", cases)
    check(results["all"]["injected"] == len(problems) == sum(row["injected"] for row in results["kinds"]) ==
          sum(row["injected"] for row in results["classes"]), "every problem is of a kind and a class", results["kinds"])
    check(results["all"]["found"] == sum(problem["found"] for problem in problems), "found are those of the cases", problems)
    check(sum(row["reported"] for row in results["reports"]) == len(reports) and
          sum(row["accurate"] for row in results["reports"]) == sum(report["accurate"] for report in reports),
          "so are reports", reports)


def plain(results):
    for case in results["cases"]:
        problems = case["problems"]
        check(all(problem["found"] and problem["at_one_place"] for problem in problems), "found, at one place", case)
        check(all(0 < problem["after_s"] < 60 for problem in problems), "within three periods", case)
        check(all(report["accurate"] for report in case["reports"]), "and nothing else is said", case)


def again(directory, first):
    verdicts = sorted(directory.glob(f"{SEED}/*/verdict.json"))
    times = [path.stat().st_mtime_ns for path in verdicts]
    check(len(verdicts) == CASES and not list(directory.glob(f"{SEED}/*/records.bin")), "verdicts stay, recordings do not", verdicts)
    done = evaluate(directory, *ARGS)
    check(done.stdout == first.stdout, "the same again says the same", reported(done))
    check([path.stat().st_mtime_ns for path in verdicts] == times, "and runs nothing", verdicts)
    before = json.loads(verdicts[2].read_text())
    verdicts[2].unlink()
    done = evaluate(directory, *ARGS, "--json")
    check(json.loads(verdicts[2].read_text())["pingmesh"] == before["pingmesh"], "what is wanting is made again")
    check([path.stat().st_mtime_ns for path in verdicts[3:]] == times[3:], "and nothing else", verdicts)
    check(json.loads(done.stdout) == json.loads((directory / "pingmesh.json").read_text()), "JSON on demand", reported(done))


def refused(directory):
    for args, words in [(("--cases", "0"), "--cases"), (("--seeds", "2-1"), "from the least"), (("roc",), "takes no")]:
        done = evaluate(directory, *args, expect=2)
        check(words in reported(done), f"{' '.join(args)} is refused, with the reason", reported(done))
    case = directory / f"{SEED}/001/case.cfg"
    case.write_text(case.read_text() + "// Another.\n")
    for _ in range(2):
        done = evaluate(directory, *ARGS, expect=2)
        check("was another case" in reported(done), "a case that is another is not overwritten unseen", reported(done))
    check(case.read_text().endswith("// Another.\n"), "and stays as it is")


def beside_the_paper(directory):
    """The same recordings by Algorithm 1: its sums beside ours, and ours as they are without."""
    done = evaluate(directory, *ARGS, "--baseline")
    results = json.loads((directory / "pingmesh.json").read_text())
    check("LIKELIHOOD" in done.stdout and "ALGORITHM 1" in done.stdout, "both stand side by side", reported(done))
    check("0 of 0" not in done.stdout and " - " in done.stdout, "and a share of nothing is none", reported(done))
    check(results["baseline"]["all"]["injected"] == results["all"]["injected"] and results["baseline"]["all"]["found"] > 0,
          "of the same problems", results["baseline"]["all"])
    plain(results)
    table = command(SOURCE / "scripts/pingmesh-baseline", directory).stdout
    check(f"| problems found | {results['all']['found']} of {results['all']['injected']}" in table, "and as a table of the docs", table)


out = scratch() / "pingmesh"
first_run = evaluate(out, *ARGS)
found = json.loads((out / "pingmesh.json").read_text())
sums(found)
plain(found)
again(out, first_run)
beside_the_paper(out)
refused(out)
