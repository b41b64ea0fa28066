/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts that the composition root brings along (emulation/hosts.h): a driver of the test's own, in real time, without EAL. */
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

#include "common/clock.h"
#include "common/hash.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "emulation/emulation.h"
#include "rxe-hosts/steps/remote.h"

#define PAIR                                                                                                               \
	"topology = { kind = \"explicit\"; rate = \"1Gbps\"; delay = \"30us\"; switches = [ \"s\" ]; "                     \
	"hosts = [ \"a\", \"b\" ]; links = ( \"a s\", \"b s\" ); }; "
#define SCENARIO                                                                                                           \
	PAIR "hosts = ( { kind = \"guest\"; } ); "                                                                         \
	     "flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1KB\"; } );"
#define MIXED                                                                                                              \
	PAIR "hosts = ( { names = [ \"a\" ]; kind = \"guest\"; } ); "                                                      \
	     "collectives = ( { op = \"allreduce\"; bytes = \"4KB\"; payload = \"real\"; } );"

/* What the emulation asked of the driver, and what it shall hear. */
struct fake {
	struct emulation *emulation;
	uint32_t fabrics, nodes, serviced, asked_pending, started, closed;
	uint32_t busy;  /* so many services long its hosts have work, or are not ready */
	uint32_t fails; /* at this service the first host is lost; 0: never */
	bool reported;
};

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

	if (!fake->reported)
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

static const struct host_driver_ops fake_hosts = {
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

static struct scenario *
load_text(const char *text)
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

static struct scenario *
load(void)
{
	return load_text(SCENARIO);
}

/* And one lcore, where embedded hosts are beside them. */
static void
external_hosts_need_a_driver(void **state)
{
	struct scenario *scenario = load_text(MIXED);
	struct fake fake = { 0 };
	const struct host_driver driver = { &fake_hosts, &fake };
	struct emulation_options options = { .lcores = 1, .phase = EMULATION_RUN };
	struct err err = { "" };

	assert_int_equal(scenario->nexternal, 1);
	assert_null(emulation_create(scenario, &options, &err));
	assert_int_equal(errno, ENOTSUP);
	options.external = &driver;
	options.lcores = 2;
	err.text[0] = '\0';
	assert_null(emulation_create(scenario, &options, &err));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err.text, "--lcores 2"));
	assert_int_equal(fake.fabrics, 0);
	scenario_destroy(scenario);
}

/* Before the run nobody starts, closes or reports; it ends once the driver is ready. */
static void
the_first_phase_lasts_until_hosts_are_ready(void **state)
{
	struct scenario *scenario = load();
	struct fake fake = { .busy = 5 };
	const struct host_driver driver = { &fake_hosts, &fake };
	const struct emulation_options options = { .lcores = 1, .phase = EMULATION_PREPARE, .external = &driver };
	struct err err = { "" };
	struct emulation *emulation = emulation_create(scenario, &options, &err);

	assert_non_null(emulation);
	emulation_begin(emulation, NULL, clock_now_ns());
	fabric_run(emulation->fabric, 0);
	assert_int_equal(emulation->fabric->end_reason, REC_END_COMPLETE);
	assert_true(fake.serviced >= 5);
	assert_false(emulation->pacer.pending(emulation->pacer.ctx)); /* a machine that is late does not ask */
	assert_true(fake.asked_pending > 0);
	assert_int_equal(fake.started + fake.closed, 0);
	assert_false(fake.reported);
	emulation_destroy(emulation);
	assert_int_equal(fake.fabrics, 0);
	scenario_destroy(scenario);
}

/* @return the offered records */
static uint64_t
run(struct fake *fake, enum rec_end_reason reason)
{
	struct scenario *scenario = load();
	const struct host_driver driver = { &fake_hosts, fake };
	const struct emulation_options options = { .lcores = 1, .phase = EMULATION_RUN, .external = &driver };
	struct err err = { "" };
	struct exporter *exporter = exporter_create(&scenario->exporter, NULL, 0, &err);
	struct emulation *emulation = emulation_create(scenario, &options, &err);
	uint64_t offered;

	assert_non_null(exporter);
	assert_non_null(emulation);
	emulation_begin(emulation, exporter, clock_now_ns());
	assert_int_equal(fake->started, 2);
	fabric_run(emulation->fabric, 0);
	emulation_end(emulation);
	assert_int_equal(emulation->fabric->end_reason, reason);
	if (reason == REC_END_HOST_LOST)
		assert_string_equal(emulation->error_text, "host a: gone");
	assert_int_equal(fake->closed, 2);
	offered = emulation->export.all.offered_records;
	emulation_destroy(emulation);
	exporter_destroy(exporter);
	scenario_destroy(scenario);
	return offered;
}

static void
a_run_ends_with_its_programs_and_has_their_reports(void **state)
{
	struct fake fake = { .busy = 5 };

	assert_int_equal(run(&fake, REC_END_COMPLETE), 1);
	assert_int_equal(fake.nodes, 2);
	assert_int_equal(fake.fabrics, 0);
}

static void
a_host_that_is_lost_ends_the_run(void **state)
{
	struct fake fake = { .busy = UINT32_MAX, .fails = 4 };

	run(&fake, REC_END_HOST_LOST);
	assert_true(fake.serviced >= 4);
}

static void
every_kind_of_external_host_has_a_cable(void **state)
{
	const struct host_config given = { .port = "net_af_packet0,iface=eth1" };
	const struct host_cable cable = { &given, "/run/x", "h1", 7 };
	char text[128];

	assert_null(host_kinds[HOST_EMBEDDED].port);
	for (int kind = HOST_EMBEDDED + 1; kind < (int)ENUM_COUNT(HOST_KINDS); kind++) {
		const struct host_kind_row *row = &host_kinds[kind];

		assert_true(row->foreign == (row->guest == NULL));
		assert_true((row->nic != NULL) == (row->guest != NULL));
		row->port(&cable, text, sizeof(text));
		assert_true(text[0] != '\0');
	}
	host_kinds[HOST_GUEST].port(&cable, text, sizeof(text));
	assert_string_equal(text, "vhost:/run/x/h1.vhost");
	host_kinds[HOST_NETNS].port(&cable, text, sizeof(text));
	assert_string_equal(text, "net_tap_7,iface=rl-h1");
	host_kinds[HOST_NETNS].nic(&cable, text, sizeof(text));
	assert_string_equal(text, "rl-h1");
	host_kinds[HOST_PORT].port(&cable, text, sizeof(text));
	assert_string_equal(text, given.port);
	assert_string_equal(host_kind_name(HOST_QEMU), "qemu");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(external_hosts_need_a_driver),
		cmocka_unit_test(the_first_phase_lasts_until_hosts_are_ready),
		cmocka_unit_test(a_run_ends_with_its_programs_and_has_their_reports),
		cmocka_unit_test(a_host_that_is_lost_ends_the_run),
		cmocka_unit_test(every_kind_of_external_host_has_a_cable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
