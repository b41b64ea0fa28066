#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a run: one run's files and no other's, whole or not there, whoever used it before and however full it is."""
import fcntl
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

from cases import fault, small
from harness import (ANALYZER, DPSWITCH, STALL_LIMIT_S, ROCELAB, SCENARIOS, Run, analyzer_page, check, command, descendants, fail, file_limit, rocelab,
                     scratch, sets)

RESULTS = ("verdict.json", "report.txt", "report.html", "waiting.dot", "provenance.dot", "run.json", "truth.json",
           "steps.csv", "effective.cfg", "run.sqlite")
LONG = (SCENARIOS / "ns3-allgather-100g.cfg", *sets(detection__policy="full-polling"))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def records_anew(folder, before):
    """Does another recording grow there? One is removed before the next is made."""
    try:
        recording = (folder / "records.bin").read_bytes()
    except FileNotFoundError:
        return False
    return len(recording) >= 20000 and recording != before


def second_run():
    """What the first run left is gone as soon as the second one records; a user's own file is not."""
    run = rocelab(small(), "--capture", "a1:1")
    out, before = run.dir, contents(run.dir)
    check(set(RESULTS) < before.keys() and "capture.pcapng" in before, "a run's files", sorted(before))
    (out / "notes.txt").write_text("mine")
    (out / ".verdict.json.new").write_text("of a run that was killed")
    (out / "guests").mkdir()
    (out / "guests" / "h9.log").write_text("of a run with external hosts")
    later = subprocess.Popen([str(a) for a in (ROCELAB, "run", *LONG, "--out", out)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + STALL_LIMIT_S
    while not records_anew(out, before["records.bin"]):
        if later.poll() is not None or time.monotonic() > end:
            fail(f"the second run ended or hangs before it could be seen: {later.communicate()}")
        time.sleep(0.01)
    seen = set(contents(out)) - {"live", "live.lock"}    # of the second run
    later.terminate()
    later.communicate(timeout=STALL_LIMIT_S)
    check(seen == {"records.bin", "effective.cfg", ".run.sqlite.new", "notes.txt"}, "second run: nothing of the first is beside its recording",
          sorted(seen))
    after = contents(out)
    check("capture.pcapng" not in after and ".verdict.json.new" not in after, "second run: nor afterwards", sorted(after))
    check(not (out / "guests").exists(), "second run: what the first one's hosts said goes")
    check(after["notes.txt"] == b"mine", "second run: a user's file stays")
    check(json.loads(after["run.json"])["name"] == LONG[0].stem, "second run: its own results", after["run.json"])


def refused_run():
    """A run that is refused, for whatever reason, leaves an earlier one as it is."""
    run = rocelab(small(), "--capture", "a1:1")
    before = contents(run.dir)
    for name, args in (("a bad scenario", (small(fault("meteor")),)), ("a bad key", (small(), "--set", "host.mtu=7")),
                       ("no such port to capture", (small(), "--capture", "zz:9")),
                       ("no such file", ("/nowhere.cfg",)), ("too many lcores", (small(), "--lcores", "64")),
                       ("no budget", (small(), *sets(exporter__budget=1000, exporter__burst=4095)))):
        command(ROCELAB, "run", *args, "--out", run.dir, expect=2)
        check(contents(run.dir) == before, f"refused, {name}: nothing is touched", sorted(contents(run.dir)))


def obstructed():
    """A folder under a name of a run's files is refused before anything of an earlier run goes."""
    for name in ("verdict.json", "records.bin", "report.html", "provenance.dot", "effective.cfg"):
        run = rocelab(small())
        (run.dir / name).unlink()
        (run.dir / name).mkdir()
        (run.dir / name / "kept").write_text("mine")
        before = sorted(path.name for path in run.dir.rglob("*"))
        done = command(ROCELAB, "run", small(), "--out", run.dir, expect=2)
        check(f"{name} is a folder" in done.stderr and "--out" in done.stderr, f"{name} is a folder: refused", done.stderr)
        check(sorted(path.name for path in run.dir.rglob("*")) == before, f"{name} is a folder: nothing is lost")


def whole(folder, name):
    """Each file that is there is one that was written to its end."""
    ends = {"html": "</html>\n", "dot": "}\n", "csv": "\n", "txt": "\n", "cfg": "\n"}
    for path in folder.iterdir():
        if path.is_dir():
            whole(path, f"{name}, {path.name}")
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".sqlite":
            check(sqlite3.connect(path).execute("PRAGMA quick_check").fetchall() == [("ok",)], f"{name}: {path.name} is whole")
        elif path.name != "records.bin":
            check(path.suffix[1:] in ends and path.read_text().endswith(ends[path.suffix[1:]]), f"{name}: {path.name} is whole")


def full(name, out, done, why):
    """A run whose disk did not take all."""
    check(done.returncode == 1, f"{name}: exit code 1", (done.returncode, done.stderr))
    check(why in done.stderr, f"{name}: reported with the reason", done.stderr)
    whole(out, name)
    check(not list(out.rglob("*.new")), f"{name}: nothing half done is left", sorted(out.rglob("*")))


def cut_recording(name, out, done, why):
    check(f"records.bin is cut short: {why}" in done.stderr, f"{name}: the recording's cut is reported", done.stderr)
    if (out / "run.json").exists():
        check(Run(out).run["export"]["recording_lost"] != 0, f"{name}: in run.json", Run(out).run["export"])
    if (out / "verdict.json").exists():
        check(Run(out).verdict["evidence"]["recording_lost"] != 0, f"{name}: in the verdict", Run(out).verdict["evidence"])
        check(f"The recording is truncated ({why})" in Run(out).report.replace("\n", " "), f"{name}: in the report",
              Run(out).report)


def file_limits():
    """Files that must not grow beyond a size: each of them is hit in its turn."""
    scenario = SCENARIOS / "incast.cfg"
    reference = rocelab(scenario)
    sizes = {path.name: path.stat().st_size for path in reference.dir.iterdir()}
    sizes["report.html"] = len(analyzer_page(reference.dir))
    check(sizes["records.bin"] < sizes["report.html"], "full: the page is the largest file", sizes)
    for limit in (0, 1000, *(sizes[name] - 1 for name in ("run.json", "effective.cfg", "verdict.json", "records.bin",
                                                          "report.html"))):
        out, name = scratch(), f"files of {limit} B"
        done = command(ROCELAB, "run", scenario, "--out", out, expect=None, preexec_fn=file_limit(limit))
        full(name, out, done, "File too large")
        check(not (out / "report.html").exists() and not (out / "verdict.json").exists(), f"{name}: no verdict is half there",
              sorted(out.iterdir()))
        if limit > sizes["effective.cfg"] and limit < sizes["records.bin"]:
            cut_recording(name, out, done, "File too large")
    long = sets(detection__policy="full-polling", telemetry__epoch="100us")
    reference = rocelab(SCENARIOS / "case-study.cfg", *long)
    page, recording = len(analyzer_page(reference.dir)), (reference.dir / "records.bin").stat().st_size
    check(page + 20_000 < recording, "a long recording: it is larger than the page", (page, recording))
    out = scratch()
    done = command(ROCELAB, "run", SCENARIOS / "case-study.cfg", "--out", out, *long, expect=None,
                   preexec_fn=file_limit((page + recording) // 2))
    full("a long recording", out, done, "File too large")
    cut_recording("a long recording", out, done, "File too large")
    check((out / "verdict.json").exists(), "a long recording: the verdict, which does not need it, is there")
    again = command(ROCELAB, "diagnose", out, expect=None)
    check("ncomplete" in again.stdout, "a long recording: diagnosed again, it is incomplete", again.stdout)


def full_disk():
    """The same on a file system that is full."""
    mount = 'mount -t tmpfs -o size="$1" tmpfs "$2" || exit 77; out=$2; copy=$3; shift 3; "$@" --out "$out"; code=$?; ' \
            'cp -r "$out/." "$copy"; exit $code'
    disks = [(kib, ()) for kib in (4, 24, 64, 140, 200)]
    if shutil.which("mpirun"):
        disks += [(kib, ("--processes", "2")) for kib in (8, 40, 200)]
    for kib, processes in disks:
        copy, name = scratch(), f"a disk of {kib} KiB {' '.join(processes)}"
        done = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh", f"{kib}k", str(scratch()),
                               str(copy), str(ROCELAB), "run", str(SCENARIOS / "incast.cfg"), *processes],
                              capture_output=True, text=True, timeout=STALL_LIMIT_S)
        if processes and "no Open MPI" in done.stderr:
            continue
        if done.returncode == 77 or "unshare:" in done.stderr:
            print(f"SKIPPED: {name}: no file system can be mounted here, even in a user namespace: {done.stderr}", flush=True)
            return
        full(name, copy, done, "No space left on device")


def full_disk_of_results():
    """What makes many runs says that its store cannot be written."""
    mount = 'mount -t tmpfs -o size="$1" tmpfs "$2" || exit 77; out=$2; shift 2; exec "$@" --out "$out/results"'
    for args in (("sweep", SCENARIOS / "incast.cfg"), ("eval", "incast", "--cases", "1"), ("eval", "counterfactual", "--cases", "1"),
                 ("bench", "telemetry", SCENARIOS / "incast.cfg", "--seeds", "1"), ("blame", SCENARIOS / "incast.cfg")):
        name = f"a full disk of {' '.join(map(str, args[:2]))}"
        done = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh", "4k", str(scratch()),
                               str(ROCELAB), *map(str, args)], capture_output=True, text=True, timeout=STALL_LIMIT_S)
        if done.returncode == 77 or "unshare:" in done.stderr:
            print(f"SKIPPED: {name}: no file system can be mounted here, even in a user namespace: {done.stderr}", flush=True)
            return
        check(done.returncode == 1, f"{name}: the exit code of a write that failed", (done.returncode, done.stderr))
        check("full" in done.stderr or "No space left" in done.stderr, f"{name}: reported", done.stderr)


def one_diagnosis_or_the_other():
    """A diagnosis that cannot write all its reports leaves those of the one before."""
    run = rocelab(SCENARIOS / "incast.cfg")
    before = contents(run.dir)
    done = command(ROCELAB, "diagnose", run.dir, expect=1, preexec_fn=file_limit(100_000))
    check("report.html: cannot be written: File too large" in done.stderr, "diagnose: reported", done.stderr)
    check(contents(run.dir) == before, "diagnose: the reports before stay", sorted(contents(run.dir)))


def links():
    """A link of a file's name is replaced; what it leads to is left alone."""
    out, mine = scratch(), scratch() / "mine"
    mine.write_text("precious")
    for name in (*RESULTS, "records.bin", "capture.pcapng", ".run.json.new"):
        (out / name).symlink_to(mine)
    command(ROCELAB, "run", small(), "--out", out, "--capture", "a1:1")
    check(mine.read_text() == "precious", "links: not followed")
    check(not [path for path in out.iterdir() if path.is_symlink()], "links: replaced by files", sorted(out.iterdir()))
    (out / "verdict.json").unlink()
    (out / "verdict.json").symlink_to(mine)
    command(ROCELAB, "diagnose", out)
    check(mine.read_text() == "precious" and not (out / "verdict.json").is_symlink(), "links: nor by diagnose")


def fabric_fails_at_once():
    """Before it touches the folder: an earlier run's files stay as they are, and none of them is taken for this run's."""
    run, programs = rocelab(small()), scratch()
    shutil.copy(ROCELAB, programs)
    (programs / "analyzer").symlink_to(ANALYZER)
    before = contents(run.dir)
    for end, reported in (("exit 1", ""), ("kill -9 $$", "dpswitch was killed (signal 9: Killed)")):
        (programs / "dpswitch").write_text(f"#!/bin/sh\n{end}\n")
        (programs / "dpswitch").chmod(0o755)
        done = command(programs / "rocelab", "run", small(), "--out", run.dir, expect=1)
        check(contents(run.dir) == before, f"{end}: nothing is touched", sorted(contents(run.dir)))
        check(reported in done.stderr and "analyzer" not in done.stderr, f"{end}: no word of a recording", done.stderr)


def no_rights():
    """A folder of somebody else: refused before anything starts. Root may write anywhere."""
    run = rocelab(small())
    run.dir.chmod(0o555)
    if os.access(run.dir, os.W_OK):
        print("as root: a folder without rights is left to the unit test")
    else:
        before = contents(run.dir)
        done = command(ROCELAB, "run", small(), "--out", run.dir, expect=2)
        check("no files can be written there: Permission denied" in done.stderr, "no rights: reported", done.stderr)
        check(contents(run.dir) == before, "no rights: nothing is touched")
    run.dir.chmod(0o755)


def no_empty_folder():
    """What a refused run made for its results goes again; what was there stays."""
    top = scratch()
    command(ROCELAB, "run", small(fault("meteor")), "--out", top / "out" / "name", expect=2)
    check(not (top / "out").exists(), "refused: no empty folder is left", list(top.iterdir()))
    command(ROCELAB, "run", small(fault("meteor")), "--out", top, expect=2)
    check(top.exists(), "refused: one that was there stays")
    (top / "out").mkdir()
    command(ROCELAB, "run", small(fault("meteor")), "--out", top / "out" / "name", expect=2)
    check([path.name for path in top.iterdir()] == ["out"] and not list((top / "out").iterdir()),
          "refused: of a path, what was made goes", list(top.rglob("*")))


def busy_folder():
    """One program at a time has a folder, `rocelab diagnose` too."""
    run = rocelab(small())
    held, out = os.open(run.dir, os.O_RDONLY), scratch() / "elsewhere"
    fcntl.flock(held, fcntl.LOCK_EX)
    before = contents(run.dir)
    for args in (("run", small(), "--out", run.dir), ("diagnose", run.dir), ("diagnose", run.dir, "--out", out)):
        done = command(ROCELAB, *args, expect=2)
        check("another run writes there" in done.stderr, f"busy: {args[0]} is reported", done.stderr)
    check(contents(run.dir) == before, "busy: nothing is touched")
    check(not out.exists(), "busy: nothing is made")
    fcntl.flock(held, fcntl.LOCK_SH)
    command(ROCELAB, "diagnose", run.dir, "--out", out)
    check((out / "verdict.json").exists(), "busy: several may read a recording at once")
    os.close(held)


def left_by_a_kill():
    """kill -9 of rocelab: its programs end in order, and the next run takes away what it left."""
    out = scratch()
    run = subprocess.Popen([str(a) for a in (ROCELAB, "run", *LONG, "--out", out)], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, start_new_session=True)
    end = time.monotonic() + STALL_LIMIT_S
    while not (out / "records.bin").exists() or (out / "records.bin").stat().st_size < 20000:
        if run.poll() is not None or time.monotonic() > end:
            fail(f"the run ended or hangs before it could be killed: {run.communicate()}")
        time.sleep(0.01)
    words = [(pathlib.Path("/proc") / str(pid) / "cmdline").read_bytes().decode().split("\0") for pid in descendants(run.pid)]
    private = next(pathlib.Path(w[w.index("--analyzer") + 1]).parent for w in words if "--analyzer" in w)
    run.kill()
    stdout = run.communicate(timeout=STALL_LIMIT_S)[0]  # to the end of the last program
    check("did not finish" in stdout, "killed: its programs end in order", stdout)
    check(private.exists(), "killed: it leaves its folder of sockets", private)
    rocelab(small())
    check(not private.exists(), "killed: which goes with the next run", private)


def fabric_alone():
    """dpswitch makes its folder, and one that cannot be made is an error."""
    out = scratch() / "of" / "mine"
    command(DPSWITCH, small(), "--quiet", "--out", out)
    check((out / "run.json").exists() and (out / "records.bin").exists(), "dpswitch alone: makes its folder", list(out.parent.iterdir()))
    (out / "file").write_text("mine")
    done = command(DPSWITCH, small(), "--quiet", "--out", out / "file" / "below", expect=2)
    check(f"{out}/file" in done.stderr and (out / "file").read_text() == "mine", "dpswitch alone: no folder below a file", done.stderr)


def dpdk_folder():
    """DPDK leaves no folder behind, wherever it makes one by itself."""
    there = scratch()
    command(ROCELAB, "run", small(), "--out", scratch(), env=os.environ | {"RUNTIME_DIRECTORY": str(there),
                                                                          "XDG_RUNTIME_DIR": str(there)})
    check(not list(there.iterdir()), "DPDK leaves no folder", list(there.rglob("*")))


if __name__ == "__main__":
    second_run()
    obstructed()
    refused_run()
    file_limits()
    full_disk()
    full_disk_of_results()
    one_diagnosis_or_the_other()
    links()
    fabric_fails_at_once()
    no_rights()
    no_empty_folder()
    busy_folder()
    left_by_a_kill()
    fabric_alone()
    dpdk_folder()
