#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The sender's ledger: it adds up in every run, and what it shows by itself is named where it is."""
from harness import check, rocelab, scenario_file, sets

STAR = """topology = { kind = "explicit"; rate = "%s"; delay = "1us"; hosts = [ "a", "b", "c" ]; switches = [ "s" ];
  links = ( "a s", "b s%s", "c s" ); };
"""
SEND = """collectives = ( { op = "sendrecv"; algorithm = "linear"; bytes = "%s"; ranks = [ "a", "b" ]; pairs = [ "0 1" ]; } );
"""


def star(text, rate="100Gbps", cable=""):
    run = rocelab(scenario_file(STAR % (rate, cable) + text), *sets(switch__profile='"ns3"', host__profile='"ns3"'))
    ledgers = next(i for i in run.run["invariants"] if i["name"] == "ledgers")
    check(ledgers["holds"] and ledgers["text"].endswith("exactly"), "ledgers add up to the picosecond", ledgers)
    return run


def only(run, kind, root, what):
    check([(f["type"], f["root"]) for f in run.findings()] == [(kind, root)], what, run.findings())
    return run.findings()[0]


def explained(run, least, what):
    network = run.verdict["network"]
    part = network["explained_ns"] / network["lost_ns"]
    check(part >= least, f"{what}: {part:.1%} of the lost time is explained", network)


def a_nic_below_its_line_rate():
    run = star(SEND % "4MB" + 'faults = ( { kind = "pcie-downgrade"; port = "a:1"; generation = 3; lanes = 8; } );')
    only(run, "host-limited", "a:1", "a NIC with half of its lanes is named at its port")
    explained(run, 0.99, "a NIC below its line rate")
    check(run.verdict["network"]["word"] == "innocent", "and the network is innocent", run.verdict["network"])


def a_timer_below_the_round_trip():
    run = star(SEND % "10MB" + 'host = { timeout = "1ms"; };', rate="10Gbps", cable=" 10Gbps 2ms")
    found = only(run, "timer-too-short", "a", "a timer of 1 ms on a path of 4 ms is named")
    check("--set host.timeout=" in found["evidence"], "with what mends it", found["evidence"])
    explained(run, 0.99, "a timer below the round trip")


def slowed_by_a_crowd():
    """A burst is over long before the sender that it slowed is back at its rate: in this step and the next."""
    flows = ", ".join(f'{{ src = "h{h}"; dst = "h0"; sport = {20000 + h}; bytes = "400KB"; start = "50us"; }}' for h in (2, 3, 4, 5, 6, 10, 11))
    run = rocelab(scenario_file(f"""seed = 1;
topology = {{ kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 8; rate = "100Gbps"; delay = "1us"; uplink_rate = "400Gbps"; }};
switch = {{ profile = "ns3"; }};
host = {{ profile = "ns3"; }};
collectives = ( {{ op = "allgather"; algorithm = "ring"; step_bytes = "4MB"; ranks = [ "h0", "h8", "h1", "h9" ]; }} );
flows = ( {flows} );"""))
    first = run.findings()[0]
    check((first["type"], first["root"]) == ("incast", "l0:1"), "the incast is the cause", run.findings())
    explained(run, 0.95, "pacing after an incast")


def full_queues():
    """Two flows share a queue of a class without PFC: what it drops of one was pushed out by the other."""
    flows = ", ".join(f'{{ src = "{src}"; dst = "b"; sport = {20001 + i}; bytes = "20MB"; }}' for i, src in enumerate("ac"))
    run = star(f"""switch = {{ pfc = {{ enabled = false; }}; ecn = {{ enabled = false; }}; lossy_queue = "256KiB"; }};
host = {{ cc = "none"; window = "2MB"; mtu = 1024; }};
flows = ( {flows} );""", rate="25Gbps")
    found = run.findings("tail-drop")
    check(found and {f["root"] for f in found} == {"s:2"}, "tail drops, at the port", run.findings())
    check(all(f["flows"] and not f["fault"] for f in found), "with who filled it; a load, no fault", found)
    check(not run.findings("packet-loss") and not run.findings("blackhole"), "and nothing else lost them", run.findings())
    causes = [run.findings()[f["consequence_of"]] for f in found if "consequence_of" in f]
    check(causes and all((f["type"], f["root"]) == ("no-pfc", "s:2") and "no switch reports PFC" in f["evidence"] for f in causes),
          "a consequence: nothing was paused, its class has no PFC", run.findings())


def pfc_off_at_a_switch():
    """The data's class has PFC at all switches but one, whose queue drops: that is the cause of it."""
    run = rocelab(scenario_file("""topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; };
collectives = ( { op = "alltoall"; algorithm = "linear"; bytes = "4MB"; } );
switches = ( { names = [ "l1" ]; pfc = { enabled = false; }; } );"""))
    found = run.findings("tail-drop")
    causes = [run.findings()[f["consequence_of"]] for f in found if "consequence_of" in f]
    check(found and len(causes) == len(found) and all(f["type"] == "no-pfc" and f["root"].startswith("l1:") for f in causes),
          "PFC that is off at a switch is the cause of its drops", run.findings())


def a_wrong_class_map():
    """Switches put the data of a class with PFC into one without: its queues drop, and the map is named."""
    run = rocelab(scenario_file("""topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; };
collectives = ( { op = "alltoall"; algorithm = "linear"; bytes = "4MB"; } );
switch = { class_map = [ "24:5" ]; };"""))
    found = run.findings("tail-drop")
    causes = [run.findings()[f["consequence_of"]] for f in found if "consequence_of" in f]
    check(causes and all(f["type"] == "no-pfc" and "switch.class_map" in f["evidence"] for f in causes),
          "their cause is the class map", run.findings())


def a_cable_below_its_line_rate():
    """Frames take longer on the wire of the sender's NIC; what is sent again there as well."""
    run = star(SEND % "4MB" + '''faults = ( { kind = "link-rate"; port = "a:1"; rate = "40Gbps"; start = "50us"; duration = "200us"; },
  { kind = "loss"; port = "a:1"; rate = 0.001; } );''')
    found = run.findings("link-rate")
    check([f["root"] for f in found] == ["s:1"] and not run.findings("host-limited"), "a slow cable is named, not its NIC", run.findings())


def a_slow_cable_beside_a_queue():
    """Two flows by chance on one uplink, and one of them from a slow cable: on that its frames take as long without the other."""
    run = rocelab(scenario_file("""topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; delay = "500ns"; };
flows = ( { src = "h0"; dst = "h2"; sport = 40000; bytes = "10MB"; }, { src = "h1"; dst = "h3"; sport = 40001; bytes = "10MB"; } );
faults = ( { kind = "link-rate"; port = "l0:1"; rate = "25Gbps"; } );"""))
    cost_ns = {f["type"]: f["explained_ns"] for f in run.findings()}
    longer_ns = 3 / 4 * max(step["ledger"]["wire_ns"] for step in run.verdict["critical_path"])
    check(abs(cost_ns["link-rate"] - longer_ns) < 0.02 * longer_ns, "a slow cable costs what its frames take longer on it",
          (cost_ns, longer_ns))


SPRAYED = """seed = 1;
topology = { kind = "leaf-spine"; leaves = 4; spines = %d; hosts_per_leaf = 2; rate = "%s"; };
load_balancing = { kind = "%s"; };
"""


def entries(run):
    """Of the critical paths, the sums of their senders' entries."""
    ledgers = [s["ledger"] for s in run.verdict["critical_path"]]
    return {entry: sum(ledger[entry] for ledger in ledgers) for entry in ledgers[0]}


def overtaken_packets():
    """The last packet of a message is short, and overtakes the one before: its receiver drops it, and no packet was lost."""
    run = rocelab(scenario_file(SPRAYED % (3, "200Gbps", "round-robin") + '''collectives = ( { op = "alltoall";
  algorithm = "pairwise"; bytes = "4MB"; } );'''))
    found = run.findings()
    check(found and {f["type"] for f in found} == {"reordering"}, "reordering, and nothing else", found)
    network = run.verdict["network"]
    check(network["unexplained_ns"] <= 0.05 * network["lost_ns"], "and all of the lost time is explained", network)
    check(entries(run)["window_ns"] == 0, "and no window is full where none is configured", entries(run))


def losses_beside_spraying():
    """What a sender waits for behind its last packet is the loss's, however late that was known."""
    run = rocelab(scenario_file(SPRAYED % (4, "100Gbps", "random") + '''host = { transport = "selective"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "2MB"; ranks = [ "h[0,2,4,6,1,3,5,7]" ]; } );
faults = ( { kind = "loss"; port = "s2:3"; rate = 0.05; } );'''))
    check([f["root"] for f in run.findings("packet-loss")] == ["s2:3"], "the link that loses", run.findings())
    explained(run, 0.8, "losses beside spraying")
    check(entries(run)["window_ns"] == 0, "and no window is full where none is configured", entries(run))


def slowed_by_a_cable():
    """A cable has its rate again long before the sender that its queue slowed does."""
    run = rocelab(scenario_file('''seed = 1;
topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 2; rate = "100Gbps"; uplink_rate = "400Gbps"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "4MB"; ranks = [ "h[0,2,4,6,1,3,5,7]" ]; } );
faults = ( { kind = "link-rate"; port = "h3:1"; rate = "40Gbps"; start = "100us"; duration = "200us"; } );'''))
    check([(f["type"], f["root"]) for f in run.findings()] == [("link-rate", "l1:2")], "the cable alone", run.findings())
    explained(run, 0.9, "pacing after a slow cable")


def a_flow_of_the_same_nic(extra, what):
    """Another flow has half of the sender's NIC, whatever makes round trips long elsewhere."""
    run = rocelab(scenario_file("""seed = 3;
topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "5792704B"; sport = 10000; ranks = [ "h5", "h8", "h9", "h15" ]; } );
flows = ( { src = "h9"; dst = "h12"; sport = 21919; bytes = "9845757B"; start = "419147ns"; } );
""" + extra))
    found = next((f for f in run.findings() if f["root"] == "h9:1"), None)
    check(found and (found["type"], found["flows"]) == ("flow-contention", ["h9->h12/21919>4791"]), f"{what}: the flow is named at the NIC",
          run.findings())
    behind_ns = entries(run)["behind_ns"]
    check(abs(found["explained_ns"] - behind_ns) < 0.1 * behind_ns, f"{what}: it costs what the sender's frames stood behind it",
          (found["explained_ns"], behind_ns))
    explained(run, 0.9, what)


def a_longer_path_beside_a_queue():
    """Marks of a queue slow senders; 12 us more on the path of one make no mark, and cost what its last ACKs are late."""
    run = rocelab(scenario_file('''seed = 8800000001L;
topology = { kind = "leaf-spine"; leaves = 4; spines = 2; hosts_per_leaf = 4; rate = "100Gbps"; delay = "1us"; };
telemetry = { epoch = "100us"; };
collectives = ( { op = "allgather"; algorithm = "ring"; bytes = "24MB"; sport = 10000; ranks = [ "h0", "h2", "h5", "h7" ]; } );
flows = ( { src = "h11"; dst = "h7"; sport = 21869; bytes = "18MB"; start = "70us"; } );
faults = ( { kind = "delay"; port = "h5:1"; extra = "12us"; },
  { kind = "slow-host"; host = "h2"; collective = 0; step = 2; delay = "400us"; } );'''))
    spent, delays = entries(run), sum(f["explained_ns"] for f in run.findings("path-delay"))
    check(delays <= spent["late_ns"] + 1000 and spent["paced_ns"] > 5 * spent["late_ns"], "a longer path costs no pacing by marks",
          (delays, spent))
    check(run.findings()[0]["flows"] == ["h11->h7/21869>4791"], "which is the flow's that filled the queue", run.findings())


def slowed_by_a_class_served_first():
    """Data in class 0 is gone long before the senders that it held up are back at their rates: in this step and the next."""
    run = rocelab(scenario_file('''seed = 1;
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; rate = "100Gbps"; uplink_rate = "400Gbps"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "16MB"; ranks = [ "h[0-2,4-6]" ]; } );
flows = ( { src = "h3"; dst = "h4"; sport = 20001; bytes = "4MB"; prio = 0; start = "100us"; } );'''))
    check([(f["type"], f["root"]) for f in run.findings()] == [("strict-priority", "l1:1")], "the class served first", run.findings())
    explained(run, 0.8, "pacing after a class served first")


overtaken_packets()
a_flow_of_the_same_nic("", "a flow of the same NIC")
a_flow_of_the_same_nic('faults = ( { kind = "delay"; port = "l2:2"; extra = "43171ns"; } );', "a flow of the same NIC, and a longer path")
slowed_by_a_class_served_first()
a_longer_path_beside_a_queue()
losses_beside_spraying()
slowed_by_a_cable()
a_cable_below_its_line_rate()
a_slow_cable_beside_a_queue()
a_nic_below_its_line_rate()
a_timer_below_the_round_trip()
slowed_by_a_crowd()
full_queues()
a_wrong_class_map()
pfc_off_at_a_switch()
