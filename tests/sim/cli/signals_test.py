#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""However somebody ends a run: it ends in order, its recording to the end, with the verdict on what there is."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import records
from harness import (ANALYZER, DPSWITCH, INTERRUPTED, NOT_BEGUN, STALL_LIMIT_S, ROCELAB, SANITIZED, SCENARIOS, Run, check, descendants, fail,
                     scratch, sets, slowness)

# Enough that it does not end by itself, and that the recording grows while it continues.
LONG = (SCENARIOS / "ns3-allgather-100g.cfg", *sets(detection__policy="full-polling", **{"collectives__[0]__step_bytes": "2GB", "collectives__[0]__iterations": 20}))
EARLY_S = tuple(0.06 * i for i in range(16))
AGAIN_S = 1.3  # what comes sooner is the same wish


def start(out, before=(), hangup=signal.SIG_DFL, program=ROCELAB):
    """In a process group of its own, as a shell has it."""
    words = [*before, program, "run", *LONG, "--out", out]
    return subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, hangup))


def begun(run, out):
    end = time.monotonic() + STALL_LIMIT_S
    while not (out / "records.bin").exists() or (out / "records.bin").stat().st_size < 20000:
        if run.poll() is not None or time.monotonic() > end:
            fail(f"the run ended or hangs before it could be ended: {run.communicate()}")
        time.sleep(0.02)


def ended(run, name):
    try:
        return run.communicate(timeout=STALL_LIMIT_S)
    except subprocess.TimeoutExpired:
        left = descendants(run.pid)
        for pid in [run.pid, *left]:
            os.kill(pid, signal.SIGKILL)
        fail(f"{name}: it has not ended after {STALL_LIMIT_S} s: {left}")


def in_order(run, out, name, code):
    stdout, stderr = ended(run, name)
    check(run.returncode == code, f"{name}: exit code {code}", (run.returncode, stderr))
    done = Run(out)
    check(done.run["end_reason"] == "interrupt", f"{name}: run.json says so", done.run["end_reason"])
    records.end(records.read(out / "records.bin"))
    check(done.verdict["evidence"]["truncated"] is False, f"{name}: the recording has its end", done.verdict["evidence"])
    check(not all(c["complete"] for c in done.verdict["collectives"]), f"{name}: the verdict knows that it is not complete")
    check("did not finish" in stdout, f"{name}: the verdict is printed", (stdout, stderr))
    check((out / "report.html").read_text().endswith("</html>\n"), f"{name}: the page is whole")


def one_signal():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for whom, send in (("rocelab alone", os.kill), ("the whole group", os.killpg)):
            out = scratch()
            run = start(out)
            begun(run, out)
            send(run.pid, number)
            in_order(run, out, f"{number.name} to {whom}", INTERRUPTED)


def by_timeout():
    """timeout(1) signals its child and then the group: the same wish twice."""
    out = scratch()
    run = start(out, before=("timeout", str(4 * slowness() * (8 if SANITIZED else 1))))
    in_order(run, out, "timeout", 124)


def ignored_hangup():
    """As nohup has it."""
    out = scratch()
    run = start(out, hangup=signal.SIG_IGN)
    begun(run, out)
    os.killpg(run.pid, signal.SIGHUP)
    time.sleep(1)
    check(run.poll() is None, "nohup: the run goes on")
    os.kill(run.pid, signal.SIGTERM)
    in_order(run, out, "nohup, then SIGTERM", INTERRUPTED)


def child_of(run, name):
    for pid in descendants(run.pid):
        try:
            if (pathlib.Path("/proc") / str(pid) / "comm").read_text().strip() == name:
                return pid
        except OSError:
            continue  # it is gone
    return fail(f"no {name} runs below {run.pid}")


def a_second_signal():
    """Whoever cannot wait for the end in order does not have to: here for a fabric that is frozen."""
    out = scratch()
    run = start(out)
    begun(run, out)
    fabric, analyzer = child_of(run, "dpswitch"), child_of(run, "analyzer")
    os.kill(fabric, signal.SIGSTOP)
    os.kill(run.pid, signal.SIGTERM)
    time.sleep(AGAIN_S)
    check(run.poll() is None, "second signal: the first one waits for the end in order")
    os.kill(run.pid, signal.SIGTERM)
    stdout, stderr = ended(run, "second signal")
    check(run.returncode == INTERRUPTED, "second signal: exit code", (run.returncode, stderr))
    check(f"rocelab diagnose {out}" in stderr, "second signal: what is left is printed", stderr)
    end = time.monotonic() + STALL_LIMIT_S
    while [pid for pid in (fabric, analyzer) if (pathlib.Path("/proc") / str(pid)).exists()] and time.monotonic() < end:
        time.sleep(0.05)
    check(not [pid for pid in (fabric, analyzer) if (pathlib.Path("/proc") / str(pid)).exists()],
          "second signal: no program is left")
    # the analyzer may have been faster than the signal: then what it wrote is whole
    left = {path.name for path in out.iterdir()} - {"records.bin", "effective.cfg"}
    check(left <= {"verdict.json", "report.txt", "report.html", "waiting.dot", "provenance.dot"},
          "second signal: nothing half done is left", left)
    if "verdict.json" in left:
        check(Run(out).verdict["evidence"]["truncated"] is True, "second signal: a verdict knows that it saw no end")
    if "report.html" in left:
        check((out / "report.html").read_text().endswith("</html>\n"), "second signal: a page is whole")


def early():
    """At whatever moment of the start: a verdict, or word that the run never began."""
    for wait_s in EARLY_S:
        out = scratch()
        run = start(out)
        time.sleep(wait_s)
        os.killpg(run.pid, signal.SIGTERM)
        stdout, stderr = ended(run, f"after {wait_s:.2f} s")
        if (out / "verdict.json").exists():
            check(Run(out).run["end_reason"] == "interrupt", f"after {wait_s:.2f} s: a run that began ends in order", stderr)
        else:
            check(run.returncode == -signal.SIGTERM or (run.returncode == INTERRUPTED and "interrupted" in stderr),
                  f"after {wait_s:.2f} s: it reports that it never began", (run.returncode, stderr))


FRAIL_ANALYZER = """#!{python}
import os, signal, socket, sys
if "--listen" not in sys.argv:
    os.execv("{real}", ["analyzer", *sys.argv[1:]])
at = sys.argv[sys.argv.index("--listen") + 1]
listener, fabrics = socket.socket(socket.AF_UNIX), []
{until}
{end}"""
SIGNALLED = """signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
for pid in fabrics:
    os.kill(pid, signal.SIGCONT)
{then}
"""
SIGNALLED_HOW = {
    "ends": SIGNALLED.format(then="signal.signal(signal.SIGTERM, signal.SIG_DFL)\nos.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()"),
    "ends in order": SIGNALLED.format(then="os._exit(130)"),
}
# A fabric that is held continues when the analyzer is no more.
KILLED = """ours = os.getpid()
if os.fork() == 0:
    while os.getppid() == ours:
        pass
    for pid in fabrics:
        os.kill(pid, signal.SIGCONT)
    os._exit(0)
os.kill(ours, signal.SIGKILL)
"""
# A fabric that connects in vain does so after the signal: it is held until then.
HELD = """listener.bind(at); listener.close()
while not fabrics:
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if os.getpgid(pid) == os.getpgid(0) and open(f"/proc/{pid}/comm").read() == "dpswitch\\n":
                fabrics.append(pid)
        except OSError:
            pass
os.kill(fabrics[0], signal.SIGSTOP)"""
UNTIL = {
    "it listens": "",
    "anybody can connect": HELD,
    "it reads": "listener.bind(at); listener.listen(1); peer = listener.accept(); peer[0].recv(1)",
}


def start_frail(out, until, end):
    programs = scratch()
    shutil.copy(ROCELAB, programs)
    (programs / "dpswitch").symlink_to(DPSWITCH)
    (programs / "analyzer").write_text(FRAIL_ANALYZER.format(python=sys.executable, real=ANALYZER, until=UNTIL[until], end=end))
    (programs / "analyzer").chmod(0o755)
    return start(out, program=programs / "rocelab")


def analyzer_ends(until):
    """A signal to the group ends the analyzer, at once or in order, if it does not read yet."""
    for how, end in SIGNALLED_HOW.items():
        out = scratch()
        run = start_frail(out, until, end)
        if until == "it reads":
            in_order(run, out, f"{how} before {until}", INTERRUPTED)
            continue
        stdout, stderr = ended(run, f"{how} before {until}")
        check(run.returncode == INTERRUPTED, f"{how} before {until}: exit code", (run.returncode, stderr))
        check("interrupted before the run began" in stderr, f"{how} before {until}: reported", stderr)


def analyzer_killed(until):
    """Before the fabric has connected there is no run; later its recording is kept."""
    out = scratch()
    (out / "mine.txt").write_text("kept\n")
    run = start_frail(out, until, KILLED)
    if until == "it reads":
        begun(run, out)
        os.kill(run.pid, signal.SIGTERM)
        _, stderr = ended(run, f"killed before {until}")
        check(run.returncode == 1, f"killed before {until}: exit code 1", (run.returncode, stderr))
        check("the analyzer was killed (signal 9: Killed); the recorded stream is kept" in stderr, f"killed before {until}: reported", stderr)
        check((out / "records.bin").stat().st_size > 0, f"killed before {until}: the recording is kept")
        return
    _, stderr = ended(run, f"killed before {until}")
    check(run.returncode == NOT_BEGUN, f"killed before {until}: exit code {NOT_BEGUN}", (run.returncode, stderr))
    check("rocelab: the analyzer was killed (signal 9: Killed) before the run began\n" in stderr, f"killed before {until}: reported", stderr)
    check([path.name for path in out.iterdir()] == ["mine.txt"], f"killed before {until}: the folder is as before", list(out.iterdir()))


def callers_that_ignore_children():
    """As a parent may have left it: how those that were started ended is heard all the same."""
    out = scratch()
    words = [ROCELAB, "run", SCENARIOS / "clean-ring.cfg", "--out", out]
    run = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    ended(run, "SIGCHLD ignored")
    check(run.returncode == 0, "SIGCHLD ignored: exit code 0", run.returncode)


if __name__ == "__main__":
    callers_that_ignore_children()
    one_signal()
    by_timeout()
    ignored_hangup()
    a_second_signal()
    early()
    for moment in UNTIL:
        analyzer_ends(moment)
        analyzer_killed(moment)
