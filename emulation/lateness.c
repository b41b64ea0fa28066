/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late the machine ran a fabric in real time: the time that its packet threads and kernel hosts waited for a
 * processor, and how far its windows were behind the clock. A thread of its own reads /proc, so that no packet thread
 * waits for that; between windows the first lcore takes its samples, as LATENESS records.
 */
#include "emulation/emulation.h"
#include "emulation/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "common/run_delay.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "scenario/scenario.h"

/* A delay is known to within so much; a read of a task costs a microsecond or two. */
#define LATENESS_PERIOD_NS 10000000ULL
/*
 * An interval without delay becomes one record at this length, so that a stream that breaks off has nearly all of it.
 */
#define LATENESS_QUIET_NS 1000000000ULL
#define LATENESS_SAMPLES 8192 /* that wait for the first lcore; a power of two */

/* The wait of one source in [from_ns, to_ns) of the clock. */
struct lateness_sample {
	uint32_t source;
	bool measured;
	uint64_t from_ns, to_ns, waited_ns;
};

/* A thread that may have to wait for a processor. */
struct lateness_source {
	enum rec_lateness_kind kind;
	uint32_t node, lcore;
	/* the thread's own */
	struct run_delay delay;
	bool found;                /* delay is in use */
	uint64_t from_ns, seen_ns; /* reported until; without any delay until */
	/* the first lcore's own */
	uint64_t waited_ns, measured_ns, unmeasured_ns;
};

struct lateness {
	struct emulation *emulation;
	struct lateness_source *sources; /* [nsources] */
	uint32_t nsources;
	uint32_t windows_node; /* reports the fabric's windows */
	bool available;        /* this kernel counts run delays */
	pthread_t thread;
	bool started, finished;
	_Atomic bool stop; /* written by the first lcore, read by the thread (relaxed) */
	/* Single producer, the thread; single consumer, the first lcore: release and acquire. */
	struct lateness_sample *samples; /* [LATENESS_SAMPLES] */
	_Atomic uint32_t head, tail;
	/* windows: the first lcore's own */
	uint64_t windows_from_ps, windows, late_windows, behind_ns;
};

/* ---- the thread ---- */

static void
find_source(struct lateness *l, struct lateness_source *s)
{
	const struct emulation *emulation = l->emulation;
	const struct host_driver *driver = emulation->driver_of[s->node];
	int thread;
	pid_t pid;

	if (!l->available)
		return;
	if (s->kind == REC_LATENESS_LCORE) {
		thread = atomic_load_explicit(&emulation->fabric->lcores[s->lcore].thread, memory_order_relaxed);
		s->found = thread != 0 && run_delay_thread(&s->delay, thread) == 0;
		return;
	}
	pid = driver->ops->process(driver->ctx, s->node);
	s->found = pid != 0 && run_delay_tree(&s->delay, pid) == 0;
}

/* @return false: there is no room, it is to be tried again with the next sample */
static bool
offer(struct lateness *l, const struct lateness_sample *sample)
{
	uint32_t tail = atomic_load_explicit(&l->tail, memory_order_relaxed);

	if (tail - atomic_load_explicit(&l->head, memory_order_acquire) == LATENESS_SAMPLES)
		return false;
	l->samples[tail % LATENESS_SAMPLES] = *sample;
	atomic_store_explicit(&l->tail, tail + 1, memory_order_release);
	return true;
}

/* Closes the sample of a quiet interval, so that a delay belongs to the interval in which it ended. */
static void
add_sample(struct lateness *l, struct lateness_source *s, uint64_t now_ns, uint64_t waited_ns, bool measured)
{
	struct lateness_sample sample = { .source = (uint32_t)(s - l->sources), .measured = measured };

	if (now_ns <= s->from_ns)
		return; /* the run has not begun */
	if (measured && waited_ns == 0 && now_ns - s->from_ns < LATENESS_QUIET_NS) {
		s->seen_ns = now_ns;
		return;
	}
	sample.from_ns = s->from_ns;
	sample.to_ns = s->seen_ns;
	if (measured && waited_ns != 0 && s->seen_ns > s->from_ns && offer(l, &sample))
		s->from_ns = s->seen_ns;
	sample.from_ns = s->from_ns;
	sample.to_ns = now_ns;
	sample.waited_ns = waited_ns;
	if (!offer(l, &sample))
		return;
	s->from_ns = s->seen_ns = now_ns;
}

static void
read_source(struct lateness *l, struct lateness_source *s)
{
	uint64_t waited_ns = 0, now_ns;
	bool measured = s->found && run_delay_read(&s->delay, &waited_ns) == 0;

	now_ns = clock_now_ns();
	if (measured) {
		add_sample(l, s, now_ns, waited_ns, true);
		return;
	}
	if (s->found)
		run_delay_fini(&s->delay);
	s->found = false;
	find_source(l, s);
	if (s->found || now_ns >= s->from_ns + LATENESS_QUIET_NS)
		add_sample(l, s, clock_now_ns(), 0, false);
}

static void *
watch(void *arg)
{
	struct lateness *l = arg;

	while (!atomic_load_explicit(&l->stop, memory_order_relaxed)) {
		for (uint32_t i = 0; i < l->nsources; i++)
			read_source(l, &l->sources[i]);
		clock_sleep_until_ns(clock_now_ns() + LATENESS_PERIOD_NS);
	}
	return NULL;
}

/* ---- the first lcore ---- */

static uint64_t
run_ps(const struct lateness *l, uint64_t ns)
{
	uint64_t zero_ns = l->emulation->pacer.zero_ns;

	return ns > zero_ns ? (ns - zero_ns) * PS_PER_NS : 0;
}

static void
put(struct lateness *l, uint32_t node, struct rec_lateness *rec, uint64_t now_ps)
{
	rec->partition = l->emulation->partition != NULL ? l->emulation->partition->which : 0;
	recbuf_put(l->emulation->records[node], rec, REC_LATENESS, sizeof(*rec), now_ps);
}

static void
put_sample(struct lateness *l, const struct lateness_sample *sample, uint64_t now_ps)
{
	struct lateness_source *s = &l->sources[sample->source];
	struct rec_lateness rec = {
		.kind = s->kind,
		.lcore = s->lcore,
		.measured = sample->measured,
		.from_ps = min_u64(run_ps(l, sample->from_ns), now_ps),
		.to_ps = min_u64(run_ps(l, sample->to_ns), now_ps),
		.late_ps = sample->waited_ns * PS_PER_NS,
	};

	if (rec.to_ps <= rec.from_ps)
		return; /* before the run, or after its end */
	s->waited_ns += sample->waited_ns;
	*(sample->measured ? &s->measured_ns : &s->unmeasured_ns) += (rec.to_ps - rec.from_ps) / PS_PER_NS;
	put(l, s->node, &rec, now_ps);
}

/* Those that are over by a time of the run; the fabric may be behind the clock that they were measured by. */
static void
take_samples(struct lateness *l, uint64_t until_ps, uint64_t now_ps)
{
	uint32_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&l->tail, memory_order_acquire);

	while (head != tail && run_ps(l, l->samples[head % LATENESS_SAMPLES].to_ns) <= until_ps)
		put_sample(l, &l->samples[head++ % LATENESS_SAMPLES], now_ps);
	atomic_store_explicit(&l->head, head, memory_order_release);
}

static void
take_windows(struct lateness *l, uint64_t now_ps)
{
	struct pacer *pacer = &l->emulation->pacer;
	struct rec_lateness rec = {
		.kind = REC_LATENESS_WINDOWS,
		.lcore = REC_NONE,
		.measured = 1,
		.from_ps = l->windows_from_ps,
		.to_ps = now_ps,
		.late_ps = (pacer->behind_ns - l->behind_ns) * PS_PER_NS,
		.most_ps = pacer->latest_ps,
		.windows = (uint32_t)(pacer->windows - l->windows),
		.late_windows = (uint32_t)(pacer->late_windows - l->late_windows),
	};

	if (now_ps <= l->windows_from_ps)
		return;
	put(l, l->windows_node, &rec, now_ps);
	l->windows_from_ps = now_ps;
	l->windows = pacer->windows;
	l->late_windows = pacer->late_windows;
	l->behind_ns = pacer->behind_ns;
	pacer->latest_ps = 0;
}

/* Puts the measurements into the nodes' buffers. Never waits. */
static void
collect(void *state, uint64_t now_ps)
{
	struct lateness *l = state;
	uint64_t since_ps = now_ps - min_u64(l->windows_from_ps, now_ps);
	bool late = l->emulation->pacer.late_windows != l->late_windows;

	take_samples(l, now_ps, now_ps);
	if (since_ps >= (late ? LATENESS_PERIOD_NS : LATENESS_QUIET_NS) * PS_PER_NS)
		take_windows(l, now_ps);
}

/* ---- before and after ---- */

/* The first of these nodes that runs here. @param nodes  in any order; NULL: all */
static uint32_t
own_node(const struct emulation *emulation, const uint32_t *nodes, uint32_t count)
{
	uint32_t first = REC_NONE;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = nodes != NULL ? nodes[i] : i;

		if (node < first && !partition_is_remote(emulation, node))
			first = node;
	}
	return first;
}

static void
add(struct lateness *l, enum rec_lateness_kind kind, uint32_t node, uint32_t lcore)
{
	uint64_t zero_ns = l->emulation->pacer.zero_ns;

	l->sources[l->nsources++] = (struct lateness_source){
		.kind = kind, .node = node, .lcore = lcore, .from_ns = zero_ns, .seen_ns = zero_ns
	};
}

static void
add_sources(struct lateness *l)
{
	const struct emulation *emulation = l->emulation;
	const struct fabric *fabric = emulation->fabric;
	uint32_t nnodes = emulation->scenario->topo->nnodes;

	l->windows_node = own_node(emulation, NULL, nnodes);
	for (uint32_t i = 0; i < fabric->config.lcores; i++) {
		uint32_t node = own_node(emulation, fabric->lcores[i].nodes, fabric->lcores[i].nnodes);

		add(l, REC_LATENESS_LCORE, node != REC_NONE ? node : l->windows_node, i);
	}
	for (uint32_t i = 0; i < nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->process != NULL && !partition_is_remote(emulation, i))
			add(l, REC_LATENESS_HOST, i, REC_NONE);
	}
}

static void
end_thread(struct lateness *l)
{
	if (!l->started || l->finished)
		return;
	l->finished = true;
	atomic_store_explicit(&l->stop, true, memory_order_relaxed);
	pthread_join(l->thread, NULL);
}

/* Ends the thread, and puts the rest. */
static void
finish(void *state, uint64_t end_ps)
{
	struct lateness *l = state;

	end_thread(l);
	for (uint32_t i = 0; i < l->nsources; i++) {
		struct lateness_source *s = &l->sources[i];
		struct lateness_sample rest = { .source = i, .measured = s->found, .from_ns = s->from_ns };

		rest.to_ns = s->found ? s->seen_ns : clock_now_ns();
		take_samples(l, UINT64_MAX, end_ps);
		offer(l, &rest);
	}
	take_samples(l, UINT64_MAX, end_ps);
	take_windows(l, end_ps);
}

static json_t *
source_json(const struct lateness *l, const struct lateness_source *s)
{
	json_t *json = json_object();

	if (s->kind == REC_LATENESS_LCORE)
		json_object_set_new(json, "lcore", json_integer(s->lcore));
	else
		json_object_set_new(json, "host", json_string(l->emulation->scenario->topo->nodes[s->node].name));
	json_object_set_new(json, "waited_ns", s->measured_ns != 0 ? json_integer((json_int_t)s->waited_ns) : json_null());
	json_object_set_new(json, "measured_ns", json_integer((json_int_t)s->measured_ns));
	json_object_set_new(json, "not_measured_ns", json_integer((json_int_t)s->unmeasured_ns));
	return json;
}

/* The measurements of this process, in realtime.lateness. */
static void
report(const void *state, json_t *root)
{
	const struct lateness *l = state;
	json_t *lcores = json_array(), *hosts = json_array();

	for (uint32_t i = 0; i < l->nsources; i++)
		json_array_append_new(l->sources[i].kind == REC_LATENESS_LCORE ? lcores : hosts,
				      source_json(l, &l->sources[i]));
	json_object_set_new(json_object_get(root, "realtime"), "lateness",
			    json_pack("{s:I, s:o, s:o}", "behind_ns", (json_int_t)l->emulation->pacer.behind_ns, "lcores",
				      lcores, "hosts", hosts));
}

static void
destroy(void *state)
{
	struct lateness *l = state;

	if (l == NULL)
		return;
	end_thread(l);
	for (uint32_t i = 0; l->sources != NULL && i < l->nsources; i++)
		if (l->sources[i].found)
			run_delay_fini(&l->sources[i].delay);
	free(l->sources);
	free(l->samples);
	free(l);
}

static const struct run_service service_lateness = {
	.name = "lateness",
	.collect = collect,
	.finish = finish,
	.report = report,
	.destroy = destroy,
};

int
lateness_attach(struct emulation *emulation, struct err *err)
{
	size_t most = emulation->fabric->config.lcores + emulation->scenario->topo->nnodes;
	struct lateness *l = calloc(1, sizeof(*l));
	int error;

	if (l != NULL) {
		l->emulation = emulation;
		l->sources = calloc(most, sizeof(*l->sources));
		l->samples = calloc(LATENESS_SAMPLES, sizeof(*l->samples));
	}
	if (l == NULL || l->sources == NULL || l->samples == NULL) {
		destroy(l);
		return err_set(err, -ENOMEM, "out of memory to measure how late the machine is");
	}
	l->available = run_delay_available();
	add_sources(l);
	error = pthread_create(&l->thread, NULL, watch, l);
	if (error != 0) {
		destroy(l);
		return err_set(err, -error, "a thread that measures how late the machine is: %s", strerror(error));
	}
	l->started = true;
	emulation_attach(emulation, &service_lateness, l);
	return 0;
}
