/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/lcore/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "common/array.h"
#include "common/units.h"
#include "dpswitch/control/counters.h"

/* Bytes of a reply's 16 KB for names and numbers; the rest is punctuation, and room for a last row. */
#define ROOM_BYTES 12000u
#define NUMBER_BYTES 24u /* of a counter with its separators */

/* Commands have no context of their own: the fabric that they query. */
static struct {
	pthread_mutex_t mutex; /* taken by DPDK's threads and by the one that opens and closes, never while a fabric runs */
	struct counters *counters;
} served = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* "leaf0:1". */
static const char *
name_port(const struct counters_view *view, uint32_t index, char text[RTE_TEL_MAX_STRING_LEN])
{
	const struct counters_place *place = &view->places[index];

	snprintf(text, RTE_TEL_MAX_STRING_LEN, "%s:%u", view->topo->nodes[place->sw->node.id].name, place->port + 1u);
	return text;
}

static int
fill_ports(const struct counters_view *view, uint32_t from, struct rte_tel_data *data)
{
	uint32_t room = ROOM_BYTES;
	int ret = rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);

	for (uint32_t i = from; ret == 0 && i < view->nports && i - from < RTE_TEL_MAX_ARRAY_ENTRIES; i++) {
		char name[RTE_TEL_MAX_STRING_LEN];
		size_t size = strlen(name_port(view, i, name)) + 4;

		if (size > room)
			break;
		room -= (uint32_t)size;
		ret = rte_tel_data_add_array_string(data, name);
	}
	return ret;
}

#define COUNTER(field, name) { name, offsetof(struct swm_port, field) },
static const struct {
	const char *name;
	size_t at;
} swm_counters[] = { SWM_COUNTERS_LIST(COUNTER) };

static void
add_pfc(const struct counters_view *view, const struct counters_port *port, struct rte_tel_data *dict)
{
	for (uint32_t prio = 0; prio < SWITCH_CLASSES; prio++) {
		char name[RTE_TEL_MAX_STRING_LEN];

		if (!(view->lossless >> prio & 1))
			continue;
		snprintf(name, sizeof(name), "SAI_PORT_STAT_PFC_%u_RX_PKTS", prio);
		rte_tel_data_add_dict_u64(dict, name, port->rx_pfc[prio]);
		snprintf(name, sizeof(name), "SAI_PORT_STAT_PFC_%u_TX_PKTS", prio);
		rte_tel_data_add_dict_u64(dict, name, port->tx_pfc[prio]);
	}
	rte_tel_data_add_dict_int(dict, "rx_paused_classes", port->port.rx_pause);
	rte_tel_data_add_dict_int(dict, "tx_paused_classes", port->port.tx_pause);
}

static int
fill_port(const struct counters_view *view, uint32_t index, struct rte_tel_data *data)
{
	const struct counters_port *port = &view->ports[index];
	char name[RTE_TEL_MAX_STRING_LEN];

	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "name", name_port(view, index, name));
	rte_tel_data_add_dict_string(data, "oper_status", port->port.is_up ? "up" : "down");
	rte_tel_data_add_dict_u64(data, "speed_bps", port->port.speed_bps);
	for (size_t i = 0; i < ARRAY_LEN(swm_counters); i++) {
		uint64_t value = *(const uint64_t *)((const uint8_t *)&port->port + swm_counters[i].at);

		if (swm_counters[i].at == offsetof(struct swm_port, in_octets))
			value = port->in_octets;
		else if (swm_counters[i].at == offsetof(struct swm_port, out_octets))
			value = port->out_octets;
		rte_tel_data_add_dict_u64(data, swm_counters[i].name, value);
	}
	add_pfc(view, port, data);
	rte_tel_data_add_dict_u64(data, "time_ns", view->time_ps / PS_PER_NS);
	return rte_tel_data_add_dict_int(data, "fresh", view->fresh);
}

static bool
has_pfc(const struct counters_port *port)
{
	uint64_t any = port->port.rx_pause | port->port.tx_pause;

	for (uint32_t prio = 0; prio < SWITCH_CLASSES; prio++)
		any |= port->rx_pfc[prio] | port->tx_pfc[prio];
	return any != 0;
}

/* A row of its own within a reply. @return NULL: out of memory */
static struct rte_tel_data *
add_row(struct rte_tel_data *data, uint32_t number)
{
	struct rte_tel_data *row = rte_tel_data_alloc();
	char key[16];

	snprintf(key, sizeof(key), "%u", number);
	if (row != NULL && rte_tel_data_start_dict(row) == 0 && rte_tel_data_add_dict_container(data, key, row, 0) == 0)
		return row;
	rte_tel_data_free(row);
	return NULL;
}

static int
fill_pfc(const struct counters_view *view, uint32_t from, struct rte_tel_data *data)
{
	/* a name, two counters a class with 32 characters of name each, and the paused classes */
	uint32_t most =
		RTE_TEL_MAX_STRING_LEN + (uint32_t)__builtin_popcount(view->lossless) * 2 * (32 + NUMBER_BYTES) + 64;
	uint32_t rows = ROOM_BYTES / most;

	rte_tel_data_start_dict(data);
	for (uint32_t i = from; i < view->nports; i++) {
		char name[RTE_TEL_MAX_STRING_LEN];
		struct rte_tel_data *row;

		if (!has_pfc(&view->ports[i]))
			continue;
		if (rows-- == 0)
			return rte_tel_data_add_dict_u64(data, "next", i);
		row = add_row(data, i);
		if (row == NULL)
			return -ENOMEM;
		rte_tel_data_add_dict_string(row, "name", name_port(view, i, name));
		add_pfc(view, &view->ports[i], row);
	}
	return 0;
}

static int
fill_ecmp(const struct counters_view *view, uint32_t from, struct rte_tel_data *data)
{
	uint32_t room = ROOM_BYTES;

	rte_tel_data_start_dict(data);
	for (uint32_t i = from; i < view->ngroups; i++) {
		const struct counters_group *group = &view->groups[i];
		uint32_t size = RTE_TEL_MAX_STRING_LEN + 64 + group->count * (8 + NUMBER_BYTES);
		struct rte_tel_data *row;

		if (size > room)
			return rte_tel_data_add_dict_u64(data, "next", i);
		room -= size;
		row = add_row(data, i);
		if (row == NULL)
			return -ENOMEM;
		rte_tel_data_add_dict_string(row, "switch", view->topo->nodes[group->node].name);
		rte_tel_data_add_dict_u64(row, "destinations", group->destinations);
		for (uint32_t k = 0; k < group->count; k++) {
			char key[16];

			snprintf(key, sizeof(key), "%u", group->first + group->members[k]);
			rte_tel_data_add_dict_u64(row, key, view->ports[group->first + group->members[k]].out_octets);
		}
	}
	return 0;
}

static const struct command {
	const char *name, *help;
	bool needs_number;
	int (*fill)(const struct counters_view *view, uint32_t number, struct rte_tel_data *data);
} commands[] = {
	{ "/rocelab/ports", "Names of the switches' ports, by their numbers. Parameters: number to begin with (optional)",
	  false, fill_ports },
	{ "/rocelab/port", "Counters of a port, by SAI's names. Parameters: its number", true, fill_port },
	{ "/rocelab/pfc", "Ports with PFC frames, or paused. Parameters: number to begin with (optional)", false,
	  fill_pfc },
	{ "/rocelab/ecmp",
	  "Sets of ports of equal cost: port number and SAI_PORT_STAT_IF_OUT_OCTETS. Parameters: set to begin with "
	  "(optional)",
	  false, fill_ecmp },
};

/* @return 0 or -EINVAL */
static int
read_number(const struct command *command, const char *params, uint32_t *number)
{
	unsigned long value;
	char *end;

	*number = 0;
	if (params == NULL || params[0] == '\0')
		return command->needs_number ? -EINVAL : 0;
	errno = 0;
	value = strtoul(params, &end, 10);
	if (*end != '\0' || errno != 0 || params[0] == '-' || value > UINT32_MAX)
		return -EINVAL;
	*number = (uint32_t)value;
	return 0;
}

/* Whatever is wrong is answered with null, as DPDK's own commands do. */
static int
answer(const char *cmd, const char *params, struct rte_tel_data *data)
{
	const struct command *command = commands;
	struct counters_view view;
	uint32_t number;
	int ret = -ENODEV;

	while (strcmp(command->name, cmd) != 0)
		command++;
	if (read_number(command, params, &number) < 0)
		return -EINVAL;
	pthread_mutex_lock(&served.mutex);
	if (served.counters != NULL) {
		view = counters_ask(served.counters);
		ret = command->needs_number && number >= view.nports ? -EINVAL : command->fill(&view, number, data);
		counters_done(served.counters);
	}
	pthread_mutex_unlock(&served.mutex);
	return ret;
}

int
telemetry_open(struct counters *counters, struct err *err)
{
	static bool registered; /* DPDK keeps commands for good */

	for (size_t i = 0; !registered && i < ARRAY_LEN(commands); i++)
		if (rte_telemetry_register_cmd(commands[i].name, answer, commands[i].help) < 0)
			return err_set(err, -EIO, "DPDK's telemetry does not take the command %s", commands[i].name);
	registered = true;
	pthread_mutex_lock(&served.mutex);
	served.counters = counters;
	pthread_mutex_unlock(&served.mutex);
	return 0;
}

void
telemetry_close(void)
{
	pthread_mutex_lock(&served.mutex);
	served.counters = NULL;
	pthread_mutex_unlock(&served.mutex);
}
