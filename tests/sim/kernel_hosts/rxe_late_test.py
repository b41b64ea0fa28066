#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A run on a busy machine: how late it was is measured and stated, and no finding is surer than that lets it be."""
import json
import subprocess
import sys

from harness import ROCELAB, SCENARIOS, check, command
from rxe import TWO_LCORES, Live, need_guests, storm_delays_a_step

LOOPS = 4
LOOP_S = 240  # at most: they are ended with the run
END_S = 600


def busy():
    """Loops that never sleep, beside the run; each ends by itself."""
    text = f"import time\nend = time.monotonic() + {LOOP_S}\nwhile time.monotonic() < end: pass"
    return [subprocess.Popen([sys.executable, "-c", text]) for _ in range(LOOPS)]


def run_beside(loops):
    try:
        live = Live(SCENARIOS / "rxe-ring.cfg", *TWO_LCORES, "--set", "limits.connect=180s")
        live.begun()
        return live.end(timeout=END_S)
    finally:
        for loop in loops:
            loop.terminate()
            loop.wait()


def stated(run):
    """The same sums in run.json, which the fabric writes, and in verdict.json, which has the records alone."""
    ours, reported = run.run["realtime"]["lateness"], run.verdict["lateness"]
    for kind, name in (("lcores", "lcore"), ("hosts", "host")):
        check([s[name] for s in ours[kind]] == [s[name] for s in reported[kind]], f"late: the {kind}", (ours, reported))
        for source, same in zip(ours[kind], reported[kind]):
            check(source["waited_ns"] == same["waited_ns"], f"late: {name} {source[name]} waited as long", (source, same))
            check(source["measured_ns"] > 0.9 * run.run["virtual_ns"], f"late: {name} {source[name]} was measured", source)
    check(len(ours["hosts"]) == 4 and sum(s["waited_ns"] for s in ours["hosts"]) > 1e8, "late: hosts had to wait", ours)
    windows = reported["windows"][0]
    check(windows["behind_ns"] == ours["behind_ns"] and windows["late_windows"] == run.run["realtime"]["late_windows"],
          "late: the fabric's windows", (windows, run.run["realtime"]))
    check("Lateness of the machine: lcore" in (run.dir / "report.txt").read_text(), "late: the report says so")
    check("Lateness of the machine" in (run.dir / "report.html").read_text(), "late: the page says so")


def no_surer(run):
    for finding in run.verdict["findings"]:
        bound = 1 - finding["machine_share"]
        check(0 <= finding["confidence"] <= bound + 1e-9, f"late: {finding['type']} at {finding['root']} is no surer than {bound}",
              finding)
    storms = {f["root"]: f for f in run.findings("pfc-storm")}
    check(set(storms) <= {"b:1"}, "late: no other port is named for a storm", run.findings())
    if not storm_delays_a_step(run, "late"):
        return
    check("b:1" in storms, "late: the storm is named", run.findings())
    check(storms["b:1"]["machine_share"] == 0, "late: PAUSE frames are counted, however late the machine", storms)


def diagnosed_again(run):
    """All of it is in the recording."""
    before = json.dumps(run.verdict["lateness"], sort_keys=True), [f["confidence"] for f in run.verdict["findings"]]
    command(ROCELAB, "diagnose", run.dir)
    verdict = json.loads((run.dir / "verdict.json").read_text())
    after = json.dumps(verdict["lateness"], sort_keys=True), [f["confidence"] for f in verdict["findings"]]
    check(before == after, "late: the recording alone gives the same verdict", (before, after))


if __name__ == "__main__":
    need_guests()
    RUN = run_beside(busy())
    check(RUN.run["end_reason"] == "complete", "late: completes", RUN.run["end_reason"])
    stated(RUN)
    no_surer(RUN)
    diagnosed_again(RUN)
