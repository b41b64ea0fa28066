#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""meson install: the tree that it makes runs by itself, and has a man page and completion of every command."""
import json
import re
import shutil
import subprocess

from harness import BUILD, ROCELAB, SCENARIOS, SOURCE, check, command, rocelab, scratch, skip


def installed():
    top = scratch() / "root"
    command("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", top)
    (found,) = top.rglob("bin/rocelab")
    moved = scratch() / "moved"
    shutil.move(found.parent.parent, moved)
    return moved


def runs(prefix):
    """The case study, from the installed tree alone, is that of the build tree."""
    out = scratch()
    program = prefix / "bin/rocelab"
    command(program, "run", prefix / "share/rocelab/scenarios/case-study.cfg", "--out", out, cwd="/")
    here = rocelab(SCENARIOS / "case-study.cfg")
    check(json.loads((out / "run.json").read_text())["digest"] == here.run["digest"], "installed: the same digest")
    check((out / "verdict.json").exists() and (out / "report.html").exists(), "installed: the verdict and the page")
    check({path.name for path in (prefix / "bin").iterdir()} == {"rocelab"}, "installed: helpers are not in bin")
    check("vedrfolnir" in command(program, "eval", "--help", cwd="/").stdout, "installed: eval is found")
    done = command(program, "explain", prefix / "share/rocelab/scenarios/case-study.cfg", "--flow", "15,18,10001,4791", cwd="/")
    check("18" in done.stdout, "installed: explain", done.stdout)


def files(prefix):
    share = prefix / "share"
    names = {path.relative_to(SOURCE / "topo/scenarios") for path in (SOURCE / "topo/scenarios").rglob("*") if path.is_file()}
    check({path.relative_to(share / "rocelab/scenarios") for path in (share / "rocelab/scenarios").rglob("*") if path.is_file()} == names, "scenarios")
    for path in ("rocelab/wireshark/rocelab.lua", "rocelab/records/rocelab_records.py", "rocelab/profiles/switch/spectrum4.cfg", "doc/rocelab/README.md",
                 "doc/rocelab/docs/tutorial.md", "rocelab/scripts/rxe-kernel"):
        check((share / path).is_file(), f"share/{path}")
    reader = command("python3", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import rocelab_records", share / "rocelab/records")
    check(reader.returncode == 0, "the reader of records is a module by itself")


def commands():
    table = ROCELAB, "--help"
    text = command(*table).stdout.split("Usage: rocelab COMMAND [ARGS]\n\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in text.splitlines()]


def man_pages(prefix):
    pages = {path.stem: path.read_text() for path in (prefix / "share/man/man1").iterdir()}
    check({"rocelab", *(f"rocelab-{name}" for name in commands())} <= set(pages), "a page of every command", sorted(pages))
    for name, text in pages.items():
        words = name.split("-", 2)[1:]
        plain = text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
        options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", command(ROCELAB, *words, "--help").stdout, re.M)) - {"--help", "--usage"}
        check(all(re.search(rf"^(?:-\w, )?{option}(?:$|=)", plain, re.M) for option in options), f"{name}.1 has its options", options)
        check(all(f"\n.SH {title}\n" in text for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO")), f"{name}.1: sections")
    if shutil.which("groff") is not None:
        for path in (prefix / "share/man/man1").iterdir():
            done = subprocess.run(["groff", "-man", "-ww", "-z", str(path)], capture_output=True, text=True, check=False)
            check(done.returncode == 0 and not done.stderr, f"{path.name}: groff has nothing to say", done.stderr)


def complete(script, *words):
    text = (f'. "{script}"; COMP_WORDS=({" ".join(words[:-1])} "{words[-1]}"); COMP_CWORD={len(words) - 1}; _rocelab; '
            'printf "%s\\n" "${COMPREPLY[@]}"')
    return set(command("bash", "-c", text, cwd=scratch()).stdout.split())


def completion(prefix):
    script = prefix / "share/bash-completion/completions/rocelab"
    check(complete(script, "rocelab", "") >= set(commands()), "completion: the commands")
    check(complete(script, "rocelab", "sw") == {"sweep"}, "completion: one of them")
    check({"--vary", "--seeds", "--shard"} <= complete(script, "rocelab", "sweep", "--"), "completion: options")
    check(complete(script, "rocelab", "run", "--poll", "") == {"busy", "sleep", "auto"}, "completion: the words of an option")
    check("perfetto" in complete(script, "rocelab", "export", "p"), "completion: formats")
    check({"pfc", "pfcwd"} <= complete(script, "rocelab", "show", "pf"), "completion: views")
    check(complete(script, "rocelab", "show", "pfc", "") == {"counters", "history"}, "completion: the second word of a view")
    check("pfc" not in complete(script, "rocelab", "show", "pfc", "counters", "p"), "completion: one view")
    check(complete(script, "rocelab", "topo", "c") == {"check"}, "completion: what a command does")
    check("sonic" in complete(script, "rocelab", "import", ""), "completion: what a command reads")
    check("--budget" in complete(script, "rocelab", "bench", "telemetry", "--b"), "completion: options of a kind")
    check("pingmesh" in complete(script, "rocelab", "eval", "pi"), "completion: kinds")


if __name__ == "__main__":
    if shutil.which("meson") is None:
        skip("meson is not installed")
    there = installed()
    runs(there)
    files(there)
    man_pages(there)
    completion(there)
