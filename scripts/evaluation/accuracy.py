# SPDX-License-Identifier: BSD-3-Clause
"""Figures 9 and 10 of the paper, and the same for the families beyond it."""
import style
from results import BEYOND, FAMILIES, PAPER, POLICIES, families_of, policies_of


def each(results, families, value):
    """Series of style.bar_groups(): a policy's value in every family."""
    policies = policies_of(results, families)
    return [(POLICIES[policy], style.POLICY_COLOURS[policy],
             [value(results.summary([family], policy, policies)) for family in families]) for policy in policies]


def precision_recall(results, families, path):
    """Two panels above each other. @return False: not measured"""
    families = families_of(results, families)
    if not policies_of(results, families):
        return False
    figure, axes = style.panels(2, 1, 11, 6.4, sharex=True)
    names = [FAMILIES[family] for family in families]
    style.bar_groups(axes[0][0], names, each(results, families, lambda s: 100 * s.precision), '{:.0f}'.format)
    style.bar_groups(axes[1][0], names, each(results, families, lambda s: 100 * s.recall), '{:.0f}'.format)
    style.percent_axis(axes[0][0], 'Precision (%)')
    style.percent_axis(axes[1][0], 'Recall (%)')
    axes[0][0].set_title('(a) Precision', loc='left')
    axes[1][0].set_title('(b) Recall', loc='left')
    axes[0][0].legend(loc='lower center', bbox_to_anchor=(0.5, 1.12), ncols=len(POLICIES))
    style.save(figure, path)
    return True


def figure_9(results, path):
    return precision_recall(results, PAPER, path)


def beyond(results, path):
    return precision_recall(results, BEYOND, path)


def figure_10(results, path):
    """
    Mean bytes a case: reports, those kept filled and those collected outlined, and all that is on the wire.
    @return False: not measured
    """
    families = families_of(results, PAPER)
    if not policies_of(results, families):
        return False
    figure, axes = style.panels(2, 1, 11, 7, sharex=True)
    names = [FAMILIES[family] for family in families]
    style.bar_groups(axes[0][0], names, each(results, families, lambda s: s.mean('telemetry_bytes')), style.amount)
    style.bar_groups(axes[0][0], names, each(results, families, lambda s: s.mean('collected_bytes')), outline=True)
    style.bar_groups(axes[1][0], names, each(results, families, lambda s: s.mean('bandwidth_bytes')), style.amount)
    axes[0][0].set_title('(a) Processing overhead: reports kept (outline: collected)', loc='left')
    axes[1][0].set_title('(b) Bandwidth overhead: polls, notifications and reports on the wire', loc='left')
    for axis in axes[:, 0]:
        style.bytes_axis(axis, 'A case, mean')
    axes[0][0].legend(loc='lower center', bbox_to_anchor=(0.5, 1.12), ncols=len(POLICIES))
    style.save(figure, path)
    return True
