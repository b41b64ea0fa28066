# SPDX-License-Identifier: BSD-3-Clause
"""scripts/rxe-kernel without its minutes: its tools are stand-ins that say what they were asked for."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from harness import STALL_LIMIT_S, SOURCE, check, within

SCRIPT = SOURCE / "scripts" / "rxe-kernel"
EDITED = {  # what the edits look for
    "arch/x86/um/user-offsets.c": "\tDEFINE_LONGS(HOST_FP_SIZE, 2696);",
    "arch/um/drivers/ssl.c": "\t.throttle \t\t= line_throttle,\n\t.unthrottle \t\t= line_unthrottle,",
    "arch/um/drivers/chan_kern.c": "\t\tchan_interrupt(line, line->read_irq);",
}
STANDINS = {
    "dpkg-query": 'case "$*" in *Version*) echo 6.1.0-1 ;; *) echo installed ;; esac',
    "tar": 'while [ "$1" != -C ]; do shift; done; cp -r "$STANDIN/source/." "$2"',
    "make": 'case "$*" in\n'
            '*allnoconfig*) grep ^CONFIG_ "$STANDIN/kernel.config" >"$3/.config" ;;\n'
            '*) echo built >>"$STANDIN/builds"; sleep "$STANDIN_S"; [ ! -e "$STANDIN/broken" ] || { echo no luck; exit 2; }\n'
            '   cat "$3"/arch/um/drivers/*.c "$3"/arch/x86/um/*.c >"$3/linux"; chmod +x "$3/linux" ;;\nesac',
    "strip": ":",
}


class Place:
    """A cache of its own and stand-ins for the tools."""

    def __init__(self, folder, build_s="0.5"):
        self.folder = pathlib.Path(folder)
        self.cache = self.folder / "cache" / "rocelab"
        (self.folder / "bin").mkdir()
        for name, body in STANDINS.items():
            path = self.folder / "bin" / name
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        for name, text in EDITED.items():
            path = self.folder / "source" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        (self.folder / "kernel.config").write_text((SOURCE / "rxe-hosts/guest/kernel.config").read_text())
        self.env = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", STANDIN=str(folder), STANDIN_S=build_s,
                        XDG_CACHE_HOME=str(self.folder / "cache"))

    def start(self, *args):
        return subprocess.Popen([SCRIPT, *args], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def run(self, *args):
        process = self.start(*args)
        out, err = process.communicate(timeout=STALL_LIMIT_S)
        return process.returncode, out.strip(), err

    def builds(self):
        path = self.folder / "builds"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def left(self):
        return sorted(p.name for p in self.cache.iterdir()) if self.cache.exists() else []


def builds_once():
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        check(place.run("--cached")[:2] == (1, "") and not place.left(), "--cached builds nothing")
        check(place.run("--sometimes")[0] == 2, "an unknown option is refused")
        callers = [place.start() for _ in range(3)]
        paths = {c.communicate(timeout=STALL_LIMIT_S)[0].strip() for c in callers}
        check(len(paths) == 1 and all(c.returncode == 0 for c in callers), "three callers get one path", paths)
        check(place.builds() == 1, "three callers build once", place.builds())
        path = pathlib.Path(paths.pop())
        check(path.parent == place.cache and os.access(path, os.X_OK), "the kernel is in the cache", path)
        check(place.left() == sorted([path.name, "lock"]), "nothing else is left", place.left())
        text = path.read_text()
        check("11008" in text and "= line_throttle" not in text and "= line_unthrottle" not in text
              and "local_irq_save" in text, "the edits are in it", text)
        start = time.monotonic()
        check(place.run()[:2] == (0, str(path)) and place.run("--cached")[:2] == (0, str(path)), "it is found again")
        check(within(start, 2), "at once")
        (place.folder / "bin" / "dpkg-query").write_text("#!/bin/sh\nexit 1\n")
        check(place.run("--cached")[:2] == (0, str(path)), "it is found when the source is no longer installed")


def fails_cleanly():
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        (place.folder / "broken").touch()
        code, out, err = place.run()
        check(code == 1 and out == "" and "no luck" in err, "a broken build shows its log", err)
        check(place.left() == ["lock"], "and leaves nothing", place.left())
        (place.folder / "broken").unlink()
        source = place.folder / "source" / "arch/um/drivers/ssl.c"
        source.write_text("nothing to edit\n")
        code, out, err = place.run()
        check(code == 1 and "ssl.c" in err and place.left() == ["lock"], "an edit that does not fit is an error", err)


def stops_cleanly():
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, build_s="30")
        caller = place.start()
        end = time.monotonic() + STALL_LIMIT_S
        while not place.builds() and time.monotonic() < end:
            time.sleep(0.05)
        os.killpg(caller.pid, signal.SIGTERM)
        caller.communicate(timeout=STALL_LIMIT_S)
        check(caller.returncode != 0 and place.left() == ["lock"], "an interrupted build leaves nothing", place.left())
        place.env["STANDIN_S"] = "30"
        caller = place.start()
        while place.builds() < 2 and time.monotonic() < end:
            time.sleep(0.05)
        os.killpg(caller.pid, signal.SIGKILL)
        caller.communicate(timeout=STALL_LIMIT_S)
        check(len(place.left()) == 2, "a killed one leaves its folder", place.left())
        place.env["STANDIN_S"] = "0"
        code, out, _ = place.run()
        check(code == 0 and place.left() == sorted([pathlib.Path(out).name, "lock"]), "which the next removes", place.left())


if __name__ == "__main__":
    builds_once()
    fails_cleanly()
    stops_cleanly()
