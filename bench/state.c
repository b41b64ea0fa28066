/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench state: bytes of telemetry that a port and a flow keep, by the structures that a run allocates. */
#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdio.h>

#include "bench/bench.h"
#include "common/array.h"
#include "common/outfile.h"
#include "emulation/volumes.h"
#include "scenario/scenario.h"
#include "telemetry/epochs.h"
#include "telemetry/port.h"
#include "telemetry/volumes/judge.h"

/* Ports of a switch, or of a leaf to its spines: K=4, a leaf of FlowPulse's paper, K=64. */
static const uint16_t port_counts[] = { 4, 16, 64 };
#define NCOUNTS ARRAY_LEN(port_counts)

enum row {
	ROW_ALL,
	ROW_EXACT,
	ROW_LATE,
	ROW_POLLED,
	ROW_DROPS,
	ROW_MONITOR,
	ROW_COUNTERS,
	ROWS,
};

static const char *const row_names[ROWS] = {
	"a port's telemetry, all of it",
	"with the exact contention matrix",
	"with late looks",
	"of it, events of polling packets",
	"of it, drops by reason",
	"FlowPulse's monitor, with prediction and verdict",
	"of it, FlowPulse's counters in the data plane",
};

/* Sizes by row and number of ports. */
struct state {
	size_t port_bytes[ROWS][NCOUNTS], flow_bytes[ROWS]; /* flow: of FlowPulse a sender */
	uint32_t epochs, slots;
};

static struct scenario *
load(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	const struct scenario_options options = { .path = path };
	struct outfile out;

	snprintf(path, sizeof(path), "%s/state.cfg", dir);
	if (outfile_open_path(&out, path, err) < 0)
		return NULL;
	fputs("topology = { kind = \"leaf-spine\"; leaves = 4; spines = 4; hosts_per_leaf = 1; rate = \"100Gbps\"; delay = "
	      "\"1us\"; };\nload_balancing = { kind = \"adaptive\"; };\nhost = { transport = \"selective\"; };\n"
	      "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"32MB\"; iterations = 4; measured = "
	      "true; } );\nflowpulse = { enabled = true; };\n",
	      out.file);
	return outfile_close(&out, 0, err) == 0 ? scenario_load(&options, err) : NULL;
}

static void
fill_rows(const struct scenario *sc, struct state *state)
{
	for (size_t n = 0; n < NCOUNTS; n++) {
		struct telem_config plain = { .epoch_ps = (uint64_t)sc->telemetry.epoch_ps,
					      .kept = sc->epochs_kept,
					      .nports = port_counts[n],
					      .lossless = 1 },
				    exact = plain, late = plain;
		const struct telem_config *configs[] = { &plain, &exact, &late };

		exact.exact = true;
		late.late_looks = true;
		for (size_t row = 0; row < ARRAY_LEN(configs); row++) {
			state->port_bytes[row][n] = telem_port_bytes(configs[row], 0);
			state->flow_bytes[row] = telem_port_bytes(configs[row], 1) - telem_port_bytes(configs[row], 0);
		}
		state->port_bytes[ROW_POLLED][n] = polled_bytes(false);
		state->port_bytes[ROW_DROPS][n] = sizeof(struct port_drops);
	}
}

/* Hardware would hold the bytes and packets of each sender at each port, for the iterations that are counted at a time. */
static void
fill_flowpulse(const struct scenario *sc, struct state *state)
{
	for (size_t n = 0; n < NCOUNTS; n++) {
		struct judge_config judge = volumes_judge_config(&sc->volumes, port_counts[n]);
		size_t senders = judge.volumes.senders, all = judge_bytes(&judge) / port_counts[n];

		judge.volumes.senders = (uint16_t)(senders - 1);
		state->port_bytes[ROW_MONITOR][n] = all;
		state->flow_bytes[ROW_MONITOR] = all - judge_bytes(&judge) / port_counts[n];
		state->flow_bytes[ROW_COUNTERS] = VOLUMES_SLOTS * sizeof(struct volume_count);
		state->port_bytes[ROW_COUNTERS][n] = senders * state->flow_bytes[ROW_COUNTERS];
		state->slots = (uint32_t)senders;
	}
}

/* ---- for people and machines ---- */

static void
print_table(const struct state *state)
{
	static const char *const columns[] = { "STATE", "PORTS 4", "16", "64", "A FLOW OR SENDER", "SRAM BITS A PORT" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t row = 0; row < ROWS; row++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[ARRAY_LEN(columns)][32];

		scols_line_set_data(line, 0, row_names[row]);
		for (size_t n = 0; n < NCOUNTS; n++)
			snprintf(cell[1 + n], 32, "%zu B", state->port_bytes[row][n]);
		snprintf(cell[4], 32, "%zu B", state->flow_bytes[row]);
		cell[5][0] = '\0';
		if (row == ROW_COUNTERS)
			snprintf(cell[5], 32, "%zu", state->port_bytes[row][0] * CHAR_BIT);
		for (size_t c = 1; c < ARRAY_LEN(columns); c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
	printf("\nBytes of a port of a switch without flows, and of each flow or sender at it; %u epochs are kept, one "
	       "class is "
	       "lossless.\nFlowPulse has room for %u senders, %u iterations at a time; ports are those of a leaf to its "
	       "spines.\n",
	       state->epochs, state->slots, VOLUMES_SLOTS);
}

static void
print_json(const struct state *state)
{
	json_t *rows = json_array(), *root;

	for (size_t row = 0; row < ROWS; row++) {
		json_t *ports = json_object();
		char key[16];

		for (size_t n = 0; n < NCOUNTS; n++) {
			snprintf(key, sizeof(key), "%u", port_counts[n]);
			json_object_set_new(ports, key, json_integer((json_int_t)state->port_bytes[row][n]));
		}
		json_array_append_new(rows, json_pack("{s:s, s:o, s:I}", "state", row_names[row], "port_bytes", ports,
						      "flow_bytes", (json_int_t)state->flow_bytes[row]));
	}
	root = json_pack("{s:I, s:I, s:o}", "epochs_kept", (json_int_t)state->epochs, "senders", (json_int_t)state->slots,
			 "rows", rows);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_state(const char *dir, const struct bench_options *options, struct err *err)
{
	struct scenario *sc = load(dir, err);
	struct state state = { 0 };

	if (sc == NULL)
		return -EINVAL;
	state.epochs = sc->epochs_kept;
	fill_rows(sc, &state);
	fill_flowpulse(sc, &state);
	scenario_destroy(sc);
	if (options->json)
		print_json(&state);
	else
		print_table(&state);
	return 0;
}
