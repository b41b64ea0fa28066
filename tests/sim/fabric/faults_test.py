#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every fault: the run ends as it should, counters move, invariants hold, real data arrives whole, truth.json reports."""
import re

from cases import CLEAN_NS, fault, small
from harness import check, rocelab, sets

SHORT_RETRIES = sets(host__retry_count=2, host__timeout="200us")
NEVER_TIMES_OUT = sets(host__timeout="0ps", limits__stall="20ms")


def whole(run, name):
    check(run.run["end_reason"] == "complete", f"{name}: completes", run.run)
    check(run.wrong() == ["0"], f"{name}: every element is right", run.wrong())


def only_drops(run, name, reason):
    drops = run.run["drops"]
    check(drops[reason] > 0, f"{name}: {drops[reason]} packets dropped ({reason})", drops)
    others = {key: count for key, count in drops.items() if count and key != reason}
    check(not others, f"{name}: nothing dropped for another reason", others)


def predicted_of(run, name, kind, target, **keys):
    entry = {"kind": kind, "target": target, **keys}
    matches = [f for f in run.truth["faults"] if entry.items() <= f.items()]
    check(len(matches) == 1, f"{name}: truth.json reports it", (entry, run.truth["faults"]))


def no_fault():
    run = rocelab(small())
    whole(run, "no fault")
    check(not any(run.run["drops"].values()), "no fault: no drop", run.run["drops"])
    check(run.truth["faults"] == [], "no fault: truth.json is empty", run.truth)
    check(run.run["virtual_ns"] < CLEAN_NS, "no fault: over in time", run.run["virtual_ns"])
    return run


def longer_cable():
    run = rocelab(small(fault("delay", port="A:3", extra="50us", jitter="10us", start="20us", duration="100us")))
    whole(run, "delay")
    check(not any(run.run["drops"].values()), "delay: headroom holds what is longer under way", run.run["drops"])
    predicted_of(run, "delay", "delay", "A:3", start_ns=20000, duration_ns=100000)
    check(run.run["virtual_ns"] > CLEAN_NS, "delay: costs time", run.run["virtual_ns"])


def lossy_cables():
    for kind, reason in (("loss", "injected"), ("corruption", "corrupt")):
        run = rocelab(small(fault(kind, port="A:3", rate=0.01)))
        whole(run, kind)
        only_drops(run, kind, reason)
        predicted_of(run, kind, kind, "A:3", start_ns=0, duration_ns=0)
        check(run.run["virtual_ns"] > CLEAN_NS, f"{kind}: costs time", run.run["virtual_ns"])
        check(run.findings("packet-loss"), f"{kind}: the verdict says packet-loss", run.findings())
        predicted_of(run, f"{kind}, at its rate", kind, "A:3", rate=0.01)
        run = rocelab(small(fault(kind, port="A:3", rate=0)))
        check(run.run["virtual_ns"] < CLEAN_NS, f"{kind} with rate 0 does nothing", run.run["virtual_ns"])


def words_and_units():
    faults = (fault("loss", port="A:3", rate=0.01, packets="acks"), fault("corruption", port="B:3", rate=0.0001, burst="1us"),
              fault("slow-receiver", port="b1:1", rate="50Gbps"))
    run = rocelab(small(*faults))
    predicted_of(run, "a word", "loss", "A:3", packets="acks")
    predicted_of(run, "a time", "corruption", "B:3", burst_ns=1000)
    predicted_of(run, "a rate", "slow-receiver", "b1:1", rate_bps=50_000_000_000)


def cut_cables():
    run = rocelab(small(fault("link-down", port="A:1", start="50us", duration="200us")))
    whole(run, "link-down of an uplink")
    only_drops(run, "link-down of an uplink", "link_down")
    predicted_of(run, "link-down of an uplink", "link-down", "A:1", start_ns=50_000, duration_ns=200_000, period_ns=0)
    roots = {f["root"] for f in run.findings("link-down")}
    check(roots and roots <= {"A:1", "S:1"}, "link-down of an uplink: the verdict names an end of the cable", roots)

    run = rocelab(small(fault("link-down", port="A:3", start="50us", duration="200us")))
    whole(run, "link-down of a host")
    roots = {f["root"] for f in run.findings("link-down")}
    check(roots == {"A:3"}, "link-down of a host: the verdict names the port", roots)

    run = rocelab(small(fault("link-down", port="A:3", start="50us")), *SHORT_RETRIES)
    check(run.run["end_reason"] == "qp_error", "link-down for ever: retries are spent", run.run)
    roots = {f["root"] for f in run.findings("link-down")}
    check(roots == {"A:3"}, "link-down for ever: the verdict names the port", roots)

    # a period that no retransmission timeout is a multiple of
    flaps = [fault("link-down", port=port, start=start, duration="10us", period="130us")
             for port, start in (("A:1", "30us"), ("A:2", "90us"))]
    run = rocelab(small(*flaps))
    whole(run, "flapping uplinks")
    only_drops(run, "flapping uplinks", "link_down")
    predicted_of(run, "flapping uplinks", "link-down", "A:2", start_ns=90_000, duration_ns=10_000, period_ns=130_000)


def cut_while_paused():
    """A host that its switch had paused when the cable was cut must continue when it is mended."""
    flows = """flows = ( { src = "a2"; dst = "b1"; sport = 20001; bytes = 4000000; },
  { src = "b2"; dst = "b1"; sport = 20002; bytes = 4000000; } );
host = { cc = "none"; window = "1MB"; };
"""
    cuts = [fault("link-down", port=port, start="100us", duration="50us") for port in ("A:3", "A:4", "B:4")]
    run = rocelab(small(*cuts, extra=flows), *sets(limits__stall="50ms"))
    whole(run, "link-down of paused hosts")


def loops():
    loop = [fault("misroute", dst="b1", port=port, start="50us", duration="300us") for port in ("A:1", "S:1")]
    # so little at a time that the loop does not fill up: every packet dies of its TTL
    run = rocelab(small(*loop), *sets(host__window="4KB", host__timeout="4ms", limits__stall="50ms"))
    whole(run, "a loop that is mended")
    only_drops(run, "a loop that is mended", "ttl")
    predicted_of(run, "a loop that is mended", "misroute", "S:1", start_ns=50_000, duration_ns=300_000)
    check(run.findings("forwarding-loop"), "a loop that is mended: the verdict says forwarding-loop", run.findings())

    loop = [fault("misroute", dst="b1", port=port, start="50us") for port in ("A:1", "S:1")]
    run = rocelab(small(*loop), *SHORT_RETRIES)
    check(run.run["end_reason"] == "qp_error", "a loop for ever: retries are spent", run.run)
    check(run.run["drops"]["ttl"] > 0, "a loop for ever: TTL drops are counted", run.run["drops"])
    roots = {f["root"] for f in run.findings("forwarding-loop")}
    check(roots & {"A:1", "S:1"}, "a loop for ever: the verdict names a port of it", run.findings())

    # at line rate it fills the buffers behind it, small ones: neither port may send before the other one has
    run = rocelab(small(*loop), *NEVER_TIMES_OUT, *sets(switch__profile="ns3", host__profile="ns3"))
    check(run.run["end_reason"] == "stall", "a full loop: nothing moves", run.run)
    roots = {f["root"] for f in run.findings("pfc-deadlock")}
    check(roots & {"A:1", "S:1"}, "a full loop: the verdict says pfc-deadlock there", run.findings())


def blackholes():
    run = rocelab(small(fault("blackhole", switch="A", dst="a1", start="50us", duration="100us")))
    whole(run, "a passing blackhole")
    only_drops(run, "a passing blackhole", "blackhole")
    predicted_of(run, "a passing blackhole", "blackhole", "A", start_ns=50_000, duration_ns=100_000)

    run = rocelab(small(fault("blackhole", switch="A", dst="a1", start="50us")), *SHORT_RETRIES)
    check(run.run["end_reason"] == "qp_error", "a blackhole for ever: retries are spent", run.run)
    check(re.search(r"^QP \d+ of flow \w+->a1/\d+>4791: retries exhausted, ", run.run["error"]),
          "a blackhole for ever: run.json says which QP", run.run["error"])
    check(run.findings("blackhole"), "a blackhole for ever: the verdict says blackhole", run.findings())


def silent_faults():
    """No port counts what vanishes, and what passes by one cable is as much at both ends; only truth.json reports."""
    run = rocelab(small(fault("loss", port="A:1", rate=0.01, silent=True)))
    whole(run, "silent loss")
    only_drops(run, "silent loss", "injected")
    predicted_of(run, "silent loss", "loss", "A:1", silent=True, rate=0.01)
    for where, target, keys in (("at a switch", "A", {"dst": "a1"}), ("by an ingress", "A:1", {"in": "A:1"}),
                                ("by an egress", "S:1", {"switch": "S", "out": "S:1"}),
                                ("of some pairs", "S", {"switch": "S", "share": 0.5})):
        name = f"a corrupt FIB {where}"
        run = rocelab(small(fault("fib-corruption", **{"switch": "A", "start": "50us", "duration": "100us", **keys})))
        whole(run, name)
        only_drops(run, name, "injected")
        predicted_of(run, name, "fib-corruption", target, **{key: value for key, value in keys.items() if key != "switch"})
        check(run.findings("blackhole"), f"{name}: the verdict says blackhole", run.findings())


def slow_hosts(clean):
    run = rocelab(small(fault("slow-host", host="b1", delay="1ms", step=2)))
    whole(run, "slow host")
    predicted_of(run, "slow host", "slow-host", "b1", step=2)
    was = {(r["src"], r["step"]): int(r["start_ns"]) for r in clean.steps()}
    now = {(r["src"], r["step"]): int(r["start_ns"]) for r in run.steps()}
    check(now["b1", "1"] == was["b1", "1"], "slow host: other steps start as ever", (now, was))
    late = now["b1", "2"] - was["b1", "2"]
    check(abs(late - 1_000_000) < 1000, f"slow host: its step 2 starts {late} ns later", "1 ms expected")
    check([f["root"] for f in run.findings()] == ["b1"], "slow host: the verdict names it alone", run.findings())
    check(run.verdict["network"]["innocent"], "slow host: the network is innocent", run.verdict["network"])


def storms():
    for port in ("b1:1", "B:1"):
        name = f"storm at {port}"
        run = rocelab(small(fault("pfc-storm", port=port, start="50us", duration="2ms")))
        whole(run, name)
        predicted_of(run, name, "pfc-storm", port, start_ns=50_000, duration_ns=2_000_000)
        late = run.run["virtual_ns"] - CLEAN_NS
        check(1_500_000 < late < 2_500_000, f"{name}: the run takes {late} ns longer", "about 2 ms expected")
        check(not any(run.run["drops"].values()), f"{name}: nothing is lost", run.run["drops"])
        first = run.verdict["findings"][0]
        check((first["type"], first["root"]) == ("pfc-storm", port), f"{name}: the first finding", run.findings())
    run = rocelab(small(fault("pfc-storm", port="b1:1", start="50us")), *NEVER_TIMES_OUT)
    check(run.run["end_reason"] == "stall", "a storm for ever: the run stalls", run.run)
    # another class: it pauses the flow that is in it, and nobody else
    beside = 'flows = ( { src = "a2"; dst = "b1"; sport = 20001; bytes = 4000; prio = 5; start = "100us"; } );\n' \
        'switch = { pfc = { priorities = [ "3", "5" ]; }; };\n'
    run = rocelab(small(fault("pfc-storm", port="b1:1", priority=5, duration="2ms"), extra=beside))
    ring_ns = max(int(r["start_ns"]) + int(r["duration_ns"]) for r in run.steps() if r["step"] != "0")
    check(ring_ns < CLEAN_NS < run.run["virtual_ns"], "a storm of another class does not stop the ring", ring_ns)


def idle():
    """What a fault did not do is reported beside the verdict, which knows of no faults."""
    never = {"loss": ("A:3", dict(port="A:3", rate=0)), "corruption": ("a1:1", dict(port="a1:1", rate=0.5, start="1s")),
             "misroute": ("T:1", dict(dst="a1", port="T:1", start="2s")),
             "slow-host": ("b1", dict(host="b1", delay="0us"))}
    why = {"loss": "no frame was lost", "corruption": "the run ended before it began",
           "misroute": "the run ended before it began", "slow-host": "its delay is 0"}
    acts = fault("link-down", port="A:1", start="50us", duration="20us"), fault("slow-host", host="a1", delay="1us")
    run = rocelab(small(*(fault(kind, **keys) for kind, (_, keys) in never.items()), *acts))
    reported = run.run["idle_faults"]
    check(len(reported) == len(never), "idle faults: all of them, and no other", reported)
    for kind, (target, _) in never.items():
        line = next(t for t in reported if f": {kind} at {target} never acted: " in t)
        check(line.endswith(why[kind]) and ".cfg:" in line, f"idle faults: {kind}, and why", line)
        check(line in run.stderr, f"idle faults: {kind} is reported at the end", run.stderr)
        predicted_of(run, f"idle faults: {kind}", kind, target, acted=False)
    check("never acted" not in run.report + (run.dir / "verdict.json").read_text(), "idle faults: the verdict knows of none")
    predicted_of(run, "idle faults", "link-down", "A:1", acted=True)
    predicted_of(run, "idle faults", "slow-host", "a1", acted=True)
    # nothing ever comes by here
    one = 'flows = ( { src = "a1"; dst = "a2"; sport = 1; bytes = 1000000; } );\n'
    run = rocelab(small(fault("link-down", port="b1:1"), fault("pfc-storm", port="b1:1"), fault("delay", port="b1:1", extra="1us"),
                        fault("blackhole", switch="B", dst="b1"), extra=one, collective=""))
    check(len(run.run["idle_faults"]) == 4, "idle faults: where no flow comes by", run.run["idle_faults"])


undisturbed = no_fault()
idle()
longer_cable()
lossy_cables()
words_and_units()
cut_cables()
cut_while_paused()
loops()
blackholes()
silent_faults()
slow_hosts(undisturbed)
storms()
