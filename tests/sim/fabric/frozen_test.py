#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs of which a part is stopped: it neither holds up the others nor costs the verdict, and Ctrl-C ends it all."""
import os
import pty
import signal
import subprocess
import termios
import time

from cases import ring, small
from harness import (DPSWITCH, INTERRUPTED, STALL_LIMIT_S, ROCELAB, SCENARIOS, Run, check, command, descendants, fail,
                     scratch, sets)
from records import STEP, record_layout

MANY_TIMES = {"collectives__[0]__iterations": 50}  # more than half a minute of any machine
BUSY = sets(detection__policy="full-polling", telemetry__epoch="10us")  # some 4 MB of records a second


class Live:
    """`rocelab run` under way, and its programs by name."""

    def __init__(self, scenario, *args, stdout=subprocess.PIPE):
        self.out = scratch()
        words = [ROCELAB, "run", scenario, "--allow-unfinished", "--out", self.out, *args]
        self.process = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=stdout,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.stopped = []

    def until(self, what, condition, timeout=STALL_LIMIT_S):
        end = time.monotonic() + timeout
        while not condition():
            if self.process.poll() is not None or time.monotonic() > end:
                fail(f"waiting until {what}: {self.end()}")
            time.sleep(0.005)

    def pid(self, program):
        for pid in descendants(self.process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if os.path.basename(file.read().split(b"\0")[0]).decode() == program:
                        return pid
            except OSError:
                continue
        return None

    def stop(self, program):
        self.until(f"{program} runs", lambda: self.pid(program))
        pid = self.pid(program)
        os.kill(pid, signal.SIGSTOP)
        self.stopped.append(pid)
        return pid

    def recorded(self, size):
        file = self.out / "records.bin"
        self.until(f"{size} B are recorded", lambda: file.exists() and file.stat().st_size >= size)

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self, timeout=STALL_LIMIT_S):
        try:
            self.stdout, self.stderr = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            left = descendants(self.process.pid)
            self.process.kill()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            fail(f"still running after {timeout} s: {left}")
        run = Run(self.out)
        run.stdout, run.stderr, run.code = self.stdout, self.stderr, self.process.returncode
        for pid in self.stopped:
            check(not os.path.exists(f"/proc/{pid}"), "what was stopped is gone", pid)
        return run


def long_run(iterations, step_bytes=200_000):
    return small(collective=ring(iterations=iterations, step_bytes=step_bytes, payload="synthetic"))


def whole_verdict(run, name, iterations):
    check(run.code == 0, f"{name}: exit code 0", (run.code, run.stderr))
    check("the verdict is made from the recording" in run.stderr, f"{name}: reported", run.stderr)
    complete = [c["complete"] for c in run.verdict["collectives"]]
    check(len(complete) == iterations and all(complete), f"{name}: the verdict is on all of the run", complete)
    check("Report: " in run.stdout, f"{name}: and printed", run.stdout)


def analyzer_before_it_listens():
    """Caught before it has opened its socket, or shortly after: it is waited for and left."""
    live = Live(long_run(3))
    live.stop("analyzer")
    whole_verdict(live.end(), "an analyzer that is stopped at once", 3)


def analyzer_while_it_reads():
    """More than buffers hold comes after that."""
    live = Live(long_run(1500), *BUSY)
    live.recorded(200_000)
    live.stop("analyzer")
    run = live.end()
    whole_verdict(run, "an analyzer that is stopped", 1500)
    check(run.run["export"]["analyzer_lost"] != 0, "an analyzer that is stopped: run.json says so", run.run["export"])
    check(run.run["end_reason"] == "complete", "an analyzer that is stopped: the run goes on", run.run["end_reason"])


def analyzer_and_an_interrupt():
    live = Live(long_run(20_000), *BUSY)
    live.recorded(200_000)
    live.stop("analyzer")
    time.sleep(1)
    live.interrupt()
    run = live.end(STALL_LIMIT_S)
    check(run.code == INTERRUPTED, "a stopped analyzer, Ctrl-C: exit code 130", (run.code, run.stderr))
    check(run.run["end_reason"] == "interrupt", "a stopped analyzer, Ctrl-C: run.json says so", run.run["end_reason"])
    check("did not finish" in run.report, "a stopped analyzer, Ctrl-C: the verdict is on what there is", run.report)


def analyzer_that_returns():
    """Stopped for less than that, it reads on where it was."""
    live = Live(long_run(600), *BUSY)
    live.recorded(100_000)
    pid = live.stop("analyzer")
    time.sleep(3)
    os.kill(pid, signal.SIGCONT)
    run = live.end()
    check(run.code == 0 and "recording" not in run.stderr, "an analyzer that comes back: nobody minds",
          (run.code, run.stderr))
    check(run.run["export"]["analyzer_lost"] == 0 and run.run["export"]["analyzer_missed_records"] == 0,
          "an analyzer that comes back: it lacks nothing", run.run["export"])
    check(run.verdict["overhead"]["completeness"] == 1, "an analyzer that comes back: its verdict is whole",
          run.verdict["overhead"])


def analyzer_in_real_time():
    """A run that cannot wait does not."""
    live = Live(small(collective=ring(iterations=100, step_bytes=20_000, payload="synthetic")), *BUSY,
                *sets(timing__clock="real", topology__rate="100Mbps", topology__delay="100us"))
    live.recorded(100_000)
    live.stop("analyzer")
    run = live.end()
    whole_verdict(run, "a stopped analyzer in real time", 100)
    check(run.run["export"]["recording_missed_records"] == 0, "a stopped analyzer in real time: the recording is whole",
          run.run["export"])


def analyzer_that_is_late_in_real_time():
    """What it did not take while it was stopped, the recording has."""
    live = Live(small(collective=ring(iterations=400, step_bytes=20_000, payload="synthetic")), *BUSY,
                *sets(timing__clock="real", topology__rate="100Mbps", topology__delay="100us"))
    live.recorded(100_000)
    pid = live.stop("analyzer")
    live.recorded(20_000_000)
    os.kill(pid, signal.SIGCONT)
    run = live.end()
    check(run.run["export"]["analyzer_missed_records"] > 0, "an analyzer that is late in real time lacks records",
          run.run["export"])
    whole_verdict(run, "an analyzer that is late in real time", 400)


def fabric_and_an_interrupt():
    live = Live(long_run(20_000))
    live.recorded(1000)
    live.stop("dpswitch")
    live.interrupt()
    run = live.end(STALL_LIMIT_S)
    check(run.code == 1 and "dpswitch was killed" in run.stderr, "a stopped fabric, Ctrl-C: reported", (run.code, run.stderr))


def everybody():
    """A machine that is away for a while is no silence of anybody."""
    live = Live(small(collective=ring(iterations=400, step_bytes=20_000, payload="synthetic")),
                *sets(timing__clock="real", topology__rate="100Mbps", topology__delay="100us", limits__stall="500ms"))
    live.recorded(1000)
    pids = [live.process.pid, *descendants(live.process.pid)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(12)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    run = live.end()
    check(run.code == 0 and run.run["end_reason"] == "complete", "all are stopped and go on: the run completes",
          (run.code, run.run["end_reason"], run.stderr))
    # what happened meanwhile comes at once: a busy machine's analyzer may lack some of it, which is reported
    lacks = "the analyzer did not keep up" in run.stderr
    check("went away" not in run.stderr and ("recording" in run.stderr) == lacks,
          "all are stopped and go on: the analyzer is not given up", run.stderr)
    # nor may a busy disk take all of it, which is reported too
    late_disk = "the disk did not keep up" in run.stderr
    check(late_disk == (run.run["export"]["recording_missed_records"] > 0), "all are stopped and go on: a late disk is reported",
          (run.stderr, run.run["export"]))
    complete = [c["complete"] for c in run.verdict["collectives"]]
    check(len(complete) == 400 and (all(complete) or late_disk), "all are stopped and go on: the verdict is on all of the run",
          (sum(complete), run.stderr, run.run["export"]))


def a_reader_that_takes_its_time():
    """A pager is no stopped analyzer: what it does not read yet is still printed, however long that takes."""
    reader, writer = os.pipe()
    live = Live(long_run(600), *BUSY, stdout=writer)
    live.recorded(10_000)
    full = os.open(f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK)  # of its own, so that the program's stays as it is
    try:
        while True:
            os.write(full, bytes(4096))
    except BlockingIOError:
        pass
    os.close(full)
    os.close(writer)
    live.until("the reports are written", lambda: (live.out / "report.html").exists())
    time.sleep(13)
    check(live.process.poll() is None, "a reader that takes its time: it is waited for", live.process.returncode)
    with os.fdopen(reader, "rb") as file:
        printed = file.read()
    run = live.end()
    check(run.code == 0 and b"Report: " in printed, "a reader that takes its time: it gets all", (run.code, run.stderr))


def steps_of(data):
    """Steps in a recording, which must be whole records; at most the last is cut."""
    pieces = record_layout.pieces(data)
    left = len(data) - 16 - sum(map(len, pieces))
    if left >= record_layout.MAX_BYTES:
        fail(f"a killed fabric: no record in the last {left} of {len(data)} B")
    return sum(record_layout.type_of(record) == STEP for record in record_layout.records(data))


def a_terminal_that_is_held():
    """Ctrl-S stops what a terminal shows, not what is shown of: progress is left out."""
    master, slave = pty.openpty()
    termios.tcflow(slave, termios.TCOOFF)
    out = scratch()
    words = [str(w) for w in (DPSWITCH, long_run(600), *BUSY, "--out", out)]
    run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
    try:
        run.wait(STALL_LIMIT_S)
    except subprocess.TimeoutExpired:
        run.kill()
        fail("a terminal that is held: the run waits for it")
    check(run.returncode == 0, "a terminal that is held: the run ends", run.returncode)
    os.close(slave)
    os.close(master)


def killed_fabric():
    """A run in virtual time that reports little, so that no buffer fills, leaves nearly all of it when it is killed."""
    live = Live(SCENARIOS / "ns3-allgather-100g.cfg", *sets(detection__policy="off", **MANY_TIMES))
    live.recorded(1000)
    live.until("steps are recorded", lambda: steps_of((live.out / "records.bin").read_bytes()) > 0)
    time.sleep(1)
    before = steps_of((live.out / "records.bin").read_bytes())
    time.sleep(1)
    check(live.pid("dpswitch") is not None, "a killed fabric: its steps were recorded while it ran", before)
    os.kill(live.pid("dpswitch"), signal.SIGKILL)
    run = live.end(STALL_LIMIT_S)
    after = steps_of((run.dir / "records.bin").read_bytes())
    check(after >= before > 0, "a killed fabric: what was recorded stays", (before, after))
    done = command(ROCELAB, "diagnose", run.dir, expect=None)
    check("AllGather" in done.stdout, "a killed fabric: its recording is taken", (done.returncode, done.stdout, done.stderr))


if __name__ == "__main__":
    for test in (analyzer_before_it_listens, analyzer_while_it_reads, analyzer_and_an_interrupt, analyzer_that_returns,
                 analyzer_in_real_time, analyzer_that_is_late_in_real_time, fabric_and_an_interrupt, everybody,
                 a_reader_that_takes_its_time, a_terminal_that_is_held, killed_fabric):
        start = time.monotonic()
        test()
        print(f"# {test.__name__}: {time.monotonic() - start:.1f} s", flush=True)
