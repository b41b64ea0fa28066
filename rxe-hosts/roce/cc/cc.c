/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/cc/cc.h"

#include <assert.h>
#include <string.h>

/* No congestion control: line rate, and the host's window. */
const struct cc_ops cc_none = { .name = "none" };

#define CC_ROW(id, name, symbol, doc) [id] = &cc_##symbol,
const struct cc_ops *const cc_algorithms[CC_KINDS] = { CC_ALGORITHMS(CC_ROW) };

#define CC_CHOICE(id, word, symbol, by) { .name = word, .value = id, .doc = by },
const struct cfg_choice cc_choices[] = { CC_ALGORITHMS(CC_CHOICE){ 0 } };

int
cc_bind(struct cc_params *params, enum cc_kind kind, const struct cfg *cfg, struct err *err)
{
	for (int k = 0; k < CC_KINDS; k++) {
		struct cc_params bound = { .ops = cc_algorithms[k] };
		int ret = 0;

		if (bound.ops->table != NULL) {
			assert(bound.ops->table->size <= sizeof(bound.own));
			ret = cfg_bind(cfg, bound.ops->table, bound.own, err);
		}
		if (ret == 0 && bound.ops->prepare != NULL)
			ret = bound.ops->prepare(&bound, err);
		if (ret < 0)
			return ret;
		if (k == (int)kind)
			*params = bound;
	}
	return 0;
}

void
cc_reset(struct cc *cc, const struct cc_params *params, uint64_t line_bps)
{
	*cc = (struct cc){
		.due_ps = TIME_NEVER,
		.rate_bps = line_bps,
		.window_bytes = CC_NO_WINDOW,
		.line_bps = line_bps,
	};
	if (params->ops->reset != NULL)
		params->ops->reset(cc, params);
}
