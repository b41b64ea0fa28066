# SPDX-License-Identifier: BSD-3-Clause
"""The fourteen problems of R-Pingmesh's Table 2 (SIGCOMM 2024), each as a scenario, with its expected findings."""
import dataclasses

PERIOD_S = 20            # of analysis, at factor 1
ALPHA = 0.125            # share of the free buffer that one ingress may use before it pauses
BUFFER = '32MB'          # of a switch: as large as of those that the paper's cluster may have


@dataclasses.dataclass(frozen=True)
class Problem:
    key: str             # of its folder: the paper's number, and a letter where it has several forms
    title: str
    faults: tuple        # each the keys of a fault but its start
    observed: str            # the finding; '' : nothing
    places: tuple        # any of these: a node, or either end of a link
    # Keys of the scenario that make the traffic without which nothing would show, by seconds of a period and bit/s of a link
    traffic: object = None
    # Of links, Gbit/s: at a small factor and at factor 1. A period of traffic has as many packets as its links let through
    rates: tuple = (100, 100)
    also: tuple = ()     # findings that the traffic makes by itself, or that follow
    priorities: tuple = ('P2',)

    @property
    def start(self):
        """In periods: a high RTT is one that is not usual, which takes some to be known."""
        return 3 if self.traffic else 1

    @property
    def end(self):
        return self.start + 2


def seconds(value):
    return f'"{round(value * 1e9)}ns"'


def flows(pairs, start_s, end_s):
    rows = (f'{{ src = "{src}"; dst = "{dst}"; sport = {20000 + i}; bytes = "4MB"; mode = "repeat"; start = {seconds(start_s)}; '
            f'until = {seconds(end_s)}; }}' for i, (src, dst) in enumerate(pairs))
    return f'flows = (\n  {(","+chr(10)+"  ").join(rows)}\n);\n'


def one_way(at, period_s, _rate):
    """One host sends to another as fast as it can."""
    return flows([('h1', 'h5')], at.start * period_s, at.end * period_s)


# Senders fill a queue as far as their windows let them.
UNCONTROLLED = 'host = { cc = "none"; window = "64KB"; ack_every = 1; };\n'


def unbound(rate):
    """No timeout before a switch's buffer could be drained."""
    return f'host = {{ cc = "none"; window = "none"; timeout = {seconds(1e8 / rate)}; }};\n'


def pins(paths):
    rows = (f'{{ src = "{src}"; dst = "{dst}"; data = [ {", ".join(f"{chr(34)}{port}{chr(34)}" for port in ports.split())} ]; }}'
            for src, dst, ports in paths)
    return f'paths = (\n  {(","+chr(10)+"  ").join(rows)}\n);\n'


def incast(at, period_s, rate):
    """Three hosts of other ToRs send to one, by a spine each."""
    paths = [('h1', 'h5', 'l0:5 s0:2 l1:2'), ('h9', 'h5', 'l2:6 s1:2 l1:2'), ('h13', 'h5', 'l3:7 s2:2 l1:2')]
    return flows([path[:2] for path in paths], at.start * period_s, at.end * period_s) + pins(paths) + unbound(rate)


def neighbours(at, period_s, _rate):
    """Each host of a ToR sends to one of the next."""
    return flows([(f'h{i}', f'h{i + 4}') for i in range(4)], at.start * period_s, at.end * period_s) + UNCONTROLLED


def tenants(at, period_s, rate):
    """Two jobs whose connections share a link of the fabric; the second begins later. Reverse paths share no link."""
    size = round(rate / 8 * period_s / 50)

    def job(name, ranks, start_s, size, times):
        return (f'  {{ name = "{name}"; ranks = [ {ranks} ]; iterations = {times}; start = {seconds(start_s)};\n'
                f'    collectives = ( {{ name = "sum"; op = "allgather"; algorithm = "ring"; bytes = {size}; }} ); }}')

    paths = [('h0', 'h4', 'l0:5 s0:2 l1:1'), ('h1', 'h9', 'l0:5 s0:3 l2:2'), ('h2', 'h13', 'l0:5 s0:4 l3:2'),
            ('h3', 'h10', 'l0:5 s0:3 l2:3'), ('h4', 'h0', 'l1:5 s0:1 l0:1'), ('h9', 'h2', 'l2:6 s1:1 l0:3'),
            ('h13', 'h3', 'l3:7 s2:1 l0:4'), ('h10', 'h1', 'l2:8 s3:1 l0:2')]
    return ('jobs = (\n' + job('first', '"h0", "h4"', period_s / 10, size, 360) + ',\n'
            + job('second', '"h1", "h9", "h2", "h13", "h3", "h10"', (at.start + 0.1) * period_s, size // 2, 120) + '\n);\n'
            + pins(paths) + UNCONTROLLED)


def link(port):
    """A link, by either of its ends, in the fabric below."""
    return tuple(port.split())


PROBLEMS = (
    Problem('00a', 'nothing', (), '', ()),
    Problem('00b', 'nothing, and a host that sends to another', (), '', (), one_way, (10, 10)),
    Problem('01a', 'an RNIC flaps: a quarter of the time down',
            ('kind = "link-down"; port = "h5:1"; duration = {flap}; period = {flaps};',), 'rnic-problem', link('h5:1 l1:2')),
    Problem('01b', "a switch's port flaps: a quarter of the time down",
            ('kind = "link-down"; port = "l1:6"; duration = {flap}; period = {flaps};',), 'switch-problem', link('l1:6 s1:2')),
    Problem('02a', 'a damaged fibre of an RNIC: 20 % of the packets',
            ('kind = "corruption"; port = "l1:2"; rate = 0.2;',), 'rnic-problem', link('h5:1 l1:2')),
    Problem('02b', 'a damaged fibre between switches: 5 %',
            ('kind = "corruption"; port = "l2:6"; rate = 0.05;',), 'switch-problem', link('l2:6 s1:3')),
    Problem('03', 'an RNIC is down', ('kind = "rnic-down"; port = "h5:1";',), 'rnic-problem', link('h5:1 l1:2')),
    Problem('04', 'a host is down', ('kind = "host-down"; host = "h5";',), 'host-down', ('h5',)),
    Problem('05', 'PFC deadlock: both ends of a link pause each other',
            ('kind = "pfc-storm"; port = "l1:6";', 'kind = "pfc-storm"; port = "s1:2";'), 'switch-problem', link('l1:6 s1:2')),
    Problem('06', 'an RNIC has no routes', ('kind = "rnic-no-routes"; port = "h5:1";',), 'rnic-problem', link('h5:1 l1:2')),
    Problem('07', "an RNIC's GID is missing", ('kind = "rnic-no-gid"; port = "h5:1";',), 'rnic-problem', link('h5:1 l1:2')),
    Problem('08', "a spine's ACL denies what a host sends", ('kind = "acl"; switch = "s1"; src = "h5";',), 'switch-problem',
            link('l1:6 s1:2 s1')),
    Problem('09', 'PFC is not configured at a port, under incast', ('kind = "pfc-headroom"; port = "l1:5"; pfc = false;',),
            'switch-problem', link('l1:5 s0:2'), incast, (100, 10), ('high-rtt',)),
    Problem('10', 'a switch sends 90 % of the flows by one of four uplinks',
            ('kind = "ecmp-imbalance"; port = "l0:5"; share = 0.9;',), 'high-rtt', link('l0:5 s0:1'), neighbours, (25, 10), ('high-rtt',)),
    Problem('11', 'two tenants share a link', (), 'high-rtt', link('l0:5 s0:1'), tenants, (25, 10), ('high-rtt',), ('P0', 'P1')),
    Problem('12', "a host's CPU is overloaded", ('kind = "cpu-overload"; host = "h9"; delay = {late}; duration = {while};',),
            'cpu-overload', ('h9',)),
    Problem('13', "an RNIC's PCIe link has one lane of the first generation left: 2 of 10 Gbit/s",
            ('kind = "pcie-downgrade"; port = "h5:1"; generation = 1; lanes = 1;',), 'high-rtt', link('h5:1 l1:2'), one_way, (10, 10)),
    Problem('14', 'wrong ACS: DMA takes 10 us longer', ('kind = "dma-detour"; port = "h5:1"; delay = "10us";',), 'high-rtt',
            link('h5:1 l1:2')),
)


def scenario(problem, factor):
    """The text of its scenario: four leaves, four spines, sixteen hosts; for two periods it is there."""
    period_s, gbps = PERIOD_S * factor, problem.rates[factor >= 1]
    names = {'flap': seconds(0.5 * factor), 'flaps': seconds(2 * factor), 'late': seconds(2 * factor), 'while': seconds(1.5 * period_s)}
    faults = ',\n  '.join(f'{{ {fault.format(**names)} start = {seconds(problem.start * period_s)}; }}'
                          for fault in problem.faults)
    return (f'// {problem.title}\nname = "{problem.key}";\n'
            f'topology = {{ kind = "leaf-spine"; leaves = 4; spines = 4; hosts_per_leaf = 4; rate = "{gbps}Gbps"; delay = "1us"; }};\n'
            f'switch = {{ buffer = "{BUFFER}"; pfc = {{ alpha = {ALPHA}; }}; }};\n'
            f'pingmesh = {{ enabled = true; time_factor = {factor}; duration = {seconds(problem.end * period_s + 6 * factor)}; }};\n'
            f'limits = {{ virtual_time = {seconds(8 * period_s)}; stall = {seconds(8 * period_s)}; }};\n'
            + (f'faults = (\n  {faults}\n);\n' if faults else '')
            + (problem.traffic(problem, period_s, gbps * 1e9) if problem.traffic else ''))
