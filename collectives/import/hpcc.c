/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/hpcc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/import/hpcc_parts.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/units.h"
#include "topo/build.h"
#include "topo/show.h"

#define TIME_BYTES 32
/* Of the simulator: headers, ACKs, and when links come down (third.cc). */
#define DATA_OVERHEAD 48
#define ACK_BYTES 60
#define DOWN_FROM_PS (2 * PS_PER_S)

struct hpcc {
	struct hpcc_config config;
	struct hpcc_flows flows;
	struct cfg *cfg;
	struct topo *topo;
	char topology[HPCC_PATH * 2], flow[HPCC_PATH * 2];
	struct err *err;
};

/* @param found  set to the file's path  @return whether it can be read */
static bool
is_there(char *found, int folder_len, const char *folder, const char *below, const char *name)
{
	int len = snprintf(found, HPCC_PATH * 2, "%.*s%s/%s", folder_len, folder, below, name);

	return len > 0 && len < HPCC_PATH * 2 && access(found, R_OK) == 0;
}

/*
 * The simulator is started in the folder above config.txt's ("mix/topology.txt"): a file is looked for there, then beside
 * config.txt, then by its name alone beside it.
 */
static int
find_file(const struct hpcc *h, const char *named, const char *key, char found[HPCC_PATH * 2])
{
	const char *path = h->config.path, *slash = strrchr(path, '/'), *base = strrchr(named, '/');
	int folder = slash != NULL ? (int)(slash - path) : 1;
	const char *at = slash != NULL ? path : ".";

	if (*named == '\0')
		return err_set(h->err, -EINVAL, "%s names no %s", path, key);
	snprintf(found, HPCC_PATH * 2, "%s", named);
	if (*named == '/')
		return 0;
	base = base != NULL ? base + 1 : named;
	if (is_there(found, folder, at, "/..", named) || is_there(found, folder, at, "", named) ||
	    is_there(found, folder, at, "", base))
		return 0;
	return err_set(h->err, -EINVAL, "%s: %s \"%s\" is neither beside it nor in the folder above", path, key, named);
}

static int
find_files(struct hpcc *h, const struct hpcc_files *files)
{
	int rc = 0;

	if (files->topology != NULL)
		snprintf(h->topology, sizeof(h->topology), "%s", files->topology);
	else if (files->config != NULL)
		rc = find_file(h, h->config.topology, "TOPOLOGY_FILE", h->topology);
	if (rc == 0 && files->flow != NULL)
		snprintf(h->flow, sizeof(h->flow), "%s", files->flow);
	else if (rc == 0 && files->config != NULL)
		rc = find_file(h, h->config.flow, "FLOW_FILE", h->flow);
	if (rc == 0 && (*h->topology == '\0' || *h->flow == '\0'))
		rc = err_set(h->err, -EINVAL, "without a config.txt both the topology's file and the flows' are wanted");
	return rc;
}

static int
build_topology(struct hpcc *h)
{
	char text[HPCC_PATH * 2 + 64], absolute[HPCC_PATH * 2], found[PLAIN_NAME_BYTES];
	char *real = realpath(h->topology, NULL);

	if (real == NULL)
		return err_set(h->err, -EINVAL, "%s: %s", h->topology, strerror(errno));
	snprintf(absolute, sizeof(absolute), "%s", real);
	free(real);
	if (strpbrk(absolute, "\"\\") != NULL || plain_find_unprintable(absolute, found))
		return err_set(h->err, -EINVAL,
			       "%s: a path of printable characters without quotes and backslashes would be right",
			       h->topology);
	snprintf(text, sizeof(text), "topology = { kind = \"ns3\"; file = \"%s\"; };\n", absolute);
	h->cfg = cfg_load_string(text, h->topology, h->err);
	return h->cfg != NULL ? topo_build(h->cfg, &h->topo, h->err) : -errno;
}

static int
check_flows(const struct hpcc *h)
{
	for (size_t i = 0; i < h->flows.count; i++) {
		const struct hpcc_flow *flow = &h->flows.at[i];
		uint32_t ends[] = { flow->src, flow->dst };

		for (size_t e = 0; e < 2; e++)
			if (h->topo->nodes[ends[e]].kind != TOPO_HOST)
				return err_set(h->err, -EINVAL, "%s: flow %zu: node %" PRIu32 " is a switch", h->flow,
					       i + 1, ends[e]);
	}
	return 0;
}

static const char *
time_text(uint64_t time_ps, char buf[TIME_BYTES])
{
	return units_format_time(time_ps, buf, TIME_BYTES);
}

static const char *
micros(double us, char buf[TIME_BYTES])
{
	return time_text((uint64_t)(us * (double)PS_PER_US + 0.5), buf);
}

static void
write_cc(const struct hpcc_config *c, FILE *to)
{
	char a[TIME_BYTES], d[TIME_BYTES], t[TIME_BYTES];

	if (c->cc == HPCC_DCQCN)
		fprintf(to,
			"  cc = \"dcqcn\";\n"
			"  dcqcn = { g = %.9g; alpha_interval = \"%s\"; decrease_interval = \"%s\"; increase_timer = "
			"\"%s\";\n"
			"            ai = \"%s\"; hai = \"%s\"; min_rate = \"%s\"; fast_recovery = %" PRId64 ";\n"
			"            clamp_target = %s; echo = \"ack\"; };\n",
			c->g, micros(c->alpha_us, a), micros(c->decrease_us, d), micros(c->timer_us, t), c->ai, c->hai,
			c->min_rate, c->fast_recovery, c->clamp ? "true" : "false");
	else if (c->cc == HPCC_HPCC)
		fprintf(to, "  cc = \"hpcc\";\n  hpcc = { eta = %.9g; max_stage = %" PRId64 "; min_rate = \"%s\"; };\n",
			c->target, c->mi_thresh, c->min_rate);
	else if (c->cc == HPCC_TIMELY)
		fprintf(to, "  cc = \"timely\";\n  timely = { delta = \"%s\"; min_rate = \"%s\"; };\n", c->ai, c->min_rate);
	else
		fprintf(to, "  cc = \"none\";\n");
}

static void
write_host(const struct hpcc_config *c, FILE *to)
{
	fprintf(to,
		"host = {\n  mtu = %" PRId64
		"; data_overhead = %d; ack_bytes = %d; control_bytes = %d; ack_every = %" PRId64 ";\n"
		"  window = \"%s\"; window_scales_with_rate = %s;\n"
		"  timeout = \"0ps\"; // the simulator's senders never time out\n",
		c->payload_bytes, DATA_OVERHEAD, ACK_BYTES, ACK_BYTES, c->ack_packets, c->has_win ? "bdp" : "none",
		c->var_win ? "true" : "false");
	write_cc(c, to);
	fprintf(to, "};\n\n");
}

/* A map gives each rate its thresholds; ours scale with the rate: the pairs have to. @return that of the highest rate */
static int
scaled(const struct hpcc *h, const struct hpcc_map *map, const char *key, bool scales, uint64_t *rate_bps, double *value)
{
	size_t top = 0;

	for (size_t i = 1; i < map->count; i++)
		top = map->rate_bps[i] > map->rate_bps[top] ? i : top;
	*rate_bps = map->rate_bps[top];
	*value = map->value[top];
	for (size_t i = 0; i < map->count; i++) {
		double factor = scales ? (double)map->rate_bps[i] / (double)map->rate_bps[top] : 1;
		double off = map->value[i] - map->value[top] * factor;

		if (off > 0.01 * map->value[top] || off < -0.01 * map->value[top])
			return err_set(h->err, -EINVAL, "%s:%d: %s: values that %s the rates; ours do", h->config.path,
				       map->line, key, scales ? "do not go with" : "differ between");
	}
	return 0;
}

static int
write_switch(const struct hpcc *h, FILE *to)
{
	const struct hpcc_config *c = &h->config;
	uint64_t rate_bps[3] = { 0 };
	double kmin, kmax, pmax;
	bool classes[8] = { false };
	const char *comma = "";
	int rc;

	for (size_t i = 0; i < h->flows.count; i++)
		classes[h->flows.at[i].prio] = true;
	fprintf(to, "switch = {\n  buffer = \"%" PRId64 "MiB\";\n  pfc = { priorities = [ ", c->buffer_mb);
	for (int prio = 1; prio < 8; prio++)
		if (classes[prio]) {
			fprintf(to, "%s\"%d\"", comma, prio);
			comma = ", ";
		}
	fprintf(to, " ]; };\n");
	if (!c->qcn || c->kmin.count == 0 || c->kmax.count == 0 || c->pmax.count == 0) {
		fprintf(to, "  ecn = { enabled = false; };\n};\n\n");
		return 0;
	}
	rc = scaled(h, &c->kmin, "KMIN_MAP", true, &rate_bps[0], &kmin);
	if (rc == 0)
		rc = scaled(h, &c->kmax, "KMAX_MAP", true, &rate_bps[1], &kmax);
	if (rc == 0)
		rc = scaled(h, &c->pmax, "PMAX_MAP", false, &rate_bps[2], &pmax);
	if (rc != 0)
		return rc;
	if (rate_bps[0] != rate_bps[1])
		return err_set(h->err, -EINVAL, "%s:%d: KMAX_MAP has other rates than KMIN_MAP", c->path, c->kmax.line);
	fprintf(to, "  ecn = { rate = \"%" PRIu64 "bps\"; kmin = \"%.0fB\"; kmax = \"%.0fB\"; pmax = %.9g; };\n};\n\n",
		rate_bps[0], kmin * 1000, kmax * 1000, pmax);
	return 0;
}

static void
write_flows(const struct hpcc *h, FILE *to)
{
	char start[TIME_BYTES];

	fprintf(to, "flows = (\n");
	for (size_t i = 0; i < h->flows.count; i++) {
		const struct hpcc_flow *f = &h->flows.at[i];

		fprintf(to,
			"  { src = \"%" PRIu32 "\"; dst = \"%" PRIu32 "\"; sport = %" PRIu32 "; dport = %" PRIu32
			"; bytes = %" PRIu64 "L; start = \"%s\"; prio = %" PRIu32 "; }%s\n",
			f->src, f->dst, f->sport, f->dport, f->bytes, time_text(f->start_ps - h->flows.first_ps, start),
			f->prio, i + 1 < h->flows.count ? "," : "");
	}
	fprintf(to, ");\n");
}

/* The port of a that leads to b. */
static int
write_fault(const struct hpcc *h, FILE *to)
{
	const struct hpcc_config *c = &h->config;
	uint64_t at_ps = DOWN_FROM_PS + (uint64_t)c->down_us * PS_PER_US;
	char start[TIME_BYTES], name[64];

	if (c->down_us == 0)
		return 0;
	for (uint32_t p = 0; p < h->topo->nports; p++) {
		const struct topo_port *port = &h->topo->ports[p];

		if (port->node != (uint64_t)c->down_a || port->peer != (uint64_t)c->down_b)
			continue;
		at_ps = at_ps > h->flows.first_ps ? at_ps - h->flows.first_ps : 0;
		fprintf(to, "\nfaults = ( { kind = \"link-down\"; port = \"%s\"; start = \"%s\"; } );\n",
			topo_port_name(h->topo, p, name), time_text(at_ps, start));
		return 0;
	}
	return err_set(h->err, -EINVAL, "%s:%d: LINK_DOWN: there is no link between %" PRId64 " and %" PRId64, c->path,
		       c->down_line, c->down_a, c->down_b);
}

/* Whether even the shortest frame takes 1 ns on the fastest link, so that times can be floored to that. */
static bool
rounds(const struct topo *topo)
{
	for (uint32_t p = 0; p < topo->nports; p++)
		if (units_serialize_ps(DATA_OVERHEAD + 1, topo->ports[p].rate_bps, 0) < PS_PER_NS)
			return false;
	return true;
}

static void
write_head(const struct hpcc *h, FILE *to)
{
	uint64_t stop_ps = (uint64_t)(h->config.stop_s * (double)PS_PER_S + 0.5);
	char first[TIME_BYTES], stop[TIME_BYTES];

	fprintf(to,
		"// Made by rocelab import hpcc. Times count from the first flow, which starts at %s there; frames and "
		"buffers\n"
		"// are the simulator's, and its rounding to 1 ns where links are slow enough for that.\n\n",
		time_text(h->flows.first_ps, first));
	topo_show_scenario(h->topo, to);
	fprintf(to, "\ntiming = { quantum = \"%s\"; pipeline = \"0ns\"; };\n", rounds(h->topo) ? "1ns" : "0ps");
	if (stop_ps > h->flows.first_ps)
		fprintf(to, "limits = { virtual_time = \"%s\"; };\n", time_text(stop_ps - h->flows.first_ps, stop));
	fprintf(to, "\n");
}

static int
write_scenario(const struct hpcc *h, FILE *to)
{
	int rc;

	if (h->config.cc == HPCC_HPCC)
		log_warning("%s: RATE_AI is a rate, and host.hpcc.wai bytes a step: it stays at its default",
			    h->config.path);
	write_head(h, to);
	write_host(&h->config, to);
	rc = write_switch(h, to);
	if (rc == 0)
		write_flows(h, to);
	if (rc == 0)
		rc = write_fault(h, to);
	if (rc == 0 && ferror(to))
		rc = err_set(h->err, -EIO, "writing the scenario failed");
	return rc;
}

int
hpcc_import(const struct hpcc_files *files, FILE *to, struct err *err)
{
	struct hpcc h = { .err = err };
	int rc = hpcc_read_config(files->config, &h.config, err);

	if (rc == 0)
		rc = find_files(&h, files);
	if (rc == 0)
		rc = build_topology(&h);
	if (rc == 0)
		rc = hpcc_read_flows(h.flow, h.topo->nnodes, &h.flows, err);
	if (rc == 0)
		rc = check_flows(&h);
	if (rc == 0)
		rc = write_scenario(&h, to);
	free(h.flows.at);
	topo_destroy(h.topo);
	cfg_destroy(h.cfg);
	return rc;
}
