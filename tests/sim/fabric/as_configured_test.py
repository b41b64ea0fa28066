#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SONiC's model acts as it is configured: thresholds, hysteresis, headroom, limits of queues, marks, the watchdog's times. Counters and
watermarks are held against what follows from rates and delays: a PAUSE or RESUME acts after D."""
import math
import sqlite3

import records
from harness import check, dpswitch, scenario_file

FRAME, POOL = 1106, 2_000_000
RATE, SLOW = 12.5, 3.125  # B/ns
D = 2 * (1000 + 600)      # ns: of the cable and of a receiver, there and back; a frame that is on the wire beside
WINDOW = 1600             # ns: D in one direction, in which no switch acts on another
OFF = 'host = { cc = "none"; window = "none"; };\n'


def incast(senders, switch, receiver="25Gbps", flow="", limit="2ms", more=OFF):
    names = [f"a{i}" for i in range(senders)]
    flows = ", ".join(f'{{ src = "{name}"; dst = "r"; sport = {20001 + i}; bytes = "20MB"; {flow} }}' for i, name in enumerate(names))
    return scenario_file(f"""topology = {{ kind = "explicit"; hosts = [ "r", {", ".join(f'"{name}"' for name in names)} ]; switches = [ "s" ];
  rate = "100Gbps"; delay = "1us"; links = ( "r s {receiver}", {", ".join(f'"{name} s"' for name in names)} ); }};
flows = ( {flows} );
switch = {{ ecn = {{ enabled = false; scales = false; }}; {switch} }};
limits = {{ virtual_time = "{limit}"; }};
{more}""")


def pools(profile, mode="dynamic", xoff=0, others="", queues=""):
    return f"""buffer_pool = ( {{ name = "i"; type = "ingress"; size = {POOL}; mode = "{mode}"; xoff = {xoff}; }}{others} );
  buffer_profile = ( {{ name = "p"; pool = "i"; xoff = 100000; {profile} }}{queues} ); buffer_pg = ( "3 p" );"""


def rows(run, query):
    with sqlite3.connect(run.dir / "run.sqlite") as opened:
        return opened.execute(query).fetchall()


def thresholds():
    """Each of n groups has alpha of what is free: alpha x pool / (1 + n x alpha), beside its reserve."""
    for th, n, reserve in (-3, 1, 20000), (-3, 4, 0), (0, 1, 0), (0, 2, 20000), (2, 4, 0):
        run = dpswitch(incast(n, pools(f"size = {reserve}; dynamic_th = {th}; xon_offset = 5000;")))
        groups = rows(run, "SELECT shared_watermark_bytes, headroom_watermark_bytes FROM priority_groups WHERE shared_watermark_bytes > 0")
        limit = 2**th * POOL / (1 + n * 2**th) + reserve
        check(len(groups) == n and all(limit - FRAME < shared < 1.03 * limit for shared, _ in groups), f"dynamic_th {th}, {n} groups", (limit, groups))
        check(all(room <= D * RATE + 2 * FRAME for _, room in groups) and not any(run.run["drops"].values()), "headroom has what D brings", groups)
        if n == 1:
            queue, = rows(run, "SELECT max(watermark_bytes) FROM queue_counters")[0]
            check(queue == sum(groups[0]) and D * (RATE - SLOW) < groups[0][1], "the queue holds what the group does", (queue, groups))


def hysteresis():
    """From XOFF to XOFF: D to be held, then down to the RESUME, then D until it acts, and up again."""
    for xon, offset, down in (0, 5000, 5000), (0, 50000, 50000), (0, 199000, 199000), (150000, 199000, 50000):
        run = dpswitch(incast(1, pools(f"static_th = 200000; xon = {xon}; xon_offset = {offset};", mode="static"), limit="5ms"))
        frames, = rows(run, "SELECT sum(tx_pause) FROM pfc_counters JOIN ports USING (port) WHERE name = 's:2'")[0]
        period = D * RATE / SLOW + down / SLOW + D + (down + D * SLOW) / (RATE - SLOW)
        expected = 2 * (5e6 - 200000 / (RATE - SLOW)) / period
        check(0.95 * expected < frames < 1.02 * expected, f"xon {xon}, xon_offset {offset}: PAUSE and RESUME frames", (expected, frames))


def shared_headroom():
    """No loss where it has room for all groups; else losses, and no more in it than its size and what a window brings."""
    for size, lossless in (4 * (int(D * RATE) + 2 * FRAME), True), (int(D * RATE), False):
        run = dpswitch(incast(4, pools("dynamic_th = -2; xon_offset = 5000;", xoff=size), limit="1ms"))
        most, = rows(run, "SELECT headroom_watermark_bytes FROM buffer_pools WHERE name = 'i'")[0]
        check((run.run["drops"]["no_buffer"] == 0) == lossless, f"shared headroom of {size} B", run.run["drops"])
        check(0.5 * size < most <= size + 4 * WINDOW * RATE, "and its watermark", (size, most))


def lossy_queues():
    """Limits of queues in an egress pool, and the share that WRED marks at a queue that its limit holds where it is."""
    for th, n in (-2, 1), (0, 1):
        queue = pools("dynamic_th = -2;", others=f', {{ name = "e"; type = "egress"; size = {POOL}; }}',
                      queues=f', {{ name = "q"; pool = "e"; size = 5000; dynamic_th = {th}; }}') + ' buffer_queue = ( "1 q" );'
        run = dpswitch(incast(3, queue, receiver="", flow="prio = 1;", limit="1ms", more=OFF.replace("window", 'nak = false; timeout = "200us"; window')))
        level, = rows(run, "SELECT avg(bytes) FROM queue_series JOIN ports USING (port) WHERE name = 's:1' AND class = 1 AND time_ns > 500000")[0]
        limit = 5000 + 2**th * POOL / (1 + n * 2**th)
        check(0.95 * limit < level < limit + 3 * WINDOW * RATE, f"an egress queue's dynamic_th {th}", (limit, level))
    for limit, pmax in (200_000, 0.4), (300_000, 1.0), (400_000, 0.05):
        sent, marked = 0, 0
        for sign, time in (-1, "1ms"), (1, "3ms"):  # without the time in which it fills
            wred = f"lossy_queue = {limit}; wred = ( {{ class = 1; kmin = 100000; kmax = 500000; pmax = {pmax}; }} );"
            run = dpswitch(incast(3, wred, receiver="", flow="prio = 1;", limit=time,
                                  more=OFF.replace("window", 'nak = false; timeout = "100us"; retry_count = 255; timeout_doublings = 0; window')))
            packets = rows(run, "SELECT packets, ecn_marked_packets FROM queue_counters JOIN ports USING (port) WHERE name = 's:1' AND class = 1")[0]
            sent, marked = sent + sign * packets[0], marked + sign * packets[1]
        share = pmax * (limit - FRAME / 2 - 100_000) / 400_000
        check(abs(marked / sent - share) < 4 * math.sqrt(share * (1 - share) / sent) + 0.02 * share, f"WRED at {limit} B, pmax {pmax}", (share, marked / sent))


def asymmetric():
    """A port with it obeys PAUSE of a lossy class, for as long as its peer sends it."""
    for on in "false", "true":
        run = dpswitch(incast(1, f'pfc = {{ asymmetric = {on}; }}; lossy_queue = "8MB";', receiver="", flow="prio = 5;", limit="1ms", more=OFF +
                              'faults = ( { kind = "pfc-storm"; port = "r:1"; priority = 5; start = "20us"; duration = "300us"; } );'))
        held, = rows(run, "SELECT sum(rx_pause_duration_ns) FROM pfc_counters JOIN ports USING (port) WHERE name = 's:1'")[0]
        check(held == (300_000 if on == "true" else 0), f"asymmetric PFC {on}: a lossy class is held", held)


def watchdogs():
    """Nothing waits when a storm is detected: it is one, and what is sent then is lost with action drop alone."""
    for action in "drop", "forward", "alert":
        storm = 'faults = ( { kind = "pfc-storm"; port = "r:1"; start = "100us"; duration = "1ms"; } );'
        watchdog = f'watchdog = {{ enabled = true; detection_time = "300us"; restoration_time = "200us"; action = "{action}"; }};'
        run = dpswitch(incast(1, watchdog, receiver="", flow='start = "500us";', limit="2ms", more=OFF + storm))
        found = [(record.time_ps / 1e6, row) for record, row in records.of(records.read(run.dir / "records.bin"), records.WATCHDOG)]
        restored = 1100 + (0 if action == "alert" else 200)
        check([row.event for _, row in found] == [0, 1], f"{action}: detected and restored", found)
        check(all(at + 1.6 <= time <= at + 1.61 + WINDOW / 1000 for at, (time, _) in zip((400, restored), found)), "at their times", found)
        count = rows(run, "SELECT action, detected, restored, stormed, dropped_packets FROM pfc_watchdog JOIN ports USING (port) WHERE name = 's:1'")
        lost = run.run["drops"]["watchdog"]
        check(count == [(action, 1, 1, 0, lost)] and (lost > 0) == (action == "drop") and found[1][1].packets == lost, "which its counters have", (count, lost))


def class_maps():
    """A port's map gives queue and group: of all packets, as nothing is lost and sent again; that of the other port stays."""
    packets = math.ceil(20e6 / 1024)
    for ports, of in ("", {3: 2}), ('ports = ( { names = [ "s:2" ]; class_map = [ "24:2" ]; } );', {2: 1, 3: 1}):
        run = dpswitch(incast(2, pools("dynamic_th = 0;").replace('"3 p"', '"2 p", "3 p"'), receiver="198Gbps", limit="4ms", more=OFF + ports))
        found = dict(rows(run, "SELECT class, packets FROM queue_counters JOIN ports USING (port) WHERE name = 's:1' AND class > 0 AND packets > 0"))
        check(found == {prio: count * packets for prio, count in of.items()}, f"queues by {ports or 'no map'}", found)
        groups = rows(run, "SELECT name, class FROM priority_groups JOIN ports USING (port) WHERE shared_watermark_bytes > 0 ORDER BY name")
        check(groups == [("s:2", 2 if 2 in of else 3), ("s:3", 3)], "and priority groups", groups)
    wrong = 'lossy_queue = 100000; class_map = [ "24:2" ];'  # of lossless data in a lossy queue: lost there, and nobody is paused
    run = dpswitch(incast(2, wrong, receiver="", limit="1ms", more=OFF))
    lost = rows(run, "SELECT class, sum(dropped_packets) FROM queue_counters WHERE dropped_packets > 0 GROUP BY class")
    paused, = rows(run, "SELECT sum(tx_pause) FROM pfc_counters")[0]
    check(lost == [(2, run.run["drops"]["queue_full"])] and lost[0][1] > 0 and not paused, "a wrong map's losses are at its queue", (lost, paused))


def mtus():
    """A message's first packet has 1,024 B and headers of 60 B in its IP packet (IP, UDP, BTH, RETH, ICRC): it passes, or is lost again and again."""
    for mtu in 1084, 1083:
        run = dpswitch(incast(1, "", receiver="", more=OFF + f'ports = ( {{ names = [ "s:1" ]; mtu = {mtu}; }} );', limit="3ms"))
        arrived, = rows(run, "SELECT rx_packets FROM port_counters JOIN ports USING (port) WHERE name = 'r:1'")[0]
        lost, whole = run.run["drops"]["mtu"], math.ceil(20e6 / 1024)
        check(lost == 0 and arrived == whole if mtu == 1084 else lost > 0 and arrived > 0 and run.run["end_reason"] != "complete",
              f"mtu {mtu}", (arrived, lost))


def slow_receivers():
    """It takes what its rate brings. Beside that its buffer holds 128,000 B to XOFF and what D brings behind them, and is never empty: it has
    64,000 B at the RESUME, and takes D x 80 Gbps, 32,000 B, until that acts."""
    for gbps in 10, 25, 80:
        run = dpswitch(incast(1, "", receiver="", more=OFF + f'faults = ( {{ kind = "slow-receiver"; port = "r:1"; rate = "{gbps}Gbps"; }} );', limit="1ms"))
        packets, taken = rows(run, "SELECT rx_packets, rx_bytes FROM port_counters JOIN ports USING (port) WHERE name = 'r:1'")[0]
        least = gbps / 8 * (1e6 - 5000)  # without the time of the first packet
        wire = taken + packets * 20      # preamble and gap
        check(least < wire < least + 128000 + D * RATE + 2 * FRAME, f"a receiver of {gbps} Gbps", (least, wire))


def lost_cnps():
    """What is sent arrives or is lost on the cable; the share that is lost is the fault's, but for chance (4 sigma)."""
    for share in 0.25, 0.75:
        fault = f'faults = ( {{ kind = "loss"; port = "r:1"; rate = {share}; packets = "cnps"; }} );'
        run = dpswitch(incast(4, "", receiver="", more='host = { cc = "dcqcn"; };\n' + fault), "--set", "switch.ecn.enabled=true")
        sent, handled = rows(run, "SELECT sum(np_cnp_sent), sum(rp_cnp_handled) FROM qps")[0]
        lost = run.run["drops"]["injected"]
        check(sent > 100 and 0 <= sent - lost - handled <= 4, f"CNPs of which {share} are lost", (sent, lost, handled))
        check(abs(lost / sent - share) < 4 * math.sqrt(share * (1 - share) / sent), "the share of them", lost / sent)


def channels():
    """A ring over n ranks: a channel on each NIC, which carries its part of (n - 1) / n of the vector, and no more."""
    for nics in 1, 2:
        run = dpswitch(scenario_file(f"""topology = {{ kind = "rail"; hosts = 4; nics = {nics}; hosts_per_group = 4; spines = 0; }};
collectives = ( {{ op = "allgather"; algorithm = "ring"; bytes = "4MiB"; channels = {nics}; {"all_nics = true;" if nics > 1 else ""} }} );
"""))
        found = rows(run, "SELECT name, packets FROM queue_counters JOIN ports USING (port) WHERE class = 3 AND name LIKE 'g%' AND packets > 0")
        check(len(found) == 4 * nics and {packets for _, packets in found} == {3 * 4 * 2**20 // 4 // nics // 1024}, f"{nics} channels", found)


def flaps():
    """A cable that flaps while its ends are paused loses PAUSE and RESUME with everything else, and nothing stays paused: all arrives."""
    for start in 100, 107, 121:
        fault = f'faults = ( {{ kind = "link-down"; port = "t:1"; start = "{start}us"; duration = "13us"; period = "90us"; }} );'
        run = dpswitch(scenario_file(f"""topology = {{ kind = "explicit"; hosts = [ "a", "b", "r" ]; switches = [ "s", "t" ]; delay = "1us";
  links = ( "s t", "a s", "b s", "r t 25Gbps" ); }};
flows = ( {{ src = "a"; dst = "r"; sport = 20001; bytes = "2MB"; }}, {{ src = "b"; dst = "r"; sport = 20002; bytes = "2MB"; }} );
switch = {{ buffer = "400KB"; }};
routing = {{ convergence = "10s"; }};
host = {{ cc = "none"; window = "none"; timeout = "300us"; retry_count = 255; timeout_doublings = 0; }};
limits = {{ virtual_time = "200ms"; }};
{fault}"""))
        paused, = rows(run, "SELECT sum(rx_pause) FROM pfc_counters")[0]
        check(run.run["end_reason"] == "complete" and paused > 10 and run.run["drops"]["link_down"] > 0, f"flaps from {start} us", (run.run["end_reason"], paused, run.run["drops"]))


def lossy_pauses():
    """Faults of cables are of other frames than PFC's: nothing has to expire, as no RESUME is lost."""
    for fault in 'kind = "loss"; rate = 0.5;', 'kind = "corruption"; rate = 0.5;', 'kind = "corruption"; rate = 0.5; burst = "2us";':
        run = dpswitch(incast(1, pools("static_th = 200000; xon_offset = 5000;", mode="static"), more=OFF + f'faults = ( {{ {fault} port = "s:2"; }} );'))
        sent, = rows(run, "SELECT tx_pause FROM pfc_counters JOIN ports USING (port) WHERE name = 's:2' AND class = 3")[0]
        received, = rows(run, "SELECT rx_pause FROM pfc_counters JOIN ports USING (port) WHERE name = 'a0:1' AND class = 3")[0]
        check(sent > 100 and sent - received in (0, 1) and run.run["drops"]["no_buffer"] == 0, f"PAUSE and RESUME, {fault}", (sent, received))


def ignored_pauses():
    """A port without PFC sends on while it is paused: the ingress behind it holds what its headroom does, and counts what it drops."""
    for ports, action in ("pfc = { enabled = false; };", True), ('pfc = { priorities = [ "4" ]; };', True), ("mtu = 9000;", False):
        run = dpswitch(scenario_file(f"""topology = {{ kind = "explicit"; hosts = [ "a", "b", "r" ]; switches = [ "s", "t" ]; delay = "1us";
  links = ( "s t", "a s", "b s", "r t 25Gbps" ); }};
flows = ( {{ src = "a"; dst = "r"; sport = 20001; bytes = "20MB"; }}, {{ src = "b"; dst = "r"; sport = 20002; bytes = "20MB"; }} );
switch = {{ buffer = "1MB"; }};
limits = {{ virtual_time = "2ms"; }};
ports = ( {{ names = [ "s:1" ]; {ports} }} );
{OFF}"""))
        lost = dict(rows(run, "SELECT name, packets FROM drops JOIN ports USING (port) WHERE reason = 'no_buffer'"))
        paused, = rows(run, "SELECT tx_pause FROM pfc_counters JOIN ports USING (port) WHERE name = 't:1' AND class = 3")[0]
        check(paused > 0 and (list(lost) == ["t:1"]) == action, f"s:1 with {ports}", (paused, lost))


def losses():
    """Each packet that run.json counts as lost is in the store, with its reason and place; devices count some of them, and ports those."""
    faults = {"loss": 'kind = "loss"; port = "a0:1"; rate = 0.01;', "silent loss": 'kind = "loss"; port = "s:1"; rate = 0.01; silent = true;',
              "corruption": 'kind = "corruption"; port = "s:1"; rate = 0.01;', "FEC": 'kind = "corruption"; port = "a0:1"; rate = 0.01; burst = "1us";',
              "flap": 'kind = "link-down"; port = "s:1"; start = "100us"; duration = "50us"; period = "300us";',
              "FIB": 'kind = "fib-corruption"; switch = "s"; start = "100us"; duration = "100us"; dst = "r";',
              "NIC": 'kind = "rnic-down"; port = "a0:1"; start = "100us"; duration = "100us";'}
    for name, fault in faults.items():
        run = dpswitch(incast(2, "", more=f'host = {{ cc = "none"; window = "none"; timeout = "200us"; }}; faults = ( {{ {fault} }} );'))
        found = dict(rows(run, "SELECT reason, sum(packets) FROM drops WHERE reason NOT LIKE 'datagram%' GROUP BY reason"))
        check(found == {reason: count for reason, count in run.run["drops"].items() if count} and found, f"{name}: losses of the store", (found, run.run["drops"]))
        counted = rows(run, "SELECT coalesce(sum(packets), 0) FROM drops WHERE counted")[0]
        check(counted == rows(run, "SELECT sum(rx_errors + rx_drops + tx_drops) FROM port_counters")[0], f"{name}: counted ones are the ports'", counted)
    for name, switch, more in ("MTU", "", OFF + 'ports = ( { names = [ "s:1" ]; mtu = 1000; } );'), ("watchdog", 'watchdog = { enabled = true; detection_time = "100us"; restoration_time = "100us"; };', OFF +
                               'faults = ( { kind = "pfc-storm"; port = "r:1"; start = "100us"; duration = "500us"; } );'):
        run = dpswitch(incast(1, switch, more=more))
        counted, = rows(run, "SELECT sum(packets) FROM drops WHERE counted")[0]
        check(counted == run.run["drops"][name.lower()] == rows(run, "SELECT sum(rx_drops + tx_drops) FROM port_counters")[0][0] > 0, f"{name}: ports count it", counted)


thresholds()
hysteresis()
shared_headroom()
lossy_queues()
asymmetric()
watchdogs()
class_maps()
mtus()
slow_receivers()
lost_cnps()
channels()
flaps()
lossy_pauses()
ignored_pauses()
losses()
