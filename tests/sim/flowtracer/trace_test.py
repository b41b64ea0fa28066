#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab trace: the paths that devices report, however they are asked, in parts, with faults, and what is refused."""
import collections
import json
import os
import pathlib
import re
import tempfile

from devices import CLOS, paths, trace, traced, tuple_of
from harness import ROCELAB, SCENARIOS, check, command, fail, scenario_file

MOE = SCENARIOS / "moe-alltoall.cfg"


def routes():
    """Each way is the one that `explain` computes by itself; counts and metric are those of the ways."""
    found = traced(MOE)
    check(len(found["flows"]) == 480 and all(f["state"] == "arrived" for f in found["flows"]), "all flows are traced")
    for flow in found["flows"][::37]:
        observed = command(ROCELAB, "explain", MOE, "--flow",
                       f"{flow['source']},{flow['end']},{flow['sport']},{flow['dport']}").stdout
        expected = re.findall(r"^  (\S+:\d+) +->", observed.split("data\n")[1].split("ACK\n")[0], re.MULTILINE)
        if flow["path"] != expected:
            fail(f"{flow}: explain has {expected}")
    print("ok ways are those of explain", flush=True)
    counts = collections.Counter(port for flow in found["flows"] for port in flow["path"])
    check(all(link["flows"] == counts[link["from"]] for link in found["links"]), "links carry the flows of the ways")
    layers = collections.defaultdict(list)
    for link in found["links"]:
        layers[link["layer"]].append(link["flows"])
    errors = []
    for layer in found["layers"]:
        flows = layers[layer["layer"]]
        ideal = sum(flows) / len(flows)
        share = [abs(n - ideal) / ideal * 100 for n in flows]
        errors += share if not layer["layer"].startswith("host") else []
        if abs(layer["fim_percent"] - sum(share) / len(share)) > 1e-6:
            fail(f"{layer}: the metric is {sum(share) / len(share)}")
    check(abs(found["switches"]["fim_percent"] - sum(errors) / len(errors)) < 1e-6, "the metric is Eq. 1's", found["switches"])


def kinds():
    """However it is asked, the answer is the same; and each kind of connection costs what it should."""
    whole = traced(MOE)
    for args in (["--connections", "ad-hoc"], ["--connections", "persistent"], ["--threads", "3"],
                 ["--threads", "64", "--processes", "5"], ["--batch", "100"], ["--batch", "4000", "--threads", "1"]):
        other = traced(MOE, *args)
        if other["flows"] != whole["flows"] or other["layers"] != whole["layers"]:
            fail(f"{args}: another answer")
        work, hops = other["work"], sum(len(f["path"]) - 1 for f in other["flows"])
        if work["questions"] != hops:
            fail(f"{args}: {work['questions']} questions; there are {hops} hops")
        opened = {"ad-hoc": 16 + hops, "persistent": 16 + 8}.get(work["connections"])
        if opened is not None and work["opened"] != opened:
            fail(f"{args}: {work['opened']} connections; right would be {opened}")
    print("ok all kinds of connections, threads, processes and batches report the same", flush=True)
    few = traced(MOE, "--hosts", "h3,h1")
    check({f["source"] for f in few["flows"]} == {"h1", "h3"} and len(few["flows"]) == 60, "--hosts")
    jobs = traced(SCENARIOS / "two-jobs.cfg", "--job", "shuffle")["flows"]
    every = traced(SCENARIOS / "two-jobs.cfg")["flows"]
    check(0 < len(jobs) < len(every) and {f["job"] for f in jobs} == {1}, "--job", len(jobs))
    check(traced(MOE, "--dport", "80")["flows"] == [], "--dport")


CUT = """topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 1; };
flows = ( { src = "h0"; dst = "h1"; sport = 20000; bytes = "1MB"; }, { src = "h1"; dst = "h0"; sport = 20001; bytes = "1MB"; } );
faults = ( { kind = "link-down"; port = "h0:1"; } );
"""


def partitions():
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{i}.json" for i in (1, 2, 3)]
        for i, name in enumerate(files, 1):
            trace(MOE, "--partition", f"{i}/3", "--out", name)
        merged, whole = traced("--merge", MOE, *files), traced(MOE)
        check(paths(merged) == paths(whole) and merged["layers"] == whole["layers"] and merged["all"] == whole["all"],
              "parts merged are the whole")
        cut = pathlib.Path(folder) / "cut.cfg"
        cut.write_text(CUT)
        for i, name in enumerate(files, 1):
            trace(cut, "--at", "1us", "--partition", f"{i}/3", "--out", name)
        ends = [sorted((f["source"], f["state"], f.get("reason", "")) for f in reported["flows"])
                for reported in (traced("--merge", cut, *files), traced(cut, "--at", "1us"))]
        check(ends[0] == ends[1] and ("h1", "dropped", "link_down") in ends[0], "and say why flows end early", ends)
        for i, name in enumerate(files, 1):
            trace(MOE, "--partition", f"{i}/3", "--out", name)
        done = trace("--merge", MOE, files[0], files[1], files[0], expect=2)
        check("is in two files" in done.stderr, "parts that overlap are refused", done.stderr)
        part = json.loads(pathlib.Path(files[0]).read_text())
        for key, value, words in (("source", "nobody", "source is no host"), ("sport", 70000, "no 5-tuple"),
                                  ("path", ["h0:1", "s0:1"], "path is none"), ("state", "dropped", "does not end"),
                                  ("path", ["h0:1"] * 70, "longer than any")):
            bad = dict(part, flows=[dict(part["flows"][0], **{key: value})])
            path = pathlib.Path(folder) / "bad.json"
            path.write_text(json.dumps(bad))
            done = trace("--merge", MOE, path, expect=2)
            if words not in done.stderr or "bad.json: flows[0]" not in done.stderr:
                fail(f"{key} = {value}: {done.stderr}")
        for text in ("", "[]", "{}", "{\"flows\": 3}", "{\"flows\": [7]}", "\xff\xfe"):
            path.write_text(text)
            trace("--merge", MOE, path, expect=2)
        done = trace("--merge", MOE, f"{folder}/none.json", expect=2)
        check("No such file" in done.stderr and ":-1" not in done.stderr, "a file that is not there is reported as such",
              done.stderr)
        print("ok files that are no parts are refused", flush=True)


def faults():
    """The control plane at a time: before a fault, in it, and when other switches know."""
    scenario = scenario_file(CLOS + """faults = (
  { kind = "link-down"; port = "s1:2"; start = "2ms"; duration = "5ms"; },
  { kind = "blackhole"; switch = "l0"; dst = "h9"; start = "4ms"; } );
routing = { convergence = "1ms"; };
""")
    before = paths(traced(scenario))
    check(paths(traced(scenario, "--at", "1ms")) == before, "before a fault nothing has changed")
    known = traced(scenario, "--at", "3500us")
    check(all(f["state"] == "arrived" for f in known["flows"]), "a cut cable is left when it is known")
    crossing = {t for t, (_, _, path) in before.items() if {"s1:2", "l1:6"} & set(path)}
    check(crossing and not any({"s1:2", "l1:6"} & set(f["path"]) for f in known["flows"]), "nobody crosses it then")
    cut = traced(scenario, "--at", "2ms")
    dead = {tuple_of(f) for f in cut["flows"] if f["state"] == "dropped"}
    down = {t for t, (_, _, path) in before.items() if "s1:2" in path}
    check(dead == down and all(f["reason"] == "link_down" for f in cut["flows"] if f["state"] == "dropped"),
          "until then the spine drops what it has for it", (len(dead), len(down)))
    holes = [f for f in traced(scenario, "--at", "20ms")["flows"] if f["state"] == "dropped"]
    check(holes and all(f["end"] == "l0" and f["reason"] == "blackhole" for f in holes), "the switch that has a black hole reports it")
    check(len(holes) == len([f for f in before if f[1] == holes[0]["dst_ip"] and before[f][2][1].startswith("l0")]),
          "for what goes there alone")
    spray = traced(MOE, "--set", "load_balancing.kind=\"random\"")
    check({f["state"] for f in spray["flows"]} == {"arrived", "sprayed"}, "sprayed flows are reported as such")


def encapsulated():
    """What VXLAN leaves of a hash's input (FlowTracer, II): the fewer outer source ports, the worse flows are spread."""
    def fim(seed, *args):
        return traced(SCENARIOS / "flowtracer.cfg", "--seed", str(seed), *args)["switches"]["fim_percent"]

    def mean(*args):
        return sum(fim(seed, *args) for seed in range(1, 11)) / 10

    vxlan = "--set", 'load_balancing.encapsulation="vxlan"', "--set"
    plain = mean()
    found = {bits: mean(*vxlan, f"load_balancing.entropy_bits={bits}") for bits in (14, 4, 2, 0)}
    check(abs(found[14] - plain) < 4, "a hash of the inner headers loses nothing", (plain, found))
    check(plain * 1.2 < found[4] < found[2] / 1.2 and found[2] < found[0] / 1.2, "fewer bits cost evenness", found)
    done = trace(MOE, *vxlan, "load_balancing.entropy_bits=15", expect=2)
    check("entropy_bits" in done.stderr and "14" in done.stderr, "more than all dynamic ports are refused", done.stderr)


def refused():
    for args, words in ((["--at", "yesterday"], "--at yesterday"), (["--partition", "3/2"], "--partition 3/2"),
                        (["--partition", "0/2"], "I/N"), (["--hosts", "h1,h1"], "twice"), (["--hosts", "l0"], "no host"),
                        (["--hosts", ","], "names none"), (["--job", "nobody"], "no such job"),
                        (["--connections", "carrier-pigeon"], "ad-hoc, persistent or parallel"), (["--threads", "65"], "64"),
                        (["--processes", "0"], "processes"), (["--batch", "4001"], "4000"), (["--rtt", "11s"], "10 s"),
                        (["--serve", "/nonexistent"], "/nonexistent"), (["other.json"], "--merge"),
                        (["--out", "/nonexistent/x.json"], "/nonexistent/x.json")):
        code = 1 if args[0] == "--out" else 2
        done = trace(MOE, *args, expect=code)
        if words not in done.stderr:
            fail(f"{args}: {done.stderr}")
    print("ok what cannot be is refused, with what would be right", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        check("effective.cfg" in trace(folder, expect=2).stderr, "an empty folder is no run")
        command(ROCELAB, "run", SCENARIOS / "clean-ring.cfg", "--out", folder)
        done = trace(folder, expect=2)
        check("the run has ended" in done.stderr, "a run that is over has no sockets", done.stderr)
        deep = pathlib.Path(folder) / ("d" * 120)
        deep.mkdir()
        check("at most" in trace(MOE, "--serve", deep, expect=2).stderr, "paths too long for a socket")


os.environ.pop("ROCELAB_LOG", None)
for part in (routes, kinds, partitions, faults, encapsulated, refused):
    part()
