/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/section.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/tail.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/flowpulse/judged.h"
#include "diag/flowpulse/links.h"
#include "diag/run/fill.h"

#define LEANING 1.0      /* variance over mean of counts: of packets that choose by themselves it is no more */
#define LEANING_STRAYS 2 /* standard deviations of its estimate, by which that may be more by chance */
#define FEWEST_PORTS 4   /* of which noise is learned */
#define BY_CHANCE 1e-5   /* faults that chance alone may make in a run */
#define RECURS 3         /* iterations with alarms of correlated packets, of which one cause may make two */

enum { CLAUSE_LESS, CLAUSE_PAIR, CLAUSE_ONCE, CLAUSE_PATH };
static const char *const clauses[] = {
	[CLAUSE_LESS] = "{node} received {percent} % less than predicted by {port}, first in iteration {count}; the other "
			"senders and ports rule out other links",
	[CLAUSE_PAIR] = "{node} received {percent} % less than predicted by {port}, first in iteration {count}, and "
			"compares no further sender there: the two links cannot be distinguished",
	[CLAUSE_ONCE] =
		"{node} saw {percent} % less than predicted arrive by {port}, of one sender alone, first in "
		"iteration {count}: a fault of the link to {node} that lasts only while that sender has its turn would "
		"look the same",
	[CLAUSE_PATH] = "{node} received {percent} % less than predicted by {port}, first in iteration {count}; the switch "
			"above it did not compare this traffic, which would distinguish the links of the path",
};

static const struct finding_type silent_fault = {
	.key = "silent-fault",
	.title = "silent fault",
	.preposition = "at ",
	.badge = "lost",
	.traits = FINDING_UNTIMED | FINDING_OF_FAULT,
	.clauses = clauses,
	.nclauses = ARRAY_LEN(clauses),
};

/* ---- findings ---- */

/*
 * @return the number of places where chance is expected to make as large a deviation (Bonferroni): of all that was
 *         compared, unless hosts sent packets again, which they did because some were lost
 */
static double
chance(const struct flowpulse *own, const struct flowpulse_fault *fault, const struct flowpulse_lost *lost)
{
	double compared = 0;

	for (uint32_t i = 0; i < own->nmonitors && lost->is_unbounded; i++)
		compared += (double)own->monitors[i].compared * own->monitors[i].ports * (own->monitors[i].senders + 1.0);
	return fmax(1, compared) * tail_normal(fault->drop * lost->expected / sqrt(fmax(1, lost->dispersion)));
}

/* That it is no noise. */
static double
confidence(const struct flowpulse *own, const struct flowpulse_fault *fault, const struct flowpulse_lost *lost,
	   const struct run *run)
{
	return lost->expected > 0 ? fmax(0, 1 - chance(own, fault, lost)) * run->overhead.completeness : 0;
}

static const char *
node_name(const struct run *run, uint32_t node)
{
	return node < run->nnodes ? run->nodes[node].name : "?";
}

/* "l1:4"; without such a port "l1 to s1". */
static void
name_link(const struct run *run, const struct flowpulse_link *link, char *buf, size_t cap)
{
	if (link->port != RUN_NONE)
		snprintf(buf, cap, "%s", run->ports[link->port].name);
	else
		snprintf(buf, cap, "%s to %s", node_name(run, link->from), node_name(run, link->to));
}

static uint32_t
clause_of(const struct flowpulse *own, const struct flowpulse_fault *fault)
{
	if (fault->nlinks == 1)
		return fault->links[0].is_path ? CLAUSE_PATH : CLAUSE_LESS;
	return flowpulse_is_fleeting(own, fault) ? CLAUSE_ONCE : CLAUSE_PAIR;
}

static int
make_finding(const struct flowpulse *own, const struct run *run, const struct flowpulse_fault *fault,
	     struct finding *finding, struct err *err)
{
	const struct rec_volume_alarm *first = &own->alarms[fault->first];
	char names[2][72];

	*finding = (struct finding){
		.type = &silent_fault,
		.root_port = fault->nlinks == 1 ? fault->links[0].port : RUN_NONE,
		.origin_port = RUN_NONE,
		.collective = RUN_NONE,
		.start_ps = UINT64_MAX,
		.costless = true,
		.evidence = { .clauses = { clause_of(own, fault) },
			      .nclauses = 1,
			      .node = first->hdr.node,
			      .port = run->nodes[first->hdr.node].first_port + first->port,
			      .count = first->iteration,
			      .percent = first->predicted != 0 ? 100 * (1 - (double)first->seen / (double)first->predicted)
							       : 0 },
	};
	for (uint32_t i = 0; i < fault->nlinks; i++)
		name_link(run, &fault->links[i], names[i], sizeof(names[i]));
	snprintf(finding->root, sizeof(finding->root), "%s%s%s", names[0], fault->nlinks == 2 ? " or " : "",
		 fault->nlinks == 2 ? names[1] : "");
	finding->ports = run_alloc(2, sizeof(*finding->ports), err);
	if (finding->ports == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < fault->nlinks; i++)
		if (fault->links[i].port != RUN_NONE)
			finding->ports[finding->nports++] = fault->links[i].port;
	return 0;
}

/*
 * @return variance over mean, as estimated of a monitor's ports and of its iterations so far, from which on packets are
 *         correlated
 */
static double
leaning(const struct flowpulse *own, const struct flowpulse_fault *fault)
{
	double freedom = FEWEST_PORTS - 2;

	for (uint32_t i = 0; i < own->nmonitors; i++)
		if (own->monitors[i].hdr.node == own->alarms[fault->first].hdr.node)
			freedom = fmax(freedom, (double)own->monitors[i].ports - 2);
	freedom *= fault->first_iteration + 1.0;
	return LEANING + LEANING_STRAYS * sqrt(2 / freedom);
}

/*
 * Are its alarms few, of counts that vary by more than if packets chose independently? Then counts are correlated, and
 * no normal distribution gives the probability of such a shortfall. Two alarms in a row may have one cause, as such
 * choices last. The effect of a fault repeats: in most iterations from its first to its last.
 */
static bool
is_scattered(const struct flowpulse *own, const struct flowpulse_fault *fault, const struct flowpulse_lost *lost)
{
	uint64_t span = fault->last_iteration - fault->first_iteration + UINT64_C(1);

	return lost->dispersion > leaning(own, fault) * lost->expected &&
	       (fault->iterations < RECURS || UINT64_C(2) * fault->iterations <= span);
}

/* At 95 % and over all that the run compared, by all its alarms together; or none of them has its rate alone. */
static bool
is_doubtful(const struct flowpulse *own, const struct flowpulse_fault *fault, const struct flowpulse_lost *lost)
{
	return lost->expected <= 0 || fault->is_of_others ||
	       (fault->low <= 0 || fault->is_scattered || (lost->is_unbounded && chance(own, fault, lost) > BY_CHANCE));
}

/*
 * Puts doubtful ones behind the others, each in their order.
 * @param[in,out] lost, fault_of  move with them
 * @return 0 or -ENOMEM
 */
static int
put_doubtful_last(struct flowpulse *own, struct flowpulse_lost *lost, uint32_t *fault_of, struct err *err)
{
	struct flowpulse_fault *faults = run_alloc(own->nfaults, sizeof(*faults), err);
	struct flowpulse_lost *losses = run_alloc(own->nfaults, sizeof(*losses), err);
	uint32_t *now = run_alloc(own->nfaults, sizeof(*now), err), count = 0, sure = 0;
	int rc = faults != NULL && losses != NULL && now != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < own->nfaults; i++)
		own->faults[i].is_scattered = lost[i].expected > 0 && is_scattered(own, &own->faults[i], &lost[i]);
	for (int doubtful = 0; doubtful <= 1 && rc == 0; doubtful++) {
		for (uint32_t i = 0; i < own->nfaults; i++) {
			if (is_doubtful(own, &own->faults[i], &lost[i]) != doubtful)
				continue;
			faults[count] = own->faults[i];
			losses[count] = lost[i];
			now[i] = count++;
		}
		sure = doubtful ? sure : count;
	}
	if (rc == 0) {
		for (uint32_t i = 0; i < own->nalarms; i++)
			fault_of[i] = fault_of[i] != RUN_NONE ? now[fault_of[i]] : RUN_NONE;
		for (uint32_t i = 0; i < count; i++) {
			own->faults[i] = faults[i];
			lost[i] = losses[i];
		}
		own->nfaults = sure;
		own->ndoubtful = count - sure;
	}
	free(faults);
	free(losses);
	free(now);
	return rc;
}

/* Does an alarm name a link, and no other? */
static bool
names_alone(const struct flowpulse_link *link, const struct rec_volume_alarm *alarm)
{
	return alarm->place == (link->to == alarm->hdr.node ? REC_LOSS_LOCAL : REC_LOSS_REMOTE);
}

/*
 * The first time at which an alarm that names the place by itself left its switch; where alarms name pairs that share
 * the place, that of the second.
 */
static void
set_detected(const struct flowpulse *own, const uint32_t *fault_of, uint32_t fault, struct finding *finding)
{
	bool is_pair = own->faults[fault].nlinks == 2;
	uint64_t before_ps = 0, first_ps = UINT64_MAX;
	uint32_t others = 0;
	bool names;

	for (uint32_t i = 0; i < own->nalarms && first_ps == UINT64_MAX; i++) {
		if (fault_of[i] != fault)
			continue;
		names = names_alone(&own->faults[fault].links[0], &own->alarms[i]);
		others += !names;
		if (is_pair || names || others > 1)
			first_ps = own->alarms[i].hdr.time_ps;
		else
			before_ps = own->alarms[i].hdr.time_ps;
	}
	finding->detected_ps = first_ps != UINT64_MAX ? first_ps : finding->end_ps;
	finding->undetected_ps = before_ps;
}

static int
find(struct flowpulse *own, const struct paths *paths, uint32_t *fault_of, struct section *section, struct err *err)
{
	const struct run *run = paths->run;
	struct flowpulse_lost *lost = flowpulse_rates(own, run, fault_of, err);
	int rc = lost != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		flowpulse_share_resent(own, paths, fault_of);
		rc = put_doubtful_last(own, lost, fault_of, err);
	}

	section->findings = run_alloc(own->nfaults, sizeof(*section->findings), err);
	for (uint32_t i = 0; i < own->nfaults && rc == 0 && section->findings != NULL; i++) {
		if (make_finding(own, run, &own->faults[i], &section->findings[i], err) != 0)
			break;
		section->nfindings++;
	}
	for (uint32_t i = 0; i < own->nalarms && section->nfindings == own->nfaults; i++) {
		struct finding *finding;

		if (fault_of[i] >= own->nfaults) /* RUN_NONE among them */
			continue;
		finding = &section->findings[fault_of[i]];
		finding->start_ps = min_u64(finding->start_ps, own->alarms[i].hdr.time_ps);
		finding->end_ps = max_u64(finding->end_ps, own->alarms[i].hdr.time_ps);
	}
	for (uint32_t i = 0; i < own->nfaults && section->nfindings == own->nfaults; i++) {
		set_detected(own, fault_of, i, &section->findings[i]);
		section->findings[i].confidence = confidence(own, &own->faults[i], &lost[i], run);
		section->findings[i].borne_out = section->findings[i].confidence;
		section->findings[i].key = i;
	}
	free(lost);
	return rc == 0 && section->nfindings == own->nfaults ? 0 : -ENOMEM;
}

/* Volumes of senders at one port follow each other. */
static void
sum_ports(struct flowpulse *own)
{
	for (uint32_t i = 0; i < own->nvolumes; i++) {
		const struct rec_volume *volume = &own->volumes[i];
		struct flowpulse_volume *sum = own->nports != 0 ? &own->ports[own->nports - 1] : NULL;

		if (sum == NULL || sum->node != volume->hdr.node || sum->time_ps != volume->hdr.time_ps ||
		    sum->port != volume->port || sum->iteration != volume->iteration) {
			sum = &own->ports[own->nports++];
			*sum = (struct flowpulse_volume){ .node = volume->hdr.node,
							  .iteration = volume->iteration,
							  .port = volume->port,
							  .time_ps = volume->hdr.time_ps };
		}
		sum->predicted += volume->predicted;
		sum->seen += volume->seen;
		sum->learned |= volume->learned != 0;
		sum->flawed |= volume->flaws != 0;
	}
}

/* Both are in order of time. */
static void
mark_alarmed(struct flowpulse *own)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < own->nports; i++) {
		struct flowpulse_volume *sum = &own->ports[i];

		while (first < own->nalarms && own->alarms[first].hdr.time_ps < sum->time_ps)
			first++;
		for (uint32_t a = first; a < own->nalarms && own->alarms[a].hdr.time_ps == sum->time_ps; a++)
			sum->alarmed |= own->alarms[a].hdr.node == sum->node && own->alarms[a].port == sum->port &&
					own->alarms[a].iteration == sum->iteration;
	}
}

/* @return a copy of all records of a kind: evidence does not outlive the diagnosis */
static void *
copy(const struct ev_vec *records, size_t size_bytes, uint32_t *count, struct err *err)
{
	void *all = run_alloc(records->count, size_bytes, err);

	if (all != NULL && records->count != 0)
		memcpy(all, records->data, records->count * size_bytes);
	*count = records->count;
	return all;
}

/*
 * Judges alarms, joins those that can be, and makes findings of them. @param fault_of  as flowpulse_join() @return 0 or
 * -ENOMEM with err
 */
static int
judge(struct flowpulse *own, const struct evidence *ev, const struct run *run, uint32_t *fault_of, struct section *section,
      struct err *err)
{
	struct resent resent = { 0 };
	struct paths paths;
	int rc = paths_init(&paths, own, run, err);

	own->held = run_alloc(own->nalarms, sizeof(*own->held), err);
	own->resent = run_alloc(own->nalarms, sizeof(*own->resent), err);
	own->is_cleared = run_alloc(own->nalarms, sizeof(*own->is_cleared), err);
	own->only_sender = run_alloc(own->nalarms, sizeof(*own->only_sender), err);
	if (rc == 0)
		rc = own->held != NULL && own->resent != NULL && own->is_cleared != NULL && own->only_sender != NULL
			     ? resent_init(&resent, &paths, ev, err)
			     : -ENOMEM;
	if (rc == 0) {
		flowpulse_judge(own, &paths, &resent);
		rc = flowpulse_join(own, &paths, fault_of, err);
	}
	if (rc == 0)
		rc = find(own, &paths, fault_of, section, err);
	resent_fini(&resent);
	paths_fini(&paths);
	return rc;
}

int
flowpulse_diagnose(const struct evidence *ev, const struct run *run, const void *options, struct section *section,
		   struct err *err)
{
	struct flowpulse *own = section->own = run_alloc(1, sizeof(*own), err);
	uint32_t *fault_of = run_alloc(ev->volume_alarms.count, sizeof(*fault_of), err);
	int rc = own != NULL && fault_of != NULL ? 0 : -ENOMEM;

	(void)options;
	section->claim = (struct claim){ .kind = CLAIM_UNTIMED };
	if (rc == 0) {
		if (ev->monitors.count != 0)
			own->config = *EV_AT(ev->monitors, struct rec_monitor, 0);
		own->monitors = copy(&ev->monitored, sizeof(*own->monitors), &own->nmonitors, err);
		own->volumes = copy(&ev->volumes, sizeof(*own->volumes), &own->nvolumes, err);
		own->alarms = copy(&ev->volume_alarms, sizeof(*own->alarms), &own->nalarms, err);
		own->flaws = copy(&ev->volume_flaws, sizeof(*own->flaws), &own->nflaws, err);
		if (own->monitors == NULL || own->volumes == NULL || own->alarms == NULL || own->flaws == NULL)
			rc = -ENOMEM;
		own->ports = run_alloc(own->nvolumes, sizeof(*own->ports), err);
		rc = own->ports != NULL ? rc : -ENOMEM;
	}
	if (rc == 0) {
		sum_ports(own);
		mark_alarmed(own);
	}
	if (rc == 0)
		rc = judge(own, ev, run, fault_of, section, err);
	free(fault_of);
	return rc;
}

void
flowpulse_destroy(void *section)
{
	struct flowpulse *own = section;

	free(own->monitors);
	free(own->volumes);
	free(own->ports);
	free(own->alarms);
	free(own->held);
	free(own->resent);
	free(own->is_cleared);
	free(own->only_sender);
	free(own->is_below);
	free(own->flaws);
	free(own->faults);
	free(own);
}
