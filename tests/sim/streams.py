# SPDX-License-Identifier: BSD-3-Clause
"""Record streams written by hand, as docs/wire-records.md describes them: what no scenario makes as simply."""
import struct

import records

NONE, MS = 0xffffffff, 10 ** 9
RANKS, SWITCH = 4, 4
COMPUTE, SEND, AGAIN, RING = 10 * MS, 6 * MS, 5 * MS, 8 * MS


class Stream:
    def __init__(self):
        self.data = struct.pack("<8sII", records.MAGIC, records.VERSION, 16)
        self.seq = 0

    def put(self, number, node, time_ps=0, **values):
        """A record with these members; a tuple is five numbers, a text a str; what is not given is 0."""
        kind = records.KINDS[number]
        body = bytearray(kind.size_bytes)
        struct.pack_into("<HHIQII", body, 0, number, kind.size_bytes, node, time_ps, self.seq, 0)
        self.seq += 1
        for name, at, width in kind.fields:
            whole, _, part = name.partition(".")
            value = values.get(whole, 0)
            if part:
                value = value[("src_ip", "dst_ip", "sport", "dport", "reserved").index(part)] if value else 0
            struct.pack_into("<" + records.FORMS[width], body, at, value)
        for name, at, count in kind.texts:
            struct.pack_into(f"{count}s", body, at, values.get(name, "").encode())
        self.data += bytes(body)


def fabric(s):
    """Four hosts at a switch."""
    s.put(records.RUN, NONE, name="train", detections=3, rtt_percent=120, epochs_kept=2, epoch_ps=MS, frame_bytes=1348,
          payload_bytes=1300, ack_bytes=60)
    for i in range(RANKS):
        s.put(records.NODE, i, name=f"h{i}", kind=1, nports=1)
    s.put(records.NODE, SWITCH, name="s", nports=RANKS)
    for i in range(RANKS):
        s.put(records.PORT, i, peer=SWITCH, peer_port=i, ip=i + 1, rate_bps=10 ** 11, delay_ps=1000)
        s.put(records.PORT, SWITCH, port=i, peer=i, rate_bps=10 ** 11, delay_ps=1000)


def forward():
    """{(rank, step): (peer, channel, what it depends on, ps)}: compute, send to all at once, compute with what came."""
    steps = {}
    for r in range(RANKS):
        steps[r, 1] = (r, 0, [], COMPUTE)
        others = [(r + i) % RANKS for i in range(1, RANKS)]
        for i, peer in enumerate(others):
            steps[r, 2 + i] = (peer, 0, [(r, 1)], SEND)
        steps[r, 5] = (r, 1, [(peer, 1 + (r - peer) % RANKS) for peer in others], AGAIN)
    return steps


def ring():
    return {(r, 1): ((r + 1) % RANKS, 0, [], RING) for r in range(RANKS)}


SCHEDULES = (forward, ring)


def took(collective, iteration, rank, step, ps):
    """Rank 2 computes 20 ms longer in the second iteration."""
    return ps + 20 * MS if (collective, iteration, rank, step) == (0, 1, 2, 1) else ps


def describe(s, collective, iteration, name, steps):
    s.put(records.COLLECTIVE, NONE, id=collective, iteration=iteration, ranks=RANKS, steps=len(steps),
          rank_steps=max(step for _, step in steps), bytes=10 ** 6, expect_ps=20 * MS, name=name, job_name="train", op=2)
    for (rank, step), (peer, channel, deps, ps) in sorted(steps.items()):
        own, arrivals = [d for d in deps if d[0] == rank], [d for d in deps if d[0] != rank]
        more = own[1:] + arrivals[1:]
        flow = (rank + 1, peer + 1, 20000 + 10 * collective, 4791, 0) if peer != rank else None
        s.put(records.SCHEDULE, rank, collective=collective, iteration=iteration, step=step, rank=rank, flow=flow, peer=peer,
              channel=channel, own_step=own[0][1] if own else 0, depends_rank=arrivals[0][0] if arrivals else NONE,
              depends_step=arrivals[0][1] if arrivals else 0, depends=len(more), ideal_ps=ps, expect_ps=ps, base_rtt_ps=10 ** 6)
        for on_rank, on_step in more:
            s.put(records.DEPEND, rank, collective=collective, iteration=iteration, step=step, rank=rank,
                  on_collective=collective, on_rank=on_rank, on_step=on_step)


def job(iterations=2, names=("forward", "grads")):
    """A job that computes, exchanges, computes and adds up, as a stream of records."""
    s, reports, begin = Stream(), [], {r: (0, (NONE, NONE, 0)) for r in range(RANKS)}
    fabric(s)
    for iteration in range(iterations):
        for collective, make in enumerate(SCHEDULES):
            steps, ends = make(), {}
            describe(s, collective, iteration, names[collective], steps)
            for key, (_, _, deps, ps) in sorted(steps.items(), key=lambda item: (item[0][1], item[0][0])):
                on = max(deps, key=lambda d: ends[d], default=None)
                start = max([ends[d] for d in deps] or [begin[key[0]][0]])
                ends[key] = start + took(collective, iteration, *key, ps)
                waited = (collective, *on) if on else begin[key[0]][1]
                reports.append((ends[key], key, collective, iteration, start, waited))
            for r in range(RANKS):
                part = [k for k, (peer, *_) in steps.items() if r in (k[0], peer)]
                last = max(part, key=lambda k: ends[k])
                begin[r] = (ends[last], (collective, *last))
        begin = {r: (at, (NONE, NONE, 0)) for r, (at, _) in begin.items()}
    s.put(records.FOLLOW, NONE, collective=1, after=0)
    for end_ps, (rank, step), collective, iteration, start_ps, waited in sorted(reports):
        s.put(records.STEP, rank, end_ps, collective=collective, iteration=iteration, rank=rank, step=step,
              waited_collective=waited[0], waited_rank=waited[1], waited_step=waited[2], start_ps=start_ps, end_ps=end_ps)
    size = records.KINDS[records.STEP].size_bytes * len(reports)
    s.put(records.END, NONE, max(reports)[0], at_node=NONE, end_ps=max(reports)[0], offered_bytes=size, sent_bytes=size,
          offered_records=len(reports), sent_records=len(reports))
    return s.data
