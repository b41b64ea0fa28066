/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of a trace, as text and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/trace/trace.h"
#include "common/units.h"

#define BUSIEST 10

const char *const trace_drop_names[REC_DROP_REASONS] = { REC_DROPS(ENUM_NAME) };
static const char *const connection_names[] = { TRACER_CONNECTIONS(ENUM_NAME) };

static char *
ip_text(uint32_t ip, char buf[16])
{
	snprintf(buf, 16, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
	return buf;
}

/* The reason why a path ends: "dropped at l0: link_down". */
static const char *
end_text(const struct trace_view *view, const struct topo_walk *walk, char *buf, size_t cap)
{
	const char *name = view->scenario->topo->nodes[walk->node].name, *why = topo_walk_texts[walk->state];

	if (walk->state == WALK_DROPPED && walk->reason < REC_DROP_REASONS)
		why = trace_drop_names[walk->reason];
	snprintf(buf, cap, "%s at %s: %s", topo_walk_names[walk->state], name, why);
	return buf;
}

static void
print_path(const struct trace_view *view, const struct traced *traced)
{
	const struct topo *topo = view->scenario->topo;
	char a[16], b[16], text[160];

	printf("%s:%u>%s:%u/%u ", ip_text(traced->flow.src_ip, a), traced->flow.sport, ip_text(traced->flow.dst_ip, b),
	       traced->flow.dport, traced->flow.protocol);
	for (uint32_t i = 0; i < traced->walk.path.hops; i++)
		printf(" %s", topo_port_name(topo, traced->walk.path.ports[i], text));
	printf("  %s\n", traced->walk.state == WALK_ARRIVED ? topo->nodes[traced->walk.node].name
							    : end_text(view, &traced->walk, text, sizeof(text)));
}

static void
print_fim(const struct trace_view *view, const char *name, uint16_t group)
{
	const struct fim fim = fim_fabric_metric(&view->load->fabric, group);
	double expected = fim_fabric_expected(&view->load->fabric, group);

	if (fim.links == 0 && group != FIM_SWITCHES)
		return;
	printf("  %-24s %6u %10.2f %6u %6u %8.1f %%", name, fim.links, fim.ideal, fim.least, fim.most, fim.percent);
	if (isnan(expected))
		printf(" %11s\n", "unknown");
	else
		printf(" %9.1f %%\n", expected);
}

static void
print_layers(const struct trace_view *view)
{
	char name[FIM_LAYER_NAME];

	printf("  %-24s %6s %10s %6s %6s %10s %11s\n", "layer and direction", "links", "ideal", "least", "most", "FIM",
	       "by chance");
	for (uint16_t g = 0; g < view->load->fabric.nlayers; g++)
		print_fim(view, topo_load_name(view->load, g, name), g);
	print_fim(view, "links of switches", FIM_SWITCHES);
	print_fim(view, "all links", FIM_ALL);
}

struct loaded {
	uint32_t port;
	double over; /* flows beyond the ideal */
};

static int
by_load(const void *a, const void *b)
{
	const struct loaded *x = a, *y = b;

	if (x->over > y->over || x->over < y->over)
		return x->over > y->over ? -1 : 1;
	return (x->port > y->port) - (x->port < y->port);
}

static void
print_links(const struct trace_view *view)
{
	const struct topo *topo = view->scenario->topo;
	struct loaded *loaded = calloc(topo->nports + 1u, sizeof(*loaded));
	uint32_t count = 0;
	char name[40];

	for (uint32_t i = 0; loaded != NULL && i < topo->nports; i++)
		if (view->load->fabric.links[i].ideal > 0)
			loaded[count++] =
				(struct loaded){ i, view->load->fabric.links[i].flows - view->load->fabric.links[i].ideal };
	if (count != 0)
		qsort(loaded, count, sizeof(*loaded), by_load);
	if (!view->options->show_links && count > BUSIEST)
		count = BUSIEST;
	if (count != 0)
		printf("  %-16s %-16s %6s %10s\n", view->options->show_links ? "link from" : "busiest link from", "to",
		       "flows", "ideal");
	for (uint32_t i = 0; i < count; i++) {
		const struct fim_link *link = &view->load->fabric.links[loaded[i].port];

		printf("  %-16s %-16s %6u %10.2f\n", topo_port_name(topo, loaded[i].port, name),
		       topo->nodes[topo->ports[loaded[i].port].peer].name, link->flows, link->ideal);
	}
	free(loaded);
}

static void
count_states(const struct tracer_result *result, uint32_t counts[TOPO_WALK_STATES])
{
	for (uint32_t f = 0; f < result->count; f++)
		counts[result->flows[f].walk.state]++;
}

void
trace_print(const struct trace_view *view)
{
	const struct tracer_result *result = view->result;
	const struct tracer_config *tracer = &view->options->tracer;
	uint32_t counts[TOPO_WALK_STATES] = { 0 };

	count_states(result, counts);
	printf("%s, seed %lld: %u flows", view->scenario->name, (long long)view->scenario->root.seed, result->count);
	for (uint32_t s = 0; s < TOPO_WALK_STATES; s++)
		if (counts[s] != 0)
			printf(", %u %s", counts[s], topo_walk_names[s]);
	putchar('\n');
	if (view->measured)
		printf("# %.3f s: %u processes of %u threads, %s connections (%" PRIu64 "), %" PRIu64
		       " questions in %" PRIu64 " messages, %" PRIu64 " B\n",
		       (double)result->wall_ns / 1e9, tracer->processes,
		       tracer->connections == TRACER_PARALLEL ? tracer->threads : 1, connection_names[tracer->connections],
		       result->work.connections, result->work.questions, result->work.messages, result->work.bytes);
	if (view->measured && tracer->first_hop == REC_TRACE_SFLOW)
		printf("# flows by %" PRIu64 " samples, the latest of %" PRIu64 " packets; who sent few may be missing\n",
		       result->work.samples, result->work.pool);
	for (uint32_t f = 0; f < result->count; f++)
		if (view->options->show_paths ||
		    (result->flows[f].walk.state != WALK_ARRIVED && result->flows[f].walk.state != WALK_SPRAYED))
			print_path(view, &result->flows[f]);
	for (uint32_t i = 0; i < result->nsilent; i++)
		printf("no answer from %s: %s\n", view->scenario->topo->nodes[result->silent[i].node].name,
		       result->silent[i].why);
	if (result->work.died != 0)
		printf("%u of %u processes died: the flows of their hosts are missing\n", result->work.died,
		       tracer->processes);
	print_layers(view);
	print_links(view);
}

/* ---- JSON ---- */

static json_t *
flow_json(const struct trace_view *view, const struct traced *traced)
{
	const struct topo *topo = view->scenario->topo;
	json_t *path = json_array(), *flow;
	char a[16], b[16], name[40];

	for (uint32_t i = 0; i < traced->walk.path.hops; i++)
		json_array_append_new(path, json_string(topo_port_name(topo, traced->walk.path.ports[i], name)));
	flow = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:s, s:o}", "source", topo->nodes[traced->source].name,
			 "src_ip", ip_text(traced->flow.src_ip, a), "dst_ip", ip_text(traced->flow.dst_ip, b), "sport",
			 traced->flow.sport, "dport", traced->flow.dport, "protocol", traced->flow.protocol, "state",
			 topo_walk_names[traced->walk.state], "end", topo->nodes[traced->walk.node].name, "path", path);
	if (traced->walk.state == WALK_DROPPED && traced->walk.reason < REC_DROP_REASONS)
		json_object_set_new(flow, "reason", json_string(trace_drop_names[traced->walk.reason]));
	if (traced->flow.job != SWM_ANY)
		json_object_set_new(flow, "job", json_integer(traced->flow.job));
	return flow;
}

static json_t *
fim_json(const struct trace_view *view, const char *name, uint16_t group)
{
	const struct fim fim = fim_fabric_metric(&view->load->fabric, group);
	double expected = fim_fabric_expected(&view->load->fabric, group);

	return json_pack("{s:s, s:i, s:f, s:i, s:i, s:f, s:o}", "layer", name, "links", fim.links, "ideal", fim.ideal,
			 "least", fim.least, "most", fim.most, "fim_percent", fim.percent, "fim_by_chance_percent",
			 isnan(expected) ? json_null() : json_real(expected));
}

static json_t *
links_json(const struct trace_view *view)
{
	const struct topo *topo = view->scenario->topo;
	json_t *list = json_array();
	char name[40], layer[FIM_LAYER_NAME];

	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct fim_link *link = &view->load->fabric.links[i];

		if (link->ideal > 0)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:s, s:i, s:f}", "from", topo_port_name(topo, i, name),
							"to", topo->nodes[topo->ports[i].peer].name, "layer",
							topo_load_name(view->load, link->group, layer), "flows",
							link->flows, "ideal", link->ideal));
	}
	return list;
}

static void
put_work(const struct trace_view *view, json_t *json)
{
	const struct tracer_config *tracer = &view->options->tracer;
	const struct tracer_work *work = &view->result->work;

	json_object_set_new(json, "work",
			    json_pack("{s:f, s:i, s:i, s:s, s:I, s:I, s:I, s:I, s:i}", "wall_s",
				      (double)view->result->wall_ns / 1e9, "processes", tracer->processes, "threads",
				      tracer->connections == TRACER_PARALLEL ? tracer->threads : 1, "connections",
				      connection_names[tracer->connections], "opened", (json_int_t)work->connections,
				      "questions", (json_int_t)work->questions, "messages", (json_int_t)work->messages,
				      "bytes", (json_int_t)work->bytes, "died", work->died));
	if (tracer->first_hop == REC_TRACE_SFLOW)
		json_object_set_new(
			json, "samples",
			json_pack("{s:I, s:I}", "count", (json_int_t)work->samples, "pool", (json_int_t)work->pool));
}

json_t *
trace_json(const struct trace_view *view)
{
	const struct tracer_result *result = view->result;
	char name[FIM_LAYER_NAME];
	json_t *flows = json_array(), *silent = json_array(), *layers = json_array(), *json;

	for (uint32_t f = 0; f < result->count; f++)
		json_array_append_new(flows, flow_json(view, &result->flows[f]));
	for (uint32_t i = 0; i < result->nsilent; i++)
		json_array_append_new(silent, json_pack("{s:s, s:s}", "device",
							view->scenario->topo->nodes[result->silent[i].node].name, "why",
							result->silent[i].why));
	for (uint16_t g = 0; g < view->load->fabric.nlayers; g++)
		if (fim_fabric_metric(&view->load->fabric, g).links != 0)
			json_array_append_new(layers, fim_json(view, topo_load_name(view->load, g, name), g));
	json = json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "scenario", view->scenario->name, "seed",
			 (json_int_t)view->scenario->root.seed, "flows", flows, "links", links_json(view), "layers", layers,
			 "switches", fim_json(view, "links of switches", FIM_SWITCHES), "all",
			 fim_json(view, "all links", FIM_ALL), "silent", silent);
	if (json != NULL && view->measured)
		put_work(view, json);
	if (json != NULL && view->options->partitions != 0)
		json_object_set_new(
			json, "partition",
			json_pack("{s:i, s:i}", "partition", view->options->partition, "of", view->options->partitions));
	return json;
}
