#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How runs on external hosts end when something dies, or somebody has enough: a clear message, a record, and nothing left."""
import collections
import os
import re
import signal
import time

from harness import INTERRUPTED, NOT_BEGUN, STALL_LIMIT_S, ROCELAB, check, command, descendants, scenario_file, scratch, within
from records import STEP, record_layout
from rxe import TOPOLOGY, Live, counters, invariants, need_guests, ring, scenario

STEPS_OF_ITERATION = 4 * 6


ITERATION = next((at, width) for name, at, width in record_layout.kinds()[STEP].fields if name == "iteration")


def iterations_recorded(live):
    """Iterations of which the recording, as far as it is written, has the steps of all ranks. On a busy machine those of one may be
    late by more than an iteration."""
    data = (live.out / "records.bin").read_bytes()
    at, width = ITERATION
    steps = collections.Counter(int.from_bytes(record[at:at + width], "little")
                                for record in record_layout.records(data) if record_layout.type_of(record) == STEP)
    return sum(count >= STEPS_OF_ITERATION for count in steps.values())


def begun(*args):
    """A run that would continue for long, when its first iterations are over."""
    live = Live(scenario(ring(size="100KB", iterations=200)), *args)
    live.begun()
    live.until("two iterations are recorded", lambda: iterations_recorded(live) >= 2)
    return live


def verdict_of_what_there_is(run, name, reason):
    check(run.run["end_reason"] == reason, f"{name}: run.json says {reason}", run.run["end_reason"])
    invariants(run, name)
    check(run.verdict["collectives"][0]["complete"] is True, f"{name}: the first iteration is in the verdict",
          run.verdict["collectives"][:2])
    check(not all(c["complete"] for c in run.verdict["collectives"]), f"{name}: the last is not complete")
    check("did not finish" in run.report, f"{name}: the report says so", run.report)


def diagnosed_again(run, name):
    done = command(ROCELAB, "diagnose", run.dir, expect=None)
    check("AllReduce" in done.stdout, f"{name}: the recording can be diagnosed", (done.stdout, done.stderr))


def names(text, host):
    """As a word: names of temporary folders are of chance."""
    return re.search(rf"\b{host}\b", text) is not None


def soon(live, name):
    check(within(time.monotonic() - live.took, 60), f"{name}: ends in {live.took:.1f} s")


def killed_guest():
    live = begun()
    live.kill_guest("h2")
    run = live.end(timeout=STALL_LIMIT_S)
    soon(live, "killed guest")
    check("host h2" in run.stderr and "h2.log" in run.stderr, "killed guest: it is named, and where its log is", run.stderr)
    verdict_of_what_there_is(run, "killed guest", "host_lost")
    check((run.dir / "guests" / "h2.log").exists(), "killed guest: its log is kept")
    diagnosed_again(run, "killed guest")


def killed_guest_while_booting():
    live = Live(scenario(ring()))
    live.booting()
    live.kill_guest("h0")
    run = live.end(expect=NOT_BEGUN, timeout=STALL_LIMIT_S)
    check("host h0" in run.stderr and f"{run.dir}/guests" in run.stderr, "guest killed while booting: it is named, and "
          "where the logs are", run.stderr)
    check(not names(run.stderr, "h1"), "guest killed while booting: no other is", run.stderr)
    check(not (run.dir / "verdict.json").exists(), "guest killed while booting: no verdict")
    soon(live, "guest killed while booting")


def killed_supervisor_while_booting():
    """The guest of a supervisor that is killed goes with it, at whatever moment of its boot."""
    for wait_s in (0, 0.1, 0.3, 0.6):
        name = f"supervisor killed {wait_s} s after a guest began to boot"
        live = Live(scenario(ring()))
        live.until("a supervisor runs", lambda: live.supervisors())
        time.sleep(wait_s)
        os.kill(live.supervisors()[0], signal.SIGKILL)
        run = live.end(expect=NOT_BEGUN, timeout=STALL_LIMIT_S)
        # once the guest is connected, dpswitch may see its channel close before rocelab sees its supervisor gone
        why = ("its supervisor was killed", "its management channel closed")
        check("host h0" in run.stderr and any(w in run.stderr for w in why) and not names(run.stderr, "h1"),
              f"{name}: the host is named, and why", run.stderr)
        check(not (run.dir / "verdict.json").exists(), f"{name}: no verdict")
        check(within(time.monotonic() - live.took, 30), f"{name}: ends in {live.took:.1f} s")


def killed_supervisor():
    live = begun()
    os.kill(live.supervisors()[2], signal.SIGKILL)
    run = live.end(timeout=STALL_LIMIT_S)
    soon(live, "killed supervisor")
    check("host h2" in run.stderr, "killed supervisor: its host is named", run.stderr)
    verdict_of_what_there_is(run, "killed supervisor", "host_lost")


def killed_dpswitch():
    live = begun()
    live.note_sockets()
    os.kill(live.pid("dpswitch"), signal.SIGKILL)
    run = live.end(expect=1, timeout=STALL_LIMIT_S)
    soon(live, "killed dpswitch")
    check("dpswitch was killed (signal 9" in run.stderr, "killed dpswitch: reported", run.stderr)
    check("evidence is incomplete" in run.stderr and "Incomplete evidence" in run.report,
          "killed dpswitch: the verdict is said to lack evidence", (run.stderr, run.report))
    check(run.verdict["collectives"][0]["complete"] is True, "killed dpswitch: the first iteration is in the verdict",
          run.verdict["collectives"][:2])
    diagnosed_again(run, "killed dpswitch")


def killed_analyzer():
    live = begun()
    os.kill(live.pid("analyzer"), signal.SIGKILL)
    time.sleep(3)
    check(live.process.poll() is None, "killed analyzer: the run goes on")
    live.interrupt()
    run = live.end(expect=1, timeout=STALL_LIMIT_S)
    soon(live, "killed analyzer")
    check("the analyzer was killed (signal 9" in run.stderr and f"rocelab diagnose {run.dir}" in run.stderr,
          "killed analyzer: reported, with what to do", run.stderr)
    command(ROCELAB, "diagnose", run.dir)
    verdict_of_what_there_is(run, "killed analyzer", "interrupt")


def interrupted():
    """By Ctrl-C, and by a terminal that closes."""
    for name, number in (("Ctrl-C", signal.SIGINT), ("hangup", signal.SIGHUP)):
        live = begun()
        live.interrupt(number)
        run = live.end(expect=INTERRUPTED, timeout=STALL_LIMIT_S)
        soon(live, name)
        verdict_of_what_there_is(run, name, "interrupt")
        check("did not finish" in run.stdout, f"{name}: the verdict is printed", run.stdout)


def killed_rocelab():
    """Its programs end by themselves, guests included, and the folder is free when the last one has ended."""
    live = begun()
    live.process.kill()
    stdout = live.process.communicate(timeout=STALL_LIMIT_S)[0]
    live.gone()
    check("did not finish" in stdout, "killed rocelab: the verdict is printed", stdout)
    command(ROCELAB, "diagnose", live.out)


def interrupted_early(name, wait):
    """@param wait  until when"""
    live = Live(scenario(ring()))
    wait(live)
    live.interrupt()
    run = live.end(expect=INTERRUPTED, timeout=STALL_LIMIT_S)
    soon(live, name)
    check("interrupted" in run.stderr, f"{name}: reported", run.stderr)
    check(not (run.dir / "verdict.json").exists(), f"{name}: no verdict", run.stdout)


def silent_host():
    """A host that comes up and never connects ends the wait, with its name."""
    live = Live(scenario(ring(), limits='limits = { connect = "15s"; };\n'))
    live.until("h3 boots", lambda: live.guest_pids("h3"))
    frozen(live, "h3")
    run = live.end(expect=NOT_BEGUN, timeout=STALL_LIMIT_S)
    check(names(run.stderr, "h3") and not names(run.stderr, "h1") and "limits.connect = 15s" in run.stderr,
          "a frozen host: named, with the limit", run.stderr)
    soon(live, "a frozen host")


def frozen(live, name):
    """Stops a guest, all of it: as it boots, processes that try something out come and go."""
    for pid in live.guest_pids(name):
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            continue


def frozen_guest(name, end, reason, *args):
    """A guest that is stopped in the middle stops nobody else, and no end of the run. @param end  what brings it"""
    flow = '{ src = "h0"; dst = "h1"; sport = 50000; bytes = "50KB"; mode = "repeat"; until = "600s"; }'
    live = Live(scenario(ring(size="100KB", iterations=2000), flows=[flow]), *args)
    live.begun()
    live.until("two iterations are recorded", lambda: iterations_recorded(live) >= 2)
    frozen(live, "h2")
    time.sleep(3)  # whatever h2 still was called for is in its pipe
    before = counters(live, "h1")["rcvd_pkts"]
    live.until("others go on", lambda: counters(live, "h1")["rcvd_pkts"] > before + 100, timeout=STALL_LIMIT_S)
    end(live)
    run = live.end(expect=INTERRUPTED if reason == "interrupt" else 0, timeout=STALL_LIMIT_S)
    soon(live, name)
    check(run.run["end_reason"] == reason, f"{name}: ends by {reason}", run.run["end_reason"])
    # guests of a machine that is very busy may be late, too
    silent = re.search("no answer at the end of the run: ([^;]*);", run.stderr)
    check(silent is not None and "h2" in silent[1].split(", "), f"{name}: named", run.stderr)
    check("host h2 no longer answered" in " ".join(run.report.split()), f"{name}: the report names it", run.report)
    invariants(run, name)
    diagnosed_again(run, name)


def traced(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return "TracerPid:\t0\n" not in file.read()
    except OSError:
        return True  # it has gone


def everybody_frozen():
    """A machine that is stopped for longer than hosts may be silent continues where it was."""
    live = Live(scenario(ring(size="100KB", iterations=30), limits='limits = { connect = "180s"; stall = "2s"; };\n'))
    live.begun()
    live.until("two iterations are recorded", lambda: iterations_recorded(live) >= 2)
    # what runs in a guest is traced by its kernel, and stops with that; a signal it would take for the program's own
    pids = [pid for pid in (live.process.pid, *descendants(live.process.pid)) if not traced(pid)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(4)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    run = live.end(timeout=STALL_LIMIT_S)
    check(run.run["end_reason"] == "complete", "all are frozen for a while: the run completes",
          (run.run["end_reason"], run.stderr))
    invariants(run, "all are frozen for a while")


def none_connects():
    """A host that the user starts: what to start is printed, and what was waited for."""
    out = scratch()
    text = TOPOLOGY.replace('{ kind = "guest"; }', f'{{ kind = "port"; names = [ "h0" ]; port = "vhost:{out}/h0.vhost"; }}')
    path = scenario_file(text + 'limits = { connect = "2s"; hold = "1s"; };\n')
    done = command(ROCELAB, "run", path, "--out", out / "run", expect=NOT_BEGUN, timeout=STALL_LIMIT_S)
    check("--host h0 --manage /tmp/rocelab-run-" in done.stderr, "a host elsewhere: what to start there", done.stderr)
    check("h0 did not start within limits.connect = 2s" in done.stderr, "a host elsewhere: waited for", done.stderr)
    check(not (out / "h0.vhost").exists(), "a host elsewhere: its socket is removed")


if __name__ == "__main__":
    none_connects()
    need_guests()
    killed_guest()
    killed_guest_while_booting()
    killed_supervisor_while_booting()
    killed_supervisor()
    killed_dpswitch()
    killed_analyzer()
    killed_rocelab()
    interrupted()
    interrupted_early("Ctrl-C while guests boot", Live.booting)
    interrupted_early("Ctrl-C at once", lambda live: live.until("dpswitch starts", lambda: live.pid("dpswitch")))
    silent_host()
    frozen_guest("frozen guest, Ctrl-C", Live.interrupt, "interrupt")
    frozen_guest("frozen guest, limit", lambda live: None, "virtual_time", "--set", "limits.virtual_time=30s")
    everybody_frozen()
