#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A slice of the counterfactual evaluation: every set of causes is run, the same cases come again, and what is done is kept."""
import json
import re
import sqlite3

from harness import ROCELAB, check, command, scratch, reported

CASES = 4


def evaluate(out, *args, expect=0):
    return command(ROCELAB, "eval", "counterfactual", "--out", out, *args, expect=expect, timeout=900)


out = scratch() / "cf"
done = evaluate(out, "--seeds", "5", "--draws", 1, "--cases", CASES, "--json")
result = json.loads(done.stdout)
check(len(result["cases"]) == CASES, "all cases are there", result)
check([row["fabric"] for row in result["fabrics"]] == ["fat-tree", "leaf-spine", "rail", "all"], "of every fabric")
with sqlite3.connect(out / "eval.sqlite") as db:
    runs = dict(db.execute("SELECT idx, count(*) FROM reruns WHERE job = 0 GROUP BY idx"))
    times = dict(((idx, without), ns) for idx, without, ns in
                 db.execute("SELECT idx, without, time_ns FROM reruns WHERE job = 0"))
check(all(runs[i] == 2 ** len(case["suspects"]) for i, case in enumerate(result["cases"])), "every set of causes was left out", runs)
for i, case in enumerate(result["cases"]):
    blame = json.loads(command(ROCELAB, "blame", case["scenario"], "--out", scratch() / "blame", "--json").stdout)
    check(blame["took_ns"] == times[i, 0] and
          all(row["without_ns"] == times[i, 1 << s] for s, row in enumerate(blame["suspects"])),
          f"case {i}: rocelab blame says the same", blame)
    check(all((row["name"], row["regained_ns"], row["has_effect"]) == (of["name"], of["regained_ns"], of["has_effect"])
              for row, of in zip(case["suspects"], blame["suspects"])), f"case {i}: of each suspect too")
    check(case["innocents"] == sum(not row["has_effect"] for row in blame["suspects"]), f"case {i}: of innocents too")
check(all(0 <= case["share_error"] <= 1 and (case["tau"] is None or -1 <= case["tau"] <= 1) for case in result["cases"]),
      "measures are measures")
twin = result["by_twin"]
check(len(twin["cases"]) == CASES and [row["fabric"] for row in twin["fabrics"]] == [row["fabric"] for row in result["fabrics"]],
      "verdicts by the twin stand beside", twin["fabrics"])
check(all([row["regained_ns"] for row in case["suspects"]] == [row["regained_ns"] for row in of["suspects"]]
          for case, of in zip(twin["cases"], result["cases"])), "held against the same truth")
check(twin["fabrics"][-1]["share_error"] <= result["fabrics"][-1]["share_error"] + 0.02, "and no further from it",
      [twin["fabrics"][-1], result["fabrics"][-1]])
before = (out / "5" / "000" / "run-0" / "verdict.json").stat().st_mtime_ns
with sqlite3.connect(out / "eval.sqlite") as db:
    db.execute("DELETE FROM reruns WHERE idx = 1 AND without = 2")
again = evaluate(out, "--seeds", "5", "--draws", 1, "--cases", CASES, "--json")
check(json.loads(again.stdout) == result, "what is missing is run again, and comes out the same")
check((out / "5" / "000" / "run-0" / "verdict.json").stat().st_mtime_ns == before, "what is done is not")
table = evaluate(out, "--seeds", "5", "--draws", 1, "--cases", CASES).stdout
check("SHARE ERROR" in table and re.search("leaf-spine +twin", table), "a table says it to people", table)
(out / "5" / "002" / "case.cfg").write_text("collectives = ();\n")
other = evaluate(out, "--seeds", "5", "--draws", 1, "--cases", CASES, expect=2)
check("of another scenario or version" in reported(other) and "--out" in reported(other), "a case of another version is refused", reported(other))
few = scratch()
mean = json.loads(evaluate(few / "mean", "--seeds", "5", "--draws", 2, "--cases", 1, "--estimates-alone", "--json").stdout)
with sqlite3.connect(few / "mean" / "eval.sqlite") as db:
    base = [ns for ns, in db.execute("SELECT time_ns FROM reruns WHERE job = 0 AND without = 0 ORDER BY draw")]
case = mean["cases"][0]
check(len(base) == 2 and case["time_ns"] == sum(base) / 2, "the truth is a mean over draws", [base, case["time_ns"]])
check(base[0] == times[0, 0] and abs(case["time_error_ns"] - abs(base[0] - base[1]) / 2) < 1, "with its standard error", base)
(few / "mean.json").write_text(json.dumps(mean))
stored = json.loads(evaluate(few / "stored", "--seeds", "5", "--truth", few / "mean.json", "--cases", 1,
                             "--estimates-alone", "--json").stdout)
check(stored["cases"][0]["suspects"] == case["suspects"], "a stored truth is as good", stored["cases"][0])
refused = evaluate(few / "stored-2", "--seeds", "6", "--truth", few / "mean.json", "--cases", 1, expect=2)
check("no truth of case 0 of seed 6" in reported(refused), "but of these cases alone", reported(refused))
for args, word in (("--seeds", "3-1"), "3-1"), (("--cases", "0"), "--cases"), (("paper",), "paper"):
    check(word in reported(evaluate(scratch() / "cf", *args, expect=2)), f"bad input: {' '.join(args)}")
