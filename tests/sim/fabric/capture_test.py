#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures hold every frame of a port, both directions, to 100 ps, and change nothing about the run."""
import errno
import shutil

from cases import fault, ring, small
from harness import SCENARIOS, Run, check, command, DPSWITCH, dpswitch, file_limit, rocelab, scratch, sets
from pcapng import Capture, icrc_is_right, is_pfc, is_roce, is_udp

CABLE_PS = 1_000_000  # of the small fabric
FAST = sets(detection__policy="off")


def capture(run):
    return Capture(run.dir / "capture.pcapng")


def counts(run):
    return {port["port"]: port for port in run.run["capture"]["ports"]}


def complete(run, seen, name):
    """run.json, the file and its own statistics agree, and nothing is missing."""
    reported = counts(run)
    check(list(reported) == seen.ports, f"{name}: an interface a port, named after it", seen.ports)
    for port in seen.ports:
        found = {"in": len(seen.of(port, False)), "out": len(seen.of(port, True)),
                 "pfc_in": len(seen.of(port, False, is_pfc)), "pfc_out": len(seen.of(port, True, is_pfc))}
        check(all(reported[port][key] == value for key, value in found.items()) and reported[port]["beyond_limit"] == 0,
              f"{name}: {port}: {found['in']} in, {found['out']} out are what run.json says", (found, reported[port]))
        check(seen.statistics[port] == (found["in"] + found["out"], 0), f"{name}: {port}: so do the statistics",
              seen.statistics)
    check(run.run["capture"]["bytes"] == (run.dir / "capture.pcapng").stat().st_size, f"{name}: size", run.run["capture"])
    times = [frame.time_ps for frame in seen.frames]
    check(times == sorted(times), f"{name}: in order of time")
    check(all(frame.size == len(frame.bytes) for frame in seen.frames), f"{name}: frames are whole")


def crosses(seen, sender, receiver, name, delay_ps=CABLE_PS):
    """What leaves one end of a cable arrives at the other, one delay later."""
    left = [(f.time_ps + delay_ps, f.bytes) for f in seen.of(sender, True)]
    received = [(f.time_ps, f.bytes) for f in seen.of(receiver, False)]
    end_ps = max(f.time_ps for f in seen.frames)
    left = [f for f in left if f[0] <= end_ps]
    check(len(left) > 0 and received[:len(left)] == left and len(received) - len(left) <= 1,
          f"{name}: {len(left)} frames from {sender} to {receiver}, a delay later", (len(left), len(received)))


def storm():
    """The broken port's PAUSE frames at both ends of its cable."""
    args = ["--quiet", *sets(**{"collectives.[0].step_bytes": "2MB", "faults.[0].start": "100us",
                                "faults.[0].duration": "1ms"})]
    plain = dpswitch(SCENARIOS / "pfc-storm.cfg", *args)
    run = dpswitch(SCENARIOS / "pfc-storm.cfg", *args, "--capture", "5:1,0:4")
    again = dpswitch(SCENARIOS / "pfc-storm.cfg", *args, "--capture", "5:1,0:4", "--lcores", "2")
    check(plain.run["digest"] == run.run["digest"], "storm: captured or not, the run is the same", run.run["digest"])
    check("capture" not in plain.run and not (plain.dir / "capture.pcapng").exists(), "storm: none where none is wanted")
    check((run.dir / "capture.pcapng").read_bytes() == (again.dir / "capture.pcapng").read_bytes(),
          "storm: the same file on two lcores")
    seen = capture(run)
    complete(run, seen, "storm")
    delay_ps = seen.of("0:4", False, is_pfc)[0].time_ps - seen.of("5:1", True, is_pfc)[0].time_ps
    crosses(seen, "5:1", "0:4", "storm", delay_ps)
    crosses(seen, "0:4", "5:1", "storm", delay_ps)
    # every 100 us for 1 ms behind the frame under way, then a RESUME; later the buffer has reasons of its own
    pauses = seen.of("5:1", True, is_pfc)[:11]
    for i, frame in enumerate(pauses):
        late_ps = frame.time_ps - 100_000_000 * (i + 1)
        check(6_700 <= late_ps < 6_720 + 90_000, f"storm: frame {i} leaves {late_ps} ps after its time", frame)
        check(frame.bytes[:6].hex() == "0180c2000001" and frame.bytes[16:18] == b"\0\x08" and
              frame.bytes[24:26] == (b"\xff\xff" if i < 10 else b"\0\0") and frame.size == 60,
              f"storm: frame {i} names class 3 and its time", frame)
    paused = [f.time_ps for f in seen.of("0:4", True, is_roce) if f.bytes[15] >> 5 == 3]
    check(not [t for t in paused if pauses[0].time_ps + 5_000_000 < t < pauses[-1].time_ps],
          "storm: no data leaves the halted port meanwhile")
    check(all(icrc_is_right(f.bytes) for f in seen.frames if is_roce(f.bytes)), "storm: every ICRC is right")


def loss():
    run = rocelab(small(fault("loss", port="A:3", rate=0.01)), *FAST, "--capture", "A:3,a1:1")
    seen = capture(run)
    complete(run, seen, "loss")
    crosses(seen, "a1:1", "A:3", "loss")
    lost = len(seen.of("A:3", True)) - len(seen.of("a1:1", False))
    check(lost == run.run["drops"]["injected"] > 0, f"loss: {lost} frames left and did not arrive", run.run["drops"])
    check(any(f.bytes[42] == 17 and f.bytes[54] == 0x60 for f in seen.of("a1:1", True, is_roce)), "loss: a NAK asks for one")


def corruption():
    run = rocelab(small(fault("corruption", port="A:3", rate=0.01)), *FAST, "--capture", "A:3", "--capture", "a1:1") # may be repeated
    seen = capture(run)
    complete(run, seen, "corruption")
    check(all(icrc_is_right(f.bytes) for f in seen.of("A:3", True, is_roce)), "corruption: frames leave with a right ICRC")
    wrong = [f for f in seen.of("a1:1", False, is_roce) if not icrc_is_right(f.bytes)]
    wrong_control = run.run["drops"]["corrupt"] - len(wrong)
    check(len(wrong) > 0 and wrong_control == 0, f"corruption: {len(wrong)} arrive with a wrong one", run.run["drops"])


def cut():
    """What is on a cable when it is cut was sent and did not arrive; nothing crosses until it is mended."""
    run = rocelab(small(fault("link-down", port="A:3", start="50us", duration="200us")), *FAST, "--capture", "A:3,a1:1")
    seen = capture(run)
    complete(run, seen, "cut")
    for port in seen.ports:
        quiet = [f for f in seen.frames if f.port == port and 50_100_000 < f.time_ps < 250_000_000]
        check(not quiet, f"cut: {port} is quiet meanwhile", quiet[:3])
    for sender, receiver in (("A:3", "a1:1"), ("a1:1", "A:3")):
        lost = len(seen.of(sender, True)) - len(seen.of(receiver, False))
        check(0 < lost <= run.run["drops"]["link_down"], f"cut: {lost} frames were on the cable from {sender}", lost)


def real_data():
    """A ring passes a chunk on: the payload that b1 sends in step 2 is what a1 sent in step 1."""
    run = rocelab(small(collective=ring(step_bytes=50_000)), *FAST, "--capture", "a1:1,b1:1")
    seen = capture(run)
    complete(run, seen, "real data")

    def payload(port, step):
        data = b""
        message = 0
        for frame in seen.of(port, True, lambda f: is_roce(f) and 6 <= f[42] <= 11):
            opcode, bytes_ = frame.bytes[42], frame.bytes
            headers = 54 + (16 if opcode in (6, 10, 11) else 0) + (4 if opcode in (9, 11) else 0)
            if message == step - 1:
                data += bytes_[headers:-4 - (bytes_[43] >> 4 & 3)]
            message += opcode in (9, 11)
        return data
    first, second = payload("a1:1", 1), payload("b1:1", 2)
    check(len(first) == 50_000 and first == second, "real data: the bytes that the hosts hold", (len(first), len(second)))
    check(len(set(payload("a1:1", step) for step in (1, 2, 3))) == 3, "real data: another chunk every step")
    check(all(icrc_is_right(f.bytes) for f in seen.frames if is_roce(f.bytes)), "real data: every ICRC is right")


def control():
    """Polling and notification packets, as many as the stream reports."""
    run = rocelab(small(fault("slow-host", host="b1", delay="1ms")), "--capture", "a1:1,a2:1,b1:1,b2:1")
    seen = capture(run)
    complete(run, seen, "control")
    sent = sum(len(seen.of(port, True, lambda f: is_udp(f, 47911))) for port in seen.ports)
    received = sum(len(seen.of(port, False, lambda f: is_udp(f, 47911))) for port in seen.ports)
    check(sent == received > 0, f"control: {sent} notifications", (sent, received))


def bounds():
    plain = rocelab(small(), *FAST, "--capture", "a1:1")
    run = rocelab(small(), *FAST, "--capture", "a1:1", "--capture-limit", "100KB")
    size = (run.dir / "capture.pcapng").stat().st_size
    check(run.run["digest"] == plain.run["digest"], "limit: the run goes on")
    check(98_000 < size <= 100_000, f"limit: {size} B of 100000", size)
    check("100KB" in run.stderr and "not in it" in run.stderr, "limit: it says so", run.stderr)
    seen, whole = capture(run), capture(plain)
    check(seen.frames == whole.frames[:len(seen.frames)], "limit: the file holds the first frames")
    reported = run.run["capture"]
    check(reported["frames"] == len(seen.frames) and reported["frames"] + reported["beyond_limit"] == len(whole.frames) and
          reported["limit_ns"] == whole.frames[len(seen.frames)].time_ps // 1000, "limit: the others are counted", reported)
    check(seen.statistics["a1:1"] == (len(whole.frames), reported["beyond_limit"]), "limit: in the file as well", seen.statistics)

    run = rocelab(small(), *FAST, "--capture", "a1:1", "--capture-bytes", "64")
    cut_short = capture(run)
    check([f._replace(bytes=f.bytes[:64]) for f in whole.frames] == cut_short.frames, "bytes: frames are cut, no other change")

    out = scratch()
    done = command(DPSWITCH, small(), "--out", out, "--quiet", "--capture", "a1:1", *FAST, expect=1,
                   preexec_fn=file_limit(50_000))
    check("capture.pcapng is cut short: file too large" in done.stderr.lower(), "a full disk is reported", done.stderr)
    check(Run(out, done).run["capture"]["errno"] == errno.EFBIG, "a full disk is in run.json", done.stderr)


def times():
    """Of a frame tens of milliseconds into the run, beyond what Wireshark's sum bears in a unit finer than 100 ps."""
    if shutil.which("tshark") is None:
        print("tshark is not installed: what it makes of times is not tested", flush=True)
        return
    run = rocelab(small(extra='flows = ( { src = "a2"; dst = "b2"; sport = 50000; bytes = "1KB"; start = "19ms"; },\n'
                        '          { src = "a2"; dst = "b2"; sport = 50001; bytes = "1KB"; start = "1200ms"; } );'), *FAST, "--capture", "a2:1")
    path = run.dir / "capture.pcapng"
    seen = [frame.time_ps // 1000 for frame in capture(run).frames]
    reported = command("tshark", "-r", path, "-T", "fields", "-e", "frame.time_epoch").stdout.split()
    check(seen[-1] > 1_200_000_000 and [int(t.replace(".", "")) for t in reported] == seen,
          f"times: tshark shows those of {len(seen)} frames", list(zip(reported, seen))[-3:])


storm()
loss()
corruption()
cut()
real_data()
control()
times()
bounds()
