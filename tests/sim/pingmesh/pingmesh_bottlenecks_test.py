#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Table 2's problems under traffic, and those within hosts (#9 to #14): what the analyzer reports, and where; and nothing of traffic alone."""
from pingmesh_injected import check_all

check_all("00b", "09", "10", "11", "12", "13", "14")
