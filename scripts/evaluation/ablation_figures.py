# SPDX-License-Identifier: BSD-3-Clause
"""Figures 12 and 13 of the paper, and the ablations beyond it. All return False where they were not measured."""
import ablations
import style
from results import FAMILIES, PAPER

CONTENTION = ['contention']


def figure_12(results, path):
    """Precision and recall of each family over threshold and number of detections."""
    variants = ablations.threshold(results)
    if not variants:
        return False
    percents, counts = sorted({key[0] for key in variants}), sorted({key[1] for key in variants})
    figure, axes = style.panels(2, len(PAPER), 13, 6, sharex=True, sharey=True)
    for column, family in enumerate(PAPER):
        for row, score in enumerate(('precision', 'recall')):
            values = [[100 * getattr(results.summary([family], variants[percent, count], variants.values()), score)
                       if (percent, count) in variants else float('nan') for percent in percents] for count in counts]
            axis = axes[row][column]
            axis.pcolormesh(values, cmap='Blues', vmin=0, vmax=130, edgecolors='white', linewidth=2)
            for y, line in enumerate(values):
                for x, value in enumerate(line):
                    if value == value:
                        axis.text(x + 0.5, y + 0.5, f'{value:.0f}', ha='center', va='center', fontsize=11,
                                  color='white' if value > 80 else 'black')
            axis.set_xticks([x + 0.5 for x in range(len(percents))], percents)
            axis.set_yticks([y + 0.5 for y in range(len(counts))], counts)
            axis.grid(visible=False)
            axis.spines[:].set_visible(False)
            if row == 0:
                axis.set_title(FAMILIES[family])
        axes[1][column].set_xlabel('RTT threshold (% of base)')
    axes[0][0].set_ylabel('Precision (%)\n\ndetections a step')
    axes[1][0].set_ylabel('Recall (%)\n\ndetections a step')
    style.save(figure, path)
    return True


def scores_and_cost(results, names, variants, path, xlabel):
    """Precision and recall above, mean bytes kept below, one group a variant."""
    sums = [results.summary(CONTENTION, variant, variants) for variant in variants]
    figure, axes = style.panels(2, 1, 11, 6.4, sharex=True)
    style.bar_groups(axes[0][0], names, [
        ('Precision', style.PRECISION_COLOUR, [100 * s.precision for s in sums]),
        ('Recall', style.RECALL_COLOUR, [100 * s.recall for s in sums])], '{:.0f}'.format)
    style.percent_axis(axes[0][0], 'Score (%)')
    axes[0][0].legend(loc='lower center', bbox_to_anchor=(0.5, 1.0), ncols=2)
    style.bar_groups(axes[1][0], names,
                     [('', style.OURS_COLOUR, [s.mean('telemetry_bytes') for s in sums])], style.amount)
    style.bytes_axis(axes[1][0], 'Reports kept\na case, mean', log=False)
    axes[1][0].set_xlabel(xlabel)
    style.save(figure, path)


def figure_13a(results, path):
    """One threshold for all steps against each step's own."""
    found = ablations.fixed(results)
    if not found:
        return False
    names = ["120 % of\neach path" if us is None else f'{us:g} us' for us, _ in found]
    scores_and_cost(results, names, [variant for _, variant in found], path, 'RTT threshold, flow contention')
    return True


def figure_13b(results, path):
    """Number of detections of a step, with and without passing on unused ones."""
    transfer, lost, unbound = ablations.allocation(results)
    if not transfer:
        return False
    counts = sorted(set(transfer) & set(lost))
    among = [*transfer.values(), *lost.values(), *unbound.values()]
    names = [*map(str, counts), *(name.replace(' ', '\n') for name in unbound)]
    figure, axes = style.panels(3, 1, 11, 8.4, sharex=True)

    def series(value):
        def values(variants):
            return [value(results.summary(CONTENTION, variants[count], among)) for count in counts]
        rest = [value(results.summary(CONTENTION, variant, among)) for variant in unbound.values()]
        none = [None] * len(rest)
        return [('with transfer', style.OURS_COLOUR, values(transfer) + none),
                ('without', style.OTHER_COLOUR, values(lost) + none),
                ('no bound', style.POLICY_COLOURS['hawkeye-minr'], [None] * len(counts) + rest)]

    style.bar_groups(axes[0][0], names, series(lambda s: 100 * s.precision), '{:.0f}'.format)
    style.bar_groups(axes[1][0], names, series(lambda s: 100 * s.recall), '{:.0f}'.format)
    style.bar_groups(axes[2][0], names, series(lambda s: s.mean('telemetry_bytes')), style.amount)
    style.percent_axis(axes[0][0], 'Precision (%)')
    style.percent_axis(axes[1][0], 'Recall (%)')
    style.bytes_axis(axes[2][0], 'Reports kept\na case, mean')
    axes[2][0].set_xlabel('Detections a step, flow contention')
    axes[0][0].legend(loc='lower center', bbox_to_anchor=(0.5, 1.0), ncols=3)
    style.save(figure, path)
    return True


def contention(results, path):
    """w(f_i,f_j) by the paper's replay against the matrix that counts every packet."""
    variants = ablations.contention(results)
    if not variants:
        return False
    figure, axes = style.panels(1, 2, 11, 4.2)
    names = [FAMILIES[family].replace(' ', '\n') for family in PAPER]
    for axis, score in zip(axes[0], ('precision', 'recall')):
        style.bar_groups(axis, names, [
            (f'{kind} contention', colour, [100 * getattr(results.summary([family], variants[kind], variants.values()), score)
                                            for family in PAPER])
            for kind, colour in (('replay', style.OURS_COLOUR), ('exact', style.OTHER_COLOUR))], '{:.0f}'.format)
        style.percent_axis(axis, f'{score.capitalize()} (%)')
    axes[0][0].legend(loc='lower left', bbox_to_anchor=(0, 1.0), ncols=2)
    style.save(figure, path)
    return True


def budget(results, path):
    """Accuracy against what telemetry may send."""
    found = ablations.budget(results)
    if not found:
        return False
    variants = [variant for _, variant in found]
    names = ['unlimited' if limit is None else style.amount(limit) + '/s'
             for limit, _ in found]
    figure, axes = style.panels(2, 1, 11, 6.8, sharex=True)
    for axis, score in zip(axes[:, 0], ('precision', 'recall')):
        for number, family in enumerate(PAPER):
            values = [100 * getattr(results.summary([family], variant, variants), score) for variant in variants]
            axis.plot(range(len(names)), values, marker='osD^'[number], label=FAMILIES[family],
                      color=style.FAMILY_COLOURS[family], alpha=0.8, linewidth=2, markersize=8)
        style.percent_axis(axis, f'{score.capitalize()} (%)')
    axes[1][0].set_xticks(range(len(names)), names)
    axes[1][0].set_xlabel("Telemetry budget, a second of the run's own time")
    axes[0][0].legend(loc='lower center', bbox_to_anchor=(0.5, 1.0), ncols=4)
    style.save(figure, path)
    return True
