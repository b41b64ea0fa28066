/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters at the end of a run, under the names that dashboards know: node_exporter's of network devices, rdma_exporter's
 * of RDMA ports, and rocelab_ for what neither has. A metric is a row here; docs/exports.md has the same rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/export/export.h"
#include "store/schema.h"

#define PORT "nodes.name AS instance, ports.name AS device"
#define OF_PORTS "FROM ports JOIN nodes USING (node) "
#define NICS OF_PORTS "JOIN port_counters USING (port) WHERE nodes.kind != 'switch' ORDER BY port"
#define NETWORK(column) "SELECT " column " AS value, " PORT " " OF_PORTS "JOIN port_counters USING (port) ORDER BY port"
#define RDMA(column) "SELECT " column " AS value, " PORT ", 1 AS port " NICS
#define HARDWARE(counter)                                                                                                  \
	{                                                                                                                  \
		"rdma_" counter, "counter", "The hw_counter " counter " of mlx5.",                                         \
			"SELECT value, " PORT ", 1 AS port " OF_PORTS                                                      \
			"JOIN nic_counters USING (port) WHERE nic_counters.name = '" counter "' ORDER BY port"             \
	}
/* Both directions of a counter of PFC, by priority. */
#define PFC(labels, rx, tx, where)                                                                                         \
	"SELECT * FROM (SELECT " rx " AS value, " PORT labels ", 'rx' AS direction, class AS priority " OF_PORTS           \
	"JOIN pfc_counters USING (port) WHERE " where " UNION ALL SELECT " tx ", " PORT labels ", 'tx', class " OF_PORTS   \
	"JOIN pfc_counters USING (port) WHERE " where ") ORDER BY device, priority, direction"
#define NIC_LABELS ", 1 AS port, ports.name AS netdev"
#define IS_NIC "nodes.kind != 'switch'"
#define QUEUE(column)                                                                                                      \
	"SELECT " column " AS value, " PORT ", class AS priority " OF_PORTS                                                \
	"JOIN queue_counters USING (port) ORDER BY port, class"
#define GROUP(column)                                                                                                      \
	"SELECT " column " AS value, " PORT ", class AS priority " OF_PORTS                                                \
	"JOIN priority_groups USING (port) ORDER BY port, class"

/* The value is the first column, the others are labels. A counter's samples are NAME_total. */
static const struct metric {
	const char *name, *type, *help, *sql;
} metrics[] = {
	{ "node_network_up", "gauge", "1: the link is up at the end of the run.", NETWORK("up") },
	{ "node_network_speed_bytes", "gauge", "Rate of the link, in bytes a second.", NETWORK("ports.rate_bps / 8") },
	{ "node_network_receive_bytes", "counter", "Octets of received frames.", NETWORK("rx_bytes") },
	{ "node_network_receive_packets", "counter", "Received frames.", NETWORK("rx_packets") },
	{ "node_network_receive_errs", "counter", "Frames dropped by FCS or ICRC.", NETWORK("rx_errors") },
	{ "node_network_receive_drop", "counter", "Frames dropped at the ingress.", NETWORK("rx_drops") },
	{ "node_network_transmit_bytes", "counter", "Octets of sent frames.", NETWORK("tx_bytes") },
	{ "node_network_transmit_packets", "counter", "Sent frames.", NETWORK("tx_packets") },
	{ "node_network_transmit_drop", "counter", "Frames dropped at the egress.", NETWORK("tx_drops") },
	{ "rdma_port_info", "gauge", "State and rate of a NIC's port, as labels.",
	  "SELECT 1 AS value, " PORT ", 1 AS port, 'Ethernet' AS link_layer,"
	  " CASE up WHEN 1 THEN 'ACTIVE' ELSE 'DOWN' END AS state, CASE up WHEN 1 THEN 'LinkUp' ELSE 'Disabled' END AS"
	  " phys_state, printf('%d Gb/sec', ports.rate_bps / 1000000000) AS link_speed " NICS },
	{ "rdma_port_rcv_data", "counter", "Received octets divided by 4.", RDMA("rx_bytes / 4") },
	{ "rdma_port_rcv_packets", "counter", "Received packets.", RDMA("rx_packets") },
	{ "rdma_port_xmit_data", "counter", "Sent octets divided by 4.", RDMA("tx_bytes / 4") },
	{ "rdma_port_xmit_packets", "counter", "Sent packets.", RDMA("tx_packets") },
	{ "rdma_port_xmit_discards", "counter", "Packets that the port did not send.", RDMA("tx_drops") },
	HARDWARE("packet_seq_err"),
	HARDWARE("local_ack_timeout_err"),
	HARDWARE("rnr_nak_retry_err"),
	HARDWARE("out_of_sequence"),
	HARDWARE("duplicate_request"),
	HARDWARE("rx_icrc_encapsulated"),
	HARDWARE("rp_cnp_handled"),
	HARDWARE("np_cnp_sent"),
	HARDWARE("np_ecn_marked_roce_packets"),
	{ "rdma_roce_pfc_pause_frames", "counter", "PFC frames of a NIC by priority; rx: the peer paused it.",
	  PFC(NIC_LABELS, "rx_pause", "tx_pause", IS_NIC) },
	{ "rdma_roce_pfc_pause_duration", "counter", "Time paused by PFC, in microseconds.",
	  PFC(NIC_LABELS, "rx_pause_duration_ns / 1000", "tx_pause_duration_ns / 1000", IS_NIC) },
	{ "rdma_roce_pfc_pause_transitions", "counter", "How often a NIC was paused by PFC.",
	  "SELECT rx_pause_transitions AS value, " PORT NIC_LABELS ", 'rx' AS direction, class AS priority " OF_PORTS
	  "JOIN pfc_counters USING (port) WHERE " IS_NIC " ORDER BY port, class" },
	{ "rocelab_pfc_pause_frames", "counter", "PFC frames of any port by priority.",
	  PFC("", "rx_pause", "tx_pause", "1") },
	{ "rocelab_pfc_pause_seconds", "counter", "Time paused by PFC; tx: time for which the port paused its peer.",
	  PFC("", "rx_pause_duration_ns / 1e9", "tx_pause_duration_ns / 1e9", "1") },
	{ "rocelab_queue_watermark_bytes", "gauge", "Most that waited in an egress queue.", QUEUE("watermark_bytes") },
	{ "rocelab_queue_ecn_marked_packets", "counter", "Packets marked CE by an egress queue.",
	  QUEUE("ecn_marked_packets") },
	{ "rocelab_queue_dropped_packets", "counter", "Packets dropped by an egress queue.", QUEUE("dropped_packets") },
	{ "rocelab_headroom_watermark_bytes", "gauge", "Most headroom in use.", GROUP("headroom_watermark_bytes") },
	{ "rocelab_shared_watermark_bytes", "gauge", "Most of an ingress group in reserve and pool.",
	  GROUP("shared_watermark_bytes") },
	{ "rocelab_job_seconds", "gauge", "Time of a complete job.",
	  "SELECT (end_ns - start_ns) / 1e9 AS value, name AS job FROM jobs ORDER BY job" },
	{ "rocelab_collective_seconds", "gauge", "Time of a collective, mean of the complete iterations.",
	  "SELECT avg(collectives.end_ns - collectives.start_ns) / 1e9 AS value, jobs.name AS job, collectives.name AS "
	  "collective, op FROM "
	  "collectives"
	  " JOIN jobs USING (job) GROUP BY collectives.job, collective ORDER BY collectives.job, collective" },
	{ "rocelab_collective_busbw_bytes", "gauge", "Bus bandwidth of a collective, in bytes a second.",
	  "SELECT avg(busbw) * 1e9 AS value, jobs.name AS job, collectives.name AS collective, op FROM collectives"
	  " JOIN jobs USING (job) GROUP BY collectives.job, collective ORDER BY collectives.job, collective" },
	{ "rocelab_finding_seconds", "gauge", "Time that a finding of the verdict explains.",
	  "SELECT explained_ns / 1e9 AS value, finding, type, root FROM findings ORDER BY finding" },
	{ "rocelab_run_seconds", "gauge", "The run, in its own time.",
	  "SELECT value / 1e9 AS value, (SELECT value FROM run WHERE key = 'name') AS name, (SELECT value FROM run WHERE"
	  " key = 'seed') AS seed, (SELECT value FROM run WHERE key = 'digest') AS digest FROM run WHERE key = 'end_ns'" },
	{ 0 },
};

/* The value of a label, within its quotes. */
static void
put_label(const char *text, FILE *to)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', to);
		if (*text == '\n')
			fputs("\\n", to);
		else
			fputc(*text, to);
	}
}

static void
put_sample(const struct metric *metric, sqlite3_stmt *stmt, FILE *to)
{
	fprintf(to, "%s%s", metric->name, strcmp(metric->type, "counter") == 0 ? "_total" : "");
	for (int i = 1; i < sqlite3_column_count(stmt); i++) {
		const char *text = (const char *)sqlite3_column_text(stmt, i);

		fprintf(to, "%s%s=\"", i == 1 ? "{" : ",", sqlite3_column_name(stmt, i));
		put_label(text != NULL ? text : "", to);
		fputc('"', to);
	}
	fprintf(to, "} %s\n", (const char *)sqlite3_column_text(stmt, 0));
}

/* @param total  the family's name has its samples' suffix: Prometheus' text. @return 0 or negative errno with err set */
static int
write_metrics(sqlite3 *db, bool total, FILE *to, struct err *err)
{
	for (const struct metric *metric = metrics; metric->name != NULL; metric++) {
		const char *suffix = total && strcmp(metric->type, "counter") == 0 ? "_total" : "";
		sqlite3_stmt *stmt = store_select(db, metric->sql, err);
		bool begun = false;
		int result;

		if (stmt == NULL)
			return -EINVAL;
		while ((result = sqlite3_step(stmt)) == SQLITE_ROW) {
			if (sqlite3_column_type(stmt, 0) == SQLITE_NULL)
				continue; /* not counted */
			if (!begun)
				fprintf(to, "# HELP %s%s %s\n# TYPE %s%s %s\n", metric->name, suffix, metric->help,
					metric->name, suffix, metric->type);
			begun = true;
			put_sample(metric, stmt, to);
		}
		sqlite3_finalize(stmt);
		if (result != SQLITE_DONE)
			return err_set(err, -EIO, "%s", sqlite3_errmsg(db));
	}
	return 0;
}

int
export_openmetrics(const struct export *export, FILE *to, struct err *err)
{
	int ret = write_metrics(export->db, false, to, err);

	if (ret == 0)
		fputs("# EOF\n", to);
	return ret;
}

int
export_prometheus(const struct export *export, FILE *to, struct err *err)
{
	return write_metrics(export->db, true, to, err);
}
