#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Congestion control acts in runs with profiles of real hardware, and where it cannot, `rocelab topo check` and the run say so."""
from harness import ROCELAB, SOURCE, check, command, dpswitch, rocelab, scenario_file

REAL = ("--set", "switch.profile=auto", "--set", "host.profile=auto")
# Two hosts to a third, in a class without PFC; ECN is to keep the queue near 100 KB.
LOSSY = """topology = { kind = "explicit"; hosts = [ "a", "b", "c" ]; switches = [ "s" ]; rate = "100Gbps"; delay = "1us";
    links = ( "a s", "b s", "c s" ); };
switch = { pfc = { enabled = false; }; ecn = { kmin = "100KB"; kmax = "100KB"; }; lossy_queue = "8MB"; };
host = { window = "2MB"; };
flows = ( { src = "a"; dst = "c"; sport = 20001; bytes = "5MB"; }, { src = "b"; dst = "c"; sport = 20002; bytes = "5MB"; } );
"""


def shipped(name):
    return str(SOURCE / f"topo/scenarios/{name}.cfg")


def digest(scenario, *args):
    """@return of a run, and what it wrote to stderr"""
    run = dpswitch(scenario, *args)
    return run.run["digest"], run.stderr


def findings(scenario, *args):
    return command(ROCELAB, "topo", "check", scenario, *args).stdout


def same(scenario, *args):
    """@return whether runs with DCQCN and without are the same, and the warnings of the former"""
    with_cc, warned = digest(scenario, *args, "--set", "host.cc=dcqcn")
    without, silent = digest(scenario, *args, "--set", "host.cc=none")
    check("cannot act" not in silent, f"{scenario}: no warning without DCQCN", silent)
    return with_cc == without, warned


for name in ("two-jobs", "incast"):
    alike, warned = same(shipped(name))
    check(alike and "ecn-behind-pfc: host.cc = \"dcqcn\" cannot act" in warned, f"{name}: DCQCN does nothing, the run warns of it", warned)
    check("ecn-behind-pfc" in findings(shipped(name)), f"{name}: so does the check before it")
for name in ("two-jobs", "incast", "clean-ring"):
    alike, warned = same(shipped(name), *REAL)
    check("cannot act" not in warned, f"{name}, real hardware: no warning", warned)
    check(alike == ("no-contention" in findings(shipped(name), *REAL)), f"{name}, real hardware: the same if nothing contends alone", alike)

ring = rocelab(shipped("clean-ring"), *REAL, "--set", "host.ack_every=256")
check(" 0 polling packets" in ring.report, "coalesced ACKs on a clean fabric trigger no detection", ring.report)

run = dpswitch(shipped("two-jobs"), *REAL, "--set", "switch.pfc.alpha=0.5")
effective = run.dir / "effective.cfg"
text = effective.read_text(encoding="utf-8")
check("buffer = 32712448; # profile trident3\n" in text and "alpha = 0.5;\n" in text, "effective.cfg names the profile of a value", text)
check(digest(str(effective))[0] == run.run["digest"], "and runs as the scenario did")
refused = command(ROCELAB, "topo", "check", shipped("incast"), "--set", "host.profile=cx77", expect=2)
check('found "cx77"; did you mean "cx7"?' in refused.stderr, "a wrong name is answered with the nearest", refused.stderr)

path = scenario_file(LOSSY)
on, off = dpswitch(path), dpswitch(path, "--set", "switch.ecn.enabled=false")
check(on.run["digest"] != off.run["digest"], "ECN marks a class without PFC")
own = dpswitch(path, "--set", "switch.ecn.enabled=false", "--set", 'switch.wred=( { class = 3; kmin = "100KB"; kmax = "100KB"; } )')
check(own.run["digest"] == on.run["digest"], "by thresholds of its own as by those of all")
