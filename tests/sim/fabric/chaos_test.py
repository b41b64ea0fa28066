#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random faults on random small runs: however a run ends, its invariants hold, and the same seed gives the same run.

A failure names its seed; `python3 tests/sim/fabric/chaos_test.py SEED` runs that one again and prints its scenario.
"""
import json
import random
import sys

from cases import fault, ring, small
from harness import ROCELAB, STALL_LIMIT_S, SANITIZED, check, command, cpus, dpswitch, fail, rocelab, side_by_side

SEEDS = range(1, 21 if SANITIZED else 51)
SWITCH_PORTS = ("A:1", "A:2", "A:3", "A:4", "B:1", "B:2", "B:3", "B:4", "S:1", "S:2", "T:1", "T:2")
PORTS = SWITCH_PORTS + ("a1:1", "a2:1", "b1:1", "b2:1")
HOSTS = ("a1", "a2", "b1", "b2")


def when(rng):
    keys = {"start": f"{rng.randrange(400)}us"}
    if rng.random() < 0.8:
        duration = rng.randrange(5, 300)
        keys["duration"] = f"{duration}us"
        if rng.random() < 0.4:
            keys["period"] = f"{duration + rng.randrange(5, 700)}us"
    return keys


# Those of hosts and of their RNICs, and of switches that are configured wrongly.
MISCONFIGURED = {
    "rnic-down": lambda rng: {"port": f"{rng.choice(HOSTS)}:1"},
    "rnic-no-routes": lambda rng: {"port": f"{rng.choice(HOSTS)}:1"},
    "rnic-no-gid": lambda rng: {"port": f"{rng.choice(HOSTS)}:1"},
    "host-down": lambda rng: {"host": rng.choice(HOSTS)},
    "pcie-downgrade": lambda rng: {"port": f"{rng.choice(HOSTS)}:1", "generation": rng.randrange(1, 4), "lanes": rng.choice((2, 8))},
    "dma-detour": lambda rng: {"port": f"{rng.choice(HOSTS)}:1", "delay": f"{rng.randrange(30)}us"},
    "acl": lambda rng: {"switch": rng.choice("ABST"), "src": rng.choice(HOSTS)},
    "missing-route": lambda rng: {"switch": rng.choice("ABST"), "dst": rng.choice(HOSTS)},
    "ecmp-imbalance": lambda rng: {"port": rng.choice(SWITCH_PORTS), "share": rng.choice((0.5, 1.0))},
    "slow-receiver": lambda rng: {"port": f"{rng.choice(HOSTS)}:1", "rate": rng.choice(("1Gbps", "40Gbps"))},
    "pfc-headroom": lambda rng: {"port": rng.choice(SWITCH_PORTS), "pfc": rng.random() < 0.5},
}


KINDS = ("pfc-storm", "loss", "corruption", "link-down", "misroute", "blackhole", "fib-corruption", "slow-host", *MISCONFIGURED)
LEFT_OUT = ("delay", "link-rate", "cpu-overload", "agent-restart")  # the last two act on agents of R-Pingmesh only


def random_fault(rng):
    kind = rng.choice(KINDS)
    if kind in MISCONFIGURED:
        return fault(kind, **MISCONFIGURED[kind](rng), **when(rng))
    if kind == "pfc-storm":
        return fault(kind, port=rng.choice(PORTS), interval=rng.choice(("1us", "10us", "100us")), **when(rng))
    if kind in ("loss", "corruption"):
        return fault(kind, port=rng.choice(PORTS), rate=rng.choice((0.001, 0.05, 0.5)), **when(rng))
    if kind == "link-down":
        return fault(kind, port=rng.choice(PORTS), **when(rng))
    if kind == "misroute":
        return fault(kind, dst=rng.choice(HOSTS), port=rng.choice(SWITCH_PORTS), **when(rng))
    if kind == "fib-corruption":
        return fault(kind, switch=rng.choice("ABST"), share=rng.choice((0.3, 1.0)), **when(rng))
    if kind == "blackhole":
        return fault(kind, switch=rng.choice("ABST"), dst=rng.choice(HOSTS), **when(rng))
    return fault(kind, host=rng.choice(HOSTS), delay=f"{rng.randrange(1, 500)}us", step=rng.randrange(4))


def random_scenario(seed):
    rng = random.Random(seed)
    faults = [random_fault(rng) for _ in range(rng.randrange(1, 5))]
    extra = f"""flows = ( {{ src = "a2"; dst = "b1"; sport = 20001; bytes = 4000000; }},
  {{ src = "b2"; dst = "b1"; sport = 20002; bytes = 4000000; start = "100us"; }} );
host = {{ timeout = "{rng.choice((300, 1000, 4000))}us"; retry_count = {rng.choice((2, 7))};
  cc = "{rng.choice(("dcqcn", "hpcc", "swift", "timely", "none"))}"; }};
limits = {{ stall = "20ms"; virtual_time = "200ms"; }};
"""
    if rng.random() < 0.3:
        extra += f'switch = {{ pfc = {{ model = "static"; xoff = {rng.choice((20000, 65536))}; }}; }};\n'
    bytes_ = rng.choice((100_000, 1_000_000))
    collective = ring(bytes_, iterations=rng.choice((1, 2)), sport=rng.randrange(10000, 10020))
    return small(*faults, extra=extra, collective=collective, name=f"seed-{seed}.cfg")


def run_seed(seed):
    scenario = random_scenario(seed)
    text = scenario.read_text()
    args = ["--seed", str(seed)]
    first = rocelab(scenario, *args, expect=None, timeout=STALL_LIMIT_S)
    if first.code != 0:
        fail(f"seed {seed}: exit code {first.code}\n{first.stderr}\n{text}")
    digests = {r.run["digest"] for r in (first, dpswitch(scenario, *args))}
    check(len(digests) == 1, f"seed {seed}: {first.run['end_reason']}, {digests}", text)
    if first.run["end_reason"] == "complete":
        check(set(first.wrong()) == {"0"}, f"seed {seed}: every element is right", (first.wrong(), text))
    return first.run


def on_two_lcores(seed, run):
    if cpus() >= 2:
        again = dpswitch(random_scenario(seed), "--seed", str(seed), "--lcores", "2").run
        check(again["digest"] == run["digest"], f"seed {seed}: on two lcores, too", (again, run))


if len(sys.argv) > 1:
    print(random_scenario(int(sys.argv[1])).read_text())
    on_two_lcores(int(sys.argv[1]), run_seed(int(sys.argv[1])))
else:
    known = {fault["kind"] for fault in json.loads(command(ROCELAB, "reference", "--json").stdout)["faults"]}
    check(set(KINDS + LEFT_OUT) == known, "every kind of fault is drawn, or left out", known)
    runs = dict(zip(SEEDS, side_by_side(run_seed, SEEDS)))
    for seed in SEEDS[3::4]:
        on_two_lcores(seed, runs[seed])
    ends = [run["end_reason"] for run in runs.values()]
    # a generator that only ever breaks everything, or nothing, tests little
    check(ends.count("complete") > len(ends) / 4, f"{ends.count('complete')} of {len(ends)} complete")
    check(ends.count("complete") < len(ends), "not all of them")
