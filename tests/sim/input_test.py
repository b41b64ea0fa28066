# SPDX-License-Identifier: BSD-3-Clause
"""Bad input gets a clear error with file, line, value and remedy, and exit code 2: never a crash, a hang or a guess."""
import os

from harness import ROCELAB, SCENARIOS, check, command, scenario_file, scratch

BASE = 'topology = { kind = "fat-tree"; k = 4; };\n'
RING = 'collectives = ( { op = "allgather"; algorithm = "ring"; step_bytes = "64KB"; } );\n'

# what is wrong, the scenario, what the message must contain
CASES = [
    ("unknown key", BASE + RING + "swich = { };\n", ["test.cfg:3", "swich", "switch"]),
    ("unknown key in a group", BASE + RING + 'switch = { bufer = "1MB"; };\n', ["test.cfg:3", "bufer", "buffer"]),
    ("wrong type", BASE + RING + "switch = { pfc = { enabled = 3; }; };\n", ["test.cfg:3", "enabled"]),
    ("bad unit", BASE + RING + 'timing = { pipeline = "600 parsecs"; };\n', ["test.cfg:3", "600 parsecs", "us"]),
    ("number without unit", BASE + RING + "timing = { pipeline = 600; };\n", ["test.cfg:3", "pipeline"]),
    ("out of range", BASE + RING + "switch = { pfc = { alpha = 1000.0; }; };\n", ["test.cfg:3", "alpha", "64"]),
    ("syntax", BASE + "collectives = ( { op = ;\n", ["test.cfg:2"]),
    ("empty file", "", ["test.cfg"]),
    ("nothing to send", BASE, ["test.cfg", "collectives"]),
    ("odd fat-tree", 'topology = { kind = "fat-tree"; k = 3; };\n' + RING, ["test.cfg:1", "3"]),
    ("unknown topology", 'topology = { kind = "torus"; };\n' + RING, ["test.cfg:1", "torus", "fat-tree"]),
    ("disconnected", 'topology = { kind = "explicit"; hosts = ["a", "b"]; switches = ["s", "t"];\n'
     ' links = ("a s", "b t"); };\n' + RING, ["test.cfg", "a", "b"]),
    ("link to nowhere", 'topology = { kind = "explicit"; hosts = ["a", "b"]; switches = ["s"];\n'
     ' links = ("a s", "b x"); };\n' + RING, ["test.cfg:2", "x"]),
    ("headroom too small", BASE + RING + "switch = { pfc = { headroom = 20000; }; };\n",
     ["test.cfg:3", "headroom", "needs at least"]),
    ("buffer too small", BASE + RING + 'switch = { buffer = "10KB"; };\n', ["test.cfg:3", "buffer", "needs more than"]),
    ("rank twice", BASE + 'collectives = ( { step_bytes = "64KB"; ranks = [ "h0", "h0" ]; } );\n', ["test.cfg:2", "h0"]),
    ("rank that is no host", BASE + 'collectives = ( { step_bytes = "64KB"; ranks = [ "h0", "e0" ]; } );\n',
     ["test.cfg:2", "e0"]),
    ("halving-doubling of 3", BASE + 'collectives = ( { algorithm = "halving-doubling"; bytes = "64KB";\n'
     ' ranks = [ "h0", "h1", "h2" ]; } );\n', ["test.cfg:2", "power of two"]),
    ("flow to itself", BASE + 'flows = ( { src = "h1"; dst = "h1"; sport = 1; bytes = "1MB"; } );\n', ["test.cfg:2", "h1"]),
    ("fault at no port", BASE + RING + 'faults = ( { kind = "pfc-storm"; port = "e0:99"; } );\n', ["test.cfg:3", "e0:99"]),
    ("unknown fault", BASE + RING + 'faults = ( { kind = "gremlin"; } );\n', ["test.cfg:3", "gremlin"]),
    ("pinned loop", BASE + 'flows = ( { src = "h0"; dst = "h2"; sport = 1; bytes = "1MB"; } );\n'
     'paths = ( { src = "h0"; dst = "h2"; data = [ "e0:3", "a0:1", "e0:3" ]; } );\n', ["test.cfg:3", "e0"]),
    ("no delay anywhere", 'topology = { kind = "fat-tree"; k = 4; delay = "1ps"; };\ntiming = { pipeline = "0ps"; };\n'
     'limits = { virtual_time = "1ns"; };\n' + RING, []),
]

for name, text, words in CASES:
    if not words:
        continue
    done = command(ROCELAB, "run", scenario_file(text), "--out", scratch(), expect=None, timeout=120)
    said = done.stdout + done.stderr
    check(done.returncode == 2, f"{name}: exit code 2", (done.returncode, said))
    missing = [word for word in words if word not in said]
    check(not missing, f"{name}: {said.strip().splitlines()[-1][:150]}", (missing, said))

good = SCENARIOS / "clean-ring.cfg"
for name, args, words in [
    ("no such file", ["run", "/nonexistent/x.cfg"], ["/nonexistent/x.cfg"]),
    ("a directory", ["run", os.fspath(SCENARIOS)], []),
    ("unknown --set", ["run", good, "--set", "swich.buffer=1MB"], ["--set", "swich"]),
    ("--set without value", ["run", good, "--set", "seed"], ["seed"]),
    ("seed that is no number", ["run", good, "--seed", "many"], ["many"]),
    ("too many lcores", ["run", good, "--lcores", "63"], ["63"]),
    ("no scenario", ["run"], []),
    ("unknown command", ["rum", good], ["rum"]),
    ("flow of no host", ["explain", good, "--flow", "h0,nobody,1,2"], ["nobody"]),
    ("flow of three words", ["explain", good, "--flow", "h0,h1,1"], ["SRC,DST,SPORT,DPORT"]),
    ("unknown topo action", ["topo", "paint", good], ["paint"]),
    ("import of nothing", ["topo", "import", "/nonexistent.txt"], ["/nonexistent.txt"]),
    ("no recording", ["diagnose", scratch()], ["records.bin"]),
]:
    out = ["--out", scratch()] if args[0] == "run" else []
    done = command(ROCELAB, *args, *out, expect=None, timeout=120)
    said = done.stdout + done.stderr
    check(done.returncode == 2, f"{name}: exit code 2", (done.returncode, said))
    missing = [word for word in words if word not in said]
    check(not missing, f"{name}: {(said.strip().splitlines() or [''])[-1][:150]}", (missing, said))

garbage = scratch()
(garbage / "records.bin").write_bytes(os.urandom(4096))
done = command(ROCELAB, "diagnose", garbage, expect=None, timeout=120)
check(done.returncode == 2, "a recording of garbage: exit code 2", (done.returncode, done.stderr))
binary = scratch() / "binary.cfg"
binary.write_bytes(os.urandom(4096))
done = command(ROCELAB, "run", binary, "--out", scratch(), expect=None, timeout=120)
check(done.returncode == 2 and "binary.cfg" in done.stderr, "a binary file as scenario", (done.returncode, done.stderr))
