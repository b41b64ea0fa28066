# SPDX-License-Identifier: BSD-3-Clause
"""A recording is enough: the same verdict without scenario, truth or steps; and a dead analyzer loses nothing."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

from harness import ANALYZER, DPSWITCH, ROCELAB, SANITIZED, SCENARIOS, Run, check, command, rocelab, scratch

SCENARIO = SCENARIOS / "pfc-storm.cfg"
SMALL = ["--set", "collectives.[0].step_bytes=2MB", "--set", "faults.[0].start=200us", "--set", "faults.[0].duration=2ms"]


def diagnosed_again():
    run = rocelab(SCENARIO, *SMALL)
    verdict = (run.dir / "verdict.json").read_bytes()
    report = (run.dir / "report.html").read_bytes()
    alone = scratch()
    shutil.copy(run.dir / "records.bin", alone)
    command(ROCELAB, "diagnose", alone)
    check((alone / "verdict.json").read_bytes() == verdict, "the recording alone gives the same verdict", alone)
    check((alone / "report.html").read_bytes() == report, "and the same page", alone)
    again = command(ROCELAB, "diagnose", alone, "--json")
    check(again.stdout.encode() == verdict, "--json prints verdict.json", again.stdout[:200])


def truncated():
    run = rocelab(SCENARIO, *SMALL)
    records = (run.dir / "records.bin").read_bytes()
    cut = scratch()
    (cut / "records.bin").write_bytes(records[:len(records) * 2 // 3])
    done = command(ROCELAB, "diagnose", cut)
    check("incomplete" in done.stdout + done.stderr, "a stream cut short is said to be incomplete", done.stdout[:400])


def wait_for(path, seconds):
    deadline = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"FAIL: {path} did not appear")
        time.sleep(0.01)


def analyzer_killed():
    """dpswitch goes on without its analyzer, says so, and keeps the recording."""
    out = scratch()
    socket = out / "s"
    analyzer = subprocess.Popen([ANALYZER, "--listen", socket, "--out", out], stderr=subprocess.DEVNULL)
    wait_for(socket, 20)
    fabric = subprocess.Popen([DPSWITCH, SCENARIO, "--analyzer", socket, "--out", out, *SMALL, "--set",
                               "collectives.[0].iterations=20"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    wait_for(out / "records.bin", 20)
    os.kill(analyzer.pid, signal.SIGKILL)
    analyzer.wait()
    _, said = fabric.communicate(timeout=600)
    check("analyzer" in said or Run(out).run["export"]["analyzer_lost"] == 0, "dpswitch says that the analyzer went away", said)
    check(fabric.returncode == 0, "the run itself goes on", (fabric.returncode, said))
    for name in ("verdict.json", "steps.csv", "truth.json"):
        pathlib.Path(out / name).unlink(missing_ok=True)
    command(ROCELAB, "diagnose", out)
    check(Run(out).findings("pfc_storm"), "the kept recording gives the finding", Run(out).verdict["findings"])


diagnosed_again()
truncated()
if not SANITIZED:
    analyzer_killed()
