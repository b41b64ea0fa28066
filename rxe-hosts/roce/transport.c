/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/transport.h"

#define TRANSPORT_ROW(id, name, symbol, doc) [id] = &transport_##symbol,
const struct transport_ops *const transports[TRANSPORT_KINDS] = { TRANSPORTS(TRANSPORT_ROW) };

#define TRANSPORT_CHOICE(id, word, symbol, what) { .name = word, .value = id, .doc = what },
const struct cfg_choice transport_choices[] = { TRANSPORTS(TRANSPORT_CHOICE){ 0 } };
