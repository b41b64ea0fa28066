/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab explain: every switch's decision for one packet, without running anything. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/program.h"
#include "common/units.h"
#include "scenario/scenario.h"
#include "topo/route.h"

struct explain_options {
	struct scenario_options scenario;
	const char *flow;
};

static const struct argp_option options[] = {
	{ "flow", 'F', "SRC,DST,SPORT,DPORT", 0, "The packet's flow: hosts (or host:nic) and UDP ports", 0 },
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario", 0 },
	{ "seed", SCENARIO_ARGS_SEED, "N", 0, "Seed of the run: ECMP depends on it", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct explain_options *explain = state->input;

	switch (key) {
	case 'F':
		explain->flow = arg;
		return 0;
	case ARGP_KEY_END:
		if (explain->flow == NULL)
			args_error(state, "give --flow SRC,DST,SPORT,DPORT");
		return 0;
	default:
		return scenario_args_parse(&explain->scenario, key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO --flow SRC,DST,SPORT,DPORT",
	.doc = "Shows the path of a packet of a flow and of its ACK: at every switch the equal-cost ports, the hash and "
	       "the chosen port, or the pin that decides.",
};

/* "host" or "host:nic". @return 0 or -EINVAL */
static int
find_endpoint(const struct topo *topo, const char *text, uint32_t *node, uint16_t *nic, struct err *err)
{
	uint32_t port;

	*nic = 0;
	*node = topo_find(topo, text);
	if (*node == TOPO_NONE) {
		port = topo_find_port(topo, text);
		if (port != TOPO_NONE) {
			*node = topo->ports[port].node;
			*nic = topo->ports[port].index;
		}
	}
	if (*node == TOPO_NONE || topo->nodes[*node].kind != TOPO_HOST)
		return err_set(err, -EINVAL, "--flow: \"%s\" is no host of this topology", text);
	return 0;
}

static int
parse_port(const char *text, uint16_t *port, struct err *err)
{
	uint64_t value;

	if (!number_parse(text, 0, UINT16_MAX, &value))
		return err_set(err, -EINVAL, "--flow: \"%s\" is no UDP port (0 to 65535)", text);
	*port = (uint16_t)value;
	return 0;
}

static int
parse_flow(const struct topo *topo, const char *text, struct flow *flow, struct err *err)
{
	char copy[256], *save = NULL, *words[5] = { NULL };
	size_t count = 0;
	int ret;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, ",", &save); word != NULL && count < 5; word = strtok_r(NULL, ",", &save))
		words[count++] = word;
	if (count != 4)
		return err_set(err, -EINVAL, "--flow %s: write SRC,DST,SPORT,DPORT, as in 17,18,10000,4791", text);
	ret = find_endpoint(topo, words[0], &flow->src_node, &flow->src_nic, err);
	if (ret == 0)
		ret = find_endpoint(topo, words[1], &flow->dst_node, &flow->dst_nic, err);
	if (ret == 0)
		ret = parse_port(words[2], &flow->sport, err);
	if (ret == 0)
		ret = parse_port(words[3], &flow->dport, err);
	if (ret == 0 && flow->src_node == flow->dst_node)
		ret = err_set(err, -EINVAL, "--flow: source and destination are the same host");
	if (ret != 0)
		return ret;
	flow->src_ip = topo_host_ip(topo, flow->src_node, flow->src_nic);
	flow->dst_ip = topo_host_ip(topo, flow->dst_node, flow->dst_nic);
	return 0;
}

static void
print_choice(const struct scenario *sc, uint32_t node, const struct route_choice *choice)
{
	const struct topo *topo = sc->topo;
	const struct topo_port *port = topo_port_of(topo, node, choice->port);
	char name[64];

	topo_port_name(topo, topo->nodes[node].first_port + choice->port, name);
	printf("  %-12s -> %-10s ", name, topo->nodes[port->peer].name);
	if (choice->is_pinned) {
		printf("pinned at %s:%d", plain_line(choice->pin.file).text, choice->pin.line);
	} else if (choice->members == NULL) {
		printf("%s", topo->nodes[node].bonded ? "the bond's member by the flow's hash" : "the flow's NIC");
	} else if (choice->nmembers == 1) {
		printf("the only path");
	} else {
		if (balance_is_on(&sc->balance))
			printf("%s, for example: one for %s, of ports", sc->balance.ops->name,
			       sc->balance.ops->per_flow ? "every flowlet" : "every packet");
		else
			printf("ECMP: hash 0x%08x over ports", choice->hash);
		for (uint32_t i = 0; i < choice->nmembers; i++)
			printf("%s %u", i != 0 ? "," : "", choice->members[i] + 1u);
	}
	putchar('\n');
}

/* Walks one direction. */
static int
print_path(const struct scenario *sc, const struct flow *flow, bool reverse, struct err *err)
{
	uint32_t node = reverse ? flow->dst_node : flow->src_node, end = reverse ? flow->src_node : flow->dst_node;
	uint64_t delay_ps = 0;
	char text[32];

	printf("%s\n", reverse ? "ACK" : "data");
	for (uint32_t hop = 0; node != end; hop++) {
		struct route_choice choice;
		const struct topo_port *port;

		if (hop == ROUTE_MAX_HOPS)
			return err_set(err, -ELOOP, "the path does not end within %d hops: a routing loop", ROUTE_MAX_HOPS);
		if (route_choose(&sc->routing, node, flow, reverse, &choice) < 0)
			return err_set(err, -EHOSTUNREACH, "%s has no route to %s", sc->topo->nodes[node].name,
				       sc->topo->nodes[end].name);
		print_choice(sc, node, &choice);
		port = topo_port_of(sc->topo, node, choice.port);
		delay_ps += port->delay_ps + sc->timing.pipeline_ps;
		node = port->peer;
	}
	printf("  %-12s    delays of the path: %s\n", sc->topo->nodes[node].name,
	       units_format_time(delay_ps, text, sizeof(text)));
	return 0;
}

int
command_explain(int argc, char **argv)
{
	struct explain_options explain = { 0 };
	struct err err = { 0 };
	struct flow flow = { 0 };
	struct scenario *sc;
	int ret = -EINVAL;

	argv[0] = "rocelab explain";
	if (args_parse(&argp, argc, argv, 0, &explain) != 0)
		return EXIT_USAGE;
	sc = scenario_load(&explain.scenario, &err);
	if (sc != NULL) {
		ret = parse_flow(sc->topo, explain.flow, &flow, &err);
		if (ret == 0)
			bond_place(&sc->routing, &flow);
		if (ret == 0)
			printf("%s, seed %lld: %s->%s/%u>%u\n", sc->name, (long long)sc->root.seed,
			       sc->topo->nodes[flow.src_node].name, sc->topo->nodes[flow.dst_node].name, flow.sport,
			       flow.dport);
		if (ret == 0)
			ret = print_path(sc, &flow, false, &err);
		if (ret == 0)
			ret = print_path(sc, &flow, true, &err);
		scenario_destroy(sc);
	}
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret == 0 ? EXIT_DONE : EXIT_USAGE;
}
