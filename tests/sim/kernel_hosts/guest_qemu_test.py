# SPDX-License-Identifier: BSD-3-Clause
"""A QEMU guest: boot, commands, the management channel, and nothing left behind. No network."""
import glob
import os

from guests import Rig, management
from harness import check, skip

MEMORY_MIB = 256

if __name__ == "__main__":
    if not os.path.exists("/usr/bin/qemu-system-x86_64"):
        skip("qemu-system-x86 is not installed")
    if not glob.glob("/lib/modules/*/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko"):
        skip("linux-image-amd64 is not installed: no kernel with rdma_rxe")
    rig = Rig("none", ["q1"], kind="qemu", memory=MEMORY_MIB)
    rig.up()
    done = rig.shell("q1", "sh", "-c", "hostname; rdma link add rxe0 type rxe netdev lo && ls /dev/infiniband; exit 3")
    check(done.stdout.startswith(b"q1\n") and b"uverbs0" in done.stdout and done.returncode == 3,
          "a command in a QEMU guest, soft-RoCE", done)
    rig.stop("a QEMU guest")
    management("none", "qemu", MEMORY_MIB)
