#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every script refuses an option that it does not have, before it does anything, and prints how it is called."""
import subprocess

from harness import SOURCE, STALL_LIMIT_S, check

SCRIPTS = sorted(path for path in (SOURCE / "scripts").iterdir() if path.is_file())


def called(path, *args):
    return subprocess.run([path, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=STALL_LIMIT_S)


for path in SCRIPTS:
    done = called(path, "--no-such-option")
    check(done.returncode == 2 and path.name in done.stderr and done.stdout == "", f"{path.name} refuses an unknown option", done)
    if path.read_text(encoding="utf-8").splitlines()[0].endswith("python3"):
        done = called(path, "--help")
        check(done.returncode == 0 and path.name in done.stdout, f"{path.name} --help describes it", done)

# A build that is none is an error of the call.
for name in ("sample-tables", "telemetry-tables", "reference-table", "tutorial"):
    done = called(SOURCE / "scripts" / name, "no-such-folder")
    check(done.returncode == 2 and "no-such-folder has no cli/rocelab" in done.stderr, f"{name} wants a build", done)
done = called(SOURCE / "scripts/telemetry-cost", "no-such-program")
check(done.returncode == 2 and "no-such-program is no program" in done.stderr, "telemetry-cost wants a program", done)
