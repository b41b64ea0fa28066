/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plugin diagnosers in a run. Of a fabric that several processes run, process 0 has the programs. All processes take
 * turns at the same times: process 0 has the records of all by then, and forwards requests to nodes of other processes.
 */
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
	uint32_t *events;     /* [nnodes] the number of requests to a switch */
	bool real_time, over; /* over: the last window is past */
};

/* A program's request to a node, as process 0 sends it to the others; the node's process replies with an int32_t. */
struct plugin_ask {
	enum { ASK_END, ASK_PORT, ASK_FLOW, ASK_PROBE } of; /* ASK_END: nothing more in this turn */
	uint32_t node;
	uint32_t what;  /* of its ports, its flows, the host to probe */
	uint32_t event; /* of a switch, ASK_PORT */
};

static struct plugins *
plugins_of(const struct emulation *emulation)
{
	return emulation_service(emulation, &service_plugins);
}

/* ---- the programs' requests, where the node is ---- */

static int
ask_agent(const struct emulation *emulation, uint32_t host, uint32_t to)
{
	int ret = probe_agent_ask(probing_agent(emulation, host), to);

	step_engine_rearm(emulation->engines[host]);
	return ret;
}

/* @return 0 or negative errno */
static int
ask_here(const struct emulation *emulation, const struct plugin_ask *ask)
{
	switch (ask->of) {
	case ASK_PORT:
		switch_ask(emulation->switches[ask->node], (uint16_t)ask->what, ask->event);
		return 0;
	case ASK_FLOW:
		return step_engine_poll(emulation->engines[ask->node], ask->what);
	case ASK_PROBE:
		return ask_agent(emulation, ask->node, ask->what);
	default:
		return -EINVAL;
	}
}

/* ---- the programs' requests, over processes ---- */

/* Process 0 shares a program's request, as one of its nodes. */
static void
share_ask(const struct emulation *emulation, const struct plugin_ask *ask)
{
	const struct partition *partition = emulation->partition;
	struct plugin_ask copy = *ask;
	struct partition_request request = { .program = PARTITION_PLUGINS, .bytes = &copy, .size = sizeof(copy) };

	while (partition->remote[request.node])
		request.node++;
	partition->ops->share(partition->ctx, &request);
}

/* The only thing of this size that was shared in a round. @return false: nothing was, because a process was lost */
static bool
take_shared(const struct partition *partition, void *bytes, size_t size)
{
	uint32_t count;
	const struct partition_request *shared = partition->ops->shared(partition->ctx, &count);

	if (count != 1 || shared[0].size != size)
		return false;
	memcpy(bytes, shared[0].bytes, size);
	return true;
}

/*
 * Of process 0. @return as the process of the node does; -ENODEV: it was lost. Where processes do not open the same
 * windows, the reply is not waited for
 */
static int
ask_there(const struct emulation *emulation, const struct plugin_ask *ask)
{
	const struct partition *partition = emulation->partition;
	int32_t reply;
	uint32_t count;

	share_ask(emulation, ask);
	if (!partition->windows)
		return 0;
	partition->ops->shared(partition->ctx, &count); /* all others have it */
	return take_shared(partition, &reply, sizeof(reply)) ? reply : -ENODEV;
}

/* A request of the last turn succeeds without effect: the run is over. */
static int
ask_node(const struct plugins *o, const struct plugin_ask *ask)
{
	if (o->over)
		return 0;
	return partition_is_remote(o->emulation, ask->node) ? ask_there(o->emulation, ask) : ask_here(o->emulation, ask);
}

static bool
is_for_here(const struct emulation *emulation, const struct plugin_ask *ask)
{
	const struct topo *topo = emulation->scenario->topo;

	return ask->node < topo->nnodes && !emulation->partition->remote[ask->node] &&
	       (ask->of != ASK_PORT || ask->what < topo->nodes[ask->node].nports) &&
	       (ask->of != ASK_FLOW ||
		(ask->what < emulation->scenario->plan->flows.count && emulation->scenario->hosts[ask->node] == NULL)) &&
	       (ask->of != ASK_PROBE || (ask->what < topo->nnodes && probing_agent(emulation, ask->node) != NULL)) &&
	       (topo->nodes[ask->node].kind == TOPO_SWITCH) == (ask->of == ASK_PORT);
}

/* Of the other processes, during a turn. */
static void
serve_asks(const struct emulation *emulation)
{
	const struct partition *partition = emulation->partition;
	struct plugin_ask ask;

	while (take_shared(partition, &ask, sizeof(ask)) && ask.of != ASK_END) {
		uint32_t count;

		if (is_for_here(emulation, &ask)) {
			int32_t reply = ask_here(emulation, &ask);

			partition->ops->share(partition->ctx, &(struct partition_request){ .node = ask.node,
											   .program = PARTITION_PLUGINS,
											   .bytes = &reply,
											   .size = sizeof(reply) });
		}
		partition->ops->shared(partition->ctx, &count);
	}
}

/* Where they do not open the same windows: those that have arrived. */
static void
take_asks(const struct emulation *emulation)
{
	const struct partition *partition = emulation->partition;
	struct partition_request request;
	struct plugin_ask ask;

	while (partition->ops->arrived(partition->ctx, PARTITION_PLUGINS, &request)) {
		if (request.size == sizeof(ask)) {
			memcpy(&ask, request.bytes, sizeof(ask));
			if (is_for_here(emulation, &ask))
				ask_here(emulation, &ask);
		}
		free(request.bytes);
	}
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
	return ask_node(plugins_of(emulation),
			&(struct plugin_ask){ ASK_PORT, node, topo->ports[port].index, agent_event(node, ++*events) });
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
	ret = ask_node(plugins_of(emulation), &(struct plugin_ask){ .of = ASK_FLOW, .node = node, .what = flow });
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
	uint32_t src, dst;
	int ret = find_host(topo, from, &src, err);

	if (ret == 0)
		ret = find_host(topo, to, &dst, err);
	if (ret != 0)
		return ret;
	if (!emulation->scenario->pingmesh.enabled || emulation->scenario->hosts[src] != NULL)
		return err_set(err, -ENOTSUP, "%s has no agent of R-Pingmesh (pingmesh.enabled)", from);
	ret = ask_node(plugins_of(emulation), &(struct plugin_ask){ .of = ASK_PROBE, .node = src, .what = dst });
	if (ret == -EAGAIN)
		return err_set(err, ret, "%s has too many probes to send already", from);
	return ret == 0 ? 0 : err_set(err, ret, "%s is in no pinglist of %s, or its QP is not known yet", to, from);
}

/* The other processes wait for the turn of this one. */
static void
waits(void *ctx)
{
	const struct emulation *emulation = ctx;

	if (emulation->partition != NULL)
		emulation->partition->ops->alive(emulation->partition->ctx);
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
	while (ret == 0 && o->count < count && (emulation->partition == NULL || emulation->partition->which == 0)) {
		uint32_t i = o->count++;

		ret = plugin_session_start(&o->sessions[i], paths[i], &o->driver, named, i, err);
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

/* While the run waits until a program reads records. */
static void
receive(void *ctx)
{
	struct plugin_session *session = ctx;
	const struct emulation *emulation = session->driver->ctx; /* NULL: there is no fabric yet */

	plugin_session_receive(session, emulation != NULL ? emulation->fabric->window.end_ps : 0);
}

uint32_t
plugins_targets(struct plugins *o, struct output_target *targets)
{
	for (uint32_t i = 0; o != NULL && i < o->count; i++)
		targets[i] = (struct output_target){ .ops = &output_plugin,
						     .fd = o->sessions[i].program.records,
						     .meanwhile = receive,
						     .ctx = &o->sessions[i] };
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
	o->driver = (struct plugin_driver){ emulation, poll_port, poll_flow, probe, check, interrupt_asked, waits };
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
			plugin_session_receive(session, now_ps);
		else
			plugin_session_wait(session, now_ps);
		plugin_session_records(session, stream_of(emulation, session).error, now_ps);
	}
}

/* The stream has all records by then, of all processes; of kernel hosts, those of their last poll. */
static void
catch_up(struct emulation *emulation, uint64_t now_ps)
{
	const struct partition *partition = emulation->partition;

	/* Those that do not open the same windows send their records by themselves. */
	if (partition == NULL || partition->windows) {
		emulation_take_reports(emulation);
		if (partition != NULL)
			partition->ops->collect(partition->ctx, now_ps);
		exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
		exporter_advance(emulation->exporter,
				 emulation->scenario->nexternal != 0 ? emulation->collected_ps : now_ps);
	}
	exporter_flush(emulation->exporter);
}

/* The turn that is due, if one is. */
static void
change(void *state, uint64_t now_ps)
{
	struct plugins *o = state;
	struct emulation *emulation = o->emulation;
	const struct partition *partition = emulation->partition;

	if (now_ps < o->next_ps)
		return;
	catch_up(emulation, now_ps);
	turn(o, now_ps, false);
	if (partition != NULL && !partition->windows)
		take_asks(emulation);
	if (partition != NULL && partition->windows && partition->which == 0)
		share_ask(emulation, &(struct plugin_ask){ .of = ASK_END });
	if (partition != NULL && partition->windows)
		serve_asks(emulation);
	o->next_ps = (now_ps / o->epoch_ps + 1) * o->epoch_ps;
}

static void
finish(void *state, uint64_t end_ps)
{
	(void)end_ps;
	((struct plugins *)state)->over = true;
}

const struct run_service service_plugins = {
	.name = "plugins",
	.next_ps = next_ps,
	.change = change,
	.finish = finish,
};

int
plugins_end(struct emulation *emulation, const char *dir, struct err *err)
{
	const struct plugin_account *accounts[PLUGIN_PROGRAMS];
	struct plugins *o = plugins_of(emulation);
	char path[PATH_MAX];
	int left_out = 0, ret;

	if (o == NULL || o->count == 0)
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
