/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench monitor: one rank of a ring AllGather, its monitor and its detection agent as a host runs them, on a
 * device that does nothing, so that the measured time is theirs alone.
 */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>

#include "collectives/schedule.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/record/frame.h"
#include "common/units.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "rxe-hosts/agent/policy.h"
#include "rxe-hosts/monitor/monitor.h"

#define STEPS 200000u    /* and more, until an iteration is over */
#define SAMPLES 4000000u /* also looks */
#define DETECTIONS 60000u
#define BASE_RTT_PS (20 * PS_PER_US)
#define STEP_PS (31 * PS_PER_MS)

/* A step of the paper: 360 MB at 100 Gbps in 1348 B frames, an ACK each; looks every millisecond, as of a real host. */
#define PAPER_ACKS 276924
#define PAPER_STEP_MS 31.2

static const uint32_t rank_counts[] = { 4, 8, 64, 512 };

#define NCASES ARRAY_LEN(rank_counts)

struct bench_result {
	double step_ns, sample_ns, look_ns, detection_ns; /* of each, the best run's */
	size_t host_bytes, tables_bytes;                  /* monitor and agent; the collective's, by which they go */
	double record_bytes;                              /* of a step, in frames */
};

/* The state of a run of one rank. */
struct host {
	struct device device; /* first: the ops get this pointer */
	struct recbuf records;
	struct qp_state qp;
	uint64_t datagrams;
	struct coll_schedule *schedule;
	struct chains *chains;
	struct monitor monitor;
	struct agent agent;
	uint64_t now_ps;
	uint32_t iteration;
};

static void
query_qp(const struct device *device, uint32_t flow, struct qp_state *state)
{
	(void)flow;
	*state = ((const struct host *)(const void *)device)->qp;
}

static int
post_datagram(struct device *device, const struct datagram *datagram)
{
	(void)datagram;
	((struct host *)(void *)device)->datagrams++;
	return 0;
}

static struct recbuf *
records(struct device *device)
{
	return &((struct host *)(void *)device)->records;
}

static const struct device_ops ops = { .query_qp = query_qp, .post_datagram = post_datagram, .records = records };

static const struct detection_config detection = {
	.policy = REC_POLICY_VEDRFOLNIR,
	.detections = 2,
	.rtt_percent = 120,
	.lag_percent = 1,
	.retain_ps = 50 * PS_PER_US,
	.transfer = true,
};

static void
host_fini(struct host *host)
{
	agent_fini(&host->agent);
	monitor_fini(&host->monitor);
	chains_destroy(host->chains);
	coll_schedule_destroy(host->schedule);
	recbuf_fini(&host->records);
}

/* @param result  its memory is filled in */
static int
host_init(struct host *host, uint32_t ranks, struct bench_result *result, struct err *err)
{
	const struct coll_params params = {
		.op = COLL_ALLGATHER, .algorithm = COLL_RING, .ranks = ranks, .count_elems = ranks
	};
	size_t before, tables;

	*host = (struct host){ .device.ops = &ops };
	recbuf_init(&host->records, 1);
	host->schedule = coll_schedule_create(&params, err);
	if (host->schedule == NULL)
		return -errno;
	before = mallinfo2().uordblks;
	host->chains = chains_create(host->schedule);
	tables = mallinfo2().uordblks;
	if (host->chains == NULL || monitor_init(&host->monitor, host->chains, 1) < 0 ||
	    agent_init(&host->agent, &host->device, &detection, 1, chains_count(host->chains, 1)) < 0)
		return err_set(err, -ENOMEM, "out of memory for a monitor of %u ranks", ranks);
	result->tables_bytes = tables - before;
	result->host_bytes = mallinfo2().uordblks - tables + sizeof(host->monitor) + sizeof(host->agent);
	return 0;
}

static struct agent_step
step_of(const struct host *host, uint32_t step)
{
	return (struct agent_step){
		.flow = 0,
		.tuple = { .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 10000, .dport = 4791 },
		.iteration = host->iteration,
		.rank = 1,
		.step = step,
		.serial = host->iteration * coll_max_steps(host->schedule) + step,
		.bytes = 360000000,
		.base_rtt_ps = BASE_RTT_PS,
		.least_rtt_ps = BASE_RTT_PS,
		.most_rtt_ps = BASE_RTT_PS,
		.expect_ps = STEP_PS,
		.start_ps = host->now_ps,
		.notify_flow = 0,
		.waiter = 2,
	};
}

static void
begin_step(struct host *host)
{
	uint32_t step = monitor_next_step(&host->monitor, 0);
	const struct agent_step watched = step_of(host, step);

	monitor_started(&host->monitor, 0);
	agent_step_started(&host->agent, 0, &watched);
}

/*
 * Ends a step: its last ACK has arrived, and the next one's dependencies are done; hosts that wait for it receive the
 * remaining bytes, as this host does.
 */
static void
end_step(struct host *host, uint32_t step)
{
	struct step_result result = {
		.iteration = host->iteration,
		.rank = 1,
		.step = step,
		.bytes = 360000000,
		.acked_bytes = 360000000,
		.start_ps = host->now_ps,
		.end_ps = host->now_ps + STEP_PS,
	};

	host->now_ps += STEP_PS;
	agent_step_completed(&host->agent, 0, 0, host->now_ps);
	monitor_report(&host->records, &result, &(struct send_times){ 0 }, host->now_ps);
	if (step < coll_steps(host->schedule, 1)) {
		monitor_dependency_done(&host->monitor, step + 1, (struct coll_dep){ 0, step }, false, host->now_ps);
		result.waited_for.rank = monitor_waited_for(&host->monitor, 0, host->now_ps).rank;
	} else {
		monitor_next_iteration(&host->monitor);
		host->iteration++;
	}
	agent_notified(&host->agent, 0, step, 2, host->now_ps);
}

static double
ns_each(uint64_t from_ns, uint64_t times)
{
	return (double)(clock_cpu_ns() - from_ns) / (double)times;
}

/* Whole iterations; records are taken away as an exporter does. @param bytes  of frames of STEP and NOTIFY, of each step */
static double
time_steps(struct host *host, double *bytes)
{
	uint32_t steps = coll_steps(host->schedule, 1), iterations = STEPS / steps + 1;
	uint64_t from_ns = clock_cpu_ns();
	double ns;

	for (uint32_t i = 0; i < iterations; i++) {
		host->records.used_bytes = 0;
		for (uint32_t step = 1; step <= steps; step++) {
			begin_step(host);
			end_step(host, step);
		}
	}
	ns = ns_each(from_ns, (uint64_t)iterations * steps);
	*bytes = (double)recframe_bytes_of(host->records.data, host->records.used_bytes) / steps;
	return ns;
}

/* Times samples below the threshold, in a step in progress. */
static double
time_samples(struct host *host)
{
	uint64_t from_ns = clock_cpu_ns();

	for (uint32_t i = 0; i < SAMPLES; i++) {
		agent_rtt(&host->agent, 0, BASE_RTT_PS + i % 1024, host->now_ps + i);
		__asm__ volatile("" ::: "memory"); /* each looks anew */
	}
	return ns_each(from_ns, SAMPLES);
}

static double
time_looks(struct host *host)
{
	uint64_t from_ns;

	host->qp = (struct qp_state){ .outstanding_bytes = 1000, .last_rtt_ps = BASE_RTT_PS };
	from_ns = clock_cpu_ns();
	for (uint32_t i = 0; i < SAMPLES; i++) {
		host->qp.acked_bytes = i;
		host->qp.oldest_unacked_ps = host->now_ps + i;
		agent_tick(&host->agent, host->now_ps + i);
		__asm__ volatile("" ::: "memory");
	}
	return ns_each(from_ns, SAMPLES);
}

/* A tenth of the detections that a host may make in a run, several times over. */
static double
time_detections(struct host *host)
{
	uint64_t from_ns = clock_cpu_ns();

	for (uint32_t i = 0; i < DETECTIONS; i++) {
		host->records.used_bytes = 0;
		agent_detect(&host->agent, &host->agent.slots[0], REC_TRIGGER_RTT, 2 * BASE_RTT_PS, host->now_ps + i);
	}
	return ns_each(from_ns, DETECTIONS);
}

static double
least(int run, double before, double now)
{
	return run == 0 || now < before ? now : before;
}

static int
run_case(uint32_t ranks, int repeats, struct bench_result *result, struct err *err)
{
	int ret = 0;

	*result = (struct bench_result){ 0 };
	for (int i = 0; ret == 0 && i < repeats; i++) {
		struct host host;

		ret = host_init(&host, ranks, result, err);
		if (ret == 0) {
			result->step_ns = least(i, result->step_ns, time_steps(&host, &result->record_bytes));
			begin_step(&host);
			result->sample_ns = least(i, result->sample_ns, time_samples(&host));
			result->look_ns = least(i, result->look_ns, time_looks(&host));
			result->detection_ns = least(i, result->detection_ns, time_detections(&host));
		}
		host_fini(&host);
	}
	return ret;
}

/* @return the cost of a step of the paper's collective with two detections, us */
static double
paper_step_us(const struct bench_result *r)
{
	return (r->step_ns + PAPER_ACKS * r->sample_ns + PAPER_STEP_MS * r->look_ns + 2 * r->detection_ns) / 1e3;
}

static void
print_table(const struct bench_result *results, int repeats)
{
	static const char *const columns[] = { "RANKS",        "STEPS",  "NS/STEP", "NS/ACK", "NS/LOOK",
					       "NS/DETECTION", "B/STEP", "BYTES",   "TABLES" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, SCOLS_FL_RIGHT);
	for (size_t i = 0; i < NCASES; i++) {
		const struct bench_result *r = &results[i];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[9][32];

		snprintf(cell[0], sizeof(cell[0]), "%u", rank_counts[i]);
		snprintf(cell[1], sizeof(cell[1]), "%u", rank_counts[i] - 1);
		snprintf(cell[2], sizeof(cell[2]), "%.0f", r->step_ns);
		snprintf(cell[3], sizeof(cell[3]), "%.2f", r->sample_ns);
		snprintf(cell[4], sizeof(cell[4]), "%.1f", r->look_ns);
		snprintf(cell[5], sizeof(cell[5]), "%.0f", r->detection_ns);
		snprintf(cell[6], sizeof(cell[6]), "%.1f", r->record_bytes);
		snprintf(cell[7], sizeof(cell[7]), "%zu", r->host_bytes);
		snprintf(cell[8], sizeof(cell[8]), "%zu", r->tables_bytes);
		for (size_t c = 0; c < ARRAY_LEN(columns); c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
	printf("\nProcessor time, the best of %d runs. LOOK: once a window or, of a host with its own kernel, a "
	       "millisecond. B/STEP: "
	       "STEP and\nNOTIFY records in frames. BYTES: monitor and agent of one rank; TABLES: of the collective, by "
	       "which they "
	       "go.\nA step of 360 MB at 100 Gbps (%d ACKs, %.1f ms) with two detections, of %u ranks: %.0f us, %.2f %% of "
	       "a core.\n",
	       repeats, PAPER_ACKS, PAPER_STEP_MS, rank_counts[1], paper_step_us(&results[1]),
	       paper_step_us(&results[1]) / PAPER_STEP_MS / 10);
}

static void
print_json(const struct bench_result *results, int repeats)
{
	json_t *rows = json_array(), *root;

	for (size_t i = 0; i < NCASES; i++) {
		const struct bench_result *r = &results[i];

		json_array_append_new(rows, json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:f}", "ranks",
						      (int)rank_counts[i], "steps", (int)rank_counts[i] - 1, "step_ns",
						      r->step_ns, "ack_ns", r->sample_ns, "look_ns", r->look_ns,
						      "detection_ns", r->detection_ns, "record_bytes", r->record_bytes,
						      "memory_bytes", (json_int_t)r->host_bytes, "tables_bytes",
						      (json_int_t)r->tables_bytes, "paper_step_us", paper_step_us(r)));
	}
	root = json_pack("{s:i, s:o}", "repeats", repeats, "cases", rows);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_monitor(const char *dir, const struct bench_options *options, struct err *err)
{
	struct bench_result results[NCASES];
	int ret = 0;

	(void)dir;
	for (size_t i = 0; ret == 0 && i < NCASES; i++)
		ret = run_case(rank_counts[i], options->repeats, &results[i], err);
	if (ret < 0)
		return ret;
	if (options->json)
		print_json(results, options->repeats);
	else
		print_table(results, options->repeats);
	return 0;
}
