#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One round of scripts/soak with fixed seeds, with sanitizers, which see most: nothing fails. And on programs that break, hang or
leave things behind it fails, and keeps what shows it again."""
import os
import stat
import subprocess
import sys
import time

from harness import BUILD, SANITIZED, SOURCE, check, command, scratch, skip

sys.path.append(str(SOURCE / "scripts/soaking"))
import case  # noqa: E402 (the path comes first)
import limits  # noqa: E402
import programs  # noqa: E402
import reference  # noqa: E402

SOAK = SOURCE / "scripts/soak"
SEED = 1
# A program that goes wrong in one way, whatever it is asked.
BROKEN = {
    "an exit code of no row": "exit 9",
    "a signal": "kill -SEGV $$",
    "a sanitizer's word": "echo 'hard rss limit exhausted' >&2; exit 2",
    "a refusal without a place": "echo no >&2; exit 2",
    "a process that stays": "sleep 300 & echo case.cfg:1: no >&2; exit 2",
}


def soak(*args, expect, timeout=1500):
    keep = scratch()
    done = command(SOAK, *args, "--keep", keep, expect=expect, timeout=timeout)
    return done, keep


def one_round():
    done, keep = soak("--rounds", 1, "--seed", SEED, "--build", BUILD, expect=None)
    kept = [path.read_text(errors="replace")[:3000] for path in sorted(keep.glob("*/failure.txt"))]
    check(done.returncode == 0, "a round of fixed seeds", done.stdout + "\n".join(kept))
    rows = [line.split() for line in done.stdout.splitlines() if line.split()[1:2] != ["tried"]]
    rows = {row[0]: [int(count) for count in row[1:]] for row in rows if len(row) == 5}
    check(all(tried > 0 for tried, *_ in rows.values()), "every kind is tried", rows)
    check(rows["scenario"][1] > rows["scenario"][0] / 2, "most scenarios run", rows)


def build_of(script):
    """A build whose programs are a line of shell."""
    build = scratch()
    (build / "meson-info").mkdir()
    (build / "meson-info/intro-buildoptions.json").write_text("[]")
    for name in ("cli/rocelab", "dpswitch/dpswitch", "diag/analyzer"):
        path = build / name
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return build


def broken_programs():
    for name, script in BROKEN.items():
        _, keep = soak("--case", "text:1", "--build", build_of(script), expect=1)
        kept = (keep / "text-1/failure.txt").read_text()
        check(kept.startswith("scripts/soak --case text:1 "), f"{name}: noticed, and kept with its command", kept)


def busy_machine():
    """A program that waits for its CPU has more time, one that waits for ever has not."""
    def on_one_cpu():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def ends(*args):
        try:
            return programs.Started(case.Case("busy", 1, scratch(), None), args, on_one_cpu).end(2).code == 0
        except case.Failure:
            return False

    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=on_one_cpu) for _ in range(4)]
    try:
        begin_s = time.monotonic()
        check(ends(sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"), "a program that has a fifth of a CPU ends")
        check(time.monotonic() - begin_s > 2, "later than on an idle machine", time.monotonic() - begin_s)
        check(not ends("sleep", "300"), "one that waits for ever does not")
    finally:
        for other in others:
            other.kill()
            other.wait()


def arguments():
    for args in (("0",), ("--case", "nothing:1"), ("--case", "text"), ("--only", "nothing"), ("--build", scratch())):
        done, _ = soak(*args, expect=2)
        check(done.stderr.strip(), f"refused: {' '.join(map(str, args))[:20]}", done)


def every_key_has_a_scenario():
    """A kind of topology, fault or list that the reference knows and the soak does not would fail in a round that comes by it."""
    trials = reference.trials(BUILD / "cli/rocelab")
    check(len(trials) > 5000, "keys are read", len(trials))
    faults = reference.fault_examples(BUILD / "cli/rocelab")
    for kind in {(trial.key.path, trial.key.kind): trial for trial in trials}.values():
        check(kind.key.name in limits.scenario(kind, "real", faults), f"a scenario for {kind.key.path} {kind.key.kind}", kind)


if not hasattr(os, "pidfd_open"):
    skip("this Python knows no pidfd_open()")
if SANITIZED:
    one_round()
else:
    every_key_has_a_scenario()
    arguments()
    broken_programs()
    busy_machine()
