#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An embedded host and the kernel's soft-RoCE talk RoCEv2 with each other, undisturbed, over lossy cables, and over cables
that break ICRCs: every byte of every message is verified at both ends."""
import json
import pathlib
import subprocess
import tempfile

from harness import BUILD, STALL_LIMIT_S, SOURCE, check, skip

RIG = BUILD / "tests" / "sim" / "interop_rig"
PEER = BUILD / "tests" / "sim" / "rxe_peer"
INIT = BUILD / "rxe-hosts" / "guest" / "rxe-guest-init"
MESSAGES = 20
DATAGRAMS = 20

kernel = subprocess.run([SOURCE / "scripts" / "rxe-kernel", "--cached"], capture_output=True, text=True)
if kernel.returncode != 0:
    skip("no kernel for guests is cached: scripts/rxe-kernel builds it")
if not PEER.exists():
    skip("libibverbs is not installed")


def talk(name, faults):
    """One guest, one conversation; what the rig counted."""
    with tempfile.TemporaryDirectory(prefix="rocelab-interop-") as folder:
        done = subprocess.run(list(map(str, [RIG, folder, INIT, kernel.stdout.strip(), PEER, faults])),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=STALL_LIMIT_S)
        log = pathlib.Path(folder) / "g.log"
        reported = f"{done.stdout}\n{done.stderr}\n{log.read_text() if log.exists() else ''}"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    check(bool(lines) and done.returncode == 0, f"{name}: every message arrives whole", reported)
    result = json.loads(lines[0])
    check((result["received"], result["sent"]) == (MESSAGES, MESSAGES), f"{name}: the embedded host's messages", result)
    peer = result["peer"]
    check((peer["received"], peer["sent"]) == (MESSAGES, MESSAGES), f"{name}: the kernel's messages", result)
    check((result["wrong"], peer["wrong"]) == (0, 0), f"{name}: no wrong byte", result)
    return result


result = talk("undisturbed", "")
check(result["datagrams"] == DATAGRAMS and result["peer"]["datagrams"] == DATAGRAMS, "undisturbed: every datagram", result)
check(result["corrupt"] == 0, "undisturbed: the kernel's ICRCs are right", result)
result = talk("loss", 'faults = ( { kind = "loss"; port = "S:1"; rate = 0.03; }, { kind = "loss"; port = "S:2"; rate = 0.03; } );')
check(result["injected"] > 5 and result["retransmits"] > 0 and result["naks_received"] + result["naks_sent"] > 0,
      "loss: NAKs, and packets sent again", result)
result = talk("corruption toward the kernel", 'faults = ( { kind = "corruption"; port = "S:1"; rate = 0.05; } );')
check(result["corrupted_to_guest"] > 0 and result["retransmits"] > 0, "the kernel drops a frame whose ICRC we broke", result)
result = talk("corruption from the kernel", 'faults = ( { kind = "corruption"; port = "S:2"; rate = 0.05; } );')
check(result["corrupt"] == result["corrupted_to_host"] > 0, "the embedded host drops a frame whose ICRC was broken", result)
print("ok")
