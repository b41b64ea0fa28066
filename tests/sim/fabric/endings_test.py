#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How runs end: completion, limit, stall, QP error, a failed invariant, an interrupt; what is reported of steps still open."""
import json
import os
import signal
import re
import subprocess
import time

from cases import fault, ring, small
from harness import (FINDING, INTERRUPTED, STALL_LIMIT_S, ROCELAB, SCENARIOS, UNFINISHED, Run, check, command, fail, page_data,
                     rocelab, scratch, sets, reported)


def agrees_with_itself(run, name):
    """Text, JSON and page of an unfinished run: nothing was shorter than expected, no evidence complete that lacks steps."""
    page, report = page_data(run), re.sub(r"\s+", " ", run.report)
    verdict = run.verdict
    shorter = re.findall(r"-\d+\.\d %", report)
    check(not shorter, f"{name}: report.txt calls nothing shorter than expected", shorter)
    worst = page["collectives"][page["run"]["worst"]]
    check(not worst["complete"] and worst["done"] < worst["nsteps"], f"{name}: the page counts steps instead", worst)
    check(verdict["evidence"]["ending"] == run.run["end_reason"], f"{name}: verdict and run.json name the same ending",
          verdict["evidence"])
    check(verdict["network"]["innocent"] is False and "network is innocent" not in report,
          f"{name}: the network is not called innocent", verdict["network"])
    missing = re.search(r"(\d+) of (\d+) steps were never reported", report)
    share = 1 - int(missing.group(1)) / int(missing.group(2)) if missing else 1
    check(abs(verdict["overhead"]["completeness"] - share) < 1e-9, f"{name}: completeness counts steps", verdict["overhead"])
    check(f"{100 * share:.1f} % complete" in report and abs(page["overhead"]["completeness"] - share) < 1e-6,
          f"{name}: in words and on the page", (share, report))


def open_steps(run, name):
    """What an unfinished run says: the verdict's critical path ends in an open step, the collective is not complete."""
    collective = run.verdict["collectives"][0]
    check(collective["complete"] is False, f"{name}: the collective is not complete", collective)
    path = run.verdict["critical_path"]
    check(path and path[-1]["open"], f"{name}: the critical path ends in an open step", path)
    check(not any(step["open"] for step in path[:-1]), f"{name}: and no other step of it is open", path)
    check("did not finish" in run.report, f"{name}: the report says so", run.report)
    agrees_with_itself(run, name)
    end_ns = run.run["virtual_ns"]
    late = [r for r in run.steps() if int(r["start_ns"]) + int(r["duration_ns"]) > end_ns + 1]
    check(not late, f"{name}: no step outlives the run", late)


def completes():
    run = rocelab(small())
    check(run.run["end_reason"] == "complete", "completion", run.run)
    check(run.verdict["collectives"][0]["complete"] is True, "completion: the collective is complete", run.verdict)
    check(len(run.steps()) == 12, "completion: every step is in steps.csv", run.steps())
    check(not any(step["open"] for step in run.verdict["critical_path"]), "completion: no step is open")
    rocelab(small(), "--fail-on-finding")
    slow = small(fault("slow-host", host="b1", delay="1ms"))
    rocelab(slow)
    rocelab(slow, "--fail-on-finding", expect=FINDING)


def limited():
    run = rocelab(small(), *sets(limits__virtual_time="250us"))
    check(run.run["end_reason"] == "virtual_time", "limit", run.run)
    check(run.run["virtual_ns"] == 250_000, "limit: at the very time", run.run["virtual_ns"])
    open_steps(run, "limit")
    # within the second of three steps
    states = {int(step["step"]) for step in run.verdict["critical_path"]}
    check(states == {1, 2}, "limit: it stands in step 2", states)
    two = [f'{{ src = "a{i}"; dst = "b1"; sport = {76 + i}; bytes = 1000000; start = "0s"; }}' for i in (1, 2)]
    for limit, warns in (("100ns", False), ("10us", True)):
        done = command(ROCELAB, "run", small(collective="", extra=f"flows = ( {', '.join(two)} );\n"), "--out", scratch(), "--allow-unfinished",
                       *sets(limits__virtual_time=limit))
        check(("no-marks" in done.stderr) == warns, f"limit: {limit}, no packet is marked: reported where some were sent", done.stderr)


def unfinished():
    """A collective that did not finish is no success, however orderly its run ended."""
    limit = sets(limits__virtual_time="250us")
    for name, path, args in (("under way", small(), limit),
                             ("not even begun", small(collective=ring(start="1ms")), sets(limits__virtual_time="1us"))):
        done = command(ROCELAB, "run", path, "--out", scratch(), *args, expect=UNFINISHED)
        check("did not finish" in done.stdout, f"unfinished, {name}: the report says why", done.stdout)
        command(ROCELAB, "run", path, "--out", scratch(), "--allow-unfinished", *args)
    run = rocelab(small(), *limit)
    command(ROCELAB, "diagnose", run.dir)
    done = command(ROCELAB, "run", SCENARIOS / "clean-ring.cfg", "--out", scratch(), *sets(exporter__budget="1KB"))
    check("never reported" in reported(done), "unfinished: a collective that was not reported may well have finished", reported(done))
    flow = 'flows = ( { src = "a1"; dst = "b1"; sport = 1; bytes = 4000000; } );\n'
    flows = (ROCELAB, "run", small(extra=flow, collective=""), "--out", scratch(), *sets(limits__virtual_time="10us"))
    done = command(*flows, expect=UNFINISHED)
    check("did not finish" in " ".join(done.stdout.split()), "unfinished flows: the report says so", done.stdout)
    command(*flows, "--allow-unfinished")


def never_began():
    """The start of a collective with local steps is after the run's end, by its limit or because nothing else moves."""
    exchange = """collectives = ( { op = "alltoall"; algorithm = "pairwise"; ranks = [ "a1", "b1", "a2", "b2" ];
  bytes = 40000; sport = 10003; start = "50ms"; } );
"""
    flow = 'flows = ( { src = "a1"; dst = "b1"; sport = 1; bytes = 4000000; } );\n'
    storm = fault("pfc-storm", port="b1:1", start="5us")
    for name, path, args in (("limit", small(collective=exchange), sets(limits__virtual_time="10ms")),
                             ("stall", small(storm, collective=exchange, extra=flow), sets(host__timeout="0ps", limits__stall="20ms"))):
        run = rocelab(path, *args)
        check(run.run["end_reason"] in ("virtual_time", "stall"), f"never began, {name}: it ends first", run.run["end_reason"])
        slow = [f for f in run.findings() if f["type"] == "slow-host"]
        check(not slow, f"never began, {name}: hosts that had nothing to do are not slow", slow)
        check(all(step["job"] == "-" for step in run.steps()), f"never began, {name}: steps.csv has none of its steps", run.steps())
        words = re.sub(r"\s+", " ", run.report)
        check("not begun" in words and ("before it began" in words or name == "stall"), f"never began, {name}: the report says so", run.report)
        agrees_with_itself(run, f"never began, {name}")


def stalled():
    storm = small(fault("pfc-storm", port="b1:1", start="50us"))
    run = rocelab(storm, *sets(host__timeout="0ps", limits__stall="20ms"))
    check(run.run["end_reason"] == "stall", "stall", run.run)
    # the hosts that do not wait for b1 get their bytes within the first 600 us
    check(20_000_000 <= run.run["virtual_ns"] < 20_700_000, "stall: after the time given", run.run["virtual_ns"])
    open_steps(run, "stall")
    types = [(f["type"], f["root"]) for f in run.findings()]
    check(types[:1] == [("pfc-storm", "b1:1")], "stall: the verdict says why", types)


TWO = """collectives = (
  { op = "allgather"; algorithm = "ring"; ranks = [ "a1", "b1", "a2", "b2" ]; step_bytes = 200000; sport = 10003; },
  { op = "allgather"; algorithm = "ring"; ranks = [ "a1", "b1", "a2", "b2" ]; step_bytes = 200000; sport = 11003;
    start = "5s"; } );
"""


def waiting_is_no_stall():
    """What begins later than a stall lasts does begin: a collective, an iteration, a flow, a step that is held back."""
    later = 'flows = ( { src = "a1"; dst = "b1"; sport = 1; bytes = 4000000; start = "5s"; } );\n'
    for name, scenario in {
            "a collective": small(collective=TWO),
            "an iteration": small(collective=ring(step_bytes=200_000, iterations=3, gap="3s")),
            "a flow": small(extra=later),
            "a slow host": small(fault("slow-host", host="b1", delay="3s")),
    }.items():
        run = rocelab(scenario)
        check(run.run["end_reason"] == "complete", f"{name} that begins later is no stall", run.run["end_reason"])
        check(run.run["virtual_ns"] > 3_000_000_000, f"{name} that begins later begins", run.run["virtual_ns"])
    storm = small(fault("pfc-storm", port="b1:1", start="50us"), collective=TWO)
    run = rocelab(storm, *sets(host__timeout="0ps"))
    check(run.run["end_reason"] == "stall", "one stuck, one to begin later: a stall", run.run["end_reason"])
    check(run.run["virtual_ns"] < 2_100_000_000, "one stuck, one to begin later: at once", run.run["virtual_ns"])


def failed():
    hole = small(fault("blackhole", switch="B", dst="b1", start="50us"))
    run = rocelab(hole, *sets(host__retry_count=1, host__timeout="100us"))
    check(run.run["end_reason"] == "qp_error", "QP error", run.run)
    # 50 us, the round trip under way, and twice the one timeout of 100 us
    check(250_000 < run.run["virtual_ns"] < 300_000, "QP error: when the retries are spent", run.run["virtual_ns"])
    check("b1" in run.stderr or "QP" in run.stderr, "QP error: printed for the user", run.stderr)
    open_steps(run, "QP error")
    run = rocelab(hole, *sets(host__retry_count=0, host__timeout="100us"))
    check(run.run["virtual_ns"] < 200_000, "QP error: fewer retries, sooner", run.run["virtual_ns"])


def without_pfc():
    """Queues that overflow are no failed invariant in a class that is not lossless."""
    flows = 'flows = ( { src = "a1"; dst = "b1"; sport = 1; bytes = 4000000; }, { src = "a2"; dst = "b1"; sport = 2; ' \
            'bytes = 4000000; } );\n'
    run = rocelab(small(extra=flows, collective=""), *sets(switch__pfc__enabled="false", switch__lossy_queue="100KB",
                                                           host__cc="none", host__timeout="200us"))
    check(run.run["end_reason"] == "complete", "without PFC flows still get through", run.run)
    check(run.run["drops"]["queue_full"] > 0, "without PFC queues drop, by name", run.run["drops"])


def interrupted():
    """Ctrl-C ends the run, not the verdict on what there is."""
    out = scratch()
    reporting = sets(detection__policy="full-polling") # enough that the recording grows while the run continues
    args = [ROCELAB, "run", SCENARIOS / "ns3-allgather-100g.cfg", "--out", out, *reporting]
    run = subprocess.Popen([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True)
    deadline = time.monotonic() + STALL_LIMIT_S
    while not (out / "records.bin").exists() or (out / "records.bin").stat().st_size < 20000:
        if run.poll() is not None or time.monotonic() > deadline:
            fail(f"the run ended or hangs before it could be interrupted: {run.communicate()}")
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGINT)
    stdout, stderr = run.communicate(timeout=STALL_LIMIT_S)
    check(run.returncode == INTERRUPTED, "interrupt: exit code", (run.returncode, stderr))
    done = Run(out)
    check(done.run["end_reason"] == "interrupt", "interrupt: run.json says so", done.run["end_reason"])
    check(done.verdict["collectives"][0]["complete"] is False, "interrupt: the verdict knows that it is not complete")
    check("did not finish" in stdout, "interrupt: so does the report", stdout)
    agrees_with_itself(done, "interrupt")


def nowhere_to_write():
    """What a full disk does not take, be it standard output or a file, is reported, and the exit code says so."""
    run = rocelab(small())
    for args in (("--help",), ("reference",), ("run", "--help"), ("topo", "show", SCENARIOS / "pfc-storm.cfg"),
                 ("diagnose", run.dir), ("diagnose", run.dir, "--json"), ("list", run.dir), ("--version",), ("run", small(), "--out", scratch())):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(a) for a in (ROCELAB, *args)], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=STALL_LIMIT_S)
        name = f"full: rocelab {args[0]} {str(args[1])[:6] if len(args) > 1 else ''}"
        check(done.returncode == 1, f"{name}: exit code", (done.returncode, done.stderr))
        check("standard output cannot be written: No space left on device" in done.stderr and "Input/output" not in done.stderr,
              f"{name}: reported", done.stderr)
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *(str(a) for a in (ROCELAB, *args))], stderr=subprocess.PIPE, text=True,
                              timeout=STALL_LIMIT_S)
        check(done.returncode == 1 and "standard output cannot be written: Bad file descriptor" in done.stderr,
              f"{name}, closed", (done.returncode, done.stderr))


def files_are_whole(out, name):
    """The store has the findings of the verdict, the page its scenario and series."""
    verdict, page = json.loads((out / "verdict.json").read_text()), (out / "report.html").read_text()
    stored = command(ROCELAB, "query", out, "SELECT type, root FROM findings ORDER BY finding", "--json").stdout
    check([(row["type"], row["root"]) for row in json.loads(stored)] == [(f["type"], f["root"]) for f in verdict["findings"]] != [],
          f"{name}: the store has its findings", stored)
    for element in ("scenario", "series"):
        check(page.count(f'<script type="application/json" id="{element}">') == 1, f"{name}: the page has its {element}", len(page))


def output_without_reader():
    """Files do not depend on who reads standard output: a full disk, or a reader that goes after the first line."""
    slow, out = small(fault("slow-host", host="b1", delay="1ms")), scratch()
    for name, args in (("run", ("run", slow, "--out", out)), ("diagnose", ("diagnose", out))):
        words = [str(a) for a in (ROCELAB, *args)]
        with open("/dev/full", "w") as full:
            subprocess.run(words, stdout=full, stderr=subprocess.DEVNULL, timeout=STALL_LIMIT_S)
        files_are_whole(out, f"{name}, a full disk")
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
            if name == "run":
                started.stdout.readline()
            started.stdout.close()
            started.wait(timeout=STALL_LIMIT_S)
        files_are_whole(out, f"{name}, a reader that goes")


completes()
nowhere_to_write()
output_without_reader()
limited()
unfinished()
never_began()
stalled()
waiting_is_no_stall()
failed()
without_pfc()
interrupted()
