#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A fabric as it is built: cables at other rates, settings of single switches and ports, senders with a queue depth and several QPs,
slow receivers, incasts to random hosts, channels over a host's NICs, bursts of bit errors, CNPs in their own class. Each key acts, by as
much as it says, and what cannot be is refused with its place."""
import csv
import sqlite3

from harness import ROCELAB, check, command, dpswitch, scenario_file

STAR = """topology = { kind = "explicit"; hosts = [ "a", "b", "c" ]; switches = [ "s" ]; rate = "100Gbps"; delay = "1us";
  links = ( "a s", "b s%s", "c s" ); };
"""
FLOW = 'flows = ( { src = "a"; dst = "b"; sport = 20001; %s } );\n'
# Five hosts of a rack and three of others send to one of them; a leaf or a spine has settings of its own.
LEAVES = """topology = { kind = "leaf-spine"; leaves = 2; spines = 1; hosts_per_leaf = 4; rate = "100Gbps"; delay = "500ns"; };
flows = ( { src = "h1"; dst = "h0"; sport = 20001; bytes = "4MB"; }, { src = "h2"; dst = "h0"; sport = 20002; bytes = "4MB"; },
          { src = "h5"; dst = "h4"; sport = 20003; bytes = "4MB"; }, { src = "h6"; dst = "h4"; sport = 20004; bytes = "4MB"; } );
"""


def star(text, rate="", *args):
    return dpswitch(scenario_file(STAR % rate + text), *args)


def rows(run):
    with open(run.dir / "flows.csv", newline="") as file:
        return list(csv.DictReader(file))


def store(run, query):
    with sqlite3.connect(run.dir / "run.sqlite") as opened:
        return opened.execute(query).fetchall()


def refused(text, *words, rate=""):
    done = command(ROCELAB, "topo", "check", scenario_file(STAR % rate + text), expect=2)
    check(all(word in done.stderr for word in words), f"refused: {' '.join(words)}", done.stderr)


def gbps(run, sport=20001):
    row = next(row for row in rows(run) if row["sport"] == str(sport))
    return int(row["acked_bytes"]) * 8 / 1e6


def depth_and_qps():
    """In 1 ms: one message at a time waits for its ACK, 128 keep the line busy; queue pairs send side by side."""
    repeat = 'bytes = "16KB"; mode = "repeat"; until = "1ms"; '
    limit = 'limits = { virtual_time = "1ms"; };\n'
    one, many = (gbps(star(FLOW % (repeat + depth) + limit)) for depth in ("", "depth = 128;"))
    check(one < 0.5 * many and many > 90, "128 messages outstanding fill the line, one does not", (one, many))
    run = star(FLOW % (repeat + "depth = 128; qps = 4;") + limit)
    shares = {row["sport"]: int(row["acked_bytes"]) for row in rows(run)}
    check(sorted(shares) == ["20001", "20002", "20003", "20004"] and max(shares.values()) < 1.2 * min(shares.values()),
          "queue pairs have ports in a row, and share the line", shares)
    check(0.9 * many < sum(shares.values()) * 8 / 1e6 <= 100, "together they have what one has", (shares, many))
    refused(FLOW % (repeat + "depth = 129;"), "depth", "128")
    refused(FLOW % (repeat + "qps = 65;"), "qps", "64")
    refused(FLOW % 'bytes = "16KB"; depth = 2;', "depth", 'mode = "repeat"')


def rates():
    """Cables at a lower rate, from the beginning and for a time; a receiver that drains at some rate."""
    flow = FLOW % 'bytes = "5MB";' + 'host = { cc = "none"; };\n'
    whole, quarter = (int(rows(star(flow, rate))[0]["fct_ns"]) for rate in ("", " 25Gbps"))
    check(3.9 < quarter / whole < 4.1, "a cable of 25 Gbps takes four times as long", (whole, quarter))
    slow = int(rows(star(flow + 'faults = ( { kind = "link-rate"; port = "s:2"; rate = "25Gbps"; start = "100us"; duration = "200us"; } );'))[0]["fct_ns"])
    check(145_000 < slow - whole < 155_000, "renegotiated to it for 200 us, a flow is late by three quarters of these", (whole, slow))
    drained = star(flow + 'faults = ( { kind = "slow-receiver"; port = "b:1"; rate = "40Gbps"; } );')
    frames = 5e6 * 1106 / 1024 * 8 / 40  # ns, of its bytes on the wire
    check(0.95 * frames < int(rows(drained)[0]["fct_ns"]) < 1.05 * frames, "a receiver drains at 40 Gbps", (rows(drained), frames))
    check(drained.run["drops"]["no_buffer"] == 0 and store(drained, "SELECT sum(rx_pause_transitions) FROM pfc_counters")[0][0] > 0,
          "and pauses its switch meanwhile")
    refused(flow + 'faults = ( { kind = "link-rate"; port = "s:2"; rate = "200Gbps"; } );', "rate")
    refused(flow + 'faults = ( { kind = "slow-receiver"; port = "s:2"; rate = "40Gbps"; } );', "faults.[0].port", "name the host's end")


def single_ones():
    """A port's MTU; ECN and the class map of one switch."""
    path = scenario_file(STAR % "" + FLOW % 'bytes = "100KB";' + 'ports = ( { names = [ "s:2" ]; mtu = 1000; } );\nlimits = { virtual_time = "1ms"; };\n')
    small = dpswitch(path, expect=5)
    check(small.run["drops"]["mtu"] > 0 and int(rows(small)[0]["acked_bytes"]) == 0, "what exceeds a port's MTU is dropped there", small.run["drops"])
    checked = command(ROCELAB, "topo", "check", path).stdout
    check("mtu-short" in checked and "--set host.mtu=512" in checked, "the check before it has the remedy", checked)
    check(dpswitch(path, "--set", "host.mtu=512").run["drops"]["mtu"] == 0, "which helps")
    refused(FLOW % 'bytes = "100KB";' + 'ports = ( { names = [ "s:9" ]; mtu = 1500; } );', "s:9")

    marked = "SELECT nodes.name, sum(ecn_marked_packets) FROM queue_counters JOIN ports USING (port) JOIN nodes USING (node) GROUP BY nodes.name"
    both = dict(store(dpswitch(scenario_file(LEAVES)), marked))
    one = dict(store(dpswitch(scenario_file(LEAVES + 'switches = ( { names = [ "l0" ]; ecn = { enabled = false; }; } );\n')), marked))
    check(both["l0"] > 0 and both["l1"] > 0 and one["l0"] == 0 and one["l1"] > 0, "ECN of one switch", (both, one))
    classes = "SELECT nodes.name, class FROM queue_counters JOIN ports USING (port) JOIN nodes USING (node) WHERE watermark_bytes > 0 GROUP BY 1, 2"
    led = dpswitch(scenario_file(LEAVES + 'switches = ( { names = [ "l0" ]; class_map = [ "24:5" ]; } );\n'))
    mapped = set(store(led, classes))
    check(("l0", 5) in mapped and ("l0", 3) not in mapped and ("l1", 3) in mapped, "the class map of one switch", mapped)
    sent = "SELECT nodes.name, class, sum(packets) > 0, sum(bytes) > 0 FROM queue_counters JOIN ports USING (port) JOIN nodes USING (node) " \
           "WHERE kind = 'switch' AND class BETWEEN 1 AND 5 GROUP BY 1, 2"
    check(set(store(led, sent)) == {("l0", 5, 1, 1), ("l1", 3, 1, 1)}, "whose packets the queue's class counts, not the flow's", store(led, sent))


def cnps_have_their_class():
    """DSCP 48, class 6, with a counter of its own; without it they are in class 0. Nothing else may have it."""
    by_class = "SELECT class, sum(packets) FROM queue_counters JOIN ports USING (port) JOIN nodes USING (node) WHERE kind = 'switch' GROUP BY class"
    own, shared = (dpswitch(scenario_file(LEAVES), "--set", f"host.dcqcn.cnp_prio={prio}") for prio in (6, 0))
    # every CNP passes one switch
    check(dict(store(own, by_class))[6] == own.run["transport"]["cnps_sent"] > 10, "switches count CNPs in class 6", store(own, by_class))
    check(6 not in dict(store(shared, by_class)) and shared.run["transport"]["cnps_sent"] > 10, "else they are in class 0", store(shared, by_class))
    total = [sum(packets for _, packets in store(run, by_class)) for run in (own, shared)]
    check(abs(total[0] - total[1]) < 0.02 * total[1], "which has the rest", total)
    refused(FLOW % 'bytes = "16KB"; prio = 6;' + 'host = { dcqcn = { cnp_prio = 6; }; };', "host.dcqcn.cnp_prio", "class 6", "a to b")


def random_incasts():
    run = dpswitch(scenario_file("""topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 8; rate = "100Gbps"; delay = "1us"; };
generators = ( { kind = "incast"; degree = 5; receivers = 1; bytes = "50KB"; period = "100us"; until = "1ms"; } );
"""))
    groups = {}
    for row in rows(run):
        groups.setdefault(int(row["start_ns"]), []).append((row["src"], row["dst"]))
    check(len(groups) == 10 and all(len(flows) == len(set(flows)) == 5 and len({dst for _, dst in flows}) == 1 for flows in groups.values()),
          "each incast has five senders and one receiver", groups)
    check(len({flows[0][1] for flows in groups.values()}) > 3, "which is another one each time", groups)


def channels_over_nics():
    """Two channels by the two NICs of each host take half of the time."""
    text = """topology = { kind = "rail"; hosts = 4; nics = 2; hosts_per_group = 4; spines = 0; rate = "100Gbps"; delay = "1us"; };
collectives = ( { op = "allreduce"; algorithm = "ring"; bytes = "8MB"; channels = 2; payload = "real"; %s } );
"""
    one, both = (dpswitch(scenario_file(text % more)) for more in ("", "all_nics = true;"))
    check(1.8 < one.run["virtual_ns"] / both.run["virtual_ns"] < 2.1, "both NICs send", (one.run["virtual_ns"], both.run["virtual_ns"]))
    sent = dict(store(both, "SELECT nodes.name || ':' || ports.number, tx_bytes FROM port_counters JOIN ports USING (port) JOIN nodes USING (node) "
                            "WHERE kind = 'host'"))
    check(len(sent) == 8 and max(sent.values()) < 1.05 * min(sent.values()), "as much each", sent)
    check(both.wrong() == ["0"], "and every element is right", both.wrong())
    refused('collectives = ( { op = "allreduce"; bytes = "8MB"; channels = 2; all_nics = true; } );', "all_nics", "hosts with several NICs")


def ranks_of_one_host():
    """A rank a NIC: neighbours in the ring are at two NICs of one host, whose data crosses the spine as any other does."""
    text = """topology = { kind = "rail"; hosts = 2; nics = 2; hosts_per_group = 2; spines = %u; rate = "100Gbps"; delay = "1us"; };
jobs = ( { name = "j"; placement = { nics = 2; }; collectives = ( { op = "allreduce"; bytes = "1MB"; payload = "real"; %s } ); } );
flows = ( { src = "h1:2"; dst = "h1:1"; sport = 20001; bytes = "100KB"; } );
"""
    for more in ("", "channels = 2; all_nics = true;"):
        path = scenario_file(text % (1, more))
        one, two = dpswitch(path), dpswitch(path, "--lcores", "2")
        check(one.wrong() == ["0"] and one.run["end_reason"] == "complete" and not any(one.run["drops"].values()),
              f"ranks at all NICs {more}: every element is right", one.run)
        check(one.run["digest"] == two.run["digest"], "one digest on two lcores")
    check(next(row for row in rows(one) if row["sport"] == "20001")["acked_bytes"] == "100000", "and a flow between a host's NICs arrives", rows(one))
    for traffic in (text % (0, ""), text.split("jobs")[0] % 0 + FLOW.replace('"a"', '"h0:1"').replace('"b"', '"h1:2"') % "bytes = 1000;"):
        done = command(ROCELAB, "topo", "check", scenario_file(traffic), expect=2)
        check("test.cfg:2: " in done.stderr and "the hosts' ports are not connected" in done.stderr, "rails that nothing connects", done.stderr)


def bursts_of_errors():
    """As many frames are damaged, in fewer places: a burst leaves one gap in what a receiver expects."""
    damaged, gaps = zip(*((run.run["drops"]["corrupt"], store(run, "SELECT sum(packet_seq_err) FROM qps")[0][0]) for run in (
        star(FLOW % 'bytes = "40MB";' + 'faults = ( { kind = "corruption"; port = "s:2"; rate = 0.002; %s } );' % more)
        for more in ("", 'burst = "2us";'))))
    check(0.4 < damaged[1] / damaged[0] < 2.5, "a burst damages no more", damaged)
    check(gaps[1] < 0.4 * gaps[0], "and fewer gaps are reported", (gaps, damaged))


depth_and_qps()
rates()
single_ones()
cnps_have_their_class()
random_incasts()
channels_over_nics()
ranks_of_one_host()
bursts_of_errors()
