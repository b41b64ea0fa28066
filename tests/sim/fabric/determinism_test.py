#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Same scenario, same seed: the same digest, twice on one lcore and once on two, over every scenario of the tree. With
sanitizers, which look for something else, once on each."""
from cases import LITTLE_MODEL
from harness import SANITIZED, SCENARIOS, check, cpus, dpswitch, fail, scratch, side_by_side

# Cut down what is long; the digest must not depend on lcores at any size.
SHORT = {"ns3-allgather-100g": ["--set", "collectives.[0].step_bytes=40MB", "--set", "flows.[0].start=1ms",
                                "--set", "flows.[1].start=2ms", "--set", "flows.[1].bytes=50MB"],
         "gpt-3d": LITTLE_MODEL}

# Agents so busy that what they sent is overwritten before it has come: by whose order that is must not show.
BUSY_AGENTS = """topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 2; rate = "10Tbps"; delay = "100us"; };
pingmesh = { enabled = true; time_factor = 1e-05; duration = "8ms"; tracing = "int"; };
limits = { virtual_time = "100ms"; };
"""

# Hosts with their own kernel live in real time, which never repeats.
scenarios = sorted(s for s in SCENARIOS.glob("*.cfg") if "\nhosts = " not in s.read_text())
if len(scenarios) < 7:
    fail(f"only {len(scenarios)} scenarios in {SCENARIOS}")
busy = scratch() / "busy-agents.cfg"
busy.write_text(BUSY_AGENTS)
scenarios.append(busy)
if cpus() < 2:
    print("note: one CPU only: two lcores cannot run here, each scenario is run twice on one", flush=True)


def words(scenario):
    return SHORT.get(scenario.stem, []) + (["--set", "limits.virtual_time=3ms"] if SANITIZED else [])


def on_one(scenario):
    """@return the runs on one lcore, and one with another seed, unless sanitizers look"""
    again = cpus() < 2 or not SANITIZED
    return ([dpswitch(scenario, *words(scenario)) for _ in range(1 + again)],
            None if SANITIZED else dpswitch(scenario, "--seed", "4711", *words(scenario)).run)


seeds_matter = False
for scenario, (runs, other) in zip(scenarios, side_by_side(on_one, scenarios)):
    if cpus() >= 2:
        runs.append(dpswitch(scenario, "--lcores", "2", *words(scenario)))
    digests = [r.run["digest"] for r in runs]
    hops = [r.run["packet_hops"] for r in runs]
    check(len(set(digests)) == 1 and len(set(hops)) == 1, f"{scenario.stem}: {digests[0]}", (digests, hops))
    recordings = [(r.dir / "records.bin").read_bytes() for r in runs]
    check(all(r == recordings[0] for r in recordings), f"{scenario.stem}: recordings are equal", "they differ")
    if other is not None:
        seeds_matter |= other["digest"] != digests[0]
        check(other["end_reason"] == runs[0].run["end_reason"], f"{scenario.stem}: another seed also ends", other)
check(SANITIZED or seeds_matter, "some digest depends on the seed", "none does")
