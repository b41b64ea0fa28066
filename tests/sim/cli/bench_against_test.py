#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab bench fabric --against: with this build itself, with programs that are missing, fail or print what is not known, and with
files. Speed is asserted only where the figures are given; scripts/bench-against compares builds."""
import json
import pathlib
import shutil
import tempfile
from harness import DPSWITCH, ROCELAB, check, command

TINY = ("-n", 1, "--size", 1)
RINGS = ("--case", "K=4 ring")
FAILED, REFUSED = 1, 2


def fabric(*args, expect=0):
    return command(ROCELAB, "bench", "fabric", *TINY, *args, expect=expect)


def program(directory, body):
    """Another rocelab, whose dpswitch is this script. @return its path"""
    directory.mkdir()
    for name, text in (("rocelab", "exit 0"), ("dpswitch", body)):
        (directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / name).chmod(0o755)
    return directory / "rocelab"


def refused(done, *words):
    return all(word in done.stderr for word in words) and done.stdout == ""


def programs(scratch):
    done = fabric("--against", ROCELAB, "--json", expect=None)
    result = json.loads(done.stdout)
    rows = result["cases"]
    slower = [row for row in rows if row["slower"]]
    check(len(rows) == 13 and result["unit"] == "mhops_per_core" and result["pairs"] == 1, "every case is compared with a program",
          result)
    check(all(row["hops"] == row["against_hops"] and row["ratio"] > 0 and row["noise"] >= 0 for row in rows),
          "which does the same work", rows)
    check(all(row["slower"] == (row["ratio"] * (1 + row["noise"]) < result["bar"]) for row in rows), "a case is slower by ratio and noise", rows)
    check(all(row["noisy"] == (0.9 * (1 + row["noise"]) > result["bar"]) for row in rows) and result["refused"] == [],
          "and noisy where the noise could hide a tenth", result)
    check(done.returncode == (FAILED if slower else 0), "the exit code is of the rows", (done.returncode, slower))

    fast = program(scratch / "fast", f'{DPSWITCH} "$@" || exit\nout=$3\n'
                   '[ -f "$out/run.json" ] && sed -i \'s/"hops_per_cpu_s": */&1000000/\' "$out/run.json"\nexit 0')
    done = fabric(*RINGS, "--against", fast, expect=FAILED)
    check("3 of 3 cases are slower" in done.stderr and " slower" in done.stdout, "a program that is faster by far",
          (done.stdout, done.stderr))

    older = program(scratch / "older", 'case "$*" in *.profile=*) echo "unknown key" >&2; exit 2;; esac\n'
                    f'exec {DPSWITCH} "$@" --set switch.profile=ns3 --set host.profile=ns3')
    done = fabric(*RINGS, "--against", older, "--json", expect=None)
    check(all(row["hops"] == row["against_hops"] for row in json.loads(done.stdout)["cases"]) and "unknown" not in done.stderr,
          "a program that knows no profiles has ns3's fabric", (done.stdout, done.stderr))

    former = program(scratch / "former", f'case "$*" in *balancing*) echo "former: unknown" >&2; exit 2;; esac\nexec {DPSWITCH} "$@"')
    done = fabric("--case", "ring", "--against", former, "--json", expect=None)
    result = json.loads(done.stdout)
    check(len(result["cases"]) == 6 and [row["case"] for row in result["refused"]] ==
          [f"32x16 ring, {kind}" for kind in ("ecmp", "random", "round-robin", "adaptive")] and "former: unknown" not in done.stderr,
          "cases that an older program refuses are named, and the others compared", (result, done.stderr))
    done = fabric("--case", "32x16", "--against", former, expect=REFUSED)
    check(refused(done, "refuses the scenario of every case", str(former.parent)), "a program that takes none", done.stderr)

    check(refused(fabric("--against", scratch / "none", expect=REFUSED), "--against", "No such file"), "a program that does not exist")
    alone = scratch / "alone"
    alone.mkdir()
    shutil.copy(fast, alone / "rocelab")
    check(refused(fabric("--against", alone / "rocelab", expect=REFUSED), "dpswitch is neither in"), "a program without its dpswitch")
    failing = program(scratch / "failing", "echo failing: why >&2; exit 7")
    done = fabric("--against", failing, expect=FAILED)
    check(refused(done, "K=4 ring", str(failing.parent), "status 7", "failing: why") and done.stderr.count("why") == 1,
          "a program that fails", done.stderr)
    done = fabric("--case", "incast", "--against", ROCELAB, expect=None)
    check("ecn-behind-pfc" not in done.stderr, "a run's warning of its own scenario is not shown", done.stderr)
    silent = program(scratch / "silent", "exit 0")
    check(refused(fabric("--against", silent, expect=FAILED), "run.json"), "a program that writes nothing")
    other = program(scratch / "other", 'echo "{ \\"hops\\": 1 }" > "$3/run.json"')
    check(refused(fabric("--against", other, expect=FAILED), str(other.parent), 'no number "hops_per_cpu_s"'),
          "a program whose output is another version's")


def files(scratch):
    former = json.loads(fabric("--json", *RINGS).stdout)
    check([(row["case"], row["lcores"], row["telemetry"]) for row in former["cases"]] ==
          [("K=4 ring", 1, True), ("K=4 ring", 1, False), ("K=4 ring", 2, True)], "--case chooses rows", former)
    check(all(row["x_macswap"] > 0 for row in former["cases"]), "rows have their cost in mac-swap hops", former)
    check(former["cpu"] != "" and former["macswap_ns"] > 0, "beside the processor that they are of", former["cpu"])
    path = scratch / "former.json"

    def write(change):
        changed = json.loads(json.dumps(former))
        change(changed)
        path.write_text(json.dumps(changed))
        return path

    def scaled(factor):
        def change(result):
            for row in result["cases"]:
                row["mhops_per_core_median"] *= factor
        return change

    done = fabric("--against", write(scaled(0.001)), "--json", *RINGS)
    result = json.loads(done.stdout)
    check(result["unit"] == "macswap_hops" and all(row["ratio"] > 1 for row in result["cases"]), "a file that is slower by far", result)
    done = fabric("--against", write(scaled(1000)), *RINGS, expect=FAILED)
    check("3 of 3 cases are slower" in done.stderr, "a file that is faster by far", done.stderr)
    done = fabric("--against", write(lambda result: result.update(cases=[dict(result["cases"][0], mhops_per_core_median=0.001)])), "--json")
    check([row["case"] for row in json.loads(done.stdout)["cases"]] == ["K=4 ring"], "a file with one case: that one alone is compared",
          done.stdout)
    for name, change, words in (
            ("without the calibration", lambda result: result.pop("macswap_ns"), '"macswap_ns"'),
            ("without a known case", lambda result: result.update(cases=[{"case": "another"}, 7]), "no case"),
            ("with keys of another version", lambda result: [row.pop("mhops_per_core_median") for row in result["cases"]], "no case"),
            ("with cases of another kind", lambda result: result.update(cases="none"), "no case")):
        check(refused(fabric("--against", write(change), expect=REFUSED), str(path), words), f"a file {name}")
    path.write_text("nonsense")
    check(refused(fabric("--against", path, expect=REFUSED), "neither a program nor"), "a file that is no JSON")
    check(refused(fabric("--against", scratch, expect=REFUSED), "neither a program nor a file"), "a folder")


with tempfile.TemporaryDirectory() as folder:
    programs(pathlib.Path(folder))
    files(pathlib.Path(folder))
done = command(ROCELAB, "bench", "analyzer", "--against", ROCELAB, expect=REFUSED)
check("--against" in done.stderr, "only the fabric is compared", done.stderr)
check('"nonsense"' in fabric("--case", "nonsense", expect=REFUSED).stderr, "a case that there is not")
check("--size 0" in command(ROCELAB, "bench", "fabric", "--size", 0, expect=REFUSED).stderr, "a size that is none")
