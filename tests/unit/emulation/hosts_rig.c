/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/emulation/hosts_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/hash.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

#define SCENARIO                                                                                                           \
	PAIR "hosts = ( { kind = \"guest\"; } ); "                                                                         \
	     "flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1KB\"; } );"

static void
quiet_run(struct node *node, const struct window *window)
{
	for (uint16_t i = 0; i < node->nports; i++)
		link_receive(node->rx[i], window->parity);
}

static uint64_t
quiet_next_ps(const struct node *node)
{
	return TIME_NEVER;
}

static void
quiet_held(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
}

static void
quiet_expect_work(struct node *node, bool expected)
{
	node->status = expected ? NODE_RUNNING : NODE_PASSIVE;
}

static void
quiet_destroy(struct node *node)
{
	recbuf_fini(&node->records);
	free(node);
}

static const struct node_ops quiet_ops = {
	.run = quiet_run,
	.next_ps = quiet_next_ps,
	.held = quiet_held,
	.expect_work = quiet_expect_work,
	.destroy = quiet_destroy,
};

static int
fabric_begin(void *ctx, struct emulation *emulation, struct bodies **bodies, struct err *err)
{
	struct fake *fake = ctx;

	fake->emulation = emulation;
	fake->fabrics++;
	return 0;
}

static void
fabric_end(void *ctx)
{
	((struct fake *)ctx)->fabrics--;
}

static struct node *
node_create(void *ctx, uint32_t id, struct err *err)
{
	struct fake *fake = ctx;
	const struct topo *topo = fake->emulation->scenario->topo;
	struct node *node = calloc(1, sizeof(*node));

	assert_non_null(node);
	*node = (struct node){
		.ops = &quiet_ops,
		.id = id,
		.nports = topo->nodes[id].nports,
		.topo = topo,
		.flows = &fake->emulation->scenario->plan->flows,
		.status = NODE_PASSIVE,
		.digest = DIGEST_INIT,
	};
	recbuf_init(&node->records, id);
	fake->nodes++;
	return node;
}

static struct step_engine *
program_create(void *ctx, uint32_t id, struct err *err)
{
	return step_engine_create_remote(((struct fake *)ctx)->emulation->scenario->plan, id, err);
}

static void
start(void *ctx, uint32_t node)
{
	((struct fake *)ctx)->started++;
}

static void
close_program(void *ctx, uint32_t node, uint64_t end_ps)
{
	((struct fake *)ctx)->closed++;
}

static bool
working(void *ctx, uint32_t node)
{
	const struct fake *fake = ctx;

	return fake->serviced < fake->busy;
}

static bool
sending(void *ctx, uint32_t node, uint64_t *next_ps)
{
	*next_ps = TIME_NEVER;
	return true;
}

static void
records(void *ctx, uint32_t node, struct recbuf *to, uint64_t from_ps)
{
	struct fake *fake = ctx;
	struct rec_notify notify = { 0 };

	if (fake->reports_late && node == fake->emulation->scenario->topo->hosts[1])
		from_ps += 100 * PS_PER_US;
	if (!fake->reported || fake->reports_late)
		recbuf_put(to, &notify, REC_NOTIFY, sizeof(notify), from_ps);
	fake->reported = true;
}

static bool
pending(void *ctx)
{
	((struct fake *)ctx)->asked_pending++;
	return false;
}

static void
service(void *ctx)
{
	((struct fake *)ctx)->serviced++;
}

static const char *
failure(void *ctx, uint32_t *node, bool *lost)
{
	const struct fake *fake = ctx;

	if (fake->fails == 0 || fake->serviced < fake->fails)
		return NULL;
	*node = fake->emulation->scenario->topo->hosts[0];
	*lost = true;
	return "host a: gone";
}

static bool
ready(void *ctx)
{
	return !working(ctx, 0);
}

const struct host_driver_ops fake_hosts = {
	.fabric_begin = fabric_begin,
	.fabric_end = fabric_end,
	.node_create = node_create,
	.program_create = program_create,
	.start = start,
	.close = close_program,
	.working = working,
	.sending = sending,
	.records = records,
	.pending = pending,
	.service = service,
	.failure = failure,
	.ready = ready,
};

struct scenario *
hosts_load(const char *text)
{
	char path[] = "/tmp/hosts-test-XXXXXX";
	struct scenario_options options = { .path = path };
	struct err err = { "" };
	FILE *file = fdopen(mkstemp(path), "w");
	struct scenario *scenario;

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	scenario = scenario_load(&options, &err);
	unlink(path);
	if (scenario == NULL)
		fail_msg("%s", err.text);
	return scenario;
}

struct scenario *
hosts_load_pair(void)
{
	return hosts_load(SCENARIO);
}
