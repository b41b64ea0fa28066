#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/setup beside another apt: it waits for that one's locks, says so, and gives up in the end. apt is the real one, on folders of
the test's own without any package."""
import fcntl
import os
import shutil
import subprocess
import threading

from harness import STALL_LIMIT_S, SOURCE, check, scratch, skip, until

CONFIG = """Dir::State "{0}/state"; Dir::State::Lists "{0}/lists"; Dir::State::status "{0}/status"; Dir::Cache "{0}/cache";
Dir::Etc::SourceList "{0}/sources"; Dir::Etc::SourceParts "/dev/null"; Dir::Log "{0}/log";
"""


def machine():
    """A folder with apt's files, and stand-ins for sudo and for what knows the installed packages."""
    folder = scratch()
    for name in ("state", "lists/partial", "cache/archives/partial", "log", "bin"):
        (folder / name).mkdir(parents=True)
    for name in ("status", "sources"):
        (folder / name).touch()
    (folder / "apt.conf").write_text(CONFIG.format(folder))
    for name, text in (("sudo", 'exec "$@"'), ("dpkg-query", "exit 1")):
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    return folder


def setup(folder, **env):
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "APT_CONFIG": str(folder / "apt.conf"), **env}
    return subprocess.Popen([SOURCE / "scripts" / "setup", "kernel"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def read(stream, into):
    thread = threading.Thread(target=lambda: into.extend(iter(stream.readline, "")), daemon=True)
    thread.start()
    return thread


def held(path):
    """As apt holds it."""
    file = open(path, "w", encoding="utf-8")
    fcntl.lockf(file, fcntl.LOCK_EX)
    return file


if not shutil.which("apt-get"):
    skip("this machine has no apt")
for lock in ("lists/lock", "lock-frontend") if os.geteuid() == 0 else ("lists/lock",):  # apt locks dpkg for root alone
    folder = machine()
    observed, file = [], held(folder / lock)
    run = setup(folder)
    reader = read(run.stdout, observed)
    until(f"{lock} is waited for", lambda: any("another apt runs" in line and "900 s" in line for line in observed), run)
    file.close()
    reader.join(STALL_LIMIT_S)
    stderr = run.stderr.read()
    check(run.wait(STALL_LIMIT_S) != 0 and "Unable to locate package" in stderr, f"{lock}: it goes on once that is free", stderr)
folder = machine()
file = held(folder / "lists/lock")
apt = shutil.which("apt-get")
(folder / "bin" / "apt-get").write_text(f"#!/bin/sh\nsleep 3\necho \"$*\" >>{folder}/calls\nexec {apt} \"$@\"\n")  # a slow machine's
(folder / "bin" / "apt-get").chmod(0o755)
run = setup(folder, ROCELAB_APT_WAIT_S="2")
stdout, stderr = run.communicate(timeout=STALL_LIMIT_S)
check(run.returncode != 0 and "Could not get lock" in stderr and "2 s" in stdout, "it does not wait for ever", stderr)
calls = [line for line in (folder / "calls").read_text().splitlines() if line.endswith("update")]
check(len(calls) == 2, "the clock counts its wait", calls)
file.close()
