#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Congestion control acts in runs with profiles of real hardware, and where it cannot, `rocelab topo check` and the run say so."""
import sqlite3

from cases import LITTLE_MODEL
from harness import LONG, ROCELAB, SCENARIOS, SOURCE, check, command, dpswitch, long_run, rocelab, scenario_file, sets

NS3 = sets(switch__profile="ns3", host__profile="ns3")
SMALL_FLOW = """topology = { kind = "leaf-spine"; leaves = 2; spines = 4; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; };
flows = ( { src = "h0"; dst = "h2"; sport = 50001; bytes = "64KB"; } );
"""
# Two hosts to a third, in a class without PFC; ECN is to keep the queue near 100 KB.
LOSSY = """topology = { kind = "explicit"; hosts = [ "a", "b", "c" ]; switches = [ "s" ]; rate = "100Gbps"; delay = "1us";
    links = ( "a s", "b s", "c s" ); };
switch = { pfc = { enabled = false; }; ecn = { kmin = "100KB"; kmax = "100KB"; }; lossy_queue = "8MB"; };
host = { window = "2MB"; };
flows = ( { src = "a"; dst = "c"; sport = 20001; bytes = "5MB"; }, { src = "b"; dst = "c"; sport = 20002; bytes = "5MB"; } );
"""


POOLS = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "200ns"; };
switch = {
  buffer_pool = ( { name = "i"; type = "ingress"; size = "400KB"; xoff = "400KB"; }, { name = "e"; type = "egress"; size = "500KB"; } );
  buffer_profile = ( { name = "p"; pool = "i"; size = 5000; xon = 5000; xoff = 60000; dynamic_th = -1; xon_offset = 3000; },
                     { name = "q"; pool = "e"; size = 1518; dynamic_th = 1; } );
  buffer_pg = ( "3 p" );
  buffer_queue = ( "5 q" );
};
flows = ( { src = "h1"; dst = "h0"; sport = 20001; bytes = "1MB"; }, { src = "h4"; dst = "h0"; sport = 20002; bytes = "1MB"; },
          { src = "h5"; dst = "h0"; sport = 20003; bytes = "1MB"; }, { src = "h2"; dst = "h6"; sport = 20004; bytes = "1MB"; prio = 5; },
          { src = "h3"; dst = "h6"; sport = 20005; bytes = "1MB"; prio = 5; } );
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


# What a run of each shipped scenario may leave out to be short; hosts with their own kernel have no such algorithm.
SHORT = {
    "gpt-3d": LITTLE_MODEL,
    "pingmesh": sets(**{"pingmesh__duration": "110ms", "jobs__[0]__iterations": 1}),
    "pingmesh-rails": sets(pingmesh__duration="10ms"),
}
SLOW = ("ns3-allgather-100g",)
REASONS = ("ecn-behind-pfc", "ecn-behind-window", "ecn-behind-drop", "ecn-off", "no-contention", "no-marks")


def explained(name, *args):
    """A run with DCQCN is another one than that without, or the check before it or the run itself has the reason."""
    alike, warned = same(shipped(name), *args)
    reported = warned + findings(shipped(name), *args)
    check(not alike or any(reason in reported for reason in REASONS), f"{name}: DCQCN acts, or the reason is reported", reported)
    check(alike or "cannot act" not in warned and "no-marks" not in warned, f"{name}: where it acts, nothing else is reported", warned)


scenarios = sorted(path.stem for path in SCENARIOS.glob("*.cfg") if 'kind = "guest"' not in path.read_text())
for name in scenarios:
    if name not in SLOW or long_run(f"{name} with DCQCN and without"):
        explained(name, *([] if LONG else SHORT.get(name, [])))

# At other rates, and with ECN off.
for name in ("two-jobs", "incast", "moe-alltoall"):
    for rate in ("100Gbps", "200Gbps", "400Gbps", "800Gbps"):
        explained(name, *sets(topology__rate=rate, **({"topology__uplink_rate": rate} if name == "two-jobs" else {})))
    alike, warned = same(shipped(name), "--set", "switch.ecn.enabled=false")
    check(alike and "ecn-off: host.cc = \"dcqcn\" cannot act" in warned, f"{name}, ECN off: the run says that nothing is marked", warned)

for name in ("two-jobs", "incast"):
    alike, warned = same(shipped(name), *NS3)
    check(alike and "ecn-behind-pfc: host.cc = \"dcqcn\" cannot act" in warned, f"{name}, ns3: DCQCN does nothing, the run warns of it", warned)
    check("ecn-behind-pfc" in findings(shipped(name), *NS3), f"{name}, ns3: so does the check before it")

# Without PFC queues hold 1 MiB, where the profile's switch begins to mark.
drops = sets(switch__pfc__enabled="false")
alike, warned = same(shipped("eight-to-one"), *drops)
check(alike and "ecn-behind-drop: host.cc = \"dcqcn\" cannot act" in warned, "queues that drop before they mark: the run warns of it", warned)
alike, warned = same(shipped("eight-to-one"), *drops, "--set", "switch.lossy_queue=8MB")
check(not alike and "cannot act" not in warned, "longer ones let it act", warned)

for name, scenario in (("ring", shipped("clean-ring")), ("flow", scenario_file(SMALL_FLOW))):
    quiet = rocelab(scenario)
    check(" 0 polling packets" in quiet.report, f"{name}: coalesced ACKs on a clean fabric trigger no detection", quiet.report)

run = dpswitch(shipped("two-jobs"), "--set", "switch.pfc.alpha=0.5")
effective = run.dir / "effective.cfg"
text = effective.read_text(encoding="utf-8")
check("buffer = 32712448; # profile trident3\n" in text and "alpha = 0.5;\n" in text, "effective.cfg names the profile of a value", text)
check(digest(str(effective))[0] == run.run["digest"], "and runs as the scenario did")
refused = command(ROCELAB, "topo", "check", shipped("incast"), "--set", "host.profile=cx77", expect=2)
check('found "cx77"; did you mean "cx7"?' in refused.stderr, "a wrong name is answered with the nearest", refused.stderr)

# Buffer pools: the same on any number of lcores, and each group's watermarks in the store.
path = scenario_file(POOLS)
one, two = dpswitch(path), dpswitch(path, "--lcores", "2")
check(one.run["digest"] == two.run["digest"] and one.run["drops"]["queue_full"] > 0 and one.run["drops"]["no_buffer"] == 0,
      "pools: one digest on two lcores, lossy queues drop, lossless classes do not", one.run["drops"])
with sqlite3.connect(one.dir / "run.sqlite") as store:
    groups = store.execute("SELECT shared_watermark_bytes, headroom_watermark_bytes FROM priority_groups").fetchall()
check(len(groups) == 16 and max(shared for shared, _ in groups) > 50000 and max(room for _, room in groups) > 10000,
      "and each group has its watermarks", groups)
with sqlite3.connect(one.dir / "run.sqlite") as store:
    pools = store.execute("SELECT name, headroom_needed_bytes, headroom_watermark_bytes FROM buffer_pools").fetchall()
rooms = sum(room for _, room in groups)
check(pools and all(0 <= most <= needed for _, needed, most in pools) and max(room for _, room in groups) <= sum(most for _, _, most in pools) <= rooms,
      "and each pool the most of all its groups' headroom together", (pools, groups))
shown = command(ROCELAB, "show", "headroom-pool", "watermark", str(one.dir)).stdout
check(pools[0][0] in shown and str(pools[0][2]) in shown, "which is shown", shown)

path = scenario_file(LOSSY)
on, off = dpswitch(path), dpswitch(path, "--set", "switch.ecn.enabled=false")
check(on.run["digest"] != off.run["digest"], "ECN marks a class without PFC")
own = dpswitch(path, "--set", "switch.ecn.enabled=false", "--set", 'switch.wred=( { class = 3; kmin = "100KB"; kmax = "100KB"; } )')
check(own.run["digest"] == on.run["digest"], "by thresholds of its own as by those of all")

# CNPs that a cable loses are counted at both ends, and the run says that no verdict can tell. Those of a NIC may be spaced together.
CNPS = """topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "500ns"; };
flows = ( { src = "h2"; dst = "h4"; sport = 20001; bytes = "10MB"; qps = 4; }, { src = "h3"; dst = "h4"; sport = 20101; bytes = "10MB"; qps = 4; } );
%s
"""
LOST = 'faults = ( { kind = "loss"; port = "l0:3"; rate = 1.0; packets = "cnps"; } );'
counts = {}
for name, text in (("whole", ""), ("lost", LOST), ("port", 'host = { dcqcn = { cnp_scope = "port"; }; };')):
    run = dpswitch(scenario_file(CNPS % text))
    counts[name] = run.run["transport"]
    with sqlite3.connect(run.dir / "run.sqlite") as store:
        by_sender = {src: (sent, handled) for src, sent, handled in store.execute(
            "SELECT src, sum(np_cnp_sent), sum(rp_cnp_handled) FROM qps GROUP BY src")}
    check(sum(sent for sent, _ in by_sender.values()) == counts[name]["cnps_sent"] > 10
          and sum(handled for _, handled in by_sender.values()) == counts[name]["cnps_handled"], f"{name}: CNPs are counted", by_sender)
    check(("CNPs did not reach their senders" in run.stderr) == (name == "lost"), f"{name}: who runs it learns whether CNPs were lost", run.stderr)
    if name == "lost":
        check(by_sender["h2"][0] > 0 and by_sender["h2"][1] == 0 and by_sender["h3"][0] == by_sender["h3"][1], "those of the faulty port", by_sender)
    else:
        check(counts[name]["cnps_sent"] == counts[name]["cnps_handled"], f"{name}: none is lost", counts[name])
check(counts["port"]["cnps_sent"] < 0.5 * counts["whole"]["cnps_sent"], "one NIC's CNPs are fewer than those of its connections", counts)
