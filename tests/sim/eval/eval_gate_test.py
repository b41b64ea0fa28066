#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Twelve cases of the counterfactual evaluation, whose truths are stored: verdicts by the twin pass its gates.

`rocelab eval counterfactual --seeds 8300 --cases 12 --json` makes the truths anew, 2 minutes of two cores."""
import json
import pathlib

from harness import ROCELAB, SANITIZED, check, command, long_run, scratch, reported

TRUTHS = pathlib.Path(__file__).parent / "counterfactual_truths.json"
CASES = len(json.loads(TRUTHS.read_text())["cases"])


def evaluate(*args, expect=0):
    return command(ROCELAB, "eval", "counterfactual", "--seeds", "8300", "--truth", TRUTHS, "--gate", "--out", scratch() / "cf",
                   *args, expect=expect, timeout=900)


if SANITIZED and not long_run("the gates of verdicts by the twin"):
    raise SystemExit(0)
done = evaluate("--cases", CASES, "--json")
twin = json.loads(done.stdout)["by_twin"]["fabrics"][-1]
check(twin["cases"] == CASES and twin["first"] >= 0.9 and twin["tau"] >= 0.8 and twin["share_error"] <= 0.05,
      "twelve cases pass the gates", twin)
failed = evaluate("--cases", 6, "--estimates-alone", expect=1)
check("gate: " in reported(failed) and "miss 2 of 4 gates" in reported(failed), "estimates of six of them do not", reported(failed))
