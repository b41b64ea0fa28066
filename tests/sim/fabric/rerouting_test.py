#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cut links of redundant fabrics: their own switches avoid them at once, the others after routing.convergence; the run
continues over what is left, and the verdict names the link."""
import re

from cases import fault
from harness import ROCELAB, check, command, dpswitch, rocelab, scenario_file, sets

LEAF_SPINE = 'topology = { kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 1; delay = "1us"; };\n'
FAT_TREE = 'topology = { kind = "fat-tree"; k = 4; delay = "1us"; };\n'
ISOLATED = [fault("link-down", port=f"l1:{port}", start="50us") for port in (2, 3, 4, 5)]
SHORT_RETRIES = sets(host__retry_count=2, host__timeout="200us")


def ring(*faults, topology=LEAF_SPINE, extra="", iterations=4, ranks=""):
    return scenario_file(topology + extra + f"""collectives = ( {{ step_bytes = 2000000; payload = "real"; {ranks}
  iterations = {iterations}; }} );
faults = ( {", ".join(faults)} );
""")


def path(scenario, flow):
    """The ports that data of a flow takes without a fault, as `rocelab explain` prints them."""
    reported = command(ROCELAB, "explain", scenario, "--flow", f"{flow},49152,4791").stdout.split("\nACK")[0]
    return re.findall(r"^  (\S+:\d+)", reported, re.M)


def ends(scenario, port):
    """Both names of a cable between switches."""
    reported = command(ROCELAB, "topo", "show", scenario).stdout
    for line in reported.splitlines():
        names = re.findall(r"\S+:\d+", line)
        if port in names:
            return set(names[:2])
    return {port}


def whole(run, name, reroutes):
    check(run.run["end_reason"] == "complete", f"{name}: completes", (run.run["end_reason"], run.run.get("error")))
    check(set(run.wrong()) == {"0"}, f"{name}: every element is right", run.wrong())
    check(run.run["reroutes"] == reroutes, f"{name}: routes changed {reroutes} times", run.run["reroutes"])


def named(run, name, cable):
    found = {(f["type"], f["root"]) for f in run.findings()}
    check(found and found <= {("link-down", end) for end in cable}, f"{name}: the verdict names the link alone", found)


def one_dead_link():
    dead = path(ring(), "h0,h1")[2]
    scenario = ring(fault("link-down", port=dead, start="50us"))
    cable = {dead, "l1:" + str(2 + int(dead[1]))}
    check(dead.startswith("s"), "the way leads over a spine", dead)
    runs = [rocelab(scenario, *sets(routing__convergence="1ms"), "--lcores", lcores) for lcores in ("1", "2", "1")]
    for run in runs:
        whole(run, "a dead link", 1)
    check(len({run.run["digest"] for run in runs}) == 1, "a dead link: the same on one lcore and two",
          [run.run["digest"] for run in runs])
    named(runs[0], "a dead link", cable)
    for convergence in "0s", "20us", "300us":
        run = rocelab(scenario, *sets(routing__convergence=convergence))
        whole(run, f"known after {convergence}", 1)
        named(run, f"known after {convergence}", cable)
    run = rocelab(scenario)
    whole(run, "known after the default time", 1)
    named(run, "known after the default time", cable)
    check(100e6 < run.run["virtual_ns"] < 200e6, "known after the default time: the QPs outlive it", run.run["virtual_ns"])

    run = rocelab(scenario, *SHORT_RETRIES)
    check(run.run["end_reason"] == "qp_error", "retries that end before: a QP dies", run.run)
    named(run, "retries that end before", cable)


def returns():
    dead = path(ring(), "h0,h1")[2]
    known = sets(routing__convergence="100us")
    run = rocelab(ring(fault("link-down", port=dead, start="50us", duration="4600us"), iterations=12), *known)
    whole(run, "a link that comes back", 2)
    after = run.steps()[-1]
    check(int(after["start_ns"]) > 4_750_000, "a link that comes back: steps run after it", after)
    run = rocelab(ring(fault("link-down", port=dead, start="30us", duration="60us", period="130us")), *known)
    whole(run, "a flap that is shorter than convergence", 0)
    run = rocelab(ring(fault("link-down", port="l1:1", start="50us", duration="300us")), *known)
    whole(run, "a host's link", 0)
    named(run, "a host's link", {"l1:1"})


def partition():
    for convergence in "0s", "300us", "100ms":
        name = f"a leaf without uplinks, known after {convergence}"
        run = rocelab(ring(*ISOLATED), *sets(routing__convergence=convergence, host__retry_count=4, host__timeout="4ms"))
        check(run.run["end_reason"] == "qp_error", f"{name}: retries are spent", run.run)
        drops = run.run["drops"]
        check(drops["link_down"] > 0, f"{name}: drops by name", drops)
        check((drops["no_route"] > 0) == (convergence != "100ms"), f"{name}: no route once it is known", drops)
        check({f["type"] for f in run.findings()} <= {"link-down", "blackhole"} and run.findings("link-down"),
              f"{name}: the verdict names links", run.findings())
        reported = " ".join(f["evidence"] for f in run.findings())
        check("did not see them" not in reported, f"{name}: switches answer for themselves", reported)
    run = rocelab(ring(*[f.replace("50us", "50us\"; duration = \"3ms") for f in ISOLATED]),
                  *sets(routing__convergence="300us"))
    whole(run, "a leaf without uplinks for a while", 2)


def several():
    paths = [path(ring(), f"h{i},h{(i + 1) % 4}")[2] for i in range(4)]
    run = rocelab(ring(*[fault("link-down", port=port, start=f"{40 + 30 * i}us")
                         for i, port in enumerate(sorted(set(paths)))]), *sets(routing__convergence="200us"))
    whole(run, "a dead link of every flow", len(set(paths)))
    ranks = 'ranks = [ "h0", "h4", "h8", "h12" ];'
    tree = ring(topology=FAT_TREE, ranks=ranks)
    for hop in 1, 2, 3, 4:  # edge to aggregation, core, and down again
        dead = path(tree, "h0,h4")[hop]
        run = rocelab(ring(fault("link-down", port=dead, start="50us"), topology=FAT_TREE, ranks=ranks),
                      *sets(routing__convergence="500us"))
        whole(run, f"fat-tree, hop {hop}", 1)
        if hop > 2:  # where the own switch has another port, little is lost and nobody may ask
            named(run, f"fat-tree, hop {hop}", ends(tree, dead))


def pinned():
    dead = path(ring(), "h0,h1")[2]
    leaf = path(ring(), "h0,h1")[1]
    pin = f'paths = ( {{ src = "h0"; dst = "h1"; data = [ "{leaf}", "{dead}", "l1:1" ]; }} );\n'
    run = rocelab(ring(fault("link-down", port=dead, start="50us"), extra=pin), *SHORT_RETRIES,
                  *sets(routing__convergence="100us"))
    check(run.run["end_reason"] == "qp_error" and run.run["reroutes"] == 1, "a pinned path is not rerouted", run.run)
    check(run.run["drops"]["ttl"] == 0, "a pinned path makes no loop", run.run["drops"])
    run = rocelab(ring(fault("link-down", port=leaf, start="50us"), extra=pin), *sets(routing__convergence="100us"))
    whole(run, "a pinned path whose own switch has ports of equal cost", 1)


def in_real_time():
    dead = path(ring(), "h0,h1")[2]
    slow = sets(timing__clock="real", topology__rate="1Gbps", topology__delay="50us", collectives__0__step_bytes=200000,
                routing__convergence="10ms")
    run = dpswitch(ring(fault("link-down", port=dead, start="500us"), iterations=1),
                   *[word.replace("collectives.0", "collectives.[0]") for word in slow])
    whole(run, "in real time", 1)


one_dead_link()
returns()
partition()
several()
pinned()
in_real_time()
