#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The transport "selective" in whole runs: nothing is sent again where nothing is lost, however packets overtake each other;
what is lost is repaired, data verified; the same bytes on one lcore and on two; refused where it cannot be."""
from harness import ROCELAB, SANITIZED, check, command, cpus, dpswitch, scenario_file, sets

SIZE = "256KB" if SANITIZED else "2MB"

# Links of 1 us, pipelines of 600 ns: a base RTT of 13.2 us.
FABRIC = f"""
topology = {{ kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 2; rate = "100Gbps"; delay = "1us"; }};
host = {{ transport = "selective"; cc = "none"; }};
collectives = ( {{ op = "allreduce"; algorithm = "ring"; type = "float32"; payload = "real"; bytes = "{SIZE}";
                   iterations = 2; }} );
"""
# All ways up from a leaf, and one down to another, lose data of some flows and ACKs of others.
LOSS = FABRIC + "faults = ( " + ", ".join(f'{{ kind = "loss"; port = "{port}"; rate = 0.03; }}'
                                          for port in ("l1:3", "l1:4", "l1:5", "l1:6", "s1:2")) + " );\n"
FLOWS = ", ".join(f'{{ src = "h{i}"; dst = "h0"; sport = {50000 + i}; bytes = "256KB"; }}' for i in range(1, 8))
INCAST = FABRIC.split("collectives")[0] + f"flows = ( {FLOWS} );\n"
BALANCING = ("ecmp", "random", "round-robin", "adaptive")
TIMERS = ("adaptive", "fixed")
NS3 = {"switch__profile": "ns3", "host__profile": "ns3"}


def clean():
    scenario = scenario_file(FABRIC)
    for kind in BALANCING:
        for timer in TIMERS:
            every = 1 if timer == "fixed" else 8
            run = dpswitch(scenario, *sets(load_balancing__kind=kind, host__selective__timer=timer, host__ack_every=every))
            sent = run.run["transport"]
            check(sent["name"] == "selective" and sent["retransmits"] + sent["timeouts"] + sent["duplicates"] == 0,
                  f"clean, {kind}, {timer}: nothing is sent again", sent)
            check(set(run.wrong()) == {"0"}, f"clean, {kind}, {timer}: no element is wrong", run.wrong())
            check((sent["early"] > 0) == (kind != "ecmp"), f"clean, {kind}, {timer}: packets overtake each other when sprayed",
                  sent)


def lossy():
    scenario = scenario_file(LOSS)
    for kind in BALANCING:
        args = sets(load_balancing__kind=kind)
        runs = [dpswitch(scenario, *args)] + ([dpswitch(scenario, "--lcores", "2", *args)] if cpus() >= 2 else [])
        run, sent = runs[0], runs[0].run["transport"]
        lost = run.run["drops"]["injected"]
        check(lost > 20 and run.run["end_reason"] == "complete", f"loss, {kind}: complete", run.run["drops"])
        check(set(run.wrong()) == {"0"}, f"loss, {kind}: no element is wrong", run.wrong())
        # An ACK that is lost costs nothing; a probe or a late ACK may be in vain.
        check(0 < sent["retransmits"] < 1.5 * lost and sent["naks"] == 0, f"loss, {kind}: about what was lost is sent again", sent)
        check(sent["duplicates"] < 0.2 * lost, f"loss, {kind}: little of it in vain", sent)
        check(len({r.run["digest"] for r in runs}) == 1 and
              len({(r.dir / "records.bin").read_bytes() for r in runs}) == 1, f"loss, {kind}: the same on two lcores")
    fast = dpswitch(scenario, *sets(load_balancing__kind="ecmp"))
    slow = dpswitch(scenario, *sets(load_balancing__kind="ecmp", host__transport="go-back-n"))
    check(fast.run["virtual_ns"] < 0.5 * slow.run["virtual_ns"], "loss: done in less than half the time of go-back-n",
          (fast.run["virtual_ns"], slow.run["virtual_ns"]))


def queues():
    """Seven senders at once, a window each: queues are many times longer than 5 us."""
    scenario = scenario_file(INCAST)
    sent = {timer: dpswitch(scenario, *sets(load_balancing__kind="ecmp", host__selective__timer=timer, **NS3)).run["transport"]
            for timer in TIMERS}
    check(sent["adaptive"]["retransmits"] == 0, "incast: queues are no loss to the adaptive timer", sent)
    check(sent["fixed"]["retransmits"] == sent["fixed"]["duplicates"] > 100,
          "incast: to the fixed one they are, and every copy is counted", sent)
    # PFC pauses some ways and not others: they differ by more than 5 us. All invariants hold, every flow is complete.
    for timer in TIMERS:
        run = dpswitch(scenario, *sets(load_balancing__kind="random", host__selective__timer=timer)).run
        check(run["end_reason"] == "complete" and run["transport"]["duplicates"] > 0,
              f"incast, random, {timer}: what is sent in vain is counted", run["transport"])


    # The window of the adaptive one grows with what comes twice: of some 14,000 packets less than half are sent in vain, without it all.
    longer = scenario_file(INCAST.replace("256KB", SIZE))
    for kind in ("random", "round-robin", "adaptive"):
        run = dpswitch(longer, *sets(load_balancing__kind=kind)).run
        packets = 7 * (256 if SANITIZED else 2000000 // 1024)
        check(run["transport"]["duplicates"] < 0.5 * packets, f"incast, {kind}: the reordering window grows", run["transport"])


def congestion_controls():
    scenario = scenario_file(FABRIC)
    for cc in ("dcqcn", "hpcc", "swift", "timely"):
        run = dpswitch(scenario, *sets(host__cc=cc, load_balancing__kind="ecmp"))
        check(set(run.wrong()) == {"0"} and run.run["transport"]["retransmits"] == 0, f"{cc}: works with it",
              run.run["transport"])


def refused():
    scenario = scenario_file(FABRIC.replace("host =", 'hosts = ( { kind = "guest"; } );\nhost =', 1))
    done = command(ROCELAB, "run", scenario, expect=2)
    check("test.cfg:4" in done.stderr and "go-back-N" in done.stderr, "refused with hosts that have a kernel", done.stderr)


clean()
lossy()
queues()
congestion_controls()
refused()
