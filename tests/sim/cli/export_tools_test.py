#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What rocelab export writes is read by the tools that it is for: protoc, promtool and tshark. What is missing is skipped."""
import re
import shutil
import subprocess

from cases import fault, small
from harness import ROCELAB, check, command, rocelab, scratch, skip

missing = []


def tool(name):
    if shutil.which(name) is None:
        missing.append(name)
    return name not in missing


def main():
    run = rocelab(small(fault("pfc-storm", port="S:1", start="100us", duration="200us")), "--capture", "S:1")
    out = scratch()
    for kind in ("perfetto", "prometheus", "pcapng"):
        command(ROCELAB, "export", kind, run.dir, "--out", out / kind)
    if tool("protoc"):
        with open(out / "perfetto", "rb") as file:
            done = subprocess.run(["protoc", "--decode_raw"], stdin=file, capture_output=True, text=True, check=False)
        check(done.returncode == 0 and not done.stderr, "protoc decodes the trace", done.stderr)
        tops = re.findall(r"^(\S+) {$", done.stdout, re.M)
        check(set(tops) == {"1"} and done.stdout.count("\n  11 {") > 20 and "  60 {" in done.stdout, "protoc: packets, tracks and events", set(tops))
    if tool("promtool"):
        with open(out / "prometheus", "rb") as file:
            done = subprocess.run(["promtool", "check", "metrics"], stdin=file, capture_output=True, text=True, check=False)
        check(done.returncode == 0 and not done.stdout + done.stderr, "promtool finds nothing wrong", done.stdout + done.stderr)
    if tool("tshark"):
        command(ROCELAB, "export", "pcapng", run.dir, "--frames", "pfc", "--out", out / "pfc")
        done = command("tshark", "-r", out / "pfc", "-T", "fields", "-e", "macc.opcode", "-e", "_ws.malformed")
        check(set(done.stdout.split("\n")) - {""} == {"0x0101\t"}, "tshark: pauses alone, none malformed", set(done.stdout.split("\n")))
        frames = command("tshark", "-r", out / "pcapng", "-Y", "_ws.malformed").stdout
        check(frames == "", "tshark: nothing malformed", frames)
    if missing:
        skip(f"not installed: {' '.join(missing)}")


if __name__ == "__main__":
    main()
