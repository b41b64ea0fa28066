#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab eval odd: a slice of three groups is run and graded, the same again without running anything; what is there is not
done again; bad input is refused."""
import json

from harness import ROCELAB, check, command, scratch, reported

GROUPS = ("storms", "mice", "outside")
ARGS = ("--groups", ",".join(GROUPS), "--cases", 1, "--scale", "0.05")


def odd(directory, *args, expect=0):
    return command(ROCELAB, "eval", "odd", *args, "--out", directory, expect=expect, timeout=900)


def graded():
    directory = scratch() / "odd"
    first = odd(directory, *ARGS, "--seeds", "4-5")
    rows = json.loads((directory / "odd.json").read_text())
    check([(r["group"], r["seed"]) for r in rows] == [(g, s) for s in (4, 5) for g in GROUPS], "a row a case", rows)
    for row in rows:
        case = directory / str(row["seed"]) / row["group"] / "000"
        check(row["grade"] in ("right", "partly", "wrong", "unknown"), "graded", row)
        check((case / "case.cfg").exists() and (case / "run-0" / "verdict.json").exists(), "the case and its verdict stay", case)
        check(len(row["suspects"]) >= 1 and row["time_ns"] > 0, "what each regains is reported", row)
        # What all regain together is what reruns of all of them say; one alone is all of them.
        regained = row["time_ns"] - row["without_all_ns"]
        check(len(row["suspects"]) > 1 or row["suspects"][0]["regained_ns"] == regained, "one alone", row)
    check(all(f"\n{group} " in f"\n{first.stdout}" for group in (*GROUPS, "all")), "a line a group", first.stdout)
    again = odd(directory, *ARGS, "--seeds", "4,5")
    check(again.stdout == first.stdout, "what is there is not done again, and says the same", reported(again))
    drawn = odd(directory, *ARGS, "--seeds", "4", "--draws", 2)
    more = json.loads((directory / "odd.json").read_text())
    check("By one rerun" in drawn.stdout and "By one rerun" not in first.stdout, "of draws both grades are printed", drawn.stdout)
    check([r["grade_of_one_rerun"] for r in more] == [r["grade"] for r in rows[:len(GROUPS)]], "one rerun's grade stays", more)
    check(all(r["draws"] == 2 for r in more), "two draws each", more)
    check(all(s["regained_within_ns"] == 0 for r in rows for s in r["suspects"]), "of one there is no interval", rows)
    done = odd(directory, *ARGS[:-1], "0.1", "--seeds", "4", expect=2)
    check("scale 0.05" in reported(done), "another scale needs another directory", reported(done))


def refused():
    directory = scratch() / "refused"
    for args, words in [(("--groups", "nonsense"), "no group"), (("--groups", "mice,mice"), "twice"),
                        (("--seeds", "3-1"), "--seeds"), (("--seeds", "1,1"), "twice"), (("--scale", "0"), "--scale"),
                        (("--cases", "0"), "--cases"), (("--draws", "0"), "--draws")]:
        done = odd(directory, *args, expect=2)
        check(words in reported(done), f"{' '.join(args)} is refused, with the reason", reported(done))


graded()
refused()
