/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers of partitioned instances of the tracer, merged (FlowTracer, IV-B). Files may be of others: everything is
 * checked.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/trace.h"
#include "common/input_file.h"

struct merge {
	const struct topo *topo;
	struct tracer_result *result;
	const char *file; /* the file being read */
	size_t index;     /* of the flow in it */
	struct err *err;
};

static int
refuse(const struct merge *m, const char *what)
{
	return err_set(m->err, -EINVAL, "%s: flows[%zu]: %s", m->file, m->index, what);
}

/* @return false: it is no such text or number */
static bool
get_ip(const json_t *flow, const char *key, uint32_t *ip)
{
	const char *text = json_string_value(json_object_get(flow, key));
	struct in_addr address;

	if (text == NULL || inet_pton(AF_INET, text, &address) != 1)
		return false;
	*ip = ntohl(address.s_addr);
	return true;
}

static bool
get_number(const json_t *flow, const char *key, json_int_t most, json_int_t *value)
{
	const json_t *number = json_object_get(flow, key);

	*value = json_integer_value(number);
	return json_is_integer(number) && *value >= 0 && *value <= most;
}

/* The path is one of this topology, from its source on: walked again. */
static int
take_path(struct merge *m, const json_t *path, struct traced *traced)
{
	struct topo_walk *walk = &traced->walk;
	struct swm_egress answer = { .result = SWM_FORWARDED };
	size_t i;
	json_t *hop;

	if (json_array_size(path) > ROUTE_MAX_HOPS)
		return refuse(m, "its path is longer than any");
	*walk = (struct topo_walk){ .node = traced->source };
	json_array_foreach(path, i, hop) {
		uint32_t port =
			json_string_value(hop) != NULL ? topo_find_port(m->topo, json_string_value(hop)) : TOPO_NONE;

		if (port == TOPO_NONE || m->topo->ports[port].node != walk->node || (i != 0 && walk->state != WALK_GOES_ON))
			return refuse(m, "its path is none of this topology");
		answer.port = m->topo->ports[port].index;
		if (i == 0)
			topo_walk_begin(walk, m->topo, traced->source, answer.port, traced->flow.dst_ip);
		else
			topo_walk_on(walk, m->topo, &answer);
	}
	return 0;
}

/* Takes the end of a path from the file; but a path that ends in the topology ends there. */
static int
take_end(struct merge *m, const json_t *flow, struct traced *traced)
{
	const char *state = json_string_value(json_object_get(flow, "state"));
	const char *reason = json_string_value(json_object_get(flow, "reason"));
	uint8_t s = 0;

	while (s < TOPO_WALK_STATES && (state == NULL || strcmp(state, topo_walk_names[s]) != 0))
		s++;
	if (s == TOPO_WALK_STATES)
		return refuse(m, "its state is none that there is");
	if ((s == WALK_ARRIVED) != (traced->walk.state == WALK_ARRIVED))
		return refuse(m, "its path does not end as its state requires");
	traced->walk.state = s;
	traced->walk.reason = 0;
	while (traced->walk.reason < REC_DROP_REASONS &&
	       (reason == NULL || strcmp(reason, trace_drop_names[traced->walk.reason]) != 0))
		traced->walk.reason++; /* without one the reason is unknown */
	return 0;
}

static int
take_flow(struct merge *m, const json_t *flow)
{
	struct traced *traced = &m->result->flows[m->result->count];
	const char *source = json_string_value(json_object_get(flow, "source"));
	json_int_t sport, dport, protocol, job;
	int ret;

	*traced = (struct traced){ .source = source != NULL ? topo_find(m->topo, source) : TOPO_NONE };
	if (traced->source == TOPO_NONE || m->topo->nodes[traced->source].kind != TOPO_HOST)
		return refuse(m, "its source is no host of this scenario");
	if (!get_ip(flow, "src_ip", &traced->flow.src_ip) || !get_ip(flow, "dst_ip", &traced->flow.dst_ip) ||
	    !get_number(flow, "sport", UINT16_MAX, &sport) || !get_number(flow, "dport", UINT16_MAX, &dport) ||
	    !get_number(flow, "protocol", UINT8_MAX, &protocol))
		return refuse(m, "it has no 5-tuple: src_ip, dst_ip, sport, dport, protocol");
	traced->flow.sport = (uint16_t)sport;
	traced->flow.dport = (uint16_t)dport;
	traced->flow.protocol = (uint8_t)protocol;
	traced->flow.job = get_number(flow, "job", UINT32_MAX - 1, &job) ? (uint32_t)job : SWM_ANY;
	ret = take_path(m, json_object_get(flow, "path"), traced);
	if (ret == 0)
		ret = take_end(m, flow, traced);
	m->result->count += ret == 0;
	return ret;
}

/* Devices that an instance found silent. */
static int
take_silent(struct merge *m, const json_t *list)
{
	struct tracer_silent *silent =
		realloc(m->result->silent, (m->result->nsilent + json_array_size(list) + 1) * sizeof(*silent));
	size_t i;
	json_t *one;

	if (silent == NULL)
		return err_set(m->err, -ENOMEM, "out of memory");
	m->result->silent = silent;
	json_array_foreach(list, i, one) {
		const char *name = json_string_value(json_object_get(one, "device"));
		const char *why = json_string_value(json_object_get(one, "why"));
		uint32_t node = name != NULL ? topo_find(m->topo, name) : TOPO_NONE;

		if (node == TOPO_NONE || why == NULL)
			return err_set(m->err, -EINVAL, "%s: silent[%zu] is no device of this scenario", m->file, i);
		silent[m->result->nsilent] = (struct tracer_silent){ .node = node };
		snprintf(silent[m->result->nsilent++].why, sizeof(silent->why), "%s", why);
	}
	return 0;
}

static int
take_file(struct merge *m)
{
	json_error_t error;
	FILE *from = input_fopen(m->file, m->err);
	json_t *json = from != NULL ? json_loadf(from, 0, &error) : NULL, *flows = json_object_get(json, "flows"), *flow;
	struct traced *more;
	int ret = 0;

	if (from == NULL)
		return -EINVAL;
	fclose(from);
	if (json == NULL)
		return error.line > 0 ? err_set(m->err, -EINVAL, "%s:%d: %s", m->file, error.line, error.text)
				      : err_set(m->err, -EINVAL, "%s", error.text);
	more = realloc(m->result->flows, (m->result->count + json_array_size(flows) + 1) * sizeof(*more));
	if (more != NULL)
		m->result->flows = more;
	if (more == NULL)
		ret = err_set(m->err, -ENOMEM, "out of memory for flows");
	else if (!json_is_array(flows))
		ret = err_set(m->err, -EINVAL,
			      "%s: it has no list \"flows\": rocelab trace --partition I/N --out writes one", m->file);
	else
		ret = take_silent(m, json_object_get(json, "silent"));
	if (ret == 0)
		json_array_foreach(flows, m->index, flow) {
			ret = take_flow(m, flow);
			if (ret < 0)
				break;
		}
	json_decref(json);
	return ret;
}

static int
by_tuple(const void *a, const void *b)
{
	const struct swm_flow *x = &((const struct traced *)a)->flow, *y = &((const struct traced *)b)->flow;
	const uint64_t left[] = { x->src_ip, x->dst_ip, x->sport, x->dport, x->protocol };
	const uint64_t right[] = { y->src_ip, y->dst_ip, y->sport, y->dport, y->protocol };

	for (int i = 0; i < 5; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* Files do not overlap: a flow in two files would count twice. */
static int
check_twice(const struct merge *m)
{
	struct traced *flows = m->result->flows;

	qsort(flows, m->result->count, sizeof(*flows), by_tuple);
	for (uint32_t i = 1; i < m->result->count; i++)
		if (by_tuple(&flows[i - 1], &flows[i]) == 0)
			return err_set(m->err, -EINVAL,
				       "a flow of %s, UDP source port %u, is in two files: give each partition of the "
				       "sources once",
				       m->topo->nodes[flows[i].source].name, flows[i].flow.sport);
	return 0;
}

int
trace_merge(const struct topo *topo, const char *const *files, size_t count, struct tracer_result *result, struct err *err)
{
	struct merge m = { .topo = topo, .result = result, .err = err };
	int ret = 0;

	*result = (struct tracer_result){ 0 };
	for (size_t i = 0; ret == 0 && i < count; i++) {
		m.file = files[i];
		ret = take_file(&m);
	}
	if (ret == 0 && result->count != 0)
		ret = check_twice(&m);
	if (ret < 0)
		tracer_result_fini(result);
	return ret;
}
