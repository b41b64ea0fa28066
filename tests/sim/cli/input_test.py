#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: exit code 2, a message that names the place, the value and what would be right; never a crash or a hang."""
import os
import random
import shutil
import subprocess
import time

from cases import TOPOLOGY, fault, ring, small
from harness import DPSWITCH, STALL_LIMIT_S, ROCELAB, SCENARIOS, check, command, rocelab, scenario_file, reported, scratch, within



def refused(name, *args, refusal=(), program=ROCELAB, code=2):
    """Runs a program that must refuse. @param says  texts that its message holds (case does not matter)"""
    done = command(program, *args, expect=code, timeout=STALL_LIMIT_S)
    message = reported(done)
    check(message.strip(), f"{name}: it says something")
    for text in refusal:
        check(text.lower() in message, f"{name}: \"{text}\"", message)
    check(len(message) < 6000, f"{name}: in few words", message)
    return message


def bad(name, text, *refusal, args=()):
    """A scenario that `rocelab run` must refuse, naming the line that holds "// here", or that it ends at."""
    path = scenario_file(text, "bad.cfg")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "// here" in line]
    place = [f"bad.cfg:{line}" for line in lines]
    out = scratch()
    refused(name, "run", path, "--out", out / "run", *args, refusal=place + list(refusal))
    check(not (out / "run" / "verdict.json").exists(), f"{name}: no verdict", list(out.iterdir()))


def keys_and_values():
    base = TOPOLOGY + ring()
    bad("unknown group", base + "swich = { // here\n};\n", "swich", "switch")
    bad("unknown key", base + 'host = {\n  tiemout = "4ms"; // here\n};\n', "tiemout", "timeout")
    bad("unknown key in a list", TOPOLOGY + 'collectives = ( { step_bytes = 1000;\n rank = [ "a1" ]; // here\n } );\n', "ranks")
    bad("wrong type", base + 'host = {\n  mtu = [ 1024 ]; // here\n};\n', "mtu")
    bad("string for a number", base + 'seed = "many"; // here\n', "many")
    bad("bad unit", base + 'host = {\n  timeout = "4 parsecs"; // here\n};\n', "4 parsecs", "us")
    bad("no unit", base + 'host = {\n  timeout = "4"; // here\n};\n', "4", "us")
    bad("out of range", base + 'switch = { pfc = {\n  alpha = 99.0; // here\n}; };\n', "99", "64")
    bad("negative", base + 'host = {\n  retry_count = -1; // here\n};\n', "-1", "0")
    bad("no such choice", base + 'switch = { pfc = {\n  model = "magic"; // here\n}; };\n', "magic", "dynamic", "static")
    bad("not a path MTU", base + 'host = {\n  mtu = 1300; // here\n};\n', "1300", "1024")
    bad("syntax", base + "host = {\n  mtu = ; // here\n};\n")
    bad("unfinished", base + "host = {\n  mtu = 1024;", "bad.cfg:")


def collectives():
    def of(text, *refusal, name=None, leaves=4, hosts=2):
        topology = f'topology = {{ kind = "leaf-spine"; leaves = {leaves}; spines = 2; hosts_per_leaf = {hosts}; }};\n'
        bad(name or text, f"{topology}collectives = (\n  {{ {text} }} // here\n);\n", *refusal)

    of('op = "allreduce"; bytes = 28;', "7 elements for 8 ranks")
    of('op = "allreduce"; bytes = 0;', "found neither", "above 0")
    of('op = "allreduce"; bytes = 401;', "401 B", "404 B would be")
    of('op = "allreduce"; bytes = 40; channels = 16;', "10 elements for 16 channels of 8 ranks: at least 128")
    of('op = "allreduce"; bytes = 4000; ranks = [ "h0" ];', "1 ranks", "2 to 1024")
    of('op = "allreduce"; bytes = 4000; ranks = [ "h[0-2]", "h1" ];', "ranks 1 and 3 are both at h1")
    of('op = "allreduce"; bytes = 4000; iterations = 0;', "found 0", "1 to 1000000")
    of('op = "allreduce"; bytes = 4000; iterations = 1000000;', "1000000 times 14 steps; notification packets count to")
    of('op = "allreduce"; algorithm = "halving-doubling"; bytes = 4000; ranks = [ "h[0-6]" ];', "not 7: use 4 or 8")
    of('op = "broadcast"; algorithm = "ring"; bytes = 400; root = 8;', "root 8: there are ranks 0 to 7")
    of('op = "broadcast"; algorithm = "ring"; bytes = 400; chunks = 5000;', "found 5000; 0 to 4096")
    of('op = "broadcast"; algorithm = "binomial-tree"; bytes = 400; chunks = 4;', "is no pipeline")
    of('op = "alltoall"; algorithm = "linear"; bytes = 4000; skew = 2.0;', 'skew: is of "alltoallv"')
    of('op = "allreduce"; bytes = 4000; back = true;', 'back: is of "alltoallv"')
    of('op = "sendrecv"; algorithm = "linear"; bytes = 400; pairs = [ "0 9" ];', "0 to 9: there are ranks 0 to 7")
    of('op = "sendrecv"; algorithm = "linear"; bytes = 400; pairs = [ "3 3" ];', "rank 3 sends to itself")
    of('op = "sendrecv"; algorithm = "linear"; bytes = 400;', "needs pairs of ranks")
    of('op = "alltoall"; algorithm = "linear"; bytes = "120KB";', "algorithm: 89700 flows", "a run can have 65534",
       name="a linear AllToAll of 300 ranks", leaves=20, hosts=15)


def networks():
    def links(text, hosts='"a", "b"'):
        return f"""topology = {{
  kind = "explicit"; rate = "100Gbps"; delay = "1us";
  switches = [ "A", "B" ]; hosts = [ {hosts} ];
  links = ( {text} );
}};
flows = ( {{ src = "a"; dst = "b"; sport = 1; bytes = 1000; }} );
"""
    bad("disconnected hosts", links('"a A", "b B"'), "bad.cfg:", "not connected")
    bad("a host without link", links('"a A", "A B"'), "bad.cfg:", "\"b\"", "no link")
    bad("a link to nowhere", links('"a A", "b A",\n "A Z"'), "bad.cfg:5", "Z")
    bad("a node twice", links('"a A", "b A"', '"a", "b", "a"'), "bad.cfg:1", "\"a\"")
    bad("too slow a link", links('"a A",\n "b A 1Mbps"'), "bad.cfg:5", "1Mbps", "20Mbps")
    bad("no such kind", 'topology = {\n kind = "torus"; // here\n};\n' + ring(), "torus", "fat-tree")
    bad("an odd fat-tree", 'topology = {\n kind = "fat-tree"; k = 5; // here\n};\nflows = ( { src = "h0"; dst = "h1"; '
        'sport = 1; bytes = 1; } );\n', "5")
    bad("no topology", ring(), "topology")
    bad("headroom too small", TOPOLOGY + ring() + 'switch = { pfc = {\n  headroom = 20000; // here\n}; };\n', "20kB is short by 23 KiB",
        "needs at least 43462 B")
    bad("thresholds of one switch in the wrong order", TOPOLOGY + ring() + 'switches = ( {\n names = [ "S" ]; ecn = { // here\n'
        ' kmin = "300KB"; kmax = "200KB"; }; } );\n', "switches.[0].ecn: kmin 300000 B lies above kmax 200000 B")
    bad("threshold below a frame", TOPOLOGY + ring() + 'switch = {\n pfc = { // here\n  model = "static"; xoff = 500; }; };\n',
        "500", "frame")
    bad("no buffer left", TOPOLOGY + ring() + 'switch = {\n  buffer = "1KiB"; // here\n};\n', "1024", "needs more than")
    bad("no delay at all", (TOPOLOGY + ring()).replace('"1us"', '"0us"') + 'timing = { pipeline = "0ns"; };\n', "delay")


def traffic():
    def flow(text):
        return TOPOLOGY + f"flows = (\n  {{ {text} }} // here\n);\n"
    bad("nothing to send", TOPOLOGY, "nothing to send", "collectives", "flows")
    bad("a flow to itself", flow('src = "a1"; dst = "a1"; sport = 1; bytes = 1000;'), "a1")
    bad("a flow from nowhere", flow('src = "nobody"; dst = "a1"; sport = 1; bytes = 1000;'), "nobody")
    bad("a flow from a switch", flow('src = "A"; dst = "a1"; sport = 1; bytes = 1000;'), "\"A\"")
    bad("a NIC too many", flow('src = "a1:2"; dst = "b1"; sport = 1; bytes = 1000;'), "a1:2")
    bad("a flow without size", flow('src = "a1"; dst = "b1"; sport = 1;'), "bytes")
    bad("a flow from the polling port", flow('src = "a1"; dst = "b1"; sport = 47910; bytes = 1000;'), "47910", "polling")
    bad("a flow to the notification port", flow('src = "a1"; dst = "b1"; sport = 1; dport = 47911; bytes = 1000;'), "47911",
        "notification")
    bad("the same flow twice", TOPOLOGY + 'flows = ( { src = "a1"; dst = "b1"; sport = 1; bytes = 1; },\n'
        '{ src = "a1"; dst = "b1"; sport = 1; bytes = 1; } // here\n);\n')

    def collective(text):
        return TOPOLOGY + f"collectives = (\n  {{ {text} }} // here\n);\n"
    bad("a rank twice", collective('ranks = [ "a1", "b1", "a1" ]; step_bytes = 1000;'), "a1")
    bad("one rank", collective('ranks = [ "a1" ]; step_bytes = 1000;'), "rank")
    bad("no such rank", collective('ranks = [ "a1", "zz" ]; step_bytes = 1000;'), "zz")
    bad("no size", collective('ranks = [ "a1", "b1" ];'), "bytes", "step_bytes")
    bad("a ring on the polling port", collective('ranks = [ "a1", "b1" ]; step_bytes = 1000; dport = 47910;'), "47910", "polling")
    bad("half an element", collective('ranks = [ "a1", "b1" ]; step_bytes = 1001;'), "1001", "1004")
    bad("an algorithm in another spelling", collective('algorithm = "halving_doubling"; bytes = 1200; op = "allreduce";'),
        "halving_doubling", "ring|halving-doubling")
    bad("halving of three", collective('ranks = [ "a1", "b1", "a2" ]; algorithm = "halving-doubling"; bytes = 1200; '
                                       'op = "allreduce";'), "3")


def jobs():
    def job(text, collectives="{ bytes = 1000; }"):
        return TOPOLOGY + f'jobs = ( {{ name = "j";\n {text}\n collectives = ( {collectives} ); }} );\n'
    bad("a job without hosts", job("placement = { count = 900; }; // here"), "900 hosts", "are free")
    bad("a job of one rank", job('ranks = [ "a1" ]; // here'), "1 ranks", "2 to")
    bad("dims that do not fit", job('dims = ( "tensor 7" ); // here'), "multiply to 7")
    bad("a descending range", job('ranks = [ "a[2-1]" ]; // here'), "a[2-1]", "descends")
    bad("a wrong key in a job", job("itrations = 3; // here"), "iterations")
    bad("a wrong key of its collectives", job("", "{ bite = 5; // here\n }"), "bytes")
    bad("after itself", job("", '{ name = "x"; bytes = 1000; after = [ "x" ]; // here\n }'), "\"x\"", "before it")
    bad("an idle group", job('ranks = [ "a1", "b1" ]; dims = ( "tensor 1", "data 2" );',
                             '{ bytes = 1000; group = "tensor"; // here\n }'), "nothing to do")
    bad("a phase without pipeline", job("", '{ bytes = 1000; phase = "forward"; // here\n }'), "pipeline")
    bad("a straggler that is not there", job('delays = ( "77 1us" ); // here'), "77", "ranks 0 to")
    bad("jitter without spread", job('jitter = { kind = "normal"; }; // here'), "spread")
    bad("a job without collectives", TOPOLOGY + 'jobs = ( { name = "j"; } ); // here\n', "no collectives")
    bad("a job without name", TOPOLOGY + "jobs = ( { // here\n } );\n", "name")


def extremes():
    """What no key's own limits forbid, and no run can do."""
    bad("a fabric that advances by picoseconds", """timing = { pipeline = "2ps"; };
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 1;
  delay = "1ps"; // here
};
flows = ( { src = "h0"; dst = "h1"; sport = 1; bytes = 1000; } );
""", "topology.delay", "3ps", "at least 1ns", "timing.pipeline")
    bad("real time that advances by microseconds", """hosts = ( { kind = "guest"; } );
topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 1;
  delay = "1us"; // here
};
flows = ( { src = "h0"; dst = "h1"; sport = 1; bytes = 1000; } );
""", "topology.delay", "real time needs 20us", "1.6us")
    bad("a time beyond all runs", TOPOLOGY + ring() + 'detection = {\n  jitter = "9000000s"; // here\n};\n', "jitter", "13 days")
    bad("a window beyond all memory", """host = { mtu = 4096; window = "bdp"; };
topology = { // here
  kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 1; delay = "1ms"; rate = "10Tbps"; };
flows = ( { src = "h0"; dst = "h1"; sport = 1; bytes = 1000; } );
""", "host.window", "1b..2gb", "bytes")


def files_that_are_none():
    """Included or imported: the place that names them, and no waiting for a pipe's writer."""
    folder = scratch()
    os.mkfifo(folder / "pipe")
    for name in (".", "pipe", "nowhere"):
        path = folder / "bad.cfg"
        path.write_text(f'seed = 1;\n@include "{name}"\n')
        refused(f"included: {name}", "run", path, "--out", folder / "run", refusal=["bad.cfg:2", "@include", name])
    path.write_text('topology = {\n  kind = "ns3"; file = "pipe"; };\n')
    refused("an imported pipe", "run", path, "--out", folder / "run", refusal=["bad.cfg:2", "pipe"])


def memory():
    """What a run would take is reported before anything is allocated or written for it."""
    def one(**more):
        return TOPOLOGY + ring(**{"step_bytes": 1000, "payload": "synthetic", **more})
    bad("iterations without end", one(iterations=1_000_000), "limits.memory", "4.0 gb", "12000000 schedule records",
        "1.4 gb on disk", "lower iterations")
    bad("more payload than memory", one(payload="real", step_bytes=2_000_000_000), "limits.memory", "32.0 gb",
        "4 ranks x 1 vectors of 8.0 gb", "synthetic")
    thousand = """topology = { kind = "fat-tree"; k = 16; };
collectives = ( { op = "allreduce"; algorithm = "ring"; step_bytes = 4096; iterations = 40; } );
"""
    start_s = time.monotonic()
    bad("a thousand ranks", thousand, "limits.memory", "83804160 schedule records", "lower iterations")
    check(within(start_s, 1), "that is found before its steps are made: within a second", time.monotonic() - start_s)
    bad("a limit of one's own", one(iterations=1000) + 'limits = {\n  memory = "1MB"; // here\n};\n', "memory", "1.0 mb")
    bad("epochs by the thousand", """topology = { kind = "fat-tree"; k = 24; };
telemetry = { epochs_kept = 1024; };
collectives = ( { ranks = [ "h0", "h9" ]; step_bytes = 1000; } );
""", "limits.memory", "telemetry.epochs_kept")
    bad("probes without end", one() + 'pingmesh = { enabled = true; time_factor = 0.001; duration = "10000s"; };\n',
        "limits.memory", "for probes", "pingmesh.duration")
    many = scenario_file(one(iterations=1_000_000))
    done = command(ROCELAB, "topo", "check", many, "--set", "limits.memory=100GB", timeout=STALL_LIMIT_S)
    check("can be built" in reported(done), "with a higher limit it may run", reported(done))
    large = scenario_file('''topology = { kind = "fat-tree"; k = 32; };
collectives = ( { ranks = [ "h0", "h9" ]; step_bytes = 1000; } );
''')
    # a gigabyte and more of routes: slow where malloc fills what it gives
    check("8192 hosts" in reported(command(ROCELAB, "topo", "check", large, timeout=STALL_LIMIT_S)),
          "8192 hosts are looked at in seconds", "")


def pins():
    def path(text):
        return TOPOLOGY + f'flows = ( {{ src = "a1"; dst = "b1"; sport = 7; bytes = 1000; }} );\npaths = (\n  {{ {text} }} // here\n);\n'
    bad("a pinned loop", path('src = "a1"; dst = "b1"; data = [ "A:1", "S:1", "A:2", "T:2", "B:3" ];'), "A")
    bad("a pin that jumps", path('src = "a1"; dst = "b1"; data = [ "A:1", "T:2", "B:3" ];'), "T:2")
    bad("a pin that ends elsewhere", path('src = "a1"; dst = "b1"; data = [ "A:1", "S:2", "B:4" ];'), "B:4")
    bad("a pin of no port", path('src = "a1"; dst = "b1"; data = [ "A:17" ];'), "A:17")
    bad("a pin of no flow", path('src = "a2"; dst = "b2"; data = [ "A:1", "S:2", "B:4" ];'))


def faults():
    def one(text):
        return TOPOLOGY + ring() + f"faults = (\n  {text} // here\n);\n"
    bad("an unknown fault", one('{ kind = "meteor"; }'), "meteor", "pfc-storm")
    bad("a fault in another spelling", one('{ kind = "pfc_storm"; port = "A:1"; }'), 'did you mean "pfc-storm"?')
    bad("half of a fault's name", one('{ kind = "storm"; port = "A:1"; }'), 'did you mean "pfc-storm"?')
    bad("a fault without kind", one('{ port = "A:1"; rate = 0.1; }'), "kind")
    bad("a bad port in a fault", one(fault("link-down", port="A:9")), "A:9", "node:port")
    bad("port 0", one(fault("link-down", port="A:0")), "A:0")
    bad("a bad host in a fault", one(fault("slow-host", host="A", delay="1us")), "\"A\"")
    bad("a rate above 1", one(fault("loss", port="A:1", rate=1.5)), "1.5")
    bad("a key of another fault", one(fault("loss", port="A:1", rate=0.5, interval="1us")), "interval")
    bad("a storm of a class that nobody uses", one(fault("pfc-storm", port="A:1", priority=5)), "class 5", "class 3")
    bad("a flap of picoseconds", one(fault("link-down", port="A:1", period="2ps", duration="1ps")), "period", "1us")
    bad("a flap without duration", one(fault("link-down", port="A:1", period="1ms")), "duration")


def files():
    missing = scratch() / "nowhere.cfg"
    refused("a missing file", "run", missing, "--out", scratch(), refusal=["nowhere.cfg", "no such file"])
    refused("a directory", "run", scratch(), "--out", scratch())
    bad("an empty file", "", "bad.cfg")
    garbage = scratch() / "garbage.cfg"
    rng = random.Random(1)
    for size in (1, 100, 100_000):
        garbage.write_bytes(rng.randbytes(size))
        refused(f"{size} B of garbage", "run", garbage, "--out", scratch(), refusal=["garbage.cfg"])
    refused("a missing include", "run", scenario_file('@include "gone.inc"\n' + TOPOLOGY + ring()), "--out", scratch(),
            refusal=["gone.inc"])
    marked = scenario_file("\ufeff" + TOPOLOGY + ring())
    refused("a byte order mark", "run", marked, "--out", scratch(), refusal=[str(marked), "byte order mark"])
    refused("a byte order mark in what is included", "run", scenario_file(f'@include "{marked}"\n'), "--out", scratch(),
            refusal=[str(marked), "byte order mark"])
    # names end up on terminals
    odd = "a\033[31mb.cfg"
    observed = refused("escape sequences in a name", "run", scenario_file("x", odd), "--out", scratch())
    check("\033" not in observed and "a?[31mb.cfg" in observed, "errors quote them plain", observed)
    observed = command(ROCELAB, "run", scenario_file(TOPOLOGY + ring(), odd), "--out", scratch())
    check("\033" not in observed.stdout + observed.stderr and "# a?[31mb" in observed.stdout, "and so does a run", reported(observed)[:300])
    check(True, "files are read with care")


def arguments():
    good = small()
    out = scratch()
    refused("no command", refusal=["usage"])
    refused("a command with a typo", "rnu", refusal=["rnu", 'did you mean "run"?', "--help"])
    refused("an unknown command", "frobnicate", refusal=['no command "frobnicate"; rocelab --help'])
    refused("no scenario", "run", refusal=["scenario"])
    refused("two scenarios", "run", good, good)
    refused("an unknown option", "run", good, "--frobnicate")
    for what, refusal in (("swtich.buffer=1MB", "switch"), ("switch.bufer=1MB", "buffer"), ("switch.buffer", "switch.buffer"),
                       ("flows.[7].bytes=3", "flows"), ("host.timeout=fast", "fast"), ("=3", "=")):
        refused(f"--set {what}", "run", good, "--out", out, "--set", what, refusal=[refusal])
    # of several overrides of a group the wrong one is named, though others make it wrong
    for first, key, value in (("host.cc=none", "host.window", "xyz"), ("host.cc=none", "host.mtu", "77"),
                              ("exporter.budget=1MB", "exporter.burst", "1"), ("switch.pfc.enabled=true", "switch.buffer", "1KB")):
        refused(f"--set {key} beside others", "run", good, "--out", out, "--set", first, "--set", f"{key}={value}",
                refusal=[f"--set {key}:2: {key}: "])
    refused("too many lcores", "run", good, "--out", out, "--lcores", "1000", refusal=["1000", "lcores"])
    refused("no lcores", "run", good, "--out", out, "--lcores", "0", refusal=["lcores", "0"])
    refused("lcores in words", "run", good, "--out", out, "--lcores", "two", refusal=["two"])
    for lcores in ("-1", "4294967297", "2x", ""):
        refused(f"{lcores or 'empty'} lcores", "run", good, "--out", out, f"--lcores={lcores}", refusal=["lcores", "1 to 64"])
    refused("3x repeats", "bench", "fabric", "--repeats", "3x", refusal=["--repeats 3x", "1 to 20"])
    for ports, refusal in (("A:9", "node:port"), ("A", "node:port"), ("", "node:port"), ("A:1,A:1", "twice"), ("A:1,", "node:port")):
        refused(f"capture of \"{ports}\"", "run", good, "--out", out, "--capture", ports, refusal=["--capture", refusal])
    refused("a limit in words", "run", good, "--out", out, "--capture", "A:1", "--capture-limit", "much", refusal=["much", "1GB"])
    refused("too short a capture", "run", good, "--out", out, "--capture", "A:1", "--capture-bytes", "9", refusal=["9", "14"])
    refused("capture of what is no RoCEv2", "run", SCENARIOS / "ns3-allgather-100g.cfg", "--out", out, "--capture", "6:2",
            refusal=["ns3-allgather-100g.cfg", "1300", "1024"])
    refused("a seed in words", "run", good, "--out", out, "--seed", "lucky", refusal=["lucky"])
    for words in (("run", good), ("blame", good), ("diagnose", rocelab(good).dir), ("eval", "contention")):
        refused(f"{words[0]}: an output without a name", *words, "--out", "", refusal=["a folder without a name"])
    refused("an output below a file", "run", good, "--out", good / "x", refusal=[str(good)])
    refused("the fabric alone: no analyzer there", good, "--out", out, "--analyzer", out / "none.sock", program=DPSWITCH,
            refusal=["none.sock"], code=3)
    refused("the fabric alone: an output below a file", good, "--out", good / "x", program=DPSWITCH, refusal=["test.cfg/x"])
    refused("explain without flow", "explain", good, refusal=["--flow"])
    refused("explain a flow of nobody", "explain", good, "--flow", "a1,zz,1,4791", refusal=["zz"])
    refused("explain half a flow", "explain", good, "--flow", "a1", refusal=["SRC,DST,SPORT,DPORT"])
    refused("topo without file", "topo", "check")
    refused("topo of nothing", "topo", "show", out / "none.cfg", refusal=["none.cfg"])
    refused("import of a scenario", "topo", "import", good, refusal=["test.cfg:1"])


def recordings():
    run = rocelab(small())
    records = (run.dir / "records.bin").read_bytes()
    refused("diagnose nowhere", "diagnose", scratch() / "gone", refusal=["gone"])
    refused("diagnose without recording", "diagnose", scratch(), refusal=["records.bin"])
    refused("diagnose nothing", "diagnose", refusal=["directory"])
    rng = random.Random(2)
    for size in (0, 1, 15, 16, 17, 100, len(records) // 3, len(records) - 1):
        out = scratch()
        (out / "records.bin").write_bytes(records[:size])
        # what is cut off may cost the verdict, not the program; a recording that ends early is a fact to be reported
        done = command(ROCELAB, "diagnose", out, expect=None, timeout=STALL_LIMIT_S)
        check(done.returncode in (0, 1, 2), f"a recording cut to {size} B: exit code {done.returncode}")
        check(done.returncode != 0 or "incomplete" in reported(done) or "cut" in reported(done) or "truncated" in reported(done),
              f"a recording cut to {size} B: it says that something is missing", reported(done))
    for attempt in range(30):
        broken = bytearray(records)
        for _ in range(rng.randrange(1, 20)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        out = scratch()
        (out / "records.bin").write_bytes(broken)
        done = command(ROCELAB, "diagnose", out, expect=None, timeout=STALL_LIMIT_S)
        check(done.returncode in (0, 1, 2), f"a recording with flipped bytes, {attempt}: exit code {done.returncode}")


check(SCENARIOS.is_dir(), "scenarios are there")
keys_and_values()
networks()
traffic()
jobs()
extremes()
files_that_are_none()
memory()
pins()
faults()
files()
arguments()
recordings()


def pipes_in_a_run(folder):
    """Whichever file of a run's folder became a pipe: commands that read the folder do without it or refuse it."""
    scenario = scenario_file(TOPOLOGY + ring(step_bytes=100_000))
    run = folder / "run"
    command(ROCELAB, "run", scenario, "--out", run, "--capture", "a1:1")
    twin = folder / "twin"
    for name in sorted(path.name for path in run.iterdir() if path.is_file()):
        shutil.rmtree(twin, ignore_errors=True)
        shutil.copytree(run, twin)
        (twin / name).unlink()
        os.mkfifo(twin / name)
        for words in (("diagnose", twin), ("diagnose", twin, "--diagnosers", "vedrfolnir,flowpulse"), ("show", "ports", twin),
                      ("query", twin, "SELECT 1"), ("compare", run, twin), ("export", "pcapng", twin), ("export", "perfetto", twin),
                      ("export", "nccl-tests", twin), ("list", folder), ("blame", twin, "--out", folder / "blame")):
            code = code_of(ROCELAB, *words)
            check(code in (0, 1, 2), f"{name} is a pipe: {words[0]} ends", code)


def pipes_in_results(folder):
    """The same of folders in which commands keep their runs, to resume from them."""
    scenario = scenario_file(TOPOLOGY + ring(step_bytes=100_000) + 'flows = ( { src = "a1"; dst = "b1"; sport = 1; bytes = 1000; } );')
    for words, kept in ((("blame", scenario), "run-0"),
                        (("eval", "hardware", "victim", "--seeds", "1", "--duration", "1"), "victim/sprayed/1")):
        first, twin = folder / f"{words[0]}-first", folder / f"{words[0]}-twin"
        command(ROCELAB, *words, "--out", first)
        for path in sorted((*first.iterdir(), *(first / kept).iterdir())):
            if not path.is_file():
                continue
            name = path.relative_to(first)
            shutil.rmtree(twin, ignore_errors=True)
            shutil.copytree(first, twin)
            (twin / name).unlink()
            os.mkfifo(twin / name)
            code = code_of(ROCELAB, *words, "--out", twin)
            check(code in (0, 1, 2), f"{name} is a pipe: {words[0]} ends", code)


def code_of(*words):
    """@return its exit code; None: it did not end in time"""
    try:
        return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode
    except subprocess.TimeoutExpired:
        return None


def no_regular_files():
    """A pipe that a user names as input is refused at once, whoever would read it; a folder is named as one."""
    folder = scratch()
    os.mkfifo(folder / "records.bin")
    pipe = folder / "records.bin"
    for words in (("diagnose", folder), ("run", pipe), ("topo", "check", pipe), ("topo", "import", pipe),
                  ("import", "msccl", pipe, "--bytes", "1MB"), ("import", "goal", pipe), ("import", "hpcc", pipe), ("import", "chakra", pipe),
                  ("trace", "--merge", SCENARIOS / "case-study.cfg", pipe), ("blame", pipe), ("explain", pipe, "--flow", "a,b,1,2")):
        done = command(ROCELAB, *words, *(("--out", folder / "out") if words[0] in ("run", "blame") else ()), expect=2, timeout=20)
        check("records.bin" in done.stderr, f"a pipe: {' '.join(map(str, words[:2]))}", done.stderr)
    pipes_in_a_run(folder)
    pipes_in_results(folder)
    goal = folder / "one.goal"
    goal.write_text("num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 1\n}\nrank 1 {\nl1: recv 8b from 0 tag 1\n}\n")
    done = command(ROCELAB, "import", "goal", goal, "--out", pipe, expect=2, timeout=20)
    check("no regular file" in done.stderr, "a pipe as the output of an import", done.stderr)
    scenario = folder / "predicted.cfg"
    scenario.write_text(
        'topology = { kind = "leaf-spine"; leaves = 2; spines = 4; hosts_per_leaf = 1; };\n'
        'collectives = ( { algorithm = "ring"; ranks = [ "h0", "h1" ]; bytes = "1MB"; measured = true; } );\n'
        'host = { transport = "selective"; }; load_balancing = { kind = "adaptive"; };\n'
        'flowpulse = { enabled = true; prediction = "simulated"; file = "records.bin"; };\n')
    done = command(ROCELAB, "run", scenario, "--out", folder / "out", expect=2, timeout=60)
    check("predicted.cfg:4" in done.stderr and "pipe" in done.stderr, "a pipe as a prediction", done.stderr)


def folders_of_commands(folder, scenario, name):
    """Commands that keep several runs of a scenario keep them in a folder of its name."""
    few = ("--seeds", "1")
    for place, words in ((f"out/bench-telemetry/{name}", ("bench", "telemetry", scenario, *few, "--policy", "vedrfolnir", "--budget", "0")),
                         (f"out/blame/{name}", ("blame", scenario)), (f"out/advise/{name}", ("trace", "--advise", scenario)),
                         (f"out/{name}-sweep", ("sweep", scenario, *few))):
        command(ROCELAB, *words, cwd=folder)
        check((folder / place).is_dir(), f"{scenario}: {words[0]} makes {place}")
    check({path.name for path in (folder / "out").iterdir()} >= {"blame", "advise", "bench-telemetry"} and
          not list((folder / "out").glob("[0-9]*")), f"{scenario}: and nothing beside it", sorted((folder / "out").iterdir()))
    check((folder / "out" / "bench-telemetry" / name / "1").is_dir(), f"{scenario}: a seed's folder is below its name")
    shutil.rmtree(folder / "out")
    for words in (("bench", "telemetry", scenario, *few), ("blame", scenario), ("sweep", scenario, *few)):
        done = command(ROCELAB, *words, "--set", "host.mtu={", cwd=folder, expect=2)
        check("host.mtu" in done.stderr and not (folder / "out").exists(), f"{scenario}: a refused {words[0]} makes no folder", done.stderr)


def names_of_folders():
    """A scenario whose name is dots alone runs into a folder below out/."""
    folder = scratch()
    for name, out in (("...cfg", "...cfg"), ("..cfg", "..cfg"), ("a.b.cfg", "a.b")):
        (folder / name).write_text(TOPOLOGY + ring(step_bytes=100_000) + 'flows = ( { src = "a1"; dst = "b1"; sport = 1; bytes = 1000; } );\n')
        command(ROCELAB, "run", name, cwd=folder)
        check((folder / "out" / out / "verdict.json").exists() and not (folder / "verdict.json").exists(), f"{name}: out/{out}")
        folders_of_commands(folder, name, out)
    # a name behind "--" is no option, neither of rocelab nor of the programs that it starts
    (folder / "-.cfg").write_text((SCENARIOS / "clean-ring.cfg").read_text())
    command(ROCELAB, "run", "--out", "dash", "--", "-.cfg", cwd=folder)
    check((folder / "dash" / "verdict.json").exists(), "-.cfg: a verdict")
    command(ROCELAB, "sweep", "--seeds", "1", "--out", "swept", "--", "-.cfg", cwd=folder)
    check((folder / "swept" / "sweep.csv").exists(), "-.cfg: a sweep")


no_regular_files()
names_of_folders()


HOSTILE = {"U+202E": "\u202e", "U+2028": "\u2028", "U+001B": "\x1b[31m", "U+000A": "\n", "U+009B": "\x9b", "U+200B": "\u200b"}


def network(host="b2"):
    return (f'topology = {{ kind = "explicit"; rate = "100Gbps"; delay = "1us"; switches = [ "A" ];\n'
            f'  hosts = [ "a1", "b1", "{host}" ]; // here\n  links = ( "a1 A", "b1 A", "{host} A" ); }};\n')


def shown_plainly(name, done):
    """No character of HOSTILE but the line feed, which ends lines; a name's own line feed would begin one with "tail"."""
    lines = (done.stdout + done.stderr).split("\n")
    bad_lines = [line for line in lines if any(c in line for c in "\u202e\u2028\x1b\x9b\u200b") or line.startswith("tail")]
    check(not bad_lines, f"{name}: names are shown plainly", bad_lines)


def hostile_names():
    """A name that steers a terminal, or hides, is refused where the scenario gives it: of whatever, by whichever command."""
    plain = TOPOLOGY + ring()
    places = {
        "the run": plain + 'name = "?"; // here\n',
        "a host": network("?"),
        "a switch": network().replace('"A" ];', '"A", "?" ]; // here').replace('"b2" ]; // here', '"b2" ];'),
        "a rank": TOPOLOGY + 'collectives = (\n  { op = "allgather"; step_bytes = 1000; ranks = [ "a1", "?" ]; } // here\n);\n',
        "a collective": TOPOLOGY + 'collectives = (\n  { op = "allgather"; step_bytes = 1000; name = "?"; } // here\n);\n',
        "a job": TOPOLOGY + 'jobs = (\n  { name = "?"; // here\n  collectives = ( { op = "allgather"; step_bytes = 1000; } ); } );\n',
        "a flow's host": TOPOLOGY + 'flows = (\n  { src = "?"; dst = "b1"; bytes = 1000; } // here\n);\n',
        "a link in short": network().replace("links = (", 'links = ( "a1 ?",').replace(" // here\n", "\n").replace("); };", "); }; // here"),
        "a generator": TOPOLOGY + 'generators = (\n  { kind = "poisson"; name = "?"; load = 0.1; until = "1ms"; bytes = 1; } // here\n);\n',
        "a fault's port": plain + 'faults = (\n  { kind = "loss"; port = "?"; rate = 0.5; } // here\n);\n',
    }
    for place, text in places.items():
        bad(f"{place} with U+202E", text.replace("?", "x\u202etail"), "with u+202e; printable characters")
    for code, character in HOSTILE.items():
        text = character.encode().decode("latin-1") if code == "U+009B" else character
        escaped = text.replace("\x1b", "\\x1b").replace("\n", "\\n")
        bad(f"a host with {code}", network(f"x{escaped}tail"), f"with {code.lower()}; printable characters")
    path = scenario_file(network("x\\ntail"), "bad.cfg")
    commands = (("run",), ("topo", "show"), ("topo", "check"), ("explain", "--flow", "a1,b1,1,2"), ("trace",), ("blame",))
    for words in commands:
        out = ("--out", scratch()) if words[0] in ("run", "blame") else ()
        message = refused(" ".join(words), *words, path, *out, refusal=["bad.cfg:2", "u+000a"])
        check("\ntail" not in message, f"{words[0]}: one line", message)
    for words in (("run",), ("topo", "check"), ("eval", "odd")):
        done = command(ROCELAB, *words, "--x\u2066\u202etail=1", scenario_file(plain), expect=2)
        check("u+2066" in reported(done), f"{' '.join(words)}: an option that there is not, with U+2066", done.stderr)
        shown_plainly(" ".join(words), done)
    refused("an override", "topo", "check", scenario_file(plain), "--set", "name=x\u202etail", refusal=["--set name", "u+202e"])


def hostile_files():
    """Names of files are the user's, and are only shown plainly."""
    folder = scratch() / "x\x1b[31m\u202e\u2028\ntail"
    folder.mkdir()
    scenario = folder / "x\u202e\ntail.cfg"
    scenario.write_text(TOPOLOGY + ring(step_bytes=1000))
    wrong = folder / "wrong\u202e\ntail.cfg"
    wrong.write_text("seed = 1; sed = 2;")
    run = folder / "run"
    table = [("run", scenario, "--out", run), ("diagnose", run), ("topo", "check", scenario), ("topo", "show", scenario),
             ("explain", scenario, "--flow", "a1,b1,1,2"), ("trace", scenario, "--out", folder / "trace"), ("trace", run),
             ("blame", scenario, "--out", folder / "blame"), ("eval", "incast", "--cases", "1", "--policy", "vedrfolnir", "--scale", "0.05", "--out", folder / "eval"),
             ("run", wrong, "--out", run), ("topo", "check", wrong), ("trace", wrong), ("blame", wrong), ("import", "msccl", wrong),
             ("diagnose", wrong), ("run", scenario, "--out", wrong), ("reference", wrong), ("bench", wrong), ("eval", wrong),
             ("doctor", wrong), ("shell", wrong)]
    for words in table:
        done = subprocess.run([str(word) for word in (ROCELAB, *words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=STALL_LIMIT_S)
        check(done.returncode in (0, 2, 5, 255), f"{words[0]}: it ends", done.returncode) # 255: no host for a shell
        shown_plainly(f"{words[0]} {repr(str(words[-1]))}", done)


hostile_names()
hostile_files()
