/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns, and their order, are those of SONiC (portstat, pfcstat, queuestat, watermarkstat, wredstat) and of mlx5. */
#include "cli/store/tables.h"

#include <stddef.h>

#include "common/wire/ledger.h"

/* Queries read these, not the tables: the same columns with --at and without. */
const char views_at_end[] =
	"WITH port_now AS (SELECT port, up, rx_packets, rx_bytes, tx_packets, tx_bytes, rx_errors, rx_drops,"
	" NULL AS tx_errors, tx_drops FROM port_counters),"
	" queue_now AS (SELECT * FROM queue_counters),"
	" group_now AS (SELECT * FROM priority_groups),"
	" pfc_now AS (SELECT * FROM pfc_counters),"
	" time_now AS (SELECT value AS ns FROM run WHERE key = 'end_ns' AND :at IS NULL) ";

const char views_at_time[] =
	"WITH port_now AS (SELECT port, NULL AS up, rx_packets, rx_bytes, tx_packets, tx_bytes, NULL AS rx_errors,"
	" NULL AS rx_drops, NULL AS tx_errors, NULL AS tx_drops, max(time_ns) FROM port_series WHERE time_ns <= :at GROUP "
	"BY port),"
	" latest AS (SELECT *, max(time_ns) FROM queue_series WHERE time_ns <= :at GROUP BY port, class),"
	" most AS (SELECT port, class, max(watermark_bytes) AS watermark_bytes,"
	" max(shared_watermark_bytes) AS shared_watermark_bytes, max(headroom_watermark_bytes) AS headroom_watermark_bytes"
	" FROM queue_series WHERE time_ns <= :at GROUP BY port, class),"
	" queue_now AS (SELECT port, class, NULL AS packets, NULL AS bytes, dropped_packets, NULL AS dropped_bytes,"
	" ecn_marked_packets, NULL AS ecn_marked_bytes, most.watermark_bytes FROM latest JOIN most USING (port, class)),"
	" group_now AS (SELECT port, class, priority_groups.headroom_bytes, most.shared_watermark_bytes,"
	" most.headroom_watermark_bytes FROM most JOIN priority_groups USING (port, class)),"
	" pfc_now AS (SELECT port, class, rx_pause, tx_pause, rx_pause_duration_ns, tx_pause_duration_ns,"
	" NULL AS rx_pause_transitions, NULL AS rx_pause_recent_ns, NULL AS rx_pause_recent_at_ns FROM latest),"
	" time_now AS (SELECT :at AS ns) ";

#define PORT_ASKED "(:port IS NULL OR ports.name = :port OR nodes.name = :port)"
#define PORTS "FROM ports JOIN nodes USING (node) "
/* A column for each class of a value that a row of a class has. */
#define OF(class, value, name) "coalesce(max(CASE class WHEN " #class " THEN " value " END), 0) AS \"" name #class "\""
/* clang-format off */
#define OF_ALL(value, name)                                                                                                \
	OF(0, value, name) ", " OF(1, value, name) ", " OF(2, value, name) ", " OF(3, value, name) ", "                    \
	OF(4, value, name) ", " OF(5, value, name) ", " OF(6, value, name) ", " OF(7, value, name)
/* clang-format on */
#define BY_CLASS(title, table, value, name)                                                                                \
	"SELECT ports.name AS \"" title "\", " OF_ALL(value, name) " " PORTS "LEFT JOIN " table                            \
								   " USING (port) WHERE " PORT_ASKED                       \
								   " GROUP BY port ORDER BY port"
#define RATE(bytes) "printf('%.2f MB/s', " bytes " * 1e3 / max(time_now.ns, 1))"
#define UTIL(bytes, packets)                                                                                               \
	"printf('%.2f%%', (" bytes " + 20 * " packets ") * 8e11 / max(time_now.ns, 1) / ports.rate_bps)"

/* A MAC here sends no frame that is wrong, and has no FIFO that overruns. */
#define DIRECTION(of, OF)                                                                                                  \
	of "_packets AS " OF "_OK, " RATE(of "_bytes") " AS " OF "_BPS, " UTIL(                                            \
		of "_bytes", of "_packets") " AS " OF "_UTIL, " of "_errors AS " OF "_ERR, " of "_drops AS " OF "_DRP"

#define HEADROOM_SQL BY_CLASS("Port", "group_now", "headroom_watermark_bytes", "PG")
#define SHARED_SQL BY_CLASS("Port", "group_now", "shared_watermark_bytes", "PG")
#define HISTORY_SQL                                                                                                        \
	"SELECT ports.name AS Port, 'PFC' || class AS Priority, rx_pause_transitions AS \"RX Pause Transitions\","         \
	" round(rx_pause_duration_ns / 1e6, 3) AS \"Total RX Pause Time MS\","                                             \
	" round(rx_pause_recent_ns / 1e6, 3) AS \"Recent RX Pause Time MS\","                                              \
	" round(rx_pause_recent_at_ns / 1e6, 3) AS \"Recent RX Pause Timestamp\" " PORTS                                   \
	"JOIN pfc_now USING (port) WHERE " PORT_ASKED " ORDER BY port, class"

#define LEDGER_COLUMN(id, value, name, member, title, meaning) ", round(" name "_ns / 1e3, 3) AS " name

const struct view views[] = {
	{ "interfaces counters",
	  "Packets, rates over the run, errors and drops of each port",
	  { { "interfaces", NULL,
	      "SELECT ports.name AS IFACE, CASE up WHEN 1 THEN 'U' WHEN 0 THEN 'D' END AS STATE, " DIRECTION(
		      "rx", "RX") ", NULL AS RX_OVR, " DIRECTION("tx", "TX") ", NULL AS TX_OVR " PORTS
									     "JOIN port_now USING (port) JOIN time_now "
									     "WHERE " PORT_ASKED " ORDER BY port" } },
	  true },
	{ "pfc counters",
	  "PFC frames that each port received and sent, by priority",
	  { { "rx", NULL, BY_CLASS("Port Rx", "pfc_now", "rx_pause", "PFC") },
	    { "tx", NULL, BY_CLASS("Port Tx", "pfc_now", "tx_pause", "PFC") } },
	  true },
	{ "pfc history", "How often and how long each port was paused", { { "history", NULL, HISTORY_SQL } }, true },
	{ "pfcwd stats",
	  "Storms that PFC watchdogs found, and what they dropped",
	  { { "stats", NULL,
	      "SELECT ports.name || ':' || class AS QUEUE, CASE stormed WHEN 1 THEN 'stormed' ELSE 'operational' END AS "
	      "STATUS,"
	      " detected || '/' || restored AS \"STORM DETECTED/RESTORED\", dropped_packets AS \"TX+RX DROP\","
	      " last_dropped_packets AS \"TX+RX LAST DROP\" " PORTS "JOIN pfc_watchdog USING (port) WHERE " PORT_ASKED
	      " AND :at IS NULL ORDER BY port, class" } },
	  false },
	{ "pfcwd config",
	  "PFC watchdogs, and at how many ports they are the same",
	  { { "config", NULL,
	      "SELECT action AS ACTION, detection_ns / 1e6 AS \"DETECTION TIME MS\", restoration_ns / 1e6 AS"
	      " \"RESTORATION TIME MS\", class AS Priority, count(*) AS ports " PORTS
	      "JOIN pfc_watchdog USING (port) WHERE " PORT_ASKED " AND :at IS NULL GROUP BY 1, 2, 3, 4 ORDER BY 4" } },
	  false },
	{ "queue counters",
	  "Packets and drops of each egress queue that was used",
	  { { "queues", NULL,
	      "SELECT ports.name AS Port, 'UC' || class AS TxQ, packets AS \"Counter/pkts\", bytes AS \"Counter/bytes\","
	      " dropped_packets AS \"Drop/pkts\", dropped_bytes AS \"Drop/bytes\" " PORTS
	      "JOIN queue_now USING (port) WHERE " PORT_ASKED " ORDER BY port, class" } },
	  true },
	{ "queue watermark",
	  "The most that waited in each egress queue",
	  { { "queues",
	      "Egress shared pool occupancy per unicast queue:", BY_CLASS("Port", "queue_now", "watermark_bytes", "UC") } },
	  true },
	{ "queue wred",
	  "Drops and ECN marks of each egress queue that was used",
	  { { "queues", NULL,
	      "SELECT ports.name AS Port, 'UC' || class AS TxQ, dropped_packets AS \"WredDrp/pkts\","
	      " dropped_bytes AS \"WredDrp/bytes\", ecn_marked_packets AS \"EcnMarked/pkts\","
	      " ecn_marked_bytes AS \"EcnMarked/bytes\" " PORTS "JOIN queue_now USING (port) WHERE " PORT_ASKED
	      " ORDER BY port, class" } },
	  true },
	{ "priority-group watermark",
	  "The most that each ingress group held, in headroom and in the shared pool",
	  { { "headroom", "Ingress headroom per PG:", HEADROOM_SQL },
	    { "shared", "Ingress shared pool occupancy per PG:", SHARED_SQL } },
	  true },
	{ "headroom-pool watermark",
	  "The most that all groups of an ingress pool held in headroom, of switches with buffer_pool",
	  { { "pools", "Headroom pool maximum occupancy:",
	      "SELECT nodes.name AS Switch, buffer_pools.name AS Pool, headroom_watermark_bytes AS Bytes,"
	      " headroom_bytes AS Size, headroom_needed_bytes AS Groups FROM buffer_pools JOIN nodes USING (node)"
	      " WHERE (:port IS NULL OR nodes.name = :port) AND :at IS NULL ORDER BY node, buffer_pools.rowid" } },
	  false },
	{ "ecn",
	  "ECN thresholds of switches' queues, and at how many ports they are the same",
	  { { "profiles", NULL,
	      "SELECT ports.rate_bps AS rate, 'UC' || class AS TxQ, min_bytes AS green_min_threshold,"
	      " max_bytes AS green_max_threshold, probability * 100 AS green_drop_probability, count(*) AS ports " PORTS
	      "JOIN ecn USING (port) WHERE " PORT_ASKED " AND :at IS NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3" } },
	  false },
	{ "rdma",
	  "hw_counters of each NIC, under mlx5's names",
	  { { "rdma", NULL,
	      "SELECT ports.name AS link, nic_counters.name AS counter, value " PORTS
	      "JOIN nic_counters USING (port) WHERE " PORT_ASKED " AND nic_counters.name NOT LIKE '%\\_phy' ESCAPE '\\'"
	      " AND nic_counters.name NOT LIKE '_x\\_%' ESCAPE '\\' AND :at IS NULL ORDER BY port, nic_counters.rowid" } },
	  false },
	{ "nic",
	  "Counters of each NIC as `ethtool -S` has them, under mlx5's names",
	  { { "nic", NULL,
	      "SELECT ports.name AS NIC, nic_counters.name AS counter, value " PORTS
	      "JOIN nic_counters USING (port) WHERE " PORT_ASKED " AND (nic_counters.name LIKE '%\\_phy' ESCAPE '\\'"
	      " OR nic_counters.name LIKE '_x\\_%' ESCAPE '\\') AND :at IS NULL ORDER BY port, nic_counters.rowid" } },
	  false },
	{ "qp",
	  "Connections, and the counters of both ends",
	  { { "qps", NULL,
	      "SELECT qps.* FROM qps WHERE :at IS NULL AND (:port IS NULL OR src = :port OR dst = :port OR qp IN (SELECT "
	      "qp "
	      "FROM qps JOIN nodes ON nodes.name IN (src, dst) JOIN ports USING (node) WHERE ports.name = :port)) "
	      "ORDER BY qp" } },
	  false },
	{ "drops",
	  "Packets that ports dropped, or that cables and faults lost, by reason",
	  { { "drops", NULL,
	      "SELECT ports.name AS Port, reason, packets, bytes, first_ns, last_ns, counted " PORTS
	      "JOIN drops USING (port) WHERE " PORT_ASKED " AND :at IS NULL ORDER BY port, reason" } },
	  false },
	{ "flows",
	  "Flows that no collective sent",
	  { { "flows", NULL,
	      "SELECT coalesce(generator, '-') AS generator, a.name AS src, b.name AS dst, sport, dport, flows.bytes,"
	      " start_ns, begin_ns, end_ns, fct_ns, ideal_ns, round(1.0 * fct_ns / nullif(ideal_ns, 0), 3) AS slowdown,"
	      " flows.retransmits FROM flows JOIN nodes a ON a.node = flows.src JOIN nodes b ON b.node = flows.dst"
	      " LEFT JOIN qps USING (qp) WHERE (:port IS NULL OR :port IN (a.name, b.name)) AND :at IS NULL"
	      " ORDER BY flows.rowid" } },
	  false },
	{ "jobs",
	  "Jobs, and the iterations of their collectives",
	  { { "jobs", NULL,
	      "SELECT job, name, iterations, start_ns, end_ns FROM jobs WHERE :port IS NULL AND :at IS NULL ORDER BY job" },
	    { "collectives", "",
	      "SELECT jobs.name AS job, collectives.name AS collective, iteration, op, ranks, bytes, collectives.start_ns,"
	      " collectives.end_ns, (collectives.end_ns - collectives.start_ns) / 1e3 AS time_us, round(algbw, 3) AS algbw,"
	      " round(busbw, 3) AS busbw FROM collectives JOIN jobs USING (job) WHERE :port IS NULL AND :at IS NULL"
	      " ORDER BY collectives.rowid" } },
	  false },
	{ "topology",
	  "Cables, by the port at each end",
	  { { "topology", NULL,
	      "SELECT ports.name AS Port, nodes.kind, other.name AS Peer, ports.rate_bps, ports.delay_ns " PORTS
	      "JOIN ports other ON other.port = ports.peer WHERE " PORT_ASKED " AND :at IS NULL ORDER BY ports.port" } },
	  false },
	{ "ledger",
	  "Where senders' time went, in us: critical paths' steps, slow flows",
	  { { "ledger", NULL,
	      "SELECT coalesce(jobs.name, ledgers.job) AS job, collective, iteration, rank, step, flow,"
	      " round((ledgers.end_ns - ledgers.start_ns) / 1e3, 3) AS took, round(expect_ns / 1e3, 3) AS "
	      "expected" LEDGER_ROWS(LEDGER_COLUMN) " FROM ledgers LEFT JOIN jobs USING (job) WHERE flow IS NOT NULL AND "
						    "(:port IS NULL OR host = :port)"
						    " AND :at IS NULL ORDER BY ledgers.rowid" } },
	  false },
	{ "findings",
	  "Findings of the verdict",
	  { { "findings", NULL,
	      "SELECT finding, type, root, explained_ns / 1e6 AS explained_ms, regained_ns / 1e6 AS regained_ms,"
	      " round(confidence, 2) AS confidence, evidence FROM findings WHERE (:port IS NULL OR root = :port)"
	      " AND :at IS NULL ORDER BY finding" } },
	  false },
	{ 0 },
};
