#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Debian package: builds from what is committed, installs in a minimal root, and runs the case study there."""
import json
import os
import shutil
import subprocess

from harness import SCENARIOS, SOURCE, check, for_long_run, rocelab, scratch, skip

TOOLS = ("dpkg-buildpackage", "dh", "mmdebstrap", "git", "esbuild")
BUILD_LIMIT_S = 3600
SCENARIO = "/usr/share/rocelab/scenarios/case-study.cfg"


def run(*words, **kwargs):
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_LIMIT_S,
                          check=False, **kwargs)
    check(done.returncode == 0, f"{words[0]} ends well", (done.stdout + done.stderr)[-4000:])
    return done.stdout


def main():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        skip(f"needs root and {' '.join(missing or TOOLS)}")
    for_long_run("the Debian package: built, installed in a minimal root, the case study there")
    top = scratch()
    tree = top / "rocelab"
    tree.mkdir()
    archive = subprocess.run(["git", "-C", str(SOURCE), "archive", "HEAD"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    run("dpkg-buildpackage", "-b", "-us", "-uc", cwd=tree, env={**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"})
    (package,) = top.glob("rocelab_*.deb")
    listed = run("dpkg-deb", "--contents", package)
    for path in ("./usr/bin/rocelab", "./usr/libexec/rocelab/dpswitch", "./usr/share/man/man1/rocelab-run.1.gz", f".{SCENARIO}"):
        check(f" {path}\n" in listed, f"the package has {path}", listed[-2000:])
    root = top / "root"
    run("mmdebstrap", "--quiet", "--variant=apt", "--format=directory", f"--customize-hook=copy-in {package} /root", "--customize-hook="
        f'chroot "$1" apt-get -qq -y --no-install-recommends install /root/{package.name}', "bookworm", root)
    run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
        f"mount --make-rprivate / && mount -t proc proc {root}/proc && mount --rbind /sys {root}/sys && "
        f"chroot {root} rocelab run {SCENARIO} --out /tmp/run")
    there = json.loads((root / "tmp/run/run.json").read_text())
    check(there["digest"] == rocelab(SCENARIOS / "case-study.cfg").run["digest"], "the case study there has the digest that it has here", there)
    check((root / "tmp/run/verdict.json").exists(), "and a verdict")


if __name__ == "__main__":
    main()
