# SPDX-License-Identifier: BSD-3-Clause
"""How all figures look: one colour a policy and a family, text as text, the same file for the same numbers."""
import math

import matplotlib

matplotlib.use('svg')

from matplotlib import pyplot  # noqa: E402 (the backend comes first)

# Okabe and Ito: told apart by colour-blind readers too.
POLICY_COLOURS = {
    'vedrfolnir': '#0072B2',
    'vedrfolnir-poster': '#56B4E9',
    'hawkeye-maxr': '#E69F00',
    'hawkeye-minr': '#D55E00',
    'full-polling': '#7F7F7F',
}
FAMILY_COLOURS = {
    'contention': '#0072B2',
    'incast': '#E69F00',
    'pfc-storm': '#D55E00',
    'backpressure': '#009E73',
}
OURS_COLOUR = POLICY_COLOURS['vedrfolnir']
OTHER_COLOUR = '#A6CEE3'
PRECISION_COLOUR, RECALL_COLOUR = '#0072B2', '#56B4E9'
GREY = '#64748B'

pyplot.rcParams.update({
    'svg.fonttype': 'none',
    'svg.hashsalt': 'rocelab',
    'font.family': ['DejaVu Sans', 'sans-serif'],
    'font.size': 13,
    'axes.titlesize': 14,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.grid.axis': 'y',
    'axes.axisbelow': True,
    'grid.color': '#E2E8F0',
    'legend.frameon': False,
    'figure.constrained_layout.use': True,
})


def panels(rows, columns, width, height, **options):
    """@param width, height  of the whole, in inches"""
    return pyplot.subplots(rows, columns, figsize=(width, height), squeeze=False, **options)


def save(figure, path):
    figure.savefig(path, metadata={'Date': None, 'Creator': 'scripts/eval-figures'}, facecolor='white')
    pyplot.close(figure)


def percent_axis(axis, label):
    axis.set_ylabel(label)
    axis.set_ylim(0, 112)
    axis.set_yticks(range(0, 101, 20))


def amount(value_bytes):
    """Two digits or three, with the unit: 420 B, 4.2 kB, 42 kB, 420 kB."""
    for limit, divisor, unit in ((1e3, 1, 'B'), (1e6, 1e3, 'kB'), (1e9, 1e6, 'MB'), (float('inf'), 1e9, 'GB')):
        if value_bytes < limit:
            short = value_bytes / divisor
            return f'{short:.0f} {unit}' if short >= 10 or short == round(short) else f'{short:.1f} {unit}'


def bytes_axis(axis, label, log=True):
    """@param log  for amounts that differ by orders of magnitude: whole ones, from the one below the smallest bar"""
    axis.set_ylabel(label)
    axis.margins(y=0.12)
    if log:
        least = min((bar.get_height() for bar in axis.patches if bar.get_height() > 0), default=1)
        axis.set_yscale('log')
        axis.set_ylim(bottom=10 ** math.floor(math.log10(least) - 0.3))
        axis.yaxis.set_minor_formatter('')
    axis.yaxis.set_major_formatter(lambda value, _: amount(value))


def bar_groups(axis, groups, series, label=None, outline=False):
    """
    Bars side by side.
    @param groups  names along the x axis
    @param series  [(name, colour, a value a group; None: no bar)]
    @param label   writes a value above its bar
    @param outline  draws no body and no legend: around the bars of an earlier call
    """
    drawn = [[number for number, (_, _, values) in enumerate(series) if values[group] is not None]
             for group in range(len(groups))]
    width = 0.8 / max(map(len, drawn))
    for number, (name, colour, values) in enumerate(series):
        there = [(group + (at.index(number) - (len(at) - 1) / 2) * width, values[group])
                 for group, at in enumerate(drawn) if number in at]
        look = {'facecolor': 'none', 'edgecolor': colour} if outline else {'color': colour, 'label': name}
        axis.bar([x for x, _ in there], [value for _, value in there], width * 0.92, **look)
        for x, value in there if label else ():
            axis.annotate(label(value), (x, value), (0, 2), textcoords='offset points', ha='center',
                          fontsize=9.5)
    axis.set_xticks(range(len(groups)), groups)
    axis.grid(axis='x', visible=False)
