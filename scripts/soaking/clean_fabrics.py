# SPDX-License-Identifier: BSD-3-Clause
"""Networks as they are built, of every kind and shape: rates that differ from layer to layer, cables up to tens of kilometres."""
import topologies
from topologies import Network

RATES = ('1Gbps', '10Gbps', '25Gbps', '40Gbps', '100Gbps', '200Gbps', '400Gbps', '800Gbps')
SHORT = ('100ns', '500ns', '1us', '2us')
LONG = ('5us', '20us', '50us', '100us', '250us')  # 5 us a kilometre


def words(names):
    return '[ ' + ', '.join(f'"{name}"' for name in names) + ' ]'


class Cables:
    """Of one network: what hosts and switches are linked by. The slowest and the longest count for how long a run takes."""

    def __init__(self, rng):
        self.rng = rng
        self.rate = rng.choice(RATES)
        self.delay = rng.choice(SHORT)
        self.uneven = rng.random() < 0.4
        self.far = rng.random() < 0.15
        self.rates, self.delays = [self.rate], [self.delay]

    def other_rate(self):
        """At most ten times as fast or slow."""
        place = RATES.index(self.rate)
        rate = self.rng.choice(RATES[max(0, place - 2):place + 3]) if self.uneven else self.rate
        self.rates.append(rate)
        return rate

    def other_delay(self):
        delay = self.rng.choice(LONG) if self.far and self.rng.random() < 0.5 else self.delay
        self.delays.append(delay)
        return delay

    def slowest(self):
        return min(self.rates, key=topologies.RATES.get)

    def longest(self):
        return max(self.delays, key=topologies.DELAYS.get)

    def uplinks(self):
        """Keys of a kind of topology with layers."""
        text = f' uplink_rate = "{self.other_rate()}";' if self.uneven else ''
        return text + (f' uplink_delay = "{self.other_delay()}";' if self.far else '')

    def network(self, kind, keys, hosts, switches, ports, **more):
        text = f'topology = {{ kind = "{kind}"; rate = "{self.rate}"; delay = "{self.delay}"; {keys} }};\n'
        return Network(kind, text, hosts, switches, ports, self.slowest(), self.longest(), **more)


def named(letter, count):
    return [f'{letter}{i}' for i in range(count)]


def leaf_spine(rng):
    """One, two, three spines and more; one host a leaf, or many."""
    leaves, spines, each = rng.choice((2, 2, 3, 4, 8)), rng.choice((1, 2, 2, 3, 4, 8)), rng.choice((1, 1, 2, 4))
    parallel, cables = rng.choice((1, 1, 1, 2)), Cables(rng)
    hosts, low, high = named('h', leaves * each), named('l', leaves), named('s', spines)
    ports = {**dict.fromkeys(hosts, 1), **dict.fromkeys(low, each + spines * parallel), **dict.fromkeys(high, leaves * parallel)}
    keys = f'leaves = {leaves}; spines = {spines}; hosts_per_leaf = {each}; parallel = {parallel};{cables.uplinks()}'
    return cables.network('leaf-spine', keys, hosts, low + high, ports)


def fat_tree(rng):
    cables, count = Cables(rng), {'h': 16, 'e': 8, 'a': 8, 'c': 4}
    keys = 'k = 4;'
    if cables.uneven:
        keys += f' host_rate = "{cables.other_rate()}";'
    if cables.far:
        keys += f' host_delay = "{cables.other_delay()}";'
    names = {letter: named(letter, number) for letter, number in count.items()}
    switches = names['e'] + names['a'] + names['c']
    return cables.network('fat-tree', keys, names['h'], switches, {**dict.fromkeys(names['h'], 1), **dict.fromkeys(switches, 4)})


def rail(rng):
    nics, each, groups, spines = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3)
    if each * groups < 2:
        groups = 2
    cables = Cables(rng)
    hosts, low, high = named('h', each * groups), [f'g{g}r{r}' for g in range(groups) for r in range(nics)], named('s', spines)
    ports = {**dict.fromkeys(hosts, nics), **dict.fromkeys(low, each + spines), **dict.fromkeys(high, len(low))}
    keys = f'hosts = {len(hosts)}; nics = {nics}; hosts_per_group = {each}; spines = {spines};{cables.uplinks()}'
    return cables.network('rail', keys, hosts, low + high, ports)


def dual_tor(rng):
    racks, each, spines, parallel = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 3), rng.choice((1, 1, 2))
    if racks * each < 2:
        racks = 2
    leaves, nics, nic_ports = rng.choice(((2, 1, 2), (2, 2, 2), (2, 2, 1)))
    cables, bond = Cables(rng), rng.random() < 0.7
    hosts, low, high = named('h', racks * each), named('l', racks * leaves), named('s', spines)
    below = {leaf: each * nics * nic_ports // leaves + spines * parallel for leaf in low}
    ports = {**dict.fromkeys(hosts, nics * nic_ports), **below, **dict.fromkeys(high, len(low) * parallel)}
    keys = f'hosts = {len(hosts)}; hosts_per_rack = {each}; nics = {nics}; nic_ports = {nic_ports}; leaves_per_rack = {leaves}; ' \
           f'spines = {spines}; parallel = {parallel}; bond = {str(bond).lower()};{cables.uplinks()}'
    return cables.network('dual-tor', keys, hosts, low + high, ports, bonds=bond)


def written_out(rng, wiring):
    """@param wiring  (switches, hosts, links); hosts with several links are bonds"""
    cables = Cables(rng)
    switches, hosts, links = wiring
    rates = {host: cables.other_rate() for host in hosts}  # of all ports of a bond
    rows = ', '.join(f'"{a} {b} {rates.get(a) or rates.get(b) or cables.other_rate()} {cables.other_delay()}"' for a, b in links)
    ports = topologies.port_counts(switches + hosts, links)
    bonds = [host for host in hosts if ports[host] > 1]
    keys = f'switches = {words(switches)}; hosts = {words(hosts)};' + (f' bonds = {words(bonds)};' if bonds else '') + f'\n  links = ( {rows} );'
    return cables.network('explicit', keys, hosts, switches, ports, bonds=bool(bonds))


def one_switch(rng):
    hosts = named('h', rng.choice((2, 2, 3, 8, 16)))
    return written_out(rng, (['s'], hosts, [(host, 's') for host in hosts]))


def tree(rng):
    """Switches in a tree, at times by several cables: no circle of theirs, by which pauses could wait for each other."""
    switches, hosts = named('s', rng.randint(2, 5)), named('h', rng.randint(2, 8))
    links = [(switches[i], switches[rng.randrange(i)]) for i in range(1, len(switches))]
    links += rng.sample(links, rng.randint(0, len(links)))
    bonds = rng.random() < 0.2
    links += [(host, switch) for host in hosts for switch in rng.sample(switches, 2 if bonds else 1)]
    return written_out(rng, (switches, hosts, links))


def mesh(rng):
    return written_out(rng, topologies.wiring(rng))


KINDS = (leaf_spine, leaf_spine, fat_tree, rail, dual_tor, one_switch, tree, mesh, topologies.ns3)


def any_network(rng):
    network = rng.choice(KINDS)(rng)
    while network.rate not in RATES or network.delay_s > 1e-3:  # ns3: as networks are nowhere
        network = topologies.ns3(rng)
    return network
