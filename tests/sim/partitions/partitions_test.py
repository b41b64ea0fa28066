#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A fabric that several programs run: what crosses is exact, whatever the transport took, and who goes away is named."""
import json
import os
import shutil
import signal
import struct
import time

from harness import (DPSWITCH, ROCELAB, SOURCE, Run, check, command, dpswitch, rocelab, scenario_file, scratch, sets, reported,
                     within)
from partitions import ASKER, COUNTERS, FRAME, LANE, RECORDS, REPORT, STEP, WINDOW, Between, Live, Machines, Partitions

# Frames, pauses, polls and their replies, notifications and faults cross the cables of a; a cable of it is cut for a while.
CROSSED = """
topology = { kind = "explicit"; hosts = [ "h0", "h1", "h2", "h3", "h4", "h5" ]; switches = [ "a", "b", "c" ]; rate = "200Mbps";
  delay = "50us"; links = ( "h0 a", "h1 a", "h2 b", "h3 b", "h4 c", "h5 c", "a b", "b c", "a c" ); };
timing = { clock = "real"; };
host = { mtu = 1024; };
partitions = ( { names = [ "a" ]; }, { names = [ "b", "c" ]; } );
collectives = ( { op = "allgather"; algorithm = "ring"; bytes = "1MB"; } );
flows = ( { src = "h0"; dst = "h3"; sport = 20000; bytes = "1MB"; start = "5ms"; },
          { src = "h4"; dst = "h3"; sport = 20001; bytes = "1MB"; start = "5ms"; },
          { src = "h1"; dst = "h3"; sport = 20002; bytes = "1MB"; start = "5ms"; } );
"""
FAULTS = """
faults = ( { kind = "pfc-storm"; port = "b:3"; start = "20ms"; duration = "10ms"; },
           { kind = "pfc-storm"; port = "a:1"; start = "60ms"; duration = "5ms"; },
           { kind = "loss"; port = "a:3"; rate = 0.01; start = "40ms"; duration = "50ms"; },
           { kind = "link-down"; port = "a:3"; start = "120ms"; duration = "3ms"; } );
"""
# Operators that every partition has, and that devices of all answer: a tracer whose first hop leaves report, beside agents.
OPERATORS = CROSSED + """
switch = { sampling = 50; };
flowtracer = { enabled = true; first_hop = "sflow"; connections = "parallel"; rtt = "500us"; period = "3ms"; start = "1ms";
               processes = 3; threads = 2; };
pingmesh = { enabled = true; time_factor = 0.01; duration = "150ms"; };
"""
# Switches alone are a partition, the first or the last.
SPINES = """
topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = "200Mbps"; delay = "50us"; };
timing = { clock = "real"; };
host = { profile = "ns3"; };
switch = { profile = "ns3"; };
partitions = ( %s );
collectives = ( { op = "allreduce"; algorithm = "ring"; ranks = [ "h0", "h2", "h1", "h3" ]; bytes = "400KB"; iterations = 2; } );
"""
ABOVE, BELOW = '{ names = [ "s0", "s1" ]; }', '{ names = [ "l0", "l1" ]; }'
RING = """
topology = { kind = "explicit"; hosts = [ "h0", "h1", "h2", "h3" ]; switches = [ "a", "b" ]; rate = "200Mbps";
  delay = "50us"; links = ( "h0 a", "h1 a", "h2 b", "h3 b", "a b" ); };
timing = { clock = "real"; };
host = { mtu = 1024; %s };
partitions = ( { names = [ "a" ]; }, { names = [ "b" ]; } );
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "400KB"; payload = "%s"; iterations = %d; } );
limits = { connect = "%s"; virtual_time = "60s"; };
"""
LONG = RING % ("", "synthetic", 1000, "60s")


def without_lateness(verdict):
    """Real time measures how late the machine was. @return that, taken out of the verdict; None: it has none"""
    for finding in verdict["findings"]:
        finding.pop("machine_share", None)
    cost = verdict["overhead"]
    for kind in [kind for kind in cost["kinds"] if kind["kind"] == "lateness of the machine"]:
        cost["kinds"].remove(kind)
        cost["records"] -= kind["records"]
    # Records are packed against those before them: what stands between them changes their size.
    for of, key in ((cost, "report_bytes"), *((kind, "bytes") for kind in cost["kinds"])):
        del of[key]
    return verdict.pop("lateness", None)


def same(ours, whole, name, files=("steps.csv", "flows.csv", "truth.json")):
    for file in files:
        if (whole.dir / file).exists():
            check((ours.dir / file).read_text() == (whole.dir / file).read_text(), f"{name}: {file} is that of one program",
                  ours.dir / file)
    if not (whole.dir / "verdict.json").exists():
        return
    verdicts = [json.loads((run.dir / "verdict.json").read_text()) for run in (ours, whole)]
    ends = [verdict["evidence"].pop("end_ns") for verdict in verdicts]
    late = [without_lateness(verdict) for verdict in verdicts]
    check(late[0] is not None and late[1] is None, f"{name}: the machine is late in real time alone", late)
    check(verdicts[0] == verdicts[1], f"{name}: verdict.json is that of one program", ours.dir / "verdict.json")
    check(ends[0] == ends[1], f"{name}: it ends after the same window", ends)


def exact():
    """A run in real time has the results of one in virtual time, though nothing else of it is the same."""
    for name, text in (("faults", CROSSED + FAULTS), ("an incast", CROSSED), ("selective", CROSSED.replace(
            "mtu = 1024;", 'mtu = 1024; transport = "selective";')), ("a tracer and agents", OPERATORS),
                       *((f"spread by {kind}", CROSSED + FAULTS + f'load_balancing = {{ kind = "{kind}"; }};')
                         for kind in ("random", "round-robin", "adaptive"))):
        scenario = scenario_file(text)
        whole, ours = rocelab(scenario, *sets(timing__clock="virtual")), rocelab(scenario, "--partitions", "2")
        same(ours, whole, name)
        other = Run(ours.dir / "partitions" / "1")
        for run in (ours, other):
            broken = [i for i in run.run["invariants"] if not i["holds"]]
            check(not broken, f"{name}: invariants hold in partition {run.run['partition']['partition']}", broken)
        check(ours.run["partition"]["frames_out"] == other.run["partition"]["frames_in"] > 1000, f"{name}: what left came in",
              (ours.run["partition"], other.run["partition"]))
        for key in ("drops", "transport", "idle_faults"):
            check(ours.run[key] == whole.run[key], f"{name}: {key} of the whole", (ours.run[key], whole.run[key]))
        if "faults" in name:
            check(sum(other.run["drops"].values()) > 0, f"{name}: some in the other partition", other.run["drops"])
        check(not ours.run["idle_faults"], f"{name}: faults of both partitions acted", ours.run["idle_faults"])


def plugins():
    """Partition 0 has the program, and what it asks of nodes elsewhere is asked there."""
    asker = scratch() / "asker.py"
    asker.write_text(ASKER % (SOURCE / "scripts/records", ["a", "b", "c"], [("h0", "h3"), ("h5", "h0"), ("h2", "h4")], 0))
    asker.chmod(0o755)
    run = rocelab(scenario_file(OPERATORS), "--partitions", "2", "--diagnoser", asker)
    section = run.verdict["plugins"][0]
    check(run.run["end_reason"] == "complete" and section["turns"] > 10, "a plugin: complete", (run.run["end_reason"], section))
    check(section["polls"] >= 3 * section["turns"] - 3 and section["probes"] > section["refused"] >= 0, "a plugin: all is answered", section)
    asker.write_text(ASKER % (SOURCE / "scripts/records", ["a", "b", "c"] * 60, [("h0", "h3")] * 60, 0.5))
    run = rocelab(scenario_file(OPERATORS), "--partitions", "2", "--diagnoser", asker)
    section = run.verdict["plugins"][0]
    check(not section["left_out"] and section["turns"] > 10, "a plugin that is late when the run ends: waited for", section)
    partitions = Partitions()
    partitions.start(0, scenario_file(OPERATORS), "--diagnoser", asker)
    partitions.listening(0)
    partitions.start(1, scenario_file(OPERATORS))
    first, second = partitions.end(0), partitions.end(1)
    check("has another number of plugin diagnosers" in first.stderr and "has another number of plugin diagnosers" in second.stderr,
          "a plugin that one partition alone knows of: refused", (first.stderr, second.stderr))


def side_by_side():
    """Each run that systems need is divided, and R-Pingmesh's probes leave room for the job on links that are slow."""
    systems = []
    for divided in ((), ("--partitions", "2")):
        run = rocelab(scenario_file(CROSSED + FAULTS), *divided, "--diagnosers", "vedrfolnir,pingmesh,hawkeye-minr")
        probed = Run(run.dir / "systems" / "pingmesh")
        check(probed.run["end_reason"] == "complete", "side by side: the job ends beside probes", probed.run["end_reason"])
        if divided:
            check({run.run["partition"]["of"], probed.run["partition"]["of"]} == {2}, "side by side: both runs are divided")
        systems.append([(row["name"], [(finding["type"], finding["root"], finding["explained_ns"]) for finding in row["findings"]])
                        for row in run.json("comparison.json")["systems"] if row["name"] != "pingmesh"])
    check(systems[0] == systems[1] and len(systems[0]) == 2, "side by side: the findings are equal", systems)


def switches_alone():
    """A partition without hosts continues for those of others."""
    for name, partitions in (("spines first", f"{ABOVE}, {BELOW}"), ("spines last", f"{BELOW}, {ABOVE}")):
        scenario = scenario_file(SPINES % partitions)
        whole, ours = rocelab(scenario, *sets(timing__clock="virtual")), rocelab(scenario, "--partitions", "2")
        same(ours, whole, name)
        check(ours.run["end_reason"] == "complete", f"{name}: complete", ours.run)
        check(ours.run["virtual_ns"] >= ours.verdict["evidence"]["end_ns"], f"{name}: as long as any partition's", ours.run["virtual_ns"])


def contents():
    """Real data, elements verified, over partitions that METIS makes of a fat-tree, and both transports."""
    fat = """topology = { kind = "fat-tree"; k = 4; rate = "100Mbps"; delay = "50us"; };
timing = { clock = "real"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "64KB"; payload = "real"; } );"""
    for text, partitions, *args in ((RING % ("", "real", 2, "60s"), 2, "--lcores", "2", "--capture", "a:3,b:3"), (RING % ('transport = "selective";', "real", 1, "60s"), 2),
                        (RING % ("", "real", 1, "60s") + 'faults = ( { kind = "loss"; port = "a:3"; rate = 0.02; } );', 2),
                        # more than any host has memory for: nobody keeps what is no collective's
                        (RING % ("", "real", 1, "60s") + 'flows = ( { src = "h0"; dst = "h3"; sport = 20000; bytes = "3MB"; } );', 2),
                        (fat, 3), (fat + 'host = { cc = "hpcc"; };', 2),
                        # packets of one message by ways within a partition and by others
                        (fat + 'load_balancing = { kind = "random"; };', 2),
                        (fat + 'load_balancing = { kind = "random"; }; host = { transport = "selective"; };', 2)):
        run = rocelab(scenario_file(text), "--partitions", str(partitions), *args)
        open_flows = [row for row in (run.dir / "flows.csv").read_text().splitlines()[1:] if not row.endswith(",0")] if "flows =" in text else []
        check(not open_flows, f"{partitions} partitions: flows are complete", open_flows)
        check(run.run["end_reason"] == "complete", f"{partitions} partitions: complete", run.stderr)
        check(set(run.wrong()) == {"0"}, f"{partitions} partitions: no wrong element", run.stdout)
        check(run.run["partition"]["of"] == partitions and run.run["partition"]["frames_in"] > 0, f"{partitions} partitions: frames crossed")
        for file in ("capture.pcapng", "partitions/1/capture.pcapng") if args else ():
            check((run.dir / file).stat().st_size > 400000, f"{file} has the frames of its own end")


def gone():
    for which, how, why in ((1, signal.SIGKILL, "partition 1 (h2, h3, b) was lost: its program has ended"),
                            (1, signal.SIGSTOP, "partition 1 (h2, h3, b) was lost: it sent nothing for 5 s"),
                            (0, signal.SIGKILL, "partition 0 (h0, h1, a) was lost: its program has ended")):
        live = Live(scenario_file(LONG))
        os.kill(live.partition(which), how)
        run = live.end()
        name = f"partition {which}, {how.name}"
        check(run.code == 1 and why in run.stderr, f"{name}: named", run.stderr)
        check("did not finish" in run.report, f"{name}: the verdict on what there is follows", run.report)
        if which == 1:
            check(run.run["end_reason"] == "partition_lost" and why in run.run["error"], f"{name}: end reason", run.run)
            check("the program of the partition with h2 ended" in " ".join(run.report.split()),
                  f"{name}: in the report", run.report[:400])
        kept = scratch()
        command("cp", (run.dir if which == 1 else run.dir / "partitions" / "1") / "records.bin", kept)
        command(ROCELAB, "diagnose", kept)
        print(f"ok {name}: a recording is kept", flush=True)


def interrupted():
    live = Live(scenario_file(LONG))
    live.partition(1)
    os.killpg(live.process.pid, signal.SIGINT)
    run = live.end()
    check(run.run["end_reason"] == "interrupt", "Ctrl-C: end reason", run.stderr)
    check(Run(run.dir / "partitions" / "1").run["end_reason"] == "interrupt", "Ctrl-C: of the other partition, too")
    check("did not finish" in run.report, "Ctrl-C: verdict")


def strangers():
    """Peers with which no run begins; both sides report it."""
    scenario = scenario_file(RING % ("", "synthetic", 1, "3s"))
    partitions = Partitions()
    partitions.start(0, scenario)
    run = partitions.end(0)
    check(run.code == 3 and "partition 1 (h2, h3, b) did not connect within 3 s (limits.connect)" in run.stderr, "one that is late",
          (run.code, run.stderr))

    tokens = []
    for text in ("a token of sixteen", "another of sixteen"):
        tokens.append(scratch() / "token")
        tokens[-1].write_text(text + "\n")
    for name, args, words in (("another scenario", ([], ["--seed", "2"]), "has another scenario: give all of them the same file"),
                              ("another token", (["--token", tokens[0]], ["--token", tokens[1]]), "has another token"),
                              ("no token", (["--token", tokens[0]], []), "has another token")):
        partitions = Partitions()
        partitions.start(0, scenario, *args[0])
        partitions.listening(0)
        partitions.start(1, scenario, *args[1])
        first, second = partitions.end(0), partitions.end(1)
        check(words in second.stderr and second.code == 2, f"{name}: the one that connects reports it", (second.code, second.stderr))
        reported_first = "another token was rejected" if "token" in name else words
        check(reported_first in first.stderr and first.code in (2, 3), f"{name}: the one that listens reports it", (first.code, first.stderr))
        check(not (first.dir / "records.bin").exists(), f"{name}: nothing is written")

    partitions = Partitions()
    partitions.addresses = ["0.0.0.0:47810", "127.0.0.1:47811"]
    partitions.start(0, scenario)
    run = partitions.end(0)
    check(run.code == 2 and "can be reached from other machines: give all partitions the same --token" in run.stderr,
          "an open address without a token", run.stderr)


def over_tcp():
    scenario = scenario_file(RING % ("", "real", 1, "60s"))
    token = scratch() / "token"
    token.write_text("a token of sixteen\n")
    partitions = Partitions()
    partitions.addresses = ["127.0.0.1:47812", "127.0.0.1:47813"]
    for which in (1, 0):
        partitions.start(which, scenario, "--token", token)
    runs = [partitions.end(which) for which in (0, 1)]
    check(all(run.code == 0 and run.run["end_reason"] == "complete" for run in runs), "TCP: complete", [r.stderr for r in runs])


def two_machines():
    """Each partition in a network of its own, a cable of 3 ms between them, where the fabric's are 50 us: late, and exact."""
    scenario = scenario_file(RING % ("", "real", 1, "60s"))
    machines = Machines("3ms")
    try:
        if machines.there:
            between_machines(machines, scenario)
        else:
            print("note: no two networks can be made here: partitions on two machines are not tried", flush=True)
    finally:
        machines.close()


def between_machines(machines, scenario):
    if not machines.slow:
        print("note: no delay can be made here (tc, netem): the cable between two machines is fast", flush=True)
    token = scratch() / "token"
    token.write_text("a token of sixteen\n")
    partitions = Partitions()
    partitions.addresses = ["10.77.0.1:47814", "10.77.0.2:47814"]
    for which in (1, 0):
        partitions.start(which, scenario, "--token", token, where=machines.where(which))
    runs = [partitions.end(which) for which in (0, 1)]
    check(all(run.code == 0 and run.run["end_reason"] == "complete" for run in runs), "two machines: complete",
          [r.stderr for r in runs])
    same(runs[0], dpswitch(scenario, *sets(timing__clock="virtual")), "two machines")
    waited = runs[0].run["partition"]["waited_s"]
    check(not machines.slow or waited > 0.5, "two machines: windows waited for the cable between them", waited)


def changed(kind, at, form, value, after=20):
    """What partition 0 hears: one field of a message of a kind is another, once so many have gone by."""
    seen = [0]

    def change(got, body):
        if got != kind or len(body) <= at:
            return got, body
        seen[0] += 1
        if seen[0] != after:
            return got, body
        body = bytearray(body)
        struct.pack_into(form, body, at, value)
        return got, bytes(body)
    return change


def lying():
    bare, filled = (scenario_file(RING % ("", payload, 20, "20s")) for payload in ("synthetic", "real"))
    for name, change, why in (
            ("a frame of the past", changed(LANE, 8, "<Q", 1), "LANE: time_ps = 1; right would be"),
            ("a frame at no cable", changed(LANE, 0, "<I", 0), "LANE: port = 0 is not at a cable between its partition and this"),
            ("a frame of no flow", changed(LANE, 16, "<I", 1 << 30), "LANE: flow cannot be"),
            ("a frame of no type", changed(LANE, 34, "<B", 77), "LANE: type cannot be"),
            ("a frame with bytes", changed(LANE, 36, "<B", 1 << 7), "LANE: flags cannot be"),
            ("a frame too large", changed(LANE, 28, "<H", 60000), "LANE: wire_bytes cannot be"),
            ("contents of the past", changed(FRAME, 0, "<Q", 1), "FRAME: time_ps = 1; right would be"),
            ("contents at no cable", changed(FRAME, 32, "<I", 0), "FRAME: port = 0 is not at a cable between its partition and this"),
            ("contents of no flow", changed(FRAME, 8, "<I", 1 << 30), "FRAME: flow cannot be"),
            ("contents of no type", changed(FRAME, 26, "<B", 77), "FRAME: type cannot be"),
            ("a window of the future", changed(WINDOW, 0, "<Q", 1 << 40), "WINDOW: index = 1099511627776; right would be"),
            ("a record of others", changed(RECORDS, 12, "<I", 0, after=1), "is not of its partition"),
            ("counters of others", changed(COUNTERS, 0, "<I", 0, after=1), "node = 0 is not of its partition"),
            ("a step of no plan", changed(STEP, 8, "<I", 77, after=1), "STEP of no plan of its host"),
            ("no message", lambda kind, body: b"nonsense" * 8 if kind == LANE else (kind, body), "not a message of a partition")):
        partitions = Partitions()
        scenario = filled if name.startswith("contents") else bare
        partitions.start(0, scenario)
        partitions.listening(0)
        between = str(partitions.dir / "between")
        Between(between, partitions.addresses[0], change)
        partitions.start(1, scenario, addresses=[between, partitions.addresses[1]])
        first, second = partitions.end(0), partitions.end(1)
        check("partition 1 (h2, h3, b) was lost: " in first.stderr and why in first.stderr, f"{name}: named", first.stderr)
        check(first.code == 1 and second.code >= 0, f"{name}: both end", (first.code, second.code, second.stderr))
        if first.run["end_reason"] == "partition_lost":
            check("partition 0 (h0, h1, a) was lost" in second.run["error"], f"{name}: to the other, partition 0 went away", second.stderr)
        check((first.dir / "records.bin").stat().st_size > 1000, f"{name}: recorded")


def altered_report(change):
    """What partition 0 receives: partition 1 reports other facts of its own nodes."""
    def changed_report(kind, body):
        if kind != REPORT:
            return kind, body
        report = json.loads(body)
        change(report)
        return kind, json.dumps(report).encode()
    return changed_report


def reports():
    scenario = scenario_file(RING % ("", "synthetic", 1, "20s"))
    at_a = {"port": "a:1", "by": "h0", "paused_ns": 1, "at_end": False, "held": []}
    for name, change, why in (
            ("no JSON", lambda kind, body: (kind, b"{]") if kind == REPORT else (kind, body), "REPORT: "),
            ("a port of others", altered_report(lambda r: r["truth"]["pauses"].append(at_a)),
             "REPORT: truth.pauses[0].port names no object of its partition"),
            ("a host that is none", altered_report(lambda r: r["run"].update(hosts=[{"host": "nobody"}])),
             "REPORT: run.hosts[0].host names no object of its partition"),
            ("no time of the run", altered_report(lambda r: r["run"].update(virtual_ns=1 << 60)), "REPORT: run.virtual_ns"),
            ("fewer drops than none", altered_report(lambda r: r["run"]["drops"].update(injected=-1)), "REPORT: run.drops.injected"),
            ("too few invariants", altered_report(lambda r: r["run"]["invariants"].pop()), "REPORT: 7 invariants; right would be 8"),
            ("what does not hold", altered_report(lambda r: r["run"]["invariants"][0].update(holds=False, text="of partition 1")),
             "partition 1: an invariant does not hold: of partition 1")):
        partitions = Partitions()
        partitions.start(0, scenario)
        partitions.listening(0)
        between = str(partitions.dir / "between")
        Between(between, partitions.addresses[0], change)
        partitions.start(1, scenario, addresses=[between, partitions.addresses[1]])
        first, _ = partitions.end(0), partitions.end(1)
        check(why in first.stderr and first.code == 1, f"{name}: reported", (first.code, first.stderr))
    held = [i["text"] for i in first.run["invariants"] if not i["holds"]]
    check(held == ["of partition 1"], "what does not hold in a partition does not hold in all", held)


def refused():
    ring = RING % ("", "synthetic", 1, "60s")
    for words, text, args in (
            ('partitions of a fabric run in real time: set it to "real"', ring.replace('"real"', '"virtual"'), ["--partitions", "2"]),
            ("the scenario has 2 partitions, and 3 are asked for", ring, ["--partitions", "3"]),
            ('"x" is no node of this topology', ring.replace('[ "b" ]', '[ "b", "x" ]'), ["--partitions", "2"]),
            ('switch "b" is in no partition', ring.replace('[ "b" ]', '[ "h3" ]'), ["--partitions", "2"]),
            ('"a" is named twice', ring.replace('[ "b" ]', '[ "b", "a" ]'), []),
            ("3 partitions of 2 switches", ring.replace("partitions = (", "// partitions = ("), ["--partitions", "3"]),
            ("embedded hosts beside kernel hosts need an undivided fabric",
             RING % ("", "real", 1, "60s") + 'hosts = ( { kind = "guest"; names = [ "h0" ]; } );', ["--partitions", "2"])):
        out = scratch() / "out"
        done = command(ROCELAB, "run", scenario_file(text), "--out", out, *args, expect=2)
        check(words.lower() in reported(done) and reported(done).count(words.lower()) == 1, f"refused once: {words}", done.stderr)
        check(not out.exists(), "and nothing is left")
    for words, args in (("give I/N", ["--partition", "2/2"]), ("must be given together", ["--partition", "0/2"]),
                        ("is no address of a partition", ["--partition", "0/2", "--partitions-at", "here,there"]),
                        ("has 1 addresses for 2 partitions", ["--partition", "0/2", "--partitions-at", "/tmp/x"])):
        done = command(DPSWITCH, scenario_file(ring), "--out", scratch(), *args, expect=2)
        check(words in done.stderr, f"refused: {words}", done.stderr)


def cannot_begin():
    """A partition that ends before it has met the others, as one for which no memory is left: they do not wait for it."""
    tree = scratch()
    (tree / "cli").mkdir()
    (tree / "dpswitch").mkdir()
    (tree / "diag").symlink_to(DPSWITCH.parent.parent / "diag")
    shutil.copy(ROCELAB, tree / "cli" / "rocelab")
    wrapper = tree / "dpswitch" / "dpswitch"
    wrapper.write_text(f'#!/bin/sh\ncase " $* " in *" --partition 1/2 "*) echo no memory is left >&2; exit 2;; esac\nexec {DPSWITCH} "$@"\n')
    wrapper.chmod(0o755)
    begun_s = time.monotonic()
    done = command(tree / "cli" / "rocelab", "run", scenario_file(RING % ("", "synthetic", 1, "60s")), "--partitions", "2",
                   "--set", "limits.connect=60s", "--out", scratch() / "out", expect=2)
    check(within(begun_s, 30) and "no memory is left" in done.stderr, "one that cannot begin ends all at once", done.stderr)


def led_astray():
    """What a link named partitions leads to is somebody else's."""
    theirs, out = scratch(), scratch()
    (theirs / "1").mkdir()
    (theirs / "1" / "run.json").write_text("{}")
    (out / "partitions").symlink_to(theirs)
    command(DPSWITCH, scenario_file(RING % ("", "synthetic", 1, "60s")), "--out", out, "--quiet")
    check((theirs / "1" / "run.json").exists(), "a link to another run's partitions is not followed")


def main():
    refused()
    cannot_begin()
    led_astray()
    exact()
    plugins()
    side_by_side()
    switches_alone()
    contents()
    over_tcp()
    two_machines()
    strangers()
    lying()
    reports()
    interrupted()
    gone()


main()
