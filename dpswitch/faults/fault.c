/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/faults/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"

static int
check_times(const struct fault *fault, struct err *err)
{
	const struct fault_common *common = fault->params;

	if (common->period_ps != 0 && common->period_ps < FAULT_MIN_PERIOD_PS)
		return cfg_fail(&common->where, "period", err,
				"a run stops at every change and would take hours; 1us and more would be right");
	if (common->period_ps != 0 && (common->duration_ps == 0 || common->duration_ps >= common->period_ps))
		return cfg_fail(
			&common->where, common->duration_ps == 0 ? "period" : "duration", err,
			"a period needs a duration above 0 and below it, so that the fault ends before it begins again");
	return 0;
}

/* Makes a fault that is not enabled never begin. */
static void
disable(struct fault_common *common)
{
	if (common->enabled)
		return;
	common->start_ps = TIME_NEVER;
	common->duration_ps = common->period_ps = 0;
}

static int
load_kind(struct fault_list *list, const struct fault_ops *ops, const struct cfg *cfg, const struct topo *topo,
	  struct err *err)
{
	void *block = NULL;
	size_t count = 0;
	struct fault *grown;
	int ret = cfg_bind_list(cfg, ops->table, ops->kind, &block, &count, err);

	if (ret < 0)
		return ret;
	list->blocks[list->nblocks++] = block;
	if (count == 0)
		return 0;
	grown = realloc(list->faults, (list->count + count) * sizeof(*grown));
	if (grown == NULL)
		return err_set(err, -ENOMEM, "out of memory for faults");
	list->faults = grown;
	for (size_t i = 0; i < count; i++) {
		struct fault *fault = &list->faults[list->count++];

		*fault = (struct fault){ .ops = ops, .params = (char *)block + i * ops->table->size };
		ret = check_times(fault, err);
		if (ret == 0)
			ret = ops->resolve(fault->params, topo, err);
		disable(fault->params);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int
faults_load(struct fault_list *list, const struct fault_ops *const *kinds, const struct cfg *cfg, const struct topo *topo,
	    struct err *err)
{
	uint32_t count = 0;
	void **grown;

	while (kinds[count] != NULL)
		count++;
	grown = realloc(list->blocks, (list->nblocks + count) * sizeof(*grown));
	if (grown == NULL)
		return err_set(err, -ENOMEM, "out of memory for faults");
	list->blocks = grown;
	for (uint32_t i = 0; i < count; i++) {
		int ret = load_kind(list, kinds[i], cfg, topo, err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

void
faults_fini(struct fault_list *list)
{
	for (uint32_t i = 0; i < list->nblocks; i++)
		free(list->blocks[i]);
	free(list->blocks);
	free(list->faults);
	memset(list, 0, sizeof(*list));
}

int
faults_check(const struct fault_list *list, const struct fault_work *work, struct err *err)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct fault *fault = &list->faults[i];
		int ret = fault->ops->check != NULL ? fault->ops->check(fault->params, work, err) : 0;

		if (ret < 0)
			return ret;
	}
	return 0;
}

uint64_t
faults_extra_delay_ps(const struct fault_list *list)
{
	uint64_t most_ps = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct fault *fault = &list->faults[i];
		uint64_t extra_ps = fault->ops->extra_delay_ps != NULL ? fault->ops->extra_delay_ps(fault->params) : 0;

		most_ps = extra_ps > most_ps ? extra_ps : most_ps;
	}
	return most_ps;
}

bool
faults_take_cables_down(const struct fault_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->faults[i].ops->takes_cables_down)
			return true;
	return false;
}

/* Is a fault on at some time of these? Of one that begins again, the phase of its period decides. */
static bool
is_on_between(const struct fault_common *common, uint64_t from_ps, uint64_t to_ps)
{
	uint64_t phase_ps;

	if (!common->enabled || common->start_ps > to_ps)
		return false;
	if (common->start_ps >= from_ps || common->duration_ps == 0)
		return true;
	phase_ps = from_ps - common->start_ps;
	if (common->period_ps == 0)
		return phase_ps < common->duration_ps;
	phase_ps %= common->period_ps;
	return phase_ps < common->duration_ps || to_ps - from_ps >= common->period_ps - phase_ps;
}

uint32_t
faults_cables_down(const struct fault_list *list, const struct topo *topo, uint64_t from_ps, uint64_t to_ps, bool *down)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct fault *fault = &list->faults[i];
		uint32_t link;

		if (!fault->ops->takes_cables_down || !is_on_between(fault->params, from_ps, to_ps))
			continue;
		link = topo->ports[((const struct fault_at_port *)fault->params)->port_id].link;
		count += !down[link];
		down[link] = true;
	}
	return count;
}

bool
faults_withdraw(const struct fault_list *list, const struct topo *topo, bool *withdrawn)
{
	bool any = false;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct fault *fault = &list->faults[i];
		const struct fault_common *common = fault->params;

		if (!fault->ops->takes_cables_down || !common->known || !common->enabled)
			continue;
		withdrawn[topo->ports[((const struct fault_at_port *)fault->params)->port_id].link] = true;
		any = true;
	}
	return any;
}

uint64_t
faults_start_delay_ps(const void *ctx, uint32_t node, uint32_t collective, uint32_t step)
{
	const struct fault_list *list = ctx;
	uint64_t delay_ps = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct fault *fault = &list->faults[i];

		if (fault->ops->start_delay_ps != NULL && (fault->on || fault->ops->set == NULL))
			delay_ps += fault->ops->start_delay_ps(fault->params, node, collective, step);
	}
	return delay_ps;
}

/* Is the fault active at now_ps? */
static bool
is_due(const struct fault_common *common, uint64_t now_ps)
{
	uint64_t since;

	if (now_ps < common->start_ps)
		return false;
	since = now_ps - common->start_ps;
	if (common->period_ps != 0)
		since %= common->period_ps;
	return common->duration_ps == 0 || since < common->duration_ps;
}

#define BEGINNINGS_COMPARED 4096 /* of a fault that begins again; there may be an overlap later */

/* @return whether one fault begins while the other is on */
static bool
begins_within(const struct fault_common *one, const struct fault_common *other)
{
	uint64_t at_ps = one->start_ps, before_ps = 0;

	for (int n = 0; n < BEGINNINGS_COMPARED && at_ps >= before_ps; n++) {
		if (is_due(other, at_ps))
			return true;
		if (one->period_ps == 0)
			return false;
		before_ps = at_ps;
		at_ps += one->period_ps;
	}
	return false;
}

static bool
is_one_place(const struct topo *topo, const struct fault *a, const struct fault *b)
{
	uint32_t one = ((const struct fault_at_port *)a->params)->port_id;
	uint32_t other = ((const struct fault_at_port *)b->params)->port_id;

	return one == other ||
	       (a->ops->replaces == FAULT_REPLACES_CABLE && topo->ports[one].link == topo->ports[other].link);
}

const struct fault *
faults_replacing(const struct fault_list *list, const struct topo *topo, const struct fault *replaced)
{
	const struct fault_common *common = replaced->params;

	if (replaced->ops->replaces == FAULT_REPLACES_NONE || !common->enabled)
		return NULL;
	for (const struct fault *fault = replaced + 1; fault < list->faults + list->count; fault++) {
		const struct fault_common *other = fault->params;

		if (fault->ops == replaced->ops && other->enabled && is_one_place(topo, replaced, fault) &&
		    (begins_within(common, other) || begins_within(other, common)))
			return fault;
	}
	return NULL;
}

/* @return the fault's next change at or after now_ps */
static uint64_t
next_change(const struct fault_common *common, uint64_t now_ps)
{
	uint64_t begin = common->start_ps;

	if (common->period_ps != 0 && now_ps > common->start_ps + common->duration_ps)
		begin += (now_ps - common->start_ps - common->duration_ps + common->period_ps - 1) / common->period_ps *
			 common->period_ps;
	if (now_ps <= begin)
		return begin;
	if (common->duration_ps != 0 && now_ps <= begin + common->duration_ps)
		return begin + common->duration_ps;
	return TIME_NEVER;
}

uint64_t
faults_next_ps(const struct fault_list *list, uint64_t now_ps)
{
	uint64_t next_ps = TIME_NEVER;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct fault *fault = &list->faults[i];
		uint64_t change_ps = fault->ops->set != NULL ? next_change(fault->params, now_ps) : TIME_NEVER;

		next_ps = change_ps < next_ps ? change_ps : next_ps;
	}
	return next_ps;
}

static void
look_at(struct fault *fault, const struct fault_env *env)
{
	uint64_t affected = fault->ops->affected(fault->params, env);

	fault->acted |= affected == FAULT_UNSEEN || affected != fault->affected;
}

/* Switches off the faults that are over. @return whether there was any */
static bool
end_faults(struct fault_list *list, struct fault_env *env, uint64_t now_ps)
{
	bool ended = false;

	for (uint32_t i = 0; i < list->count; i++) {
		struct fault *fault = &list->faults[i];

		if (!fault->on || is_due(fault->params, now_ps))
			continue;
		look_at(fault, env);
		fault->on = false;
		fault->ops->set(fault->params, env, false, now_ps);
		ended = true;
	}
	return ended;
}

void
faults_apply(struct fault_list *list, struct fault_env *env, uint64_t now_ps)
{
	/* A fault that has ended may have replaced one that goes on: the latter is set again. */
	bool ended = end_faults(list, env, now_ps);

	for (uint32_t i = 0; i < list->count && ended; i++)
		if (list->faults[i].on)
			list->faults[i].ops->set(list->faults[i].params, env, true, now_ps);
	for (uint32_t i = 0; i < list->count; i++) {
		struct fault *fault = &list->faults[i];

		if (fault->on || fault->ops->set == NULL || !is_due(fault->params, now_ps))
			continue;
		fault->on = true;
		if (!fault->begun)
			fault->affected = fault->ops->affected(fault->params, env);
		fault->begun = true;
		fault->ops->set(fault->params, env, true, now_ps);
	}
}

void
faults_close(struct fault_list *list, const struct fault_env *env)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct fault *fault = &list->faults[i];

		fault->begun |= fault->ops->set == NULL;
		if (fault->begun)
			look_at(fault, env);
	}
}

const char *
fault_idle(const struct fault *fault)
{
	if (!fault->begun)
		return "the run ended before it began";
	if (((const struct fault_common *)fault->params)->known)
		return NULL; /* its effect is not checked */
	if (!fault->acted)
		return fault->ops->idle;
	return fault->ops->powerless != NULL ? fault->ops->powerless(fault->params) : NULL;
}

struct sw *
fault_switch(const struct fault_env *env, uint32_t node)
{
	return fabric_is_remote(env->fabric, node) ? NULL : switch_of(env->fabric->nodes[node]);
}

struct sw *
fault_switch_reroutes(const struct fault_env *env, uint32_t node)
{
	struct sw *sw = fault_switch(env, node);

	if (sw == NULL)
		env->fabric->nodes[node]->ops->routes_changed(env->fabric->nodes[node]);
	return sw;
}

int
fault_at_port_resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fault_at_port *fault = params;

	fault->port_id = fault_find_port(topo, &fault->common.where, "port", fault->port, err);
	return fault->port_id != TOPO_NONE ? 0 : -EINVAL;
}

void
fault_at_port_target(const void *params, const struct topo *topo, char *buf)
{
	topo_port_name(topo, ((const struct fault_at_port *)params)->port_id, buf);
}

int
fault_at_host_resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fault_at_host *fault = params;

	fault->node = fault_find_node(topo, &fault->common.where, "host", fault->host, TOPO_HOST, err);
	return fault->node != TOPO_NONE ? 0 : -EINVAL;
}

void
fault_at_host_target(const void *params, const struct topo *topo, char *buf)
{
	snprintf(buf, 64, "%s", topo->nodes[((const struct fault_at_host *)params)->node].name);
}

double
fault_loses_all(const void *params)
{
	(void)params;
	return 1;
}

uint32_t
fault_find_port(const struct topo *topo, const struct cfg_where *where, const char *key, const char *text, struct err *err)
{
	uint32_t port = topo_find_port(topo, text);

	if (port == TOPO_NONE)
		cfg_fail(where, key, err, "\"%s\" is no port of this topology: write \"node:port\", ports from 1", text);
	return port;
}

uint32_t
fault_find_node(const struct topo *topo, const struct cfg_where *where, const char *key, const char *text,
		enum topo_kind wanted, struct err *err)
{
	uint32_t node = topo_find(topo, text);

	if (node != TOPO_NONE && topo->nodes[node].kind == wanted)
		return node;
	cfg_fail(where, key, err, "\"%s\" is no %s of this topology", text, wanted == TOPO_HOST ? "host" : "switch");
	return TOPO_NONE;
}
