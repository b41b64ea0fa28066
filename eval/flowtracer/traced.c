/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowtracer/traced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/input_file.h"
#include "common/number.h"

struct reading {
	const char *file;
	const struct topo *topo;
	struct ft_traced *traced;
	size_t index; /* of the flow */
	struct err *err;
};

static int
refuse(const struct reading *r, const char *what)
{
	return err_set(r->err, -EINVAL, "%s: flow %zu: %s", r->file, r->index, what);
}

/* The list of ports is a way of this topology, from a host on. */
static int
read_path(const struct reading *r, const json_t *ports, struct route_path *path)
{
	const json_t *name;
	size_t i;

	path->hops = 0;
	if (!json_is_array(ports) || json_array_size(ports) > ROUTE_MAX_HOPS)
		return refuse(r, "its path is none, or longer than any");
	json_array_foreach(ports, i, name)
	{
		const char *text = json_string_value(name);
		uint32_t port = text != NULL ? topo_find_port(r->topo, text) : TOPO_NONE;

		if (port == TOPO_NONE && i + 1 == json_array_size(ports) && i != 0)
			return 0; /* of one that ends early, the switch where it does */
		if (port == TOPO_NONE || (i == 0) != (r->topo->nodes[r->topo->ports[port].node].kind == TOPO_HOST) ||
		    (i != 0 && r->topo->ports[path->ports[i - 1]].peer != r->topo->ports[port].node))
			return refuse(r, "its path is none of this topology, from a host by switches");
		path->ports[path->hops++] = port;
	}
	return path->hops != 0 ? 0 : refuse(r, "its path is none");
}

/* "h0->h1/49152>4791", as runs name flows. */
static bool
read_name(const char *name, uint64_t *sport, uint64_t *dport)
{
	const char *at = name != NULL ? strrchr(name, '/') : NULL, *rest = at != NULL ? number_scan(at + 1, sport) : NULL;

	return rest != NULL && *rest == '>' && number_parse(rest + 1, 0, UINT16_MAX, dport) && *sport <= UINT16_MAX;
}

static bool
read_ports(const json_t *flow, uint64_t *sport, uint64_t *dport)
{
	const json_t *from = json_object_get(flow, "sport"), *to = json_object_get(flow, "dport");

	*sport = (uint64_t)json_integer_value(from);
	*dport = (uint64_t)json_integer_value(to);
	return json_is_integer(from) && json_is_integer(to) && *sport <= UINT16_MAX && *dport <= UINT16_MAX;
}

static uint16_t
nic_of(const struct topo *topo, uint32_t node, uint16_t index)
{
	return topo->nodes[node].bonded ? 0 : index;
}

/* Its ends are those of its path. */
static int
read_flow(struct reading *r, const json_t *json, bool verdict)
{
	const char *end = json_string_value(json_object_get(json, verdict ? "result" : "state"));
	struct route_path *path = &r->traced->paths[r->traced->count];
	const struct topo_port *from, *last;
	uint64_t sport, dport;
	int ret = read_path(r, json_object_get(json, verdict ? "ports" : "path"), path);

	if (ret < 0)
		return ret;
	if (end == NULL || !(verdict ? read_name(json_string_value(json_object_get(json, "flow")), &sport, &dport)
				     : read_ports(json, &sport, &dport)))
		return refuse(r, "its ports, or how it ended, are not told");
	from = &r->topo->ports[path->ports[0]];
	last = &r->topo->ports[path->ports[path->hops - 1]];
	if (strcmp(end, verdict ? "egress" : "arrived") != 0 || r->topo->nodes[last->peer].kind != TOPO_HOST) {
		r->traced->astray++;
		return 0;
	}
	if (last->peer == from->node)
		return refuse(r, "its path ends at the host where it begins");
	r->traced->flows[r->traced->count++] = (struct flow){
		.src_node = from->node,
		.dst_node = last->peer,
		.src_nic = from->index,
		.dst_nic = nic_of(r->topo, last->peer, last->peer_index),
		.src_ip = topo_host_ip(r->topo, from->node, from->index),
		.dst_ip = topo_host_ip(r->topo, last->peer, last->peer_index),
		.sport = (uint16_t)sport,
		.dport = (uint16_t)dport,
	};
	return 0;
}

/* A verdict lists the links that flows take, or could have taken. */
static int
read_links(struct reading *r, const json_t *links)
{
	const json_t *link;
	size_t i;

	r->traced->usable = calloc(r->topo->nports + 1u, sizeof(*r->traced->usable));
	if (r->traced->usable == NULL)
		return err_set(r->err, -ENOMEM, "out of memory for links");
	json_array_foreach(links, i, link)
	{
		const char *name = json_string_value(json_object_get(link, "port"));
		uint32_t port = name != NULL ? topo_find_port(r->topo, name) : TOPO_NONE;

		if (port == TOPO_NONE)
			return err_set(r->err, -EINVAL, "%s: links[%zu] is none of this topology", r->file, i);
		r->traced->usable[port] = true;
	}
	return 0;
}

static int
read_flows(struct reading *r, const json_t *root)
{
	const json_t *verdict = json_object_get(root, "flowtracer"), *flow;
	const json_t *flows = json_object_get(verdict != NULL ? verdict : root, verdict != NULL ? "paths" : "flows");
	size_t count = json_array_size(flows);
	int ret = 0;

	if (!json_is_array(flows))
		return err_set(
			r->err, -EINVAL,
			"%s: no flow was traced in that run: flowtracer.enabled = true has it trace them, or rocelab trace "
			"DIR --out FILE while it goes on in real time; then --traced FILE",
			r->file);
	r->traced->flows = calloc(count + 1, sizeof(*r->traced->flows));
	r->traced->paths = calloc(count + 1, sizeof(*r->traced->paths));
	if (r->traced->flows == NULL || r->traced->paths == NULL)
		return err_set(r->err, -ENOMEM, "out of memory for %zu flows", count);
	if (verdict != NULL)
		ret = read_links(r, json_object_get(verdict, "links"));
	for (r->index = 0; ret == 0 && r->index < count; r->index++) {
		flow = json_array_get(flows, r->index);
		ret = read_flow(r, flow, verdict != NULL);
	}
	if (ret == 0 && r->traced->count == 0)
		ret = err_set(r->err, -EINVAL, "%s: no flow of it has a way of its own to its end", r->file);
	return ret;
}

int
ft_traced_read(const char *file, const struct topo *topo, struct ft_traced *traced, struct err *err)
{
	struct reading r = { .file = file, .topo = topo, .traced = traced, .err = err };
	json_error_t error;
	FILE *from = input_fopen(file, err);
	json_t *root = from != NULL ? json_loadf(from, 0, &error) : NULL;
	int ret;

	*traced = (struct ft_traced){ 0 };
	if (from == NULL)
		return -EINVAL;
	fclose(from);
	if (root == NULL)
		return error.line > 0 ? err_set(err, -EINVAL, "%s:%d: %s", file, error.line, error.text)
				      : err_set(err, -EINVAL, "%s", error.text);
	ret = read_flows(&r, root);
	json_decref(root);
	return ret;
}

void
ft_traced_fini(struct ft_traced *traced)
{
	free(traced->flows);
	free(traced->paths);
	free(traced->usable);
	*traced = (struct ft_traced){ 0 };
}
