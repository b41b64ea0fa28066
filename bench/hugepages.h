/* SPDX-License-Identifier: BSD-3-Clause */
/* Hugepages for a while: who may asks the kernel for some, and they go back whatever becomes of this program. */
#pragma once

#include <sys/types.h>

#include "common/err.h"

/* Zero-initialise; hugepages_give_back() in any case. */
struct hugepages {
	pid_t holder; /* who gives them back; 0: none were asked for */
	int alive;    /* as long as this end is open they stay */
};

/*
 * Makes sure that so many pages of 2 MB are free.
 * @return 0; or negative errno with err: there are not so many, and this user or this machine gets no more
 */
int hugepages_ask(struct hugepages *pages, unsigned long count, struct err *err);
void hugepages_give_back(struct hugepages *pages);
