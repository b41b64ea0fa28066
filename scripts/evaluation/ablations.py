# SPDX-License-Identifier: BSD-3-Clause
"""Which stored variants answer which question: the lists of `rocelab eval --ablation`, recognised by the keys that they
set. What has no case in common in each family is not there: it cannot be compared."""
import re

from results import OURS, PAPER, keys_of

SI = {'': 1, 'K': 10**3, 'M': 10**6, 'G': 10**9}


def ours_with(results, families, keys):
    """{values of keys, in their order: variant} of our policy's variants that set these keys and no others."""
    found = {}
    for variant in results.variants(families):
        values = keys_of(variant)
        if variant.split('+')[0] == OURS and set(values) == set(keys):
            found[tuple(values[key] for key in keys)] = variant
    return found


def threshold(results):
    """Fig. 12: {(RTT %, detections): variant}."""
    found = {(int(percent), int(count)): variant
             for (percent, count), variant in ours_with(results, PAPER, ['rtt_percent', 'detections']).items()}
    return found if results.comparable(PAPER, found.values()) else {}


def rules(results, family):
    """[(whose rule, variant)] of a family: ours, the paper's, the poster's; those that were run."""
    named = [('ours', OURS), ('paper', 'vedrfolnir-paper+detections=3'), ('poster', 'vedrfolnir-poster')]
    found = [(name, variant) for name, variant in named if variant in results.variants([family])]
    return found if len(found) == len(named) and results.comparable([family], [variant for _, variant in found]) else []


def microseconds(text):
    """"20us" -> 20.0"""
    number, unit = re.fullmatch(r'([\d.]+)(ns|us|ms)', text).groups()
    return float(number) * {'ns': 1e-3, 'us': 1, 'ms': 1e3}[unit]


def fixed(results):
    """Fig. 13a: [(threshold in us, None: each step's own, variant)], our own first."""
    variants = sorted((microseconds(text), variant)
                      for (text,), variant in ours_with(results, ['contention'], ['rtt_fixed']).items())
    among = [OURS, *(variant for _, variant in variants)]
    return [(None, OURS), *variants] if variants and results.comparable(['contention'], among) else []


def allocation(results):
    """Fig. 13b: ({detections: variant} with transfer, the same without, {name: variant} without a bound); all empty unless
    the first two are there."""
    family = ['contention']
    transfer = {int(count): variant for (count,), variant in ours_with(results, family, ['detections']).items()}
    lost = {int(count): variant
            for (count, on), variant in ours_with(results, family, ['detections', 'transfer']).items() if on == 'false'}
    unbound = {'unrestricted': variant
               for (_, lag), variant in ours_with(results, family, ['detections', 'lag_percent']).items() if lag == '0'}
    if 'hawkeye-minr' in results.variants(family):
        unbound['Hawkeye-MinR'] = 'hawkeye-minr'
    among = [*transfer.values(), *lost.values(), *unbound.values()]
    there = set(transfer) & set(lost) and results.comparable(family, among)
    return (transfer, lost, unbound) if there else ({}, {}, {})


def contention(results):
    """{"replay" or "exact": variant}."""
    exact = ours_with(results, PAPER, ['telemetry.contention'])
    there = ('exact',) in exact and results.comparable(PAPER, [OURS, exact[('exact',)]])
    return {'replay': OURS, 'exact': exact[('exact',)]} if there else {}


def bytes_of(text):
    """"30KB" -> 30000"""
    number, prefix = re.fullmatch(r'([\d.]+)([KMG]?)B', text).groups()
    return float(number) * SI[prefix]


def budget(results):
    """[(bytes a second, None: unlimited, variant)], ascending."""
    variants = sorted((bytes_of(text), variant)
                      for (text,), variant in ours_with(results, PAPER, ['exporter.budget']).items())
    among = [OURS, *(variant for _, variant in variants)]
    return [*variants, (None, OURS)] if variants and results.comparable(PAPER, among) else []
