/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/schema.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/input_file.h"
#include "common/run_files.h"

#include "common/wire/ledger.h"

#define INT(name, unit, doc)                                                                                               \
	{                                                                                                                  \
		name, "INTEGER", unit, doc                                                                                 \
	}
#define REAL(name, unit, doc)                                                                                              \
	{                                                                                                                  \
		name, "REAL", unit, doc                                                                                    \
	}
#define TEXT(name, doc)                                                                                                    \
	{                                                                                                                  \
		name, "TEXT", "", doc                                                                                      \
	}
#define PORT INT("port", "", "ports.port")
#define CLASS INT("class", "", "priority, 0 to 7; 0 carries control")
#define TIME INT("time_ns", "ns", "since the run began")
#define PFC_TOTALS                                                                                                         \
	INT("rx_pause", "frames", "802.1Qbb frames received that name the class, XOFF and XON"),                           \
		INT("tx_pause", "frames", "the same, sent"),                                                               \
		INT("rx_pause_duration_ns", "ns", "how long the peer paused this port"),                                   \
		INT("tx_pause_duration_ns", "ns", "how long this port asked its peer to pause")

const struct store_schema store_schemas[STORE_TABLES] = {
	[STORE_RUN] = { "run",
			"The run itself, a row a fact: schema_version, name, seed, clock, end_ns, end_reason, digest, and "
			"of the "
			"series period_ns, samples, rows, skipped_samples, coarsest_ns.",
			{ TEXT("key", "name of the fact"), { "value", "", "", "a number or a text" } } },
	[STORE_CONFIG] = { "config",
			   "The scenario with every default filled in, as `--set` takes it.",
			   { TEXT("path", "of the key: switch.pfc.alpha"), TEXT("value", "as in effective.cfg") } },
	[STORE_NODES] = { "nodes",
			  "Switches and hosts.",
			  { INT("node", "", "number in the topology"), TEXT("name", "as in the scenario"),
			    TEXT("kind", "switch, host, or the kind of a kernel host"),
			    INT("ports", "", "how many it has") } },
	[STORE_PORTS] = { "ports",
			  "Ports of switches and NICs.",
			  { INT("port", "", "number in the topology, key of the tables below"), TEXT("name", "node:number"),
			    INT("node", "", "nodes.node"), INT("number", "", "at its node, from 1"),
			    INT("peer", "", "ports.port of the cable's other end"),
			    INT("rate_bps", "bit/s", "of the cable"),
			    INT("delay_ns", "ns", "of the cable, in one direction") } },
	[STORE_ECN] = { "ecn",
			"ECN thresholds of switches' queues, of the classes that flows have; no row: the class is not "
			"marked.",
			{ PORT, CLASS, INT("min_bytes", "B", "kmin"), INT("max_bytes", "B", "kmax"),
			  REAL("probability", "", "pmax, at kmax") } },
	[STORE_PORT_COUNTERS] = { "port_counters",
				  "Counters of each port at the end of the run. Octets are those of frames with FCS, "
				  "without "
				  "preamble and gap (RFC 3635); PAUSE frames are not among them.",
				  { PORT, INT("up", "", "1: its link is up at the end"),
				    INT("rx_packets", "packets", "received"), INT("rx_bytes", "B", "received"),
				    INT("tx_packets", "packets", "sent"), INT("tx_bytes", "B", "sent"),
				    INT("rx_errors", "packets", "dropped by ICRC or FCS"),
				    INT("rx_drops", "packets",
					"dropped at the ingress: no route, TTL, buffer, MTU (of either direction)"),
				    INT("tx_drops", "packets",
					"dropped at the egress: queue full, link down, watchdog") } },
	[STORE_QUEUE_COUNTERS] = { "queue_counters",
				   "Egress queues at the end of the run; classes that were used.",
				   { PORT, CLASS,
				     INT("packets", "packets",
					 "that it took in; NULL: not counted (telemetry.enabled, link-down)"),
				     INT("bytes", "B", "the same, as octets of ports"),
				     INT("dropped_packets", "packets", "for any reason"),
				     INT("dropped_bytes", "B", "the same"),
				     INT("ecn_marked_packets", "packets", "marked CE by this queue"),
				     INT("ecn_marked_bytes", "B", "the same"),
				     INT("watermark_bytes", "B",
					 "most that waited, with preambles and gaps; NULL: a NIC") } },
	[STORE_PRIORITY_GROUPS] = { "priority_groups",
				    "Ingress accounting of switches: a row a port and lossless class.",
				    { PORT, CLASS, INT("headroom_bytes", "B", "headroom of the group"),
				      INT("shared_watermark_bytes", "B", "most in reserve and pool"),
				      INT("headroom_watermark_bytes", "B", "most in headroom") } },
	[STORE_BUFFER_POOLS] = { "buffer_pools",
				 "Ingress buffer pools of switches that have buffer_pool; others have one, of "
				 "switch.buffer.",
				 { INT("node", "", "nodes.node"), TEXT("name", "of the pool"),
				   INT("size_bytes", "B", "shared buffer"),
				   INT("headroom_bytes", "B", "headroom that its groups share; NULL: each has its own"),
				   INT("headroom_needed_bytes", "B", "the xoff of all its lossless groups together"),
				   INT("headroom_watermark_bytes", "B", "most in headroom of all its groups together") } },
	[STORE_PFC_COUNTERS] = { "pfc_counters",
				 "Priority flow control at the end of the run; classes with any.",
				 { PORT, CLASS, PFC_TOTALS,
				   INT("rx_pause_transitions", "", "how often the peer paused this port"),
				   INT("rx_pause_recent_ns", "ns", "length of the latest such pause"),
				   INT("rx_pause_recent_at_ns", "ns", "when it began") } },
	[STORE_PFC_WATCHDOG] = { "pfc_watchdog",
				 "PFC watchdogs of switches' queues: a row for each that is watched.",
				 { PORT, CLASS, TEXT("action", "drop, forward or alert"),
				   INT("detection_ns", "ns", "paused for so long without a break: a storm"),
				   INT("restoration_ns", "ns", "not paused for so long: it is over"),
				   INT("detected", "", "storms"), INT("restored", "", "storms that are over"),
				   INT("stormed", "", "1: it is in a storm"),
				   INT("dropped_packets", "packets",
				       "in all storms, of the queue and of its class at the port"),
				   INT("last_dropped_packets", "packets", "in the latest storm") } },
	[STORE_DROPS] = { "drops",
			  "Packets that ports dropped, or that were lost on cables and by faults, by reason: all of "
			  "run.json's.",
			  { PORT,
			    TEXT("reason",
				 "as in run.json; or of datagrams that reached no program of an embedded host: "
				 "datagram_unposted, without a posted receive; datagram_unknown_qp, to a QP that "
				 "is not there; datagram_expired, in flight for longer than their contents are "
				 "kept (32,512 datagrams of the sender; with more than 26 NICs fewer, 768 at least)"),
			    INT("packets", "packets", ""), INT("bytes", "B", "on the wire; NULL: of datagrams"),
			    INT("first_ns", "ns", "the first; NULL: of datagrams, and of what nothing counted"),
			    INT("last_ns", "ns", "the last; NULL: likewise"),
			    INT("counted", "",
				"1: a counter of the port has them. 0: no device counted them: they were lost on the cable "
				"that leaves the port, or in its device by a fault, which is at the device's first "
				"port") } },
	[STORE_NIC_COUNTERS] = { "nic_counters",
				 "Counters of NICs under the names of mlx5, as `ethtool -S` and hw_counters have them. "
				 "Of hosts with their own kernel also the hw_counters of their device, under its driver's "
				 "names.",
				 { PORT, TEXT("name", "of the counter"),
				   INT("value", "", "packets, bytes or frames; durations in microseconds, as mlx5's") } },
	[STORE_QPS] = { "qps",
			"Connections between embedded hosts, both ends; a counter of a host that reports none is NULL.",
			{ INT("qp", "", "number of the flow"), TEXT("src", "host that sends data"), TEXT("dst", "host"),
			  INT("sport", "", "UDP source port"), INT("dport", "", "UDP destination port"), CLASS,
			  INT("retransmits", "packets", "sent again by src"),
			  INT("packet_seq_err", "NAKs", "sequence NAKs that src received"),
			  INT("local_ack_timeout_err", "", "timeouts of src"),
			  INT("rnr_nak_retry_err", "NAKs", "RNR NAKs that src received"),
			  INT("rp_cnp_handled", "", "CNPs, or ACKs that echo a mark, that src handled"),
			  INT("out_of_sequence", "packets", "that dst did not expect yet"),
			  INT("duplicate_request", "packets", "that dst had already"),
			  INT("np_ecn_marked_roce_packets", "packets", "that arrived at dst marked"),
			  INT("np_cnp_sent", "", "CNPs of dst") } },
	[STORE_PORT_SERIES] = { "port_series",
				"Counters of ports over time, cumulative: a row whenever any of them changed since the row "
				"before.",
				{ TIME, PORT, INT("rx_packets", "packets", ""), INT("rx_bytes", "B", ""),
				  INT("tx_packets", "packets", ""), INT("tx_bytes", "B", ""),
				  INT("drops", "packets", "of ingress and egress, and errors") } },
	[STORE_QUEUE_SERIES] = { "queue_series",
				 "Queues, ingress groups and pauses over time: a row whenever a class was marked, dropped "
				 "or paused, or held more "
				 "than one full frame. Counters are cumulative; watermarks are of the time since the row "
				 "before.",
				 { TIME, PORT, CLASS, INT("bytes", "B", "that wait in the egress queue now"),
				   INT("watermark_bytes", "B", "most that waited"),
				   INT("ecn_marked_packets", "packets", "marked CE"),
				   INT("dropped_packets", "packets", "dropped"), PFC_TOTALS,
				   INT("group_bytes", "B", "that the ingress group holds now, headroom included"),
				   INT("shared_watermark_bytes", "B", "most in reserve and pool"),
				   INT("headroom_watermark_bytes", "B", "most in headroom") } },
	[STORE_JOBS] = { "jobs",
			 "Jobs.",
			 { INT("job", "", "number"), TEXT("name", ""), INT("iterations", "", "planned"),
			   INT("start_ns", "ns", "its first rank's; NULL: none began"),
			   INT("end_ns", "ns", "its last rank's; NULL: it is not done") } },
	[STORE_COLLECTIVES] = { "collectives",
				"Iterations of collectives, in the terms of nccl-tests.",
				{ INT("job", "", "jobs.job"), INT("collective", "", "number"),
				  INT("iteration", "", "from 0"), TEXT("name", ""), TEXT("op", "operation"),
				  INT("ranks", "", ""), INT("bytes", "B", "of the buffer, as nccl-tests counts"),
				  INT("start_ns", "ns", "NULL: it is not complete"), INT("end_ns", "ns", "the same"),
				  REAL("algbw", "GB/s", "bytes by time"),
				  REAL("busbw", "GB/s", "the same, of the busiest link"),
				  INT("root", "", "rank; -1: the operation has none"),
				  TEXT("type", "of an element: int32, float, uint8"), TEXT("redop", "sum or none"),
				  INT("count", "elements", "as nccl-tests counts: of a block, of AllReduce the vector"),
				  INT("wrong", "elements", "NULL: not checked, payload is synthetic") } },
	[STORE_STEPS] = { "steps",
			  "Steps of ranks, as in steps.csv; of a background flow job to step are NULL.",
			  { INT("job", "", "jobs.job"), INT("collective", "", "number"), INT("iteration", "", "from 0"),
			    INT("rank", "", "from 0"), INT("step", "", "from 1"), INT("channel", "", "from 0"),
			    INT("src", "", "nodes.node"), INT("dst", "", "nodes.node"),
			    INT("qp", "", "qps.qp; NULL: no bytes cross"), INT("bytes", "B", "payload"),
			    INT("start_ns", "ns", ""), INT("end_ns", "ns", "NULL: open"),
			    INT("ideal_ns", "ns", "on an idle fabric"),
			    INT("expect_ns", "ns", "among its own collective's steps"),
			    INT("waited_collective", "", "of the step that it waited for; NULL: none"),
			    INT("waited_rank", "", "the same"), INT("waited_step", "", "the same") } },
	[STORE_FLOWS] = { "flows",
			  "Flows that no collective sent, as in flows.csv.",
			  { INT("qp", "", "qps.qp"), TEXT("generator", "NULL: written out"), INT("src", "", "nodes.node"),
			    INT("dst", "", "nodes.node"), INT("bytes", "B", "payload"), INT("start_ns", "ns", "arrival"),
			    INT("begin_ns", "ns", "its connection took it; NULL: never"), INT("end_ns", "ns", "NULL: open"),
			    INT("fct_ns", "ns", "from arrival to end; of an open one to the end of the run"),
			    INT("ideal_ns", "ns", "on an idle fabric"), INT("retransmits", "packets", "") } },
	[STORE_FINDINGS] = { "findings",
			     "Findings of the verdict, by `rocelab run` or `diagnose` from verdict.json, in its order.",
			     { INT("finding", "", "from 1"), TEXT("type", "as in verdict.json"),
			       TEXT("root", "port, node or flow that it names"), INT("fault", "", "1: something is broken"),
			       INT("explained_ns", "ns", "time lost that it explains"),
			       INT("regained_ns", "ns", "time that would be regained without it; NULL: unknown"),
			       REAL("confidence", "", "0 to 1"), INT("start_ns", "ns", ""), INT("end_ns", "ns", ""),
			       TEXT("evidence", "the sentence of the report") } },
	[STORE_LEDGERS] = { "ledgers",
			    "Where senders' time went: of the steps of critical paths, and of slow flows, by `rocelab run` "
			    "or "
			    "`diagnose` from verdict.json. Entries are NULL where the host reported none.",
			    { INT("job", "", "jobs.job"), INT("collective", "", "number"), INT("iteration", "", "from 0"),
			      INT("rank", "", "from 0"), INT("step", "", "from 1"), TEXT("host", "that sent"),
			      TEXT("flow", "NULL: a local step"), INT("start_ns", "ns", ""),
			      INT("end_ns", "ns", "of an open step the end of the run"),
			      INT("expect_ns", "ns", "among its own collective's steps"),
#define LEDGER_COLUMN(id, value, name, member, title, meaning) INT(name "_ns", "ns", meaning),
			      LEDGER_ROWS(LEDGER_COLUMN) } },
};

uint32_t
store_columns(enum store_table table)
{
	uint32_t count = 0;

	while (count < STORE_MAX_COLUMNS && store_schemas[table].columns[count].name != NULL)
		count++;
	return count;
}

/* @return its version; -1: it is no database */
static int
version_of(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int version = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		version = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return version;
}

/* @return 0, or negative errno with err set */
static int
check(const char *path, sqlite3 *db, struct err *err)
{
	int version = version_of(db);

	if (version < 0)
		return err_set(err, -EINVAL, "%s: %s", path, sqlite3_errmsg(db));
	if (version != STORE_VERSION)
		return err_set(err, -EINVAL, "%s is of version %d, and this program reads version %d: run it again", path,
			       version, STORE_VERSION);
	return 0;
}

sqlite3 *
store_read(const char *dir, struct err *err)
{
	char path[PATH_MAX], live[PATH_MAX];
	sqlite3 *db = NULL;
	int ret;

	if (snprintf(path, sizeof(path), "%s/" RUN_STORE, dir) >= (int)sizeof(path))
		ret = err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	else if (access(path, R_OK) < 0 && snprintf(live, sizeof(live), "%s/" RUN_LIVE, dir) < (int)sizeof(live) &&
		 access(live, F_OK) == 0)
		ret = err_set(err, -ENOENT, "%s: its run goes on: `rocelab show VIEW %s --live` has its counters", dir,
			      dir);
	else if (access(path, R_OK) < 0)
		ret = err_set(err, -errno,
			      "%s: %s: a run writes it unless counters.enabled is false; give the folder of one", path,
			      strerror(errno));
	else if (input_check(path, err) < 0)
		ret = -EINVAL;
	else if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		ret = err_set(err, -EINVAL, "%s: %s", path, sqlite3_errmsg(db));
	else
		ret = check(path, db, err);
	if (ret == 0)
		return db;
	sqlite3_close(db);
	errno = -ret;
	return NULL;
}

sqlite3_stmt *
store_select(sqlite3 *db, const char *sql, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	const char *rest = "";

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, &rest) != SQLITE_OK) {
		err_set(err, -EINVAL, "%s", sqlite3_errmsg(db));
		return NULL;
	}
	while (isspace((unsigned char)*rest) || *rest == ';')
		rest++;
	if (stmt == NULL || *rest != '\0')
		err_set(err, -EINVAL, "give one statement, a SELECT: %s", stmt == NULL ? "there is none" : rest);
	else if (!sqlite3_stmt_readonly(stmt))
		err_set(err, -EINVAL, "the store of a run is not changed: give a SELECT");
	else
		return stmt;
	sqlite3_finalize(stmt);
	return NULL;
}
