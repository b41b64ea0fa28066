#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Failures of R-Pingmesh's Table 2 (#1 to #8) injected, one a run: what the analyzer reports, and where; and nothing where nothing is wrong."""
from pingmesh_injected import check_all

check_all("00a", "01a", "01b", "02a", "02b", "03", "04", "05", "06", "07", "08")
