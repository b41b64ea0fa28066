# SPDX-License-Identifier: BSD-3-Clause
"""Kind "clean": fabrics without a fault. Whatever the topology, the transport, the load and the diagnoser: no fault is found."""
import checks
import clean_fabrics
import scenarios
import systems
from case import Failure, Refused

PACKETS = 3000   # of data that a scenario sends, about
PROBES = 4000    # of R-Pingmesh in a run, at most about
FLOW_PORT = 30000
PERIOD_S = 20    # of R-Pingmesh's analysis, before the factor
TIMEOUT_S = 0.5  # of its probes, before the factor
POLICIES = ('vedrfolnir', 'vedrfolnir', 'vedrfolnir', 'vedrfolnir-paper', 'vedrfolnir-poster', 'hawkeye-minr', 'hawkeye-maxr', 'full-polling')
SIDE_BY_SIDE = ('vedrfolnir', 'flowtracer', 'hawkeye-minr', 'hawkeye-maxr', 'full-polling')
OF_JOBS = (('allreduce', 'ring'), ('allgather', 'ring'), ('alltoall', 'pairwise'))
# Keys that may take any of these values in a fabric that works.
PARAMETERS = {
    'switch.pfc': {
        'model': ('dynamic', 'static'), 'alpha': (0.0625, 0.125, 1.0), 'xon_offset': ('0B', '3072'), 'xoff': ('20KB', '64KiB', '256KiB'),
    },
    'switch.ecn': {
        'enabled': (True, False), 'kmin': ('5KB', '100KB'), 'kmax': ('400KB', '1600KB'), 'pmax': (0.01, 0.2, 1.0), 'rate': ('25Gbps', '100Gbps'),
    },
    'host': {
        'ack_every': (1, 2, 16, 64), 'window_scales_with_rate': (True, False), 'nak': (True, False), 'control_bytes': (20, 90),
    },
    'host.dcqcn': {
        'g': (0.00390625, 0.0625), 'alpha_interval': ('1us', '55us'), 'decrease_interval': ('4us', '50us'), 'increase_timer': ('55us', '900us'),
        'ai': ('5Mbps', '1Gbps'), 'fast_recovery': (1, 5), 'clamp_target': (True, False), 'echo': ('ack', 'cnp'), 'cnp_interval': ('0us', '50us'),
    },
    'detection': {
        'detections': (1, 2, 3, 10), 'rtt_percent': (105, 120, 300), 'transfer': (True, False), 'spacing': ('0ns', '5us'),
        'lag_percent': (0, 1, 10), 'retain': ('0us', '50us'),
    },
    'telemetry': {
        'epoch': ('10us', '100us', '1ms'), 'epochs_kept': (0, 2, 8), 'quiet_depth': (0, 8, 100), 'contention': ('replay', 'exact'),
    },
    'exporter': {'budget': ('0', '100KB', '10MB', '1250MB'), 'queue': ('1KB', '1MB')},
    'timing': {'pipeline': ('100ns', '600ns', '2us')},
}


class Maker(scenarios.Maker):
    """Draws a scenario in which nothing is broken and nothing is configured so that packets are lost."""

    PACKETS = PACKETS
    FLOW_PORT = FLOW_PORT
    PARAMETERS = PARAMETERS

    def __init__(self, rng):
        super().__init__(rng, clean_fabrics.any_network(rng))

    def scenario(self):
        rng = self.rng
        self._parameters()
        for group in ('switch', 'host') if rng.random() < 0.2 else ():
            self.groups.setdefault(group, {})['profile'] = 'ns3'
        self._transport()
        balancing = rng.choice(('ecmp', 'ecmp', 'random', 'round-robin', 'adaptive', 'flowlet'))
        if balancing != 'ecmp' or rng.random() < 0.5:
            self.groups['load_balancing'] = systems.load_balancing(rng, balancing)
        jobs = [self._job(i) for i in range(rng.choice((1, 1, 2)))] if rng.random() < 0.3 else []
        collectives = [] if jobs else self._collectives()
        flows = self._flows(bool(collectives or jobs)) if rng.random() < 0.8 else self._incast()
        self._beside(jobs, collectives, balancing)
        policy = rng.choice(POLICIES)
        self.groups.setdefault('detection', {})['policy'] = policy
        self._limits()
        text = self.network.text + jobs_text(jobs) + scenarios.listing('collectives', collectives) + scenarios.listing('flows', flows)
        if rng.random() < 0.15:
            text += scenarios.listing('generators', systems.generators(rng, scenarios.ns(3 * self._step_s())))
        text += f'seed = {rng.randrange(1 << 62)}L;\n'
        text += ''.join(scenarios.group(name, keys) + '\n' for name, keys in self.groups.items())
        return scenarios.Scenario(self.network, text, policy)

    def _transport(self):
        rng, host = self.rng, self.groups.setdefault('host', {})
        host['mtu'] = self.mtu
        if rng.random() < 0.6:  # else as the profile has it
            host['cc'] = rng.choice(('dcqcn', 'dcqcn', 'hpcc', 'swift', 'timely', 'none'))
        if rng.random() < 0.6:
            host['window'] = rng.choice(('bdp', 'bdp', 'bdp', 'none', '64KB', '1MB'))
        if rng.random() < 0.2:
            host['ip_version'] = 6
        if rng.random() < 0.3:
            host.update(transport='selective')
        # Longer than any queue lasts; at times as it is by default, whatever the cables.
        if rng.random() < 0.7:
            host['timeout'] = scenarios.ns(50 * self._step_s() + 0.002)

    def _incast(self):
        first, *others = self.rng.sample(self.network.hosts, min(9, len(self.network.hosts)))
        size = max(1, self.PACKETS // len(others)) * self.mtu
        return [{'src': host, 'dst': first, 'sport': FLOW_PORT + i, 'bytes': f'{size}B'} for i, host in enumerate(others)]

    def _job(self, number):
        """Data and tensor parallelism over some of the hosts, or a few collectives one after the other or at once."""
        rng, hosts = self.rng, self.network.hosts
        count = rng.choice([n for n in (2, 3, 4, 6, 8, 16) if n <= len(hosts)])
        ranks = rng.sample(hosts, count)
        dims = ('tp 2', f'dp {count // 2}') if count >= 4 and count % 2 == 0 and rng.random() < 0.6 else ()
        iterations = rng.choice((1, 2, 3))
        size = self._size(1 / (4 * count * iterations)) // (4 * count) * 4 * count + 4 * count
        rows = []
        for i in range(rng.choice((1, 2, 2))):
            op, algorithm = rng.choice(OF_JOBS)
            rows.append({'name': f'c{i}', 'op': op, 'algorithm': algorithm, 'bytes': f'{size}B', 'sport': 10000 + 1000 * number + 100 * i})
            if dims:
                rows[-1]['group'] = rng.choice(('tp', 'dp'))
            if i and rng.random() < 0.5:
                rows[-1]['after'] = '[]'
        compute_s, usual = rng.choice((0, 1, 5)) * self._step_s(), rng.choice(('none', 'uniform', 'normal'))
        jitter = {'kind': usual, 'spread': scenarios.ns(compute_s * rng.choice((0.01, 0.1)) + 1e-9)} if usual != 'none' else {}
        return {'name': f'job{number}', 'ranks': clean_fabrics.words(ranks), 'dims': dims, 'iterations': iterations,
                'compute': scenarios.ns(compute_s), 'jitter': jitter, 'collectives': rows}

    def _beside(self, jobs, collectives, balancing):
        """Systems that watch besides the policy, each with what it needs, at times without."""
        rng, network = self.rng, self.network
        if rng.random() < 0.35 and not network.bonds and 'ip_version' not in self.groups['host']:
            self._agents()
        if rng.random() < 0.35 and collectives and not network.bonds:
            self._flowpulse(collectives[0], balancing)
        if rng.random() < 0.3:
            self.groups['flowtracer'] = systems.flowtracer(rng)
            if self.groups['flowtracer'].get('first_hop') == 'sflow':
                self.groups.setdefault('switch', {})['sampling'] = rng.choice((1, 10))

    def _flowpulse(self, collective, balancing):
        rng = self.rng
        collective.update(measured=True, iterations=rng.choice((1, 3, 10)))
        self.groups['flowpulse'] = systems.flowpulse(rng, balancing)
        if balancing in ('ecmp', 'flowlet'):
            self.groups['flowpulse']['prediction'] = 'learned'
        if rng.random() < 0.6:  # a class of its own, before all others
            self.groups['host']['measured_prio'] = 5
            switch = self.groups.setdefault('switch', {})
            switch['strict'] = '[ "5" ]'
            switch.setdefault('pfc', {})['priorities'] = '[ "3", "5" ]'

    def _agents(self):
        """R-Pingmesh's, whose probes' timeout is longer than a round trip, at times only just."""
        round_trip_s = 12 * self.network.delay_s + 2e-5
        factor = max(1e-05, round(self.rng.choice((2, 20, 20, 200)) * round_trip_s / TIMEOUT_S, 6))
        network = self.network
        rnics = sum(network.ports[host] for host in network.hosts)
        duration_s = min(self.rng.choice((2, 4)) * PERIOD_S * factor, PROBES / rnics * 0.1 * factor)
        self.groups['pingmesh'] = {
            'enabled': True, 'time_factor': factor, 'duration': scenarios.ns(duration_s),
            'cpu_delay': self.rng.choice(('0us', '1us', '10us')), 'management_delay': '1ms', 'service': self.rng.random() < 0.7,
            'tracing': self.rng.choice(('traceroute', 'int')), 'trace_rate': self.rng.choice((0, 100, 1000000)),
        }


def job_text(job):
    keys = {key: job[key] for key in ('name', 'ranks', 'iterations', 'compute')}
    dims = f'dims = ( {", ".join(map(scenarios.literal, job["dims"]))} ); ' if job['dims'] else ''
    dims += f'jitter = {scenarios.element(job["jitter"])}; ' if job['jitter'] else ''
    rows = ',\n    '.join(map(scenarios.element, job['collectives']))
    return f'  {scenarios.element(keys)[:-1]}{dims}collectives = (\n    {rows} ); }}'


def jobs_text(jobs):
    return 'jobs = (\n' + ',\n'.join(map(job_text, jobs)) + '\n);\n' if jobs else ''


def no_fault(verdict, run, where):
    """No finding names something broken."""
    full = drops(run).get('queue_full')  # which is counted, and true, where a class has no PFC
    found = [finding for finding in verdict['findings']
             if finding['fault'] and not (full and finding['type'] == 'packet-loss' and 'found its queue full' in finding['evidence'])]
    if found:
        raise Failure('a fault on a clean fabric: ' + '; '.join(
            f'{finding["type"]} {finding["root"]} {finding["confidence"]:.2f} ({finding["evidence"]})' for finding in found[:6])
            + f' [{len(found)} in {where}, {run["end_reason"]}, drops {drops(run)}]')


def drops(run):
    return {reason: count for reason, count in run['drops'].items() if count} if 'drops' in run else {}


def run(case):
    scenario = Maker(case.rng).scenario()
    path = scenario.write(case)
    out = case.folder / 'run'
    several = ['--diagnosers', ','.join(case.rng.sample(SIDE_BY_SIDE, 2))] if case.rng.random() < 0.1 else []
    ended = case.programs.run(case, case.programs.rocelab, 'run', path, '--out', out, *several)
    if ended.code == 2:
        checks.refusal(out, ended, path)
        raise Refused(ended.stderr.strip())
    folders = sorted(file.parent for file in out.rglob('verdict.json'))
    case.check(folders, 'no verdict', ended.output)
    for folder in folders:
        run_json = folder / 'run.json' if (folder / 'run.json').exists() else out / 'run.json'
        no_fault(checks.parsed(folder / 'verdict.json'), checks.parsed(run_json), folder.relative_to(case.folder))
    if not several:
        checks.whole_run(out, checks.Names(scenario.network.ports))
