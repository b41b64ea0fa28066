/* SPDX-License-Identifier: BSD-3-Clause */
/* One line on stderr, a few times a second, while a run goes on, when that is a terminal. */
#pragma once

#include "emulation/service.h"

/* Attaches it; just before the first window. @return 0, or -ENOMEM with err set */
int progress_attach(struct emulation *emulation, struct err *err);
