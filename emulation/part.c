/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/part.h"

#include "emulation/emulation.h"
#include "emulation/hooks.h"

bool
part_is_foreign(const struct emulation *emulation, uint32_t node)
{
	return emulation->part != NULL && emulation->part->foreign[node];
}

static uint64_t
hook_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	const struct part *part = ((const struct emulation *)ctx)->part;

	emulation_settle(ctx);
	return part->ops->pace(part->ctx, earliest_ps, start_ps);
}

static void
hook_leaving(void *ctx, const struct window *window)
{
	const struct part *part = ((const struct emulation *)ctx)->part;

	part->ops->leaving(part->ctx, window);
}

static void
hook_entering(void *ctx, const struct window *window)
{
	const struct part *part = ((const struct emulation *)ctx)->part;

	part->ops->entering(part->ctx, window);
}

static uint64_t
hook_horizon(void *ctx)
{
	const struct part *part = ((const struct emulation *)ctx)->part;

	return part->ops->horizon_ps(part->ctx);
}

static bool
hook_over(void *ctx, enum rec_end_reason *reason, uint32_t *node)
{
	const struct part *part = ((const struct emulation *)ctx)->part;

	return part->ops->over(part->ctx, reason, node);
}

void
part_hooks(struct emulation *emulation, struct fabric_hooks *hooks)
{
	if (emulation->part == NULL)
		return;
	hooks->pace = hook_pace;
	hooks->leaving = hook_leaving;
	hooks->entering = hook_entering;
	hooks->horizon_ps = hook_horizon;
	hooks->over = hook_over;
}
