/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/topo.h"
