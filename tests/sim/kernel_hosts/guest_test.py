# SPDX-License-Identifier: BSD-3-Clause
"""Guests: boot, commands, the management channel, every way to end, and nothing left behind. No network."""
import hashlib
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from guests import Rig, find_kernel, management
from harness import STALL_LIMIT_S, ROCELAB, SOURCE, check, scratch, within

POWER_OFF = 0x4321fedc  # reboot(2); a machine need not have the command


def commands(rig):
    done = rig.shell("h1", "hostname")
    check(done.stdout == b"h1\n" and done.returncode == 0, "a command sees its guest", done)
    for words, status in ((["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
                          (["no-such-command"], 127), (["/etc/passwd"], 126)):
        check(rig.shell("h2", *words).returncode == status, f"exit status {status}", words)
    check(b"no-such-command" in rig.shell("h2", "no-such-command").stderr, "a command that is not there is named")
    done = rig.shell("h1", "sh", "-c", "echo out; echo err >&2")
    check((done.stdout, done.stderr) == (b"out\n", b"err\n"), "outputs stay apart", done)
    done = rig.shell("h1", "pwd", cwd=SOURCE)
    check(done.stdout.decode().strip() == os.path.realpath(SOURCE), "a command runs in the caller's folder", done)
    done = rig.shell("h1", "sh", "-c", f"echo > {rig.dir}/written; echo > /run/written")
    check(b"Read-only" in done.stderr and not (rig.dir / "written").exists() and done.returncode == 0,
          "the machine's files are read-only, /run is not", done)
    done = rig.shell("h1", "sh", "-c", "rdma link add rxe0 type rxe netdev lo && ls /dev/infiniband && ulimit -l")
    check(b"uverbs0" in done.stdout and b"rdma_cm" in done.stdout and b"unlimited" in done.stdout,
          "soft-RoCE is there, memory may be pinned", done)
    done = rig.shell("h1", "timeout", "10", "head", "-c", "32", "/dev/random")
    check(len(done.stdout) == 32, "random numbers are there at once", done)


def streams(rig):
    data = os.urandom(1 << 20)
    digest = hashlib.sha256(data).hexdigest().encode()
    check(rig.shell("h1", "sha256sum", input=data).stdout.split()[0] == digest, "1 MiB of input arrives as it was")
    done = rig.shell("h1", "cat", input=data)
    check(done.stdout == data, "1 MiB there and back", len(done.stdout))
    slow = subprocess.Popen([ROCELAB, "shell", "h1", "--run", rig.dir, "--", "yes"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE)
    time.sleep(0.5)
    check(rig.shell("h1", "echo", "heard").stdout == b"heard\n", "one that does not read blocks no other")
    slow.kill()
    slow.wait()
    slow.stdout.close()
    end = time.monotonic() + STALL_LIMIT_S
    while rig.shell("h1", "sh", "-c", "grep -qx yes /proc/[0-9]*/comm").returncode == 0 and time.monotonic() < end:
        time.sleep(0.1)
    check(time.monotonic() < end, "a command ends with the shell that ran it")
    many = [subprocess.Popen([ROCELAB, "shell", "h2", "--run", rig.dir, "--", "sh", "-c", f"sleep 0.3; exit {i}"],
                             stdin=subprocess.DEVNULL) for i in range(12)]
    check([p.wait(STALL_LIMIT_S) for p in many] == list(range(12)), "twelve commands at once")
    done = rig.shell("h2", "sh", "-c", "sleep 100 & echo started")
    check(done.stdout == b"started\n" and done.returncode == 0, "what a command leaves running does not hold it")


def terminal(rig):
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "vt100"
        os.execv(ROCELAB, ["rocelab", "shell", "h1", "--run", str(rig.dir)])
    observed, end = b"", time.monotonic() + STALL_LIMIT_S
    sent = False
    while time.monotonic() < end:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            observed += os.read(master, 4096)
        except OSError:
            break
        if not sent and (b"#" in observed or b"$" in observed):
            os.write(master, b"tty; echo $TERM; echo ans$((6*7)); exit 3\n")
            sent = True
    os.close(master)
    status = os.waitpid(pid, 0)[1]
    check(os.WEXITSTATUS(status) == 3 and b"/dev/pts/" in observed and b"vt100" in observed and b"ans42" in observed,
          "an interactive shell on a terminal", (status, observed))


def no_host(rig):
    done = rig.shell("h9", "true")
    check(done.returncode == 255 and b"h9" in done.stderr, "a host that is not there is named", done)


def endings(kernel):
    rig = Rig(kernel, ["h1", "h2", "h3"])
    rig.up()
    os.kill(rig.kernel_pid("h1"), signal.SIGKILL)
    words = rig.event("h1", "ended")
    check("signal 9" in words[-1], "a killed guest is noticed", words)
    rig.shell("h2", sys.executable, "-c", f"import ctypes; ctypes.CDLL(None).reboot({POWER_OFF})")
    words = rig.event("h2", "ended")
    check("by itself" in words[-1], "a guest that powers itself off is noticed", words)
    check(rig.shell("h3", "true").returncode == 0, "the others go on")
    os.kill(rig.kernel_pid("h3"), signal.SIGSTOP)
    start = time.monotonic()
    rig.stop("killed, off and frozen guests")
    check(within(start, 10), "a frozen guest does not hold the end up")

    rig = Rig(kernel, ["h1", "h2"])
    rig.up()
    supervisor = int(pathlib.Path(f"/proc/{rig.kernel_pid('h1')}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    words = rig.event("h1", "ended")
    check("supervisor" in words[-1], "a killed supervisor is noticed", words)
    rig.process.kill()
    rig.process.wait()
    end = time.monotonic() + STALL_LIMIT_S
    while (rig.dir / "guests" / "h2").exists() and time.monotonic() < end:
        time.sleep(0.05)
    # of the supervisor that was killed, and so of its kernel, whose caller was killed too; what comes next there replaces it
    (rig.dir / "guests" / "h1.sock").unlink()
    shutil.rmtree(rig.dir / "guests" / "h1")
    rig.gone("a killed caller", ["h1.log", "h2.log"])


def refused(kernel):
    rig = Rig("/nonexistent/linux", ["h1"])
    words = rig.event("h1", "ended")
    check("scripts/rxe-kernel" in words[-1], "a kernel that is not there is named, with what to do", words)
    rig.stop("a guest without a kernel")
    rig = Rig(kernel, ["h1,/nonexistent/socket,10.0.0.1,02:00:00:00:00:01"])
    words = rig.event("h1", "ended")
    check("/nonexistent/socket" in words[-1], "a switch that is not there is named", words)
    rig.names = ["h1"]
    rig.stop("a guest without its switch")
    with socket.socket(socket.AF_UNIX) as deaf, tempfile.TemporaryDirectory() as folder:
        deaf.bind(f"{folder}/deaf")
        rig = Rig(kernel, [f"h1,{folder}/deaf,10.0.0.1,02:00:00:00:00:01"])
        words = rig.event("h1", "ended")
        check("eth0" in words[-1], "a switch that does not answer leaves no NIC", words)
        rig.names = ["h1"]
        rig.stop("a guest without its NIC")


def sixteen(kernel):
    start = time.monotonic()
    rig = Rig(kernel, [f"h{i}" for i in range(16)])
    rig.up()
    took = time.monotonic() - start
    check(within(start, 60), "sixteen guests are up in less than a minute", took)
    most = max(rig.memory_kib(name) for name in rig.names)
    check(4096 < most < 64 * 1024, "each in less than 64 MiB", f"{most} KiB")
    print(f"16 guests: {took:.1f} s, {most} KiB each at most")
    rig.stop("sixteen guests")


def doctor():
    def ask(**env):
        done = subprocess.run([ROCELAB, "doctor", "guest", "--json"], capture_output=True, text=True, timeout=STALL_LIMIT_S,
                              env=dict(os.environ, **env))
        return done.returncode, json.loads(done.stdout)
    code, kinds = ask()
    check(code == 0 and kinds[0]["works"] and kinds[0]["boot_ms"] < 30000, "the doctor finds that guests work", kinds)
    with tempfile.TemporaryDirectory() as empty:
        code, kinds = ask(XDG_CACHE_HOME=empty)
    check(code == 3 and "scripts/rxe-kernel" in kinds[0]["missing"], "and what is missing, without a kernel", kinds)
    check(subprocess.run([ROCELAB, "doctor", "xen"], capture_output=True).returncode == 2, "a kind there is not is refused")


def namespace():
    """The other kind that boots at once; its soft-RoCE is the machine's."""
    rig = Rig("none", ["n1"], kind="netns")
    rig.up()
    done = rig.shell("n1", "sh", "-c", "hostname; ls /sys/class/net; exit 4")
    check(done.stdout == b"n1\nlo\n" and done.returncode == 4, "a command in a network namespace", done)
    rig.stop("a network namespace")


# A root that is a folder, as a build environment has it: with the machine's own folders bound below it.
CHANGED_ROOT = """
set -e
mount --make-rprivate /
for name in /*; do
    if [ -L "$name" ]; then cp -P "$name" "$1$name"; elif [ -d "$name" ]; then mkdir "$1$name"; mount --rbind "$name" "$1$name"; fi
done
cd "$1"
shift
exec chroot . "$@"
"""


def namespace_in_a_changed_root():
    # nothing is removed below it: all that is mounted is of the process, and the folders left are empty
    root = scratch() / "root"
    root.mkdir()
    done = subprocess.run(["unshare", "--mount", "sh", "-c", CHANGED_ROOT, "sh", root, sys.executable, os.path.abspath(__file__),
                           "namespace"], capture_output=True, text=True)
    check(done.returncode == 0, "a network namespace where the root is a folder", done.stdout + done.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["namespace"]:
        namespace()
        sys.exit(0)
    found = find_kernel()
    pair = Rig(found, ["h1", "h2"])
    pair.up()
    commands(pair)
    streams(pair)
    terminal(pair)
    no_host(pair)
    pair.stop("two guests")
    management(found)
    endings(found)
    refused(found)
    sixteen(found)
    doctor()
    if os.geteuid() == 0:
        namespace()
        namespace_in_a_changed_root()
