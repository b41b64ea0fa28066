#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The right place: what hits data or ACKs of one flow alone, on ways that have no cable in common, is found where it is."""
from cases import fault
from harness import SCENARIOS, check, rocelab, scenario_file

PODS = (SCENARIOS / "include" / "two-pods.inc").read_text()
PATHS = (SCENARIOS / "include" / "two-pods-ring.inc").read_text()
# Both names of cables of two-pods.inc that the tests use.
CABLES = ({"4:3", "8:1"}, {"8:2", "6:3"}, {"5:2", "1:4"}, {"10:1", "5:4"})

# No fault: what goes ahead of data has no row, of polling packets on slow links, and beside much data; and copies of a polling
# packet, by a slow link and a fast one, count at a switch at two times. What arrived before a step may be queued yet.
CLEAN = {
    "a queue of an epoch that no report has": """
topology = { kind = "explicit"; rate = "25Gbps"; delay = "500ns"; switches = [ "s" ]; hosts = [ "h0", "h1", "h2" ];
  links = ( "h0 s 1Gbps 5us", "h1 s 40Gbps 50us", "h2 s 40Gbps 500ns" ); };
jobs = (
  { name = "job0"; ranks = [ "h2", "h1", "h0" ]; iterations = 3; compute = "1401200ns"; collectives = (
    { name = "c0"; op = "allreduce"; algorithm = "ring"; bytes = "84996B"; sport = 10000; } ); }
);
flows = (
  { src = "h2"; dst = "h0"; sport = 30000; bytes = "307200B"; start = "1049651ns"; },
  { src = "h2"; dst = "h0"; sport = 30001; bytes = "1024B"; start = "2344154ns"; }
);
seed = 1672097348609298771L;
switch = { ecn = { rate = "25Gbps"; }; };
host = { ack_every = 1; window_scales_with_rate = true; mtu = 1024; cc = "none"; timeout = "72060us"; };
detection = { spacing = "5us"; rtt_percent = 120; policy = "vedrfolnir-poster"; };
telemetry = { contention = "exact"; quiet_depth = 100; epochs_kept = 2; };
timing = { pipeline = "100ns"; };
load_balancing = { kind = "adaptive"; adaptive = { memory = "64KiB"; }; };
""",
    "polls ahead": """
topology = { kind = "leaf-spine"; rate = "10Gbps"; delay = "100ns"; leaves = 8; spines = 2; hosts_per_leaf = 4; parallel = 1; uplink_rate = "1Gbps"; };
jobs = (
  { name = "job0"; ranks = [ "h8", "h4", "h2", "h14", "h6", "h23", "h19", "h24", "h9", "h12", "h28", "h15", "h0", "h22", "h7", "h1" ]; iterations = 1; compute = "1ns"; jitter = { kind = "uniform"; spread = "1ns"; }; collectives = (
    { name = "c0"; op = "alltoall"; algorithm = "pairwise"; bytes = "12096B"; sport = 10000; },
    { name = "c1"; op = "allgather"; algorithm = "ring"; bytes = "12096B"; sport = 10100; after = []; } ); },
  { name = "job1"; ranks = [ "h16", "h9", "h12", "h10", "h14", "h2" ]; iterations = 2; compute = "287800ns"; dims = ( "tp 2", "dp 3" ); jitter = { kind = "uniform"; spread = "28781ns"; }; collectives = (
    { name = "c0"; op = "allreduce"; algorithm = "ring"; bytes = "15888B"; sport = 11000; group = "tp"; },
    { name = "c1"; op = "allgather"; algorithm = "ring"; bytes = "15888B"; sport = 11100; group = "dp"; after = []; } ); }
);
flows = (
  { src = "h24"; dst = "h31"; sport = 30000; bytes = "256B"; start = "1424139ns"; mode = "repeat"; until = "5756000ns"; },
  { src = "h21"; dst = "h19"; sport = 30001; bytes = "7680B"; start = "546856ns"; },
  { src = "h25"; dst = "h27"; sport = 30002; bytes = "7680B"; start = "1143506ns"; },
  { src = "h30"; dst = "h9"; sport = 30003; bytes = "76800B"; start = "1171233ns"; }
);
seed = 2061649825390814237L;
host = { ack_every = 64; dcqcn = { alpha_interval = "1us"; decrease_interval = "4us"; g = 0.00390625; }; mtu = 256; cc = "none"; timeout = "16390000ns"; };
telemetry = { quiet_depth = 100; };
exporter = { budget = "1250MB"; queue = "1KB"; };
load_balancing = { kind = "random"; };
detection = { policy = "vedrfolnir"; };
limits = { virtual_time = "140000000ns"; stall = "35001000ns"; };
""",
    "a little ahead of much": """
topology = { kind = "explicit"; rate = "40Gbps"; delay = "100ns"; switches = [ "s0" ]; hosts = [ "h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7" ];
  links = ( "h5 s0 100Gbps 100ns", "h7 s0 10Gbps 100ns", "h0 s0 25Gbps 100ns", "h1 s0 200Gbps 100ns", "h2 s0 100Gbps 100ns", "h3 s0 10Gbps 100ns", "h6 s0 100Gbps 100ns", "h4 s0 100Gbps 100ns" ); };
collectives = (
  { op = "allreduce"; algorithm = "halving-doubling"; ranks = [ "h1", "h5", "h4", "h3" ]; bytes = "256B"; iterations = 3; sport = 10000; gap = "38680ns"; payload = "synthetic"; },
  { op = "reduce"; algorithm = "halving-doubling"; ranks = [ "h6", "h3", "h5", "h1", "h7", "h0", "h2", "h4" ]; bytes = "15872B"; iterations = 3; sport = 10100; qp = "per-step"; payload = "synthetic"; }
);
flows = (
  { src = "h2"; dst = "h7"; sport = 30000; bytes = "109568B"; },
  { src = "h6"; dst = "h7"; sport = 30001; bytes = "109568B"; },
  { src = "h1"; dst = "h7"; sport = 30002; bytes = "109568B"; },
  { src = "h4"; dst = "h7"; sport = 30003; bytes = "109568B"; },
  { src = "h0"; dst = "h7"; sport = 30004; bytes = "109568B"; },
  { src = "h5"; dst = "h7"; sport = 30005; bytes = "109568B"; },
  { src = "h3"; dst = "h7"; sport = 30006; bytes = "109568B"; }
);
seed = 1711869169249348387L;
host = { mtu = 256; cc = "timely"; transport = "selective"; timeout = "3934000ns"; };
load_balancing = { kind = "adaptive"; adaptive = { memory = "0B"; quantum = "256B"; }; };
pingmesh = { enabled = true; time_factor = 8.5e-05; duration = "3400000ns"; cpu_delay = "0us"; management_delay = "1ms"; service = true; tracing = "int"; trace_rate = 100; };
detection = { policy = "hawkeye-minr"; };
limits = { virtual_time = "102000000ns"; stall = "25501000ns"; };
""",
    "copies of a polling packet": """
topology = { kind = "explicit"; rate = "10Gbps"; delay = "100ns"; switches = [ "s0", "s1", "s2" ]; hosts = [ "h0", "h1" ];
  links = ( "s1 s0 1Gbps 50us", "s2 s1 10Gbps 100us", "s1 s0 40Gbps 5us", "h0 s2 10Gbps 50us", "h1 s0 40Gbps 100ns" ); };
flows = (
  { src = "h1"; dst = "h0"; sport = 30000; bytes = "768000B"; }
);
seed = 887035590269423516L;
host = { nak = true; window_scales_with_rate = false; control_bytes = 20; profile = "ns3"; mtu = 256; cc = "none"; ip_version = 6; };
switch = { profile = "ns3"; };
load_balancing = { kind = "round-robin"; };
detection = { policy = "vedrfolnir"; };
limits = { virtual_time = "4ms"; };
""",
    "a strict class and ACKs ahead of a short queue": """
topology = { kind = "leaf-spine"; rate = "25Gbps"; delay = "100ns"; leaves = 3; spines = 1; hosts_per_leaf = 4; parallel = 1; uplink_rate = "40Gbps"; };
collectives = (
  { op = "sendrecv"; algorithm = "ring"; ranks = [ "h11", "h10", "h3" ]; bytes = "511992B"; iterations = 1; sport = 10000; gap = "46648ns"; payload = "synthetic"; measured = true; },
  { op = "broadcast"; algorithm = "double-binary-tree"; ranks = [ "h2", "h3", "h1", "h11", "h7", "h4", "h10" ]; bytes = "21504B"; iterations = 1; sport = 10100; type = "float32"; payload = "synthetic"; }
);
seed = 3436405747769873211L;
switch = { ecn = { enabled = false; }; strict = [ "5" ]; pfc = { priorities = [ "3", "5" ]; }; };
host = { control_bytes = 90; ack_every = 2; mtu = 1024; ip_version = 6; measured_prio = 5; };
detection = { policy = "vedrfolnir-paper"; };
""",
    "a queue from before a step": """
topology = { kind = "explicit"; rate = "10Gbps"; delay = "100ns"; switches = [ "s0", "s1" ]; hosts = [ "h0", "h1", "h2", "h3", "h4", "h5" ];
  links = ( "h5 s0 10Gbps 100ns", "h0 s0 25Gbps 100ns", "s1 s0 1Gbps 100ns", "h3 s0 1Gbps 100ns", "s1 s0 10Gbps 100ns", "s1 s0 10Gbps 100ns", "h2 s0 25Gbps 100ns", "h1 s1 10Gbps 100ns", "s0 s1 25Gbps 100ns", "h4 s0 1Gbps 100ns" ); };
jobs = (
  { name = "job0"; ranks = [ "h4", "h1", "h5" ]; iterations = 1; compute = "1ns"; collectives = (
    { name = "c0"; op = "alltoall"; algorithm = "pairwise"; bytes = "512004B"; sport = 10000; },
    { name = "c1"; op = "alltoall"; algorithm = "pairwise"; bytes = "512004B"; sport = 10100; after = []; } ); },
  { name = "job1"; ranks = [ "h2", "h1", "h4", "h0", "h5", "h3" ]; iterations = 1; compute = "1721400ns"; dims = ( "tp 2", "dp 3" ); jitter = { kind = "uniform"; spread = "17215ns"; }; collectives = (
    { name = "c0"; op = "allgather"; algorithm = "ring"; bytes = "24600B"; sport = 11000; group = "tp"; },
    { name = "c1"; op = "alltoall"; algorithm = "pairwise"; bytes = "24600B"; sport = 11100; group = "dp"; } ); }
);
seed = 3685141448954386187L;
switch = { ecn = { enabled = false; }; };
host = { mtu = 2048; cc = "none"; ip_version = 6; };
load_balancing = { kind = "flowlet"; };
detection = { policy = "vedrfolnir"; };
"""}


def pods(*faults, step_bytes="2MB", extra=""):
    return scenario_file(f"""{PODS}paths = ({PATHS});
collectives = ( {{ op = "allgather"; algorithm = "ring"; sport = 10000; step_bytes = "{step_bytes}";
  ranks = [ "12", "13", "14", "15", "16", "17", "18", "19" ]; }} );
faults = ( {", ".join(faults)} );
host = {{ timeout = "200us"; }};
telemetry = {{ epoch = "50us"; }};
{extra}""")


def ends(port):
    return next((cable for cable in CABLES if port in cable), {port})


def cut_links():
    """15->16 sends by 4:3 and 8:2; its ACKs return by 10:1 and 5:2. Both have another path, and switches of the old one report."""
    for port, step_bytes in (("4:3", "4MB"), ("8:2", "2MB"), ("10:1", "2MB"), ("5:2", "4MB")):
        run = rocelab(pods(fault("link-down", port=port, start="100us", duration="300us"), step_bytes=step_bytes))
        found = {f["root"] for f in run.findings()}
        check(found and found <= ends(port) and len(run.findings("link-down")) == len(run.findings()),
              f"{port} is cut: the verdict names the link, and it alone", run.findings())


def hole_on_the_path_of_acks():
    run = rocelab(pods(fault("blackhole", switch="10", dst="15", start="100us", duration="2ms")))
    found = run.findings("blackhole")
    check([f["root"] for f in found] == ["10:2"], "a blackhole for ACKs: what vanishes behind 7:3 is named where it comes in", run.findings())


def acks_that_are_lost():
    """A hole for ACKs that is gone when polling packets come: data arrived twice, no ACK was late, and no link lost a frame."""
    run = rocelab(pods(fault("blackhole", switch="10", dst="15", start="100us", duration="300us")))
    found = run.findings()
    check([(f["type"], f["root"]) for f in found] == [("blackhole", "15->16/10000>4791")] and "of 5 switches" in found[0]["evidence"],
          "ACKs that died: a switch of their path discarded them", found)
    check("7:3" in found[0]["ports"] and "4:3" not in found[0]["ports"], "on their path", found)
    check(found[0]["confidence"] < 0.9, "as sure as one timer", found)


def holes_that_last():
    """Its queue pair fails while others still send: the hole held the job up, though it is not the last that ran."""
    for switch, roots in (("s0", ["s0:2"]), ("l0", ["l0:5"])):
        run = rocelab(scenario_file(f"""topology = {{ kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; rate = "100Gbps"; }};
collectives = ( {{ op = "allreduce"; algorithm = "ring"; bytes = "32MB"; ranks = [ "h[0-7]" ]; }} );
host = {{ timeout = "200us"; }};
faults = ( {fault("blackhole", switch=switch, dst="h0", start="300us", duration="2ms")} );"""))
        check(run.run["end_reason"] == "qp_error", f"{switch}: a queue pair fails", run.run["end_reason"])
        check([(f["type"], f["root"]) for f in run.findings()] == [("blackhole", root) for root in roots],
              f"{switch}: one hole for data and ACKs", run.findings())
        check(run.verdict["network"]["word"] == "guilty" and not run.findings()[0]["without_effect"]
              and run.findings()[0]["confidence"] > 0.6, f"{switch}: which is the cause", run.verdict["network"])


def lossy_links():
    """Nobody counts what a cable loses: its ends together do, and half of the frames is not all of them."""
    for port, other, rate in (("17:1", "2:2", 0.02), ("2:3", "6:1", 0.3), ("6:2", "3:3", 0.5), ("3:1", "18:1", 0.005)):
        run = rocelab(pods(fault("loss", port=port, rate=rate, start="100us", duration="200us")))
        found = run.findings()
        check([(f["type"], f["root"], f["ports"]) for f in found] == [("packet-loss", port, [port, other])],
              f"{port} loses {rate:.1%}: packet loss, with both ends of the link", found)


def short_blackholes():
    """Switch 8 is behind 4:3, on the way of 15->16 alone."""
    for duration in ("30us", "200us", "1ms"):
        run = rocelab(pods(fault("blackhole", switch="8", dst="16", start="100us", duration=duration)))
        check([(f["type"], f["root"]) for f in run.findings()] == [("blackhole", "8:1")],
              f"a blackhole of {duration}: the switch is named", run.findings())


def stopped_nics():
    """What a NIC or its host loses has one place, whichever way it went; no switch beside it is named."""
    for kind, where in (("rnic-no-gid", {"port": "16:1"}), ("rnic-down", {"port": "16:1"}), ("host-down", {"host": "16"})):
        run = rocelab(pods(fault(kind, start="100us", duration="1ms", **where)))
        check([(f["type"], f["root"]) for f in run.findings()] == [("blackhole", "16:1")], f"{kind}: one finding, at the NIC",
              run.findings())


def damaging_links():
    """The first switch that takes a damaged frame in drops it, not the host where its way ends."""
    for port, other in (("17:1", "2:2"), ("2:3", "6:1"), ("3:1", "18:1")):
        run = rocelab(pods(fault("corruption", port=port, rate=0.02)))
        found = run.findings()
        check([(f["type"], f["root"]) for f in found] == [("packet-loss", other)] and port in found[0]["ports"],
              f"{port} damages frames: {other}, at the other end, is named, and it", found)


def delayed_for_a_while():
    """Most of one step's frames alone, by more than an epoch: both flows that cross the link show which one it is."""
    run = rocelab(scenario_file(f"""seed = 5; telemetry = {{ epoch = "100us"; }};
topology = {{ kind = "fat-tree"; k = 4; rate = "100Gbps"; delay = "1us"; }};
collectives = ( {{ op = "allreduce"; algorithm = "ring"; bytes = "16MB"; ranks = [ "h0", "h1", "h4", "h5", "h8", "h9", "h12", "h13" ]; }} );
faults = ( {fault("delay", port="h4:1", start="0ns", duration="150us", extra="50us")} );"""))
    found = run.findings()
    check([(f["type"], f["root"]) for f in found] == [("path-delay", "h4:1")], "a delay that ends in the first step has its place", found)
    share = found[0]["explained_ns"] / run.verdict["network"]["lost_ns"]
    check(share > 0.9, "and explains what was lost", share)


def nothing_is_delayed():
    for name, text in CLEAN.items():
        run = rocelab(scenario_file(text), "--allow-unfinished")
        found = [f for f in run.findings() if f["fault"]]
        check(not found, f"{name}: no fault is found", found)


nothing_is_delayed()
delayed_for_a_while()
cut_links()
damaging_links()
lossy_links()
short_blackholes()
stopped_nics()
hole_on_the_path_of_acks()
acks_that_are_lost()
holes_that_last()
