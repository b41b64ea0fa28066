/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/volumes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "common/run_files.h"

/* Bytes of a message on the wire, as a sending NIC makes its packets: RETH in the first, an immediate in the last. */
static uint64_t
message_bytes(const struct roce_params *roce, uint64_t bytes)
{
	uint64_t packets = (bytes + roce->mtu_bytes - 1) / roce->mtu_bytes;
	uint32_t last = (uint32_t)(bytes - (packets - 1) * roce->mtu_bytes);

	if (packets == 1)
		return roce_data_bytes(roce, last, true, true);
	return roce_data_bytes(roce, roce->mtu_bytes, true, false) +
	       (packets - 2) * roce_data_bytes(roce, roce->mtu_bytes, false, false) +
	       roce_data_bytes(roce, last, false, true);
}

static void
add_collective(const struct scenario *sc, const struct plan_collective *c, uint64_t *bytes)
{
	for (uint32_t r = 0; r < c->schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(c->schedule, r); step++) {
			uint32_t flow = c->steps[plan_at(c, r, step)].flow;

			if (flow != PLAN_NONE && sc->plan->of[flow].measured)
				bytes[flow] += message_bytes(&sc->roce, plan_step_bytes(c, r, step));
		}
}

/* What measured collectives send in one iteration: the demand that an operator declares. */
static int
declare(struct volumes_owned *volumes, const struct scenario *sc)
{
	const struct plan *plan = sc->plan;
	uint64_t *bytes = calloc(plan->flows.count + 1u, sizeof(*bytes));

	volumes->demand = calloc(plan->flows.count + 1u, sizeof(*volumes->demand));
	if (bytes == NULL || volumes->demand == NULL) {
		free(bytes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < plan->ncollectives; i++)
		if (plan->collectives[i].enabled)
			add_collective(sc, &plan->collectives[i], bytes);
	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];

		if (bytes[i] != 0)
			volumes->demand[volumes->setup.ndemand++] = (struct volumes_demand){
				.src_port = sc->topo->nodes[flow->src_node].first_port + flow->src_nic,
				.dst_port = sc->topo->nodes[flow->dst_node].first_port + flow->dst_nic,
				.bytes = bytes[i],
			};
	}
	free(bytes);
	volumes->setup.demand = volumes->demand;
	return 0;
}

/* Reads one line of a table of volumes. @return 0, or -EINVAL with err set */
static int
read_line(struct volumes_told *told, const struct topo *topo, const char *file, uint32_t line, char *text, struct err *err)
{
	char *rest, *port = strtok_r(text, ",\n", &rest), *sender = strtok_r(NULL, ",\n", &rest);
	const char *iteration = strtok_r(NULL, ",\n", &rest), *predicted = strtok_r(NULL, ",\n", &rest);
	const char *seen = strtok_r(NULL, ",\n", &rest);

	if (seen == NULL || iteration == NULL || predicted == NULL)
		return err_set(err, -EINVAL, "%s:%u: a line is \"port,sender,iteration,predicted,seen\", as in a run's %s",
			       file, line, RUN_VOLUMES);
	told->port = topo_find_port(topo, port);
	told->sender = topo_find(topo, sender);
	if (told->port == TOPO_NONE || topo->nodes[topo->ports[told->port].node].kind != TOPO_SWITCH)
		return err_set(err, -EINVAL, "%s:%u: %s is no port of a switch", file, line, port);
	if (told->sender == TOPO_NONE || topo->nodes[told->sender].kind != TOPO_SWITCH)
		return err_set(err, -EINVAL, "%s:%u: %s is no switch", file, line, sender);
	if (!number_parse(seen, 0, UINT64_C(1) << 52, &told->bytes))
		return err_set(err, -EINVAL, "%s:%u: %s is no count of bytes", file, line, seen);
	return 0;
}

/* The first line names the columns. */
static int
read_lines(struct volumes_owned *volumes, const struct scenario *sc, FILE *from, const char *file, struct err *err)
{
	char *text = NULL;
	size_t room = 0, cap = 0;
	int ret = 0;

	for (uint32_t line = 1; ret == 0 && getline(&text, &room, from) >= 0; line++) {
		if (line == 1)
			continue;
		if (volumes->setup.ntold == cap) {
			void *told = realloc(volumes->told, (cap = cap == 0 ? 64 : 2 * cap) * sizeof(*volumes->told));

			if (told == NULL) {
				ret = -ENOMEM;
				break;
			}
			volumes->told = told;
		}
		ret = read_line(&volumes->told[volumes->setup.ntold++], sc->topo, file, line, text, err);
	}
	free(text);
	return ret;
}

static int
by_cell(const void *a, const void *b)
{
	const struct volumes_told *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->sender < y->sender ? -1 : x->sender > y->sender;
}

/* Several iterations of one port and sender are one, their mean. */
static void
average(struct volumes_owned *volumes)
{
	struct volumes_told *told = volumes->told;
	uint32_t kept = 0;

	if (volumes->setup.ntold != 0)
		qsort(told, volumes->setup.ntold, sizeof(*told), by_cell);
	for (uint32_t first = 0, end; first < volumes->setup.ntold; first = end) {
		struct volumes_told mean = told[first];

		for (end = first + 1; end < volumes->setup.ntold && by_cell(&told[first], &told[end]) == 0; end++)
			mean.bytes += told[end].bytes;
		mean.bytes /= end - first;
		told[kept++] = mean;
	}
	volumes->setup.told = told;
	volumes->setup.ntold = kept;
}

static int
read_told(struct volumes_owned *volumes, const struct scenario *sc, struct err *err)
{
	const struct volumes_params *params = &sc->volumes;
	char *path = cfg_resolve(sc->cfg, params->file);
	FILE *from = path != NULL ? fopen(path, "r") : NULL;
	int ret;

	if (path == NULL)
		return -ENOMEM;
	if (from == NULL)
		ret = cfg_fail(&params->where, "file", err, "%s: %s", path, strerror(errno));
	else
		ret = read_lines(volumes, sc, from, path, err);
	if (from != NULL)
		fclose(from);
	if (ret == 0)
		average(volumes);
	free(path);
	return ret;
}

static int
take_foretold(struct volumes_owned *volumes, const struct foretold *foretold)
{
	volumes->told = calloc(foretold->nrows + 1u, sizeof(*volumes->told));
	if (volumes->told == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < foretold->nrows; i++)
		volumes->told[volumes->setup.ntold++] = foretold->rows[i].told;
	volumes->setup.told_of = foretold->runs * foretold->iterations;
	average(volumes);
	return 0;
}

/* What known faults leave of what goes out by a port; what routes leave out is not asked for. */
static int
note_losses(struct volumes_owned *volumes, const struct scenario *sc)
{
	volumes->kept = malloc((sc->topo->nports + 1u) * sizeof(*volumes->kept));
	if (volumes->kept == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->topo->nports; i++)
		volumes->kept[i] = 1;
	for (uint32_t i = 0; i < sc->faults.count; i++) {
		const struct fault *fault = &sc->faults.faults[i];
		const struct fault_common *common = fault->params;
		char target[64];
		uint32_t port;

		if (!common->known || !common->enabled || fault->ops->rate == NULL || fault->ops->cuts_cables)
			continue;
		fault->ops->target(fault->params, sc->topo, target);
		port = topo_find_port(sc->topo, target);
		if (port != TOPO_NONE)
			volumes->kept[port] *= 1 - fault->ops->rate(fault->params);
	}
	volumes->setup.kept = volumes->kept;
	return 0;
}

int
volumes_setup(struct volumes_owned *volumes, const struct scenario *sc, const struct foretold *foretold, struct err *err)
{
	int ret = tiers_init(&volumes->tiers, sc->topo);

	volumes->setup.params = &sc->volumes;
	volumes->setup.tiers = &volumes->tiers;
	if (ret == 0)
		ret = note_losses(volumes, sc);
	if (ret == 0 && sc->volumes.prediction == REC_PREDICTION_ANALYTICAL)
		ret = declare(volumes, sc);
	else if (ret == 0 && foretell_is_asked(sc) && foretold != NULL)
		ret = take_foretold(volumes, foretold);
	else if (ret == 0 && sc->volumes.prediction == REC_PREDICTION_SIMULATED && !foretell_is_asked(sc))
		ret = read_told(volumes, sc, err);
	return ret == -ENOMEM ? err_set(err, ret, "out of memory for the monitors of %u nodes", sc->topo->nnodes) : ret;
}

void
volumes_unset(struct volumes_owned *volumes)
{
	tiers_fini(&volumes->tiers);
	free(volumes->demand);
	free(volumes->told);
	free(volumes->kept);
	memset(volumes, 0, sizeof(*volumes));
}
