/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports that belong together by chance alone: whatever switches and hosts say, within what a field may hold, has a
 * verdict whose findings are of the run, and reports of it. Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/prng.h"
#include "common/record/kinds.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/diag/flowpulse_rig.h"
#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/unit.h"

#define END (117 * MS)

/* What reports may speak of. */
struct fabric {
	uint32_t nodes, switches; /* switches are first */
	struct rec_tuple flows[5];
	uint16_t favourite; /* of the kinds of reports, half of all */
	struct prng prng;
};

/* Few are large: most reports have something in common with others. */
static uint64_t
number(struct prng *prng, uint32_t bytes, uint64_t time_ps)
{
	switch (prng_below(prng, 6)) {
	case 0:
		return 0;
	case 1:
		return 1 + prng_below(prng, 3);
	case 2:
		return bytes > 1 ? prng_below(prng, 200) : 7;
	case 3:
		return bytes > 2 ? prng_below(prng, 100000) : 0;
	case 4:
		return bytes > 4 ? prng_below(prng, time_ps + 1) : 2;
	default:
		return bytes > 4 ? prng_below(prng, 90) * PS_PER_US : 1;
	}
}

static uint64_t
value_of(struct fabric *f, const struct rec_hdr *hdr, const struct record_field *field, bool begins)
{
	const uint8_t *before = (const uint8_t *)hdr + field->at;
	bool is_switch = hdr->node < f->switches, none = prng_below(&f->prng, 3) == 0;
	uint64_t from_ps = 0, span = field->max - field->min;
	uint32_t first = 0;

	switch (field->rule) {
	case RECORD_RANGE:
		if (prng_below(&f->prng, 2) == 0)
			return field->min;
		return field->min + prng_below(&f->prng, span < 1000 ? span + 1 : 1000);
	case RECORD_HOST_OR_NONE:
		return none ? REC_NONE : f->switches + prng_below(&f->prng, f->nodes - f->switches);
	case RECORD_NODE_OR_NONE:
		return none ? REC_NONE : prng_below(&f->prng, f->nodes);
	case RECORD_SWITCH_OR_NONE:
	case RECORD_SWITCH:
		return none && field->rule != RECORD_SWITCH ? REC_NONE : prng_below(&f->prng, f->switches);
	case RECORD_PORT_OR_NONE:
	case RECORD_PORT:
		return none && field->rule != RECORD_PORT ? REC_NO_PORT : prng_below(&f->prng, is_switch ? 3 : 1);
	case RECORD_PAST:
		return prng_below(&f->prng, hdr->time_ps + 1);
	case RECORD_UNTIL:
		memcpy(&from_ps, before - sizeof(from_ps), sizeof(from_ps));
		return from_ps + (hdr->time_ps > from_ps ? prng_below(&f->prng, hdr->time_ps - from_ps + 1) : 0);
	case RECORD_LAST_EPOCH:
		memcpy(&first, before - sizeof(first), sizeof(first));
		return first + prng_below(&f->prng, hdr->time_ps / MS + 1 > first ? hdr->time_ps / MS + 1 - first : 1);
	case RECORD_STEP:
		return 1 + prng_below(&f->prng, 2);
	case RECORD_REPORT_KIND:
		return REC_PORT_ROW;
	default:
		return begins ? prng_below(&f->prng, hdr->time_ps / MS + 1) : number(&f->prng, field->size, hdr->time_ps);
	}
}

/* A report of any kind. */
static void
put_any(struct records *r, struct fabric *f)
{
	uint64_t rec[1024 / sizeof(uint64_t)] = { 0 };
	struct rec_hdr *hdr = (struct rec_hdr *)(void *)rec;
	uint16_t type = prng_below(&f->prng, 2) == 0 ? f->favourite : (uint16_t)prng_below(&f->prng, RECORD_KINDS);
	const struct record_kind *kind = &record_kinds[type];

	if (!record_is_report(type))
		return;
	hdr->node = kind->reporter == RECORD_OF_HOST ? f->switches + (uint32_t)prng_below(&f->prng, f->nodes - f->switches)
						     : (uint32_t)prng_below(&f->prng, f->nodes);
	hdr->time_ps = (1 + prng_below(&f->prng, END / MS)) * MS;
	for (uint32_t i = 0; i < kind->nfields; i++) {
		const struct record_field *field = &kind->fields[i];
		bool begins = i + 1 < kind->nfields && kind->fields[i + 1].rule == RECORD_LAST_EPOCH;
		uint64_t value;

		if (field->rule == RECORD_TUPLE) {
			memcpy((uint8_t *)rec + field->at, &f->flows[prng_below(&f->prng, ARRAY_LEN(f->flows))],
			       sizeof(struct rec_tuple));
		} else if (field->rule == RECORD_NAME || field->rule == RECORD_TEXT) {
			((char *)rec)[field->at] = 'a';
		} else if (field->size <= sizeof(value)) {
			value = value_of(f, hdr, field, begins);
			memcpy((uint8_t *)rec + field->at, &value, field->size);
		}
	}
	hdr->event = (uint32_t)prng_below(&f->prng, 4);
	records_put(r, rec, type, kind->size, hdr->node, hdr->time_ps);
}

#define EXAMPLES 240
#define MOST_REPORTS 60

static void
reports_of_switches_and_hosts(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < EXAMPLES; seed++) {
		struct fabric f = { .nodes = H19 + 1,
				    .switches = SW6 + 1,
				    .flows = { F17, F15, BF1, BF2, records_tuple(H18, H17, 10000) } };
		struct records r;

		prng_init(&f.prng, seed, 1);
		f.favourite = (uint16_t)(seed % RECORD_KINDS);
		if (seed % 3 == 0)
			case_study(&r);
		else
			case_stormy(&r);
		if (seed % 3 == 2) { /* the others' steps too */
			records_step(&r, 1, H15, REC_NONE, 0, 38 * MS);
			records_step(&r, 2, H15, H17, 80 * MS, 80 * MS + EXPECT);
		}
		for (uint64_t n = 1 + prng_below(&f.prng, MOST_REPORTS); n > 0; n--)
			put_any(&r, &f);
		records_end(&r, seed % 4 == 0 ? REC_END_STALL : REC_END_COMPLETE, END);
		records_diagnose_any(&r);
		records_fini(&r);
	}
}

static void
reports_of_monitors(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < EXAMPLES / 2; seed++) {
		struct fabric f = { .nodes = HOST(LEAVES), .switches = HOST(0) };
		struct records r;

		prng_init(&f.prng, seed, 2);
		f.favourite = (uint16_t)(seed % RECORD_KINDS);
		for (uint32_t i = 0; i < ARRAY_LEN(f.flows); i++)
			f.flows[i] = records_tuple(HOST(i % LEAVES), HOST((i + 1 + i / LEAVES) % LEAVES), 10000);
		put_network(&r);
		for (uint32_t n = (uint32_t)prng_below(&f.prng, 4); n > 0; n--)
			put_alarm(&r, (uint32_t)prng_below(&f.prng, LEAVES), (uint32_t)prng_below(&f.prng, 2),
				  prng_below(&f.prng, 2) == 0 ? REC_LOSS_REMOTE : REC_LOSS_LOCAL,
				  prng_below(&f.prng, 2) == 0 ? (uint32_t)prng_below(&f.prng, LEAVES) : REC_NONE, n);
		for (uint64_t n = prng_below(&f.prng, MOST_REPORTS); n > 0; n--)
			put_any(&r, &f);
		put_end(&r);
		records_diagnose_any(&r);
		records_fini(&r);
	}
}

static bool
one_of(struct rig *rig, uint64_t of)
{
	return prng_below(&rig->prng, of) == 0;
}

static uint64_t
seconds(struct rig *rig, uint64_t below)
{
	return prng_below(&rig->prng, below) * PS_PER_S;
}

static void
break_host(struct rig *rig, struct rig_host *host)
{
	switch (prng_below(&rig->prng, 4)) {
	case 0:
		host->down_ps = 5 * PS_PER_S + seconds(rig, 30);
		host->up_ps = one_of(rig, 2) ? 0 : host->down_ps + seconds(rig, 20);
		break;
	case 1:
		host->restart_ps = seconds(rig, 50);
		break;
	default:
		host->slow_ps = 5 * PS_PER_S + seconds(rig, 30);
		host->fast_ps = host->slow_ps + seconds(rig, 20);
		host->delay_ps = prng_below(&rig->prng, 600) * PS_PER_MS;
		host->deaf_first = one_of(rig, 4);
		host->late_us = one_of(rig, 3) ? 2000 : 0;
		host->in_time = one_of(rig, 4);
		host->dropped = one_of(rig, 4) ? 50 : 0;
	}
}

static void
reports_of_agents(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 40; seed++) {
		struct rig rig;

		rig_init(&rig, 60 * PS_PER_S + 20 * PS_PER_S * (seed % 3));
		prng_init(&rig.prng, seed, 3);
		rig.gap_ps = (2 + prng_below(&rig.prng, 4)) * PS_PER_S;
		for (uint64_t n = prng_below(&rig.prng, 3); n > 0; n--) {
			uint32_t leaf = (uint32_t)prng_below(&rig.prng, RIG_LEAVES);
			uint32_t spine = RIG_SPINE((uint32_t)prng_below(&rig.prng, RIG_SPINES));
			struct rig_link *link = &rig.links[rig.nlinks++];

			*link = (struct rig_link){ .from = one_of(&rig, 2) ? leaf : spine, .loss = 0.3 };
			link->to = link->from == leaf ? spine : leaf;
			link->delay_ps = one_of(&rig, 2) ? prng_below(&rig.prng, 900) * PS_PER_MS : 0;
			link->start_ps = seconds(&rig, 30);
			link->end_ps = one_of(&rig, 2) ? link->start_ps + seconds(&rig, 30) : 0;
		}
		for (uint64_t n = prng_below(&rig.prng, 3); n > 0; n--)
			break_host(&rig, &rig.hosts[prng_below(&rig.prng, RIG_HOSTS)]);
		if (one_of(&rig, 3))
			rig.nic_loss[prng_below(&rig.prng, RIG_RNICS)] = 0.4;
		if (one_of(&rig, 3))
			rig.holes[0] =
				(struct rig_hole){ .node = 1, .host = RIG_HOST(0), .sender = one_of(&rig, 2) ? 3 : 0 };
		rig.service[1] = one_of(&rig, 2) ? 8 : 0;
		rig.tenant[0] = one_of(&rig, 2) ? 7 : 0;
		rig.iterations = (uint32_t)prng_below(&rig.prng, 4);
		for (uint32_t k = 0; k < rig.iterations; k++) {
			rig.iteration_ps[k] = PS_PER_S + seconds(&rig, 9);
			rig.tenant_ps[k] = PS_PER_S + seconds(&rig, 9);
		}
		rig.buffer = one_of(&rig, 2) ? "16M" : NULL;
		rig.untraced = one_of(&rig, 6);
		rig.mesh_only = one_of(&rig, 6);
		rig.software_times = one_of(&rig, 6);
		rig.rails = one_of(&rig, 6);
		rig.sprayed = one_of(&rig, 4);
		rig.received = one_of(&rig, 2);
		rig.all_received = one_of(&rig, 3);
		rig.unseen = one_of(&rig, 4);
		rig.backwards = !rig.sprayed && one_of(&rig, 4);
		rig.gap_ps = rig.sprayed ? 2 * PS_PER_S : rig.gap_ps;
		rig.algorithm = one_of(&rig, 3) ? REC_PINGMESH_PAPER : 0;
		rig.step_bytes = one_of(&rig, 2) ? 1 << 30 : 0;
		verdict_destroy(rig_diagnose(&rig));
	}
}

UNIT_TEST(any)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_of_switches_and_hosts),
		cmocka_unit_test(reports_of_monitors),
		cmocka_unit_test(reports_of_agents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
