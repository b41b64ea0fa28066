#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""In real time every epoch of every port arrives, and the stages of its path are its whole delay."""
import json

from harness import ROCELAB, SANITIZED, check, command

STAGES = ("made", "released", "queued", "sent", "received", "joined")

cases = json.loads(command(ROCELAB, "bench", "epochs", "--repeats", 1, "--json").stdout)["cases"]
check([(c["hosts"], c["lcores"]) for c in cases] == [("embedded", "1"), ("embedded", "2"), ("guests", "1"), ("guests", "2")],
      "embedded hosts and guests, on one and on two lcores", cases)
for case in cases:
    name = f"{case['hosts']} on {case['lcores']} lcores"
    if not case["measured"]:
        check(case["hosts"] == "guests" and case["why_not"], f"{name}: where no guest runs, that is stated", case)
        continue
    stages = case["stages_us"]
    check(tuple(stages) == STAGES, f"{name}: all stages", stages)
    check(case["epochs"] > 600 * 6, f"{name}: every epoch of three steps of 200 ms is reported by six ports", case["epochs"])
    check(case["frames"] > 600, f"{name}: in a frame an epoch at least", case)
    check(case["known_p50_us"] <= case["known_p99_us"] <= case["known_max_us"], f"{name}: delays are in order", case)
    check(stages["made"] < 1000, f"{name}: rows are made at an epoch's end", stages)
    check(stages["released"] == 0, f"{name}: the budget holds nothing back", stages)
    check(stages["queued"] > 0 and stages["sent"] > 0, f"{name}: wall time passes on the path", stages)
    check(0 <= case["late_window_share"] <= 1, f"{name}: the share of late windows", case)
    check(stages["joined"] > 0, f"{name}: the analyzer's own time is measured", stages)
    total = sum(stages.values())
    check(total <= case["known_max_us"] and total > 0, f"{name}: their sum is a mean delay", (total, case))
if not SANITIZED:
    text = command(ROCELAB, "bench", "epochs", "--repeats", 1).stdout
    check("KNOWN MS" in text and "embedded" in text, "a table for people", text)
