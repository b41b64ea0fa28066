/* SPDX-License-Identifier: BSD-3-Clause */
/* HPCC's parameters and state, for hpcc.c and its test. */
#pragma once

#include "rxe-hosts/roce/cc/cc.h"

/* Group "host.hpcc". */
struct hpcc_params {
	struct cfg_where where;
	double eta;
	int64_t max_stage;
	uint64_t wai_bytes;
	uint64_t base_rtt_ps; /* T; 0: the network's */
	uint64_t min_rate_bps;
};

struct hpcc {
	struct int_header last; /* L; count 0: none yet */
	uint64_t received_ps;   /* when it arrived */
	double u;               /* U: bytes in flight on the fullest link, of its bandwidth-delay product */
	double reference_bytes; /* Wc */
	uint32_t stage;         /* incStage */
	uint32_t update_seq;    /* lastUpdateSeq */
};

_Static_assert(sizeof(struct hpcc_params) <= sizeof(((struct cc_params *)0)->own), "CC_PARAMS_WORDS");
_Static_assert(sizeof(struct hpcc) <= sizeof(((struct cc *)0)->state), "CC_STATE_WORDS");
