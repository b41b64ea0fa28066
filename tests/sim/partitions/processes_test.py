#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One run in virtual time over several processes: whatever their number, its files are those of one program; one that dies
or is stopped ends all of them, and what was recorded is diagnosed."""
import contextlib
import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

from cases import LITTLE_MODEL
from harness import (ROCELAB, SANITIZED, SCENARIOS, SOURCE, Run, check, command, cpus, descendants, dpswitch, fail, long_run,
                     rocelab, scenario_file, scratch, sets, skip, until, within)
from partitions import ASKER, Machines

# Every fault of cables crosses the partitions, and packets of a flow spread by those before them.
FAULTS = """
topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
host = { transport = "selective"; };
load_balancing = { kind = "%s"; };
collectives = ( { op = "alltoall"; algorithm = "pairwise"; bytes = "8MB"; },
                { op = "allreduce"; algorithm = "ring"; bytes = "8MB"; start = "200us"; } );
flows = ( { src = "h0"; dst = "h3"; sport = 20000; bytes = "4MB"; start = "50us"; },
          { src = "h7"; dst = "h3"; sport = 20001; bytes = "4MB"; start = "50us"; },
          { src = "h5"; dst = "h3"; sport = 20002; bytes = "4MB"; start = "50us"; } );
faults = ( { kind = "pfc-storm"; port = "l1:1"; start = "120us"; duration = "100us"; },
           { kind = "loss"; port = "l0:3"; rate = 0.01; start = "40us"; duration = "500us"; },
           { kind = "corruption"; port = "s1:2"; rate = 0.01; start = "40us"; duration = "500us"; },
           { kind = "delay"; port = "s2:1"; extra = "1us"; jitter = "500ns"; start = "40us"; duration = "500us"; },
           { kind = "link-rate"; port = "s3:1"; rate = "40Gbps"; start = "40us"; duration = "500us"; },
           { kind = "link-down"; port = "l0:4"; start = "150us"; duration = "200us"; },
           { kind = "link-down"; port = "l2:2"; start = "150us"; duration = "50us"; period = "120us"; } );
routing = { convergence = "60us"; };
limits = { virtual_time = "2ms"; };
"""
# Every fault of switches and hosts, where each process has some of the switches and hosts; the storm at h6 holds nothing.
NODE_FAULTS = """
topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
flows = ( %s );
faults = ( { kind = "pfc-storm"; port = "l3:1"; start = "20us"; duration = "50us"; },
           { kind = "misroute"; dst = "h2"; port = "l0:4"; start = "20us"; duration = "100us"; },
           { kind = "misroute"; dst = "h1"; port = "l3:5"; start = "60us"; duration = "100us"; },
           { kind = "ecmp-imbalance"; port = "l0:3"; start = "30us"; },
           { kind = "ecmp-imbalance"; port = "l2:5"; share = 0.5; start = "30us"; duration = "200us"; },
           { kind = "blackhole"; switch = "s0"; dst = "h5"; start = "40us"; duration = "30us"; },
           { kind = "blackhole"; switch = "s3"; dst = "h6"; },
           { kind = "missing-route"; switch = "l3"; dst = "h0"; start = "90us"; duration = "20us"; },
           { kind = "missing-route"; switch = "l1"; dst = "h4"; start = "90us"; duration = "20us"; },
           { kind = "fib-corruption"; switch = "l2"; dst = "h3"; share = 1.0; start = "30us"; duration = "30us"; },
           { kind = "fib-corruption"; switch = "s1"; dst = "h0"; share = 1.0; start = "30us"; duration = "30us"; },
           { kind = "acl"; switch = "l0"; src = "h1"; dst = "h4"; start = "100us"; duration = "40us"; },
           { kind = "acl"; switch = "l3"; src = "h7"; dst = "h1"; start = "100us"; duration = "40us"; },
           { kind = "pfc-headroom"; port = "l1:2"; pfc = false; },
           { kind = "pfc-headroom"; port = "s2:1"; headroom = "0B"; },
           { kind = "host-down"; host = "h5"; start = "150us"; duration = "50us"; },
           { kind = "rnic-down"; port = "h0:1"; start = "160us"; duration = "20us"; },
           { kind = "rnic-no-routes"; port = "h7:1"; start = "170us"; duration = "20us"; },
           { kind = "dma-detour"; port = "h2:1"; delay = "5us"; start = "30us"; duration = "100us"; },
           { kind = "pcie-downgrade"; port = "h4:1"; generation = 3; lanes = 4; start = "30us"; duration = "100us"; },
           { kind = "slow-receiver"; port = "h3:1"; rate = "20Gbps"; start = "30us"; duration = "100us"; },
           { kind = "slow-receiver"; port = "h6:1"; rate = "20Gbps"; } );
limits = { virtual_time = "2ms"; };
""" % ", ".join(f'{{ src = "h{a}"; dst = "h{b}"; sport = {20000 + i}; bytes = "1MB"; start = "10us"; }}'
                for i, (a, b) in enumerate((a, b) for a in range(8) for b in range(8) if a != b and 6 not in (a, b)))
# Two cables delay the datagrams of agents for as long as these make some hundreds more, most of which never reach the other
# process.
BUSY_AGENTS = """
topology = { kind = "rail"; hosts = 8; nics = 2; hosts_per_group = 4; spines = 2; rate = "100Gbps"; delay = "1us"; };
pingmesh = { enabled = true; time_factor = 0.00002; duration = "12ms"; };
partitions = ( { names = [ "g0r0", "h0", "h1", "h2", "h3" ]; },
               { names = [ "g0r1", "s0", "s1", "g1r0", "g1r1", "h4", "h5", "h6", "h7" ]; } );
faults = ( { kind = "delay"; port = "g0r0:5"; extra = "6500us"; start = "1ms"; duration = "4ms"; },
           { kind = "delay"; port = "g1r0:6"; extra = "6500us"; start = "1ms"; duration = "4ms"; } );
"""
# Operators that each process has, and that devices of all answer: a tracer whose first hop leaves report, beside agents.
TRACED = """
topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
switch = { sampling = 50; };
flowtracer = { enabled = true; first_hop = "%s"; connections = "%s"; rtt = "10us"; period = "30us"; start = "20us";
               processes = 3; threads = 2; };
pingmesh = { enabled = true; time_factor = 0.0001; duration = "2ms"; };
collectives = ( { op = "alltoall"; algorithm = "pairwise"; bytes = "8MB"; },
                { op = "allreduce"; algorithm = "ring"; bytes = "8MB"; start = "200us"; } );
flows = ( { src = "h0"; dst = "h3"; sport = 20000; bytes = "4MB"; start = "50us"; } );
faults = ( { kind = "link-down"; port = "l0:4"; start = "150us"; duration = "200us"; },
           { kind = "misroute"; dst = "h2"; port = "l0:4"; start = "20us"; duration = "100us"; } );
routing = { convergence = "60us"; };
limits = { virtual_time = "2ms"; };
"""
# Ranks 0 to 3 of eight, and 4 to 7: rank 3 sends to the second process.
HALVES = """
topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
partitions = ( { names = [ "l0", "s0", "h0", "h1", "h2", "h3" ]; },
               { names = [ "l1", "s1", "h4", "h5", "h6", "h7" ]; } );
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "1MB"; } );
"""
SPREAD = ("ecmp", "random", "round-robin", "flowlet", "adaptive")
# Long enough to be ended by others.
LONG = """
topology = { kind = "leaf-spine"; leaves = 3; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "64MB"; iterations = 300; } );
limits = { virtual_time = "100s"; };
"""
# Cut down what is long: what crosses is the same.
SHORT = {
    "ns3-allgather-100g": [arg for key, value in (("collectives.[0].step_bytes", "4MB"), ("flows.[0].start", "100us"),
                                                  ("flows.[1].start", "200us"), ("flows.[1].bytes", "5MB"))
                           for arg in ("--set", f"{key}={value}")],
    "gpt-3d": LITTLE_MODEL,
    "pingmesh": sets(limits__virtual_time="8ms"),
    "pingmesh-rails": sets(limits__virtual_time="8ms"),
}
AT_FOUR = ("case-study", "incast", "poisson-websearch")
# What crosses in these crosses in others, too: a ring of case-study's, flows of incast, storms of pfc-storm.
ALIKE = ("clean-ring", "incast-flows", "pfc-backpressure-bystander")
WHOLE = ("drops", "transport", "idle_faults", "switch_buffer_bytes", "virtual_ns")
FILES = ("records.bin", "steps.csv", "flows.csv", "truth.json")


def contents(run, name):
    path = run.dir / name
    return path.read_bytes() if path.exists() else None


def compare(name, scenario, processes, *args, lcores=1):
    """Over each of these numbers of processes. @return the run of one"""
    one = dpswitch(scenario, *args)
    for count in processes:
        run = rocelab(scenario, "--processes", str(count), "--lcores", str(lcores), *args, expect=None)
        ends = [(r.run["end_reason"], r.run.get("error")) for r in (run, one)]
        check(run.code == 0 and ends[0] == ends[1], f"{name}, {count} processes: {ends[1][0]}", (run.code, ends, run.stderr))
        check(run.run["digest"] == one.run["digest"], f"{name}, {count} processes: {one.run['digest']}", run.run["digest"])
        differ = [file for file in FILES if contents(run, file) != contents(one, file)]
        check(not differ, f"{name}, {count} processes: the files are equal", differ)
        check(run.run["windows"] == one.run["windows"] and run.run["partition"]["of"] == count,
              f"{name}, {count} processes: the same windows", (run.run["windows"], one.run["windows"]))
        differ = [key for key in WHOLE if run.run[key] != one.run[key]]
        check(not differ, f"{name}, {count} processes: run.json has what one program's has",
              {key: (run.run[key], one.run[key]) for key in differ})
        crossed = run.run["partition"]
        check(crossed["frames_in"] > 0 and crossed["frames_out"] > 0, f"{name}, {count} processes: frames cross", crossed)
    return one


def is_left_out(path):
    """Scenarios in real time, of one switch, and of several diagnosers: see side_by_side()."""
    text = path.read_text()
    return "\nhosts = " in text or path.stem in ("eight-to-one", "five-systems")


def scenarios():
    paths = sorted(path for path in SCENARIOS.glob("*.cfg") if not is_left_out(path))
    if len(paths) < 7:
        fail(f"only {len(paths)} scenarios in {SCENARIOS}")
    every = long_run(f"over several processes: {', '.join(ALIKE)}")
    for path in paths:
        if SANITIZED and path.stem not in AT_FOUR or not every and path.stem in ALIKE:  # several times as slow
            continue
        compare(path.stem, path, (2, 4) if path.stem in AT_FOUR else (2,), *SHORT.get(path.stem, []))


def traced():
    kinds = (("sflow", "parallel"), ("host", "persistent"), ("host", "ad-hoc"))
    for first_hop, connections in kinds[:1] if SANITIZED else kinds:  # several times as slow
        one = compare(f"traced, {first_hop}, {connections}", scenario_file(TRACED % (first_hop, connections)),
                      (2,) if SANITIZED else (2, 4))
        rounds = json.loads(command(ROCELAB, "diagnose", one.dir, "--json").stdout)["flowtracer"]["rounds"]
        check(len(rounds) >= 2 and max(r["traced"] for r in rounds) > 20, f"traced, {first_hop}, {connections}: paths are known",
              rounds)


def cut_off():
    """A run that ends with messages of generators half acknowledged, in both processes: tables have those bytes."""
    one = compare("cut off", SCENARIOS / "poisson-websearch.cfg", (2,), *sets(limits__virtual_time="600us"))
    with open(one.dir / "flows.csv", encoding="utf-8") as file:
        partly = [row for row in csv.DictReader(file) if row["open"] == "1" and 0 < int(row["acked_bytes"]) < int(row["bytes"])]
    check(len(partly) > 3, "cut off: some flows are acknowledged in part", len(partly))


def faults():
    """The lcores of a process share its nodes."""
    for kind in SPREAD if long_run("other kinds of load balancing") else SPREAD[-1:]:
        compare(f"faults, {kind}", scenario_file(FAULTS % kind), (2, 3))
    one = compare("faults of nodes", scenario_file(NODE_FAULTS), (2, 4))
    idle = " ".join(one.run["idle_faults"])
    check("pfc-storm at l3:1" in idle and "slow-receiver at h6:1" in idle, "faults of nodes: some act on nothing", idle)
    check(len(one.run["idle_faults"]) <= 6, "faults of nodes: most of them act", idle)
    if cpus() >= 2:
        compare("faults, two lcores each", scenario_file(FAULTS % SPREAD[-1]), (2,), lcores=2)


def busy_agents():
    """Contents of datagrams expire by what their sender has made since, wherever they are."""
    one = compare("busy agents", scenario_file(BUSY_AGENTS), (2,))
    with contextlib.closing(sqlite3.connect(one.dir / "run.sqlite")) as store:
        expired = store.execute("SELECT sum(packets) FROM drops WHERE reason = 'datagram_expired'").fetchone()[0] or 0
    check(expired > 100, "busy agents: contents expire", expired)


def each_has_its_share():
    """Of the steps: those of its own ranks and of ranks that send to them. The first one reports all."""
    run = rocelab(scenario_file(HALVES), "--processes", "2")
    other = run.dir / "partitions" / "1"
    steps = [r.run["partition"]["plan_steps"] for r in (run, Run(other))]
    check(steps == [8 * 14, 5 * 14], "steps of each process: all, and those of 5 of 8 ranks", steps)
    kept = scratch()
    command("cp", other / "records.bin", kept)
    own = command(ROCELAB, "diagnose", kept)
    check("allreduce" in own.stdout, "the second process's own recording is diagnosed", own.stdout[:400])
    recorded = [(path / "records.bin").stat().st_size for path in (run.dir, other)]
    check(recorded[1] < recorded[0], "its recording has what its own ranks are to do", recorded)


def started(count):
    """A long run that has begun. @return it, its folder, the processes of the fabric in their order"""
    out = scratch()
    program = subprocess.Popen([str(word) for word in (ROCELAB, "run", scenario_file(LONG), "--processes", str(count), "--out", out)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    recordings = [out / "records.bin"] + [out / "partitions" / str(i) / "records.bin" for i in range(1, count)]
    until("all processes record", lambda: all(path.exists() and path.stat().st_size > 0 for path in recordings), program)
    head = (dpswitch(scenario_file(LONG), *sets(limits__virtual_time="1us")).dir / "records.bin").stat().st_size
    until("the first one has records of all", lambda: recordings[0].stat().st_size > head + 4096, program)
    fabrics = [pid for pid in descendants(program.pid) if command_of(pid) == "dpswitch"]
    check(len(fabrics) == count, f"{count} processes run", fabrics)
    bound = [pid for pid in fabrics if os.sched_getaffinity(pid) != os.sched_getaffinity(0)]
    check(not bound, "no process is bound to a CPU, which the others would have, too", bound)
    return program, out, sorted(fabrics, key=rank_of)


def command_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def rank_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        words = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
    return int(words[b"OMPI_COMM_WORLD_RANK"])


def ended(program, out):
    stdout, stderr = program.communicate(timeout=300)
    return Run(out, subprocess.CompletedProcess([], program.returncode, stdout, stderr))


def lost(what, number, which, limit_s, why):
    program, out, fabrics = started(3)
    begin_s = time.monotonic()
    os.kill(fabrics[which], number)
    run = ended(program, out)
    check(within(begin_s, limit_s), f"{what}: all end within {limit_s} s", time.monotonic() - begin_s)
    # Of the first process rocelab says, too, how it ended.
    others = ("analyzer: ", "rocelab: dpswitch was killed") if which == 0 else ("analyzer: ",)
    lines = [line for line in run.stderr.splitlines() if not line.startswith(others)]
    # Two that notice at the same time both say it.
    check(1 <= len(lines) <= 2 and all(f"partition {which} " in line and any(f"was lost: {text}" in line for text in why) for line in lines),
          f"{what}: a line says so", run.stderr)
    return run


def a_process_is_lost():
    for what, number, limit_s, why in (("killed", signal.SIGKILL, 10, ("its program has ended",)),
                                       # One of the others kills it: the first may see that before it has waited for 5 s.
                                       ("stopped", signal.SIGSTOP, 20, ("it did nothing for 5 s", "its program has ended"))):
        run = lost(what, number, 1, limit_s, why)
        check(run.code == 1 and run.run["end_reason"] == "partition_lost", f"{what}: the run's end",
              (run.code, run.stderr))
        check(run.verdict["collectives"] and (run.dir / "report.html").exists(), f"{what}: what was recorded is diagnosed")


def the_first_process_is_lost():
    """It has the files of the entire run: they end where it does. The others may offer it what they have sent for 20 s."""
    for what, number, limit_s, why in (("the first killed", signal.SIGKILL, 40, ("its program has ended",)),
                                       ("the first stopped", signal.SIGSTOP, 60,
                                        ("it did nothing for 5 s", "its program has ended"))):
        run = lost(what, number, 0, limit_s, why)
        check(run.code == 1 and run.verdict["collectives"] is not None, f"{what}: with a verdict", (run.code, run.stderr))
        for which in (1, 2):
            other = json.loads((run.dir / "partitions" / str(which) / "run.json").read_text())
            check(other["end_reason"] == "partition_lost", f"{what}: process {which} has its own files", other["end_reason"])


def an_interrupt_ends_all():
    program, out, fabrics = started(2)
    program.send_signal(signal.SIGINT)
    run = ended(program, out)
    check(run.code == 130 and run.run["end_reason"] == "interrupt", "interrupted: in good order", (run.code, run.stderr))
    check(not any(os.path.exists(f"/proc/{pid}") for pid in fabrics), "interrupted: nothing is left")


def plugins():
    """One process has the programs, and what they ask of nodes elsewhere is asked there."""
    asker = scratch() / "asker.py"
    asker.write_text(ASKER % (SOURCE / "scripts/records", ["g0r0", "g1r1", "g3r0"],
                              [("h0", "h5"), ("h13", "h1"), ("h7", "h3")], 6.5))  # longer than a process may be silent
    asker.chmod(0o755)
    short = sets(pingmesh__duration="20ms") + ["--set", "jobs.[0].iterations=1", "--set", "jobs.[0].compute=1ms"]
    one, *others = (rocelab(SCENARIOS / "pingmesh.cfg", "--processes", str(count), "--diagnoser", asker, *short)
                    for count in ((1, 2) if SANITIZED else (1, 2, 3)))
    section = one.verdict["plugins"][0]
    check(section["polls"] == 3 * section["turns"] > 40 and 0 < section["refused"] < section["probes"],
          "plugins: polls, and probes of which some are refused", section)
    for run, count in zip(others, (2, 3)):
        differ = [file for file in ("records.bin", "verdict.json", "plugins.json", "truth.json")
                  if contents(run, file) != contents(one, file)]
        check(not differ, f"plugins, {count} processes: the files are equal", differ)


def side_by_side():
    """Each run that systems need is divided."""
    rows = []
    for count in (1, 2):
        run = rocelab(SCENARIOS / "case-study.cfg", "--processes", str(count), "--diagnosers", "vedrfolnir,flowtracer,hawkeye-minr",
                      "--set", "collectives.[0].step_bytes=4MB")
        rows.append([{**row, "diagnosis_cpu_ns": 0} for row in run.json("comparison.json")["systems"]])
        check(count == 1 or run.run["partition"]["of"] == 2, "side by side: over two processes", run.run.get("partition"))
    check(rows[0] == rows[1] and len(rows[0]) == 3, "side by side: the table is equal", rows)


def refusals():
    slow = FAULTS.replace('rate = "100Gbps"; delay = "1us"', 'rate = "200Mbps"; delay = "50us"').split("faults = ")[0]
    real = command(ROCELAB, "run", scenario_file(slow % "ecmp"), "--set", 'timing.clock="real"', "--processes", "2", "--out",
                   scratch(), expect=2)
    check(real.stderr.count("use --partitions") == 1, "real time: refused once, with the remedy", real.stderr)
    without = command(ROCELAB, "run", SCENARIOS / "case-study.cfg", "--processes", "2", "--out", scratch(), expect=None,
                      env={**os.environ, "PATH": "/nonexistent"})
    check(without.returncode == 3 and "install openmpi-bin" in without.stderr, "without mpirun: the remedy", without.stderr)


def by_mpirun():
    """What `rocelab run --processes` does, by hand."""
    out = scratch()
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command("mpirun", "--oversubscribe", "--bind-to", "none", "-np", "2", ROCELAB, "run", SCENARIOS / "incast.cfg", "--out", out,
            env=environment)
    one = dpswitch(SCENARIOS / "incast.cfg")
    check((out / "records.bin").read_bytes() == contents(one, "records.bin"), "by mpirun: the recording is equal")
    check((out / "verdict.json").exists(), "by mpirun: with a verdict")


class Hosts:
    """Two machines, each a network and a name of its own, with a cable between them. Takes root, else none is there."""

    def __init__(self):
        self.machines = Machines("500us", names=("m0", "m1"))
        self.there = self.machines.there and all(self.machines.within(i, "ip", "link", "set", "lo", "up") for i in range(2))
        self.dir = scratch()
        if not self.machines.slow:
            print("note: no delay can be made here (tc, netem): the cable between two machines is fast", flush=True)

    def mpirun(self, *words):
        """Instead of ssh, a script enters the other machine."""
        agent, hosts = self.dir / "agent", self.dir / "hosts"
        agent.write_text('#!/bin/sh\nshift\nexec ' + " ".join(self.machines.where(1)) + ' sh -c "$*"\n')
        agent.chmod(0o755)
        hosts.write_text("m0 slots=1\nm1 slots=1\n")
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        for name, value in (("plm_rsh_agent", agent), ("oob_tcp_if_include", "10.77.0.0/24"), ("btl", "self,tcp"),
                            ("btl_tcp_if_include", "10.77.0.0/24")):
            environment[f"OMPI_MCA_{name}"] = str(value)
        command(*self.machines.where(0), "mpirun", "--hostfile", hosts, "--bind-to", "none", "-np", "2", *words, env=environment)


def two_machines():
    hosts = Hosts()
    try:
        if not hosts.there:
            print("note: no two networks can be made here: processes on two machines are not tried", flush=True)
            return
        out = scratch()
        hosts.mpirun(ROCELAB, "run", SCENARIOS / "incast-flows.cfg", "--out", out)
        run, one = Run(out), dpswitch(SCENARIOS / "incast-flows.cfg")
        check(run.run["digest"] == one.run["digest"], "two machines: the digest of one program", run.run["digest"])
        check(not [file for file in FILES if contents(run, file) != contents(one, file)], "two machines: the files are equal")
        check(run.verdict["collectives"] is not None, "two machines: with a verdict")
    finally:
        hosts.machines.close()


# Open MPI keeps allocations to the end, of libraries that are unloaded by then: the leak check names them for half a minute a
# process, and fails. One program's runs have it in all other tests.
if SANITIZED:
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
if shutil.which("mpirun") is None:
    skip("there is no mpirun (scripts/setup installs it)")
without = command(ROCELAB, "run", SCENARIOS / "incast.cfg", "--processes", "2", "--out", scratch(), expect=None)
if "no Open MPI" in without.stderr:
    check(without.returncode == 3 and without.stderr.count("no Open MPI") == 1, "a build without Open MPI: said once", without.stderr)
    skip("this build has no Open MPI")
scenarios()
cut_off()
faults()
busy_agents()
traced()
plugins()
each_has_its_share()
if not SANITIZED: # the same programs
    side_by_side()
refusals()
by_mpirun()
two_machines()
an_interrupt_ends_all()
a_process_is_lost()
the_first_process_is_lost()
