/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/plugins.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/flow.h"
#include "common/interrupt.h"
#include "common/run_files.h"
#include "common/units.h"
#include "dpswitch/pipeline/poll.h"
#include "emulation/emulation.h"
#include "emulation/probing.h"
#include "plugin/account.h"
#include "plugin/session.h"
#include "rxe-hosts/probe/agent.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

struct plugins {
	struct emulation *emulation;                     /* since plugins_begin() */
	struct plugin_session sessions[PLUGIN_PROGRAMS]; /* [count] */
	uint32_t count;
	struct plugin_driver driver;
	uint64_t epoch_ps, next_ps;
	uint32_t *events; /* [nnodes] the number of requests to a switch */
	bool real_time;
};

static struct plugins *
plugins_of(const struct emulation *emulation)
{
	return emulation_service(emulation, &service_plugins);
}

/* ---- the programs' requests ---- */

static int
poll_port(void *ctx, const char *name, struct err *err)
{
	const struct emulation *emulation = ctx;
	const struct topo *topo = emulation->scenario->topo;
	uint32_t port = topo_find_port(topo, name), node, *events;

	if (port == TOPO_NONE)
		return err_set(err, -EINVAL, "it asks for a poll of port \"%s\", and there is no such port", name);
	node = topo->ports[port].node;
	if (topo->nodes[node].kind != TOPO_SWITCH)
		return err_set(err, -ENOTSUP, "%s is a host's port: poll a flow of it, which asks its NIC first", name);
	if (emulation->switch_config.telemetry_off)
		return err_set(err, -ENOTSUP, "this run's switches keep no telemetry (detection.policy)");
	events = &plugins_of(emulation)->events[node];
	if (*events == AGENT_MAX_EVENTS)
		return err_set(err, -ENOSPC, "%s was polled %d times", topo->nodes[node].name, AGENT_MAX_EVENTS);
	switch_ask(emulation->switches[node], topo->ports[port].index, agent_event(node, ++*events));
	return 0;
}

/* "src->dst/sport>dport". @return whether the text has that form; the ends' names are split off it */
static bool
split_flow(char *text, char **dst, unsigned *sport, unsigned *dport)
{
	char *arrow = strstr(text, "->"), *slash = arrow != NULL ? strchr(arrow, '/') : NULL;
	int end = 0;

	if (slash == NULL || sscanf(slash, "/%5u>%5u%n", sport, dport, &end) != 2 || slash[end] != '\0')
		return false;
	*arrow = *slash = '\0';
	*dst = arrow + 2;
	return true;
}

/* @return FLOW_NONE: there is none of that name */
static uint32_t
find_flow(const struct emulation *emulation, const char *name)
{
	const struct flow_table *table = &emulation->scenario->plan->flows;
	const struct topo *topo = emulation->scenario->topo;
	char text[PLUGIN_NAME], *dst;
	unsigned sport, dport;
	uint32_t from, to;

	snprintf(text, sizeof(text), "%s", name);
	if (!split_flow(text, &dst, &sport, &dport))
		return FLOW_NONE;
	from = topo_find(topo, text);
	to = topo_find(topo, dst);
	for (uint32_t i = 0; i < table->count; i++) {
		const struct flow *flow = &table->flows[i];

		if (flow->src_node == from && flow->dst_node == to && flow->sport == sport && flow->dport == dport)
			return i;
	}
	return FLOW_NONE;
}

static int
poll_flow(void *ctx, const char *name, struct err *err)
{
	struct emulation *emulation = ctx;
	const struct scenario *sc = emulation->scenario;
	uint32_t flow = find_flow(emulation, name), node;
	int ret;

	if (flow == FLOW_NONE)
		return err_set(err, -EINVAL, "it asks for a poll of flow \"%s\", and there is no such flow", name);
	node = sc->plan->flows.flows[flow].src_node;
	if (sc->hosts[node] != NULL)
		return err_set(err, -ENOTSUP, "%s has its own kernel, and its agent polls by itself alone",
			       sc->topo->nodes[node].name);
	ret = step_engine_poll(emulation->engines[node], flow);
	if (ret == -EAGAIN)
		return err_set(err, ret, "%s has %d polls to send already", sc->topo->nodes[node].name, AGENT_MAX_ASKED);
	return ret == 0 ? 0 : err_set(err, ret, "%s has no number left for one more poll", sc->topo->nodes[node].name);
}

static int
find_host(const struct topo *topo, const char *name, uint32_t *node, struct err *err)
{
	*node = topo_find(topo, name);
	if (*node != TOPO_NONE && topo->nodes[*node].kind == TOPO_HOST)
		return 0;
	return err_set(err, -EINVAL, "it names host \"%s\", and there is no such host", name);
}

static int
probe(void *ctx, const char *from, const char *to, struct err *err)
{
	struct emulation *emulation = ctx;
	const struct topo *topo = emulation->scenario->topo;
	struct probe_agent *agent;
	uint32_t src, dst;
	int ret = find_host(topo, from, &src, err);

	if (ret == 0)
		ret = find_host(topo, to, &dst, err);
	if (ret != 0)
		return ret;
	agent = probing_agent(emulation, src);
	if (agent == NULL)
		return err_set(err, -ENOTSUP, "%s has no agent of R-Pingmesh (pingmesh.enabled)", from);
	ret = probe_agent_ask(agent, dst);
	step_engine_rearm(emulation->engines[src]);
	if (ret == -EAGAIN)
		return err_set(err, ret, "%s has too many probes to send already", from);
	return ret == 0 ? 0 : err_set(err, ret, "%s is in no pinglist of %s, or its QP is not known yet", to, from);
}

static int
check_ports(const struct topo *topo, const struct plugin_names *names, struct err *err)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (topo_find_port(topo, names->names[i]) == TOPO_NONE)
			return err_set(err, -EINVAL, "a finding names port \"%s\", and there is no such port",
				       names->names[i]);
	return 0;
}

static int
check(void *ctx, const struct plugin_finding *finding, struct err *err)
{
	const struct emulation *emulation = ctx;
	const struct topo *topo = emulation->scenario->topo;
	uint32_t node;
	int ret = check_ports(topo, &finding->ports, err);

	if (ret == 0)
		ret = check_ports(topo, &finding->links, err);
	for (uint32_t i = 0; ret == 0 && i < finding->hosts.count; i++)
		ret = find_host(topo, finding->hosts.names[i], &node, err);
	for (uint32_t i = 0; ret == 0 && i < finding->flows.count; i++)
		if (find_flow(emulation, finding->flows.names[i]) == FLOW_NONE)
			ret = err_set(err, -EINVAL, "a finding names flow \"%s\", and there is no such flow",
				      finding->flows.names[i]);
	return ret;
}

/* ---- start and end ---- */

struct plugins *
plugins_create(const struct emulation *emulation, const char *const *paths, uint32_t count, struct err *err)
{
	const struct plugin_account *named[PLUGIN_PROGRAMS];
	struct plugins *o = calloc(1, sizeof(*o));
	int ret = 0;

	if (o != NULL)
		o->events = calloc(emulation->scenario->topo->nnodes, sizeof(*o->events));
	if (o == NULL || o->events == NULL)
		ret = err_set(err, -ENOMEM, "out of memory for diagnosers");
	else if (count > PLUGIN_PROGRAMS)
		ret = err_set(err, -EINVAL, "%u plugin diagnosers; right would be %u at most", count, PLUGIN_PROGRAMS);
	while (ret == 0 && o->count < count) {
		uint32_t i = o->count++;

		ret = plugin_session_start(&o->sessions[i], paths[i], named, i, err);
		named[i] = &o->sessions[i].account;
	}
	if (ret == 0)
		return o;
	plugins_destroy(o);
	errno = -ret;
	return NULL;
}

void
plugins_destroy(struct plugins *o)
{
	if (o == NULL)
		return;
	for (uint32_t i = 0; i < o->count; i++) {
		plugin_session_close(&o->sessions[i]);
		plugin_account_fini(&o->sessions[i].account);
	}
	free(o->events);
	free(o);
}

uint32_t
plugins_targets(const struct plugins *o, struct output_target *targets)
{
	for (uint32_t i = 0; o != NULL && i < o->count; i++)
		targets[i] = (struct output_target){ .ops = &output_plugin, .fd = o->sessions[i].program.records };
	return o != NULL ? o->count : 0;
}

void
plugins_begin(struct plugins *o, struct emulation *emulation)
{
	const struct scenario *sc = emulation->scenario;

	if (o == NULL)
		return;
	o->emulation = emulation;
	emulation_attach(emulation, &service_plugins, o);
	o->driver = (struct plugin_driver){ emulation, poll_port, poll_flow, probe, check, interrupt_asked };
	o->real_time = sc->timing.clock == CLOCK_REAL;
	o->epoch_ps = o->next_ps = sc->telemetry.epoch_ps;
	for (uint32_t i = 0; i < o->count; i++)
		plugin_session_begin(&o->sessions[i], &(struct plugin_intro){ o->real_time, true, o->epoch_ps });
}

static uint64_t
next_ps(const void *state, uint64_t now_ps)
{
	(void)now_ps;
	return ((const struct plugins *)state)->next_ps;
}

static struct output_stats
stream_of(const struct emulation *emulation, const struct plugin_session *session)
{
	return sink_stats_fd(exporter_outputs(emulation->exporter), session->program.records);
}

/* All receive their turn before the run waits for any. */
static void
turn(struct plugins *o, uint64_t now_ps, bool last)
{
	const struct emulation *emulation = o->emulation;

	for (uint32_t i = 0; i < o->count; i++) {
		struct plugin_session *session = &o->sessions[i];

		if (plugin_session_works(session))
			plugin_session_turn(session, now_ps, stream_of(emulation, session).put_bytes, last);
	}
	for (uint32_t i = 0; i < o->count; i++) {
		struct plugin_session *session = &o->sessions[i];

		if (o->real_time && !last)
			plugin_session_receive(session, &o->driver, now_ps);
		else
			plugin_session_wait(session, &o->driver, now_ps);
		plugin_session_records(session, stream_of(emulation, session).error, now_ps);
	}
}

/* The turn that is due, if one is. */
static void
change(void *state, uint64_t now_ps)
{
	struct plugins *o = state;
	struct emulation *emulation = o->emulation;

	if (now_ps < o->next_ps)
		return;
	emulation_take_reports(emulation);
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	/* Kernel hosts may still report events since their last poll. */
	exporter_advance(emulation->exporter, emulation->scenario->nexternal != 0 ? emulation->collected_ps : now_ps);
	exporter_flush(emulation->exporter);
	turn(o, now_ps, false);
	o->next_ps = (now_ps / o->epoch_ps + 1) * o->epoch_ps;
}

const struct run_service service_plugins = {
	.name = "plugins",
	.next_ps = next_ps,
	.change = change,
};

int
plugins_end(struct emulation *emulation, const char *dir, struct err *err)
{
	const struct plugin_account *accounts[PLUGIN_PROGRAMS];
	struct plugins *o = plugins_of(emulation);
	char path[PATH_MAX];
	int left_out = 0, ret;

	if (o == NULL)
		return 0;
	turn(o, emulation->fabric->window.end_ps, true);
	for (uint32_t i = 0; i < o->count; i++) {
		struct plugin_session *session = &o->sessions[i];

		session->account.dropped_records = stream_of(emulation, session).dropped_records;
		plugin_session_close(session);
		plugin_session_log(session, true);
		accounts[i] = &session->account;
		left_out += session->account.left_out;
	}
	if (snprintf(path, sizeof(path), "%s/" RUN_PLUGIN, dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	ret = plugin_report_write(accounts, o->count, path, err);
	return ret < 0 ? ret : left_out;
}
