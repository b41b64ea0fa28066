/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of RNICs and hosts as a scenario says them: what they do to whom, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/units.h"
#include "rxe-hosts/faults/host_faults.h"
#include "tests/unit/rxe-hosts/star.h"
#include "tests/unit/unit.h"

static struct star star;
static struct err err;
static struct fault_list list;
static struct cfg *cfg;

/* What was last said to the node of host "2". */
static struct {
	uint8_t failures;
	enum nic_dma_cause cause;
	struct nic_dma dma;
	bool frozen;
	uint64_t faulty;
} seen;

static void
fail_nic(struct node *node, uint16_t port, uint8_t failure, bool on)
{
	assert_int_equal(port, 0);
	seen.failures = on ? seen.failures | failure : seen.failures & (uint8_t)~failure;
}

static void
slow_nic(struct node *node, uint16_t port, enum nic_dma_cause cause, const struct nic_dma *dma)
{
	seen.cause = cause;
	seen.dma = *dma;
}

static void
freeze(struct node *node, bool on, uint64_t now_ps)
{
	seen.frozen = on;
}

static uint64_t
nic_faulty(const struct node *node, uint16_t port)
{
	return seen.faulty;
}

static const struct node_ops ops = {
	.fail_nic = fail_nic, .slow_nic = slow_nic, .freeze = freeze, .nic_faulty = nic_faulty
};
static struct node node = { .ops = &ops, .nports = 1 };
static struct node *nodes[] = { NULL, NULL, &node, NULL };
static struct fabric fabric = { .nodes = nodes };
static struct fault_env env = { .fabric = &fabric, .topo = &star.topo };

static int
load(const char *fault)
{
	char text[256];

	snprintf(text, sizeof(text), "\nfaults = ( { %s } );", fault);
	memset(&seen, 0, sizeof(seen));
	memset(&list, 0, sizeof(list));
	star_init(&star, 4);
	cfg = cfg_load_string(text, "s.cfg", &err);
	assert_non_null(cfg);
	return faults_load(&list, host_faults, cfg, &star.topo, &err);
}

static void
unload(void)
{
	faults_fini(&list);
	cfg_destroy(cfg);
	err.text[0] = '\0';
}

static void
begin(const char *fault)
{
	char text[200];

	snprintf(text, sizeof(text), "%s start = \"1us\"; duration = \"2us\";", fault);
	assert_int_equal(load(text), 0);
	faults_apply(&list, &env, 1 * PS_PER_US);
}

static void
end(void)
{
	seen.faulty++;
	faults_apply(&list, &env, 3 * PS_PER_US);
	assert_null(fault_idle(&list.faults[0]));
	unload();
}

static void
each_fails_as_specified(void **state)
{
	static const struct {
		const char *kind;
		uint8_t failure;
	} kinds[] = { { "rnic-down", NIC_HANGS }, { "rnic-no-routes", NIC_NO_ROUTES }, { "rnic-no-gid", NIC_NO_GID } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char text[80];

		snprintf(text, sizeof(text), "kind = \"%s\"; port = \"2:1\";", kinds[i].kind);
		begin(text);
		assert_int_equal(seen.failures, kinds[i].failure);
		end();
		assert_int_equal(seen.failures, 0);
	}
	begin("kind = \"host-down\"; host = \"2\";");
	assert_true(seen.frozen);
	end();
	assert_false(seen.frozen);
}

static void
dma_is_as_slow_as_its_link(void **state)
{
	(void)state;
	begin("kind = \"pcie-downgrade\"; port = \"2:1\"; generation = 1; lanes = 8; buffer = \"64KB\";");
	assert_int_equal(seen.cause, NIC_DMA_LINK);
	assert_int_equal(seen.dma.rate_bps, 16000000000);
	assert_int_equal(seen.dma.xoff_bytes, 64000);
	end();
	assert_int_equal(seen.dma.rate_bps, 0);
	begin("kind = \"pcie-downgrade\"; port = \"2:1\"; generation = 3; lanes = 4;");
	assert_int_equal(seen.dma.rate_bps, 31507692307);
	end();
	begin("kind = \"slow-receiver\"; port = \"2:1\"; rate = \"40Gbps\"; buffer = \"32KB\";");
	assert_int_equal(seen.cause, NIC_DMA_DRAIN);
	assert_int_equal(seen.dma.rate_bps, 40000000000);
	assert_int_equal(seen.dma.xoff_bytes, 32000);
	end();
	assert_int_equal(seen.dma.rate_bps, 0);
	begin("kind = \"dma-detour\"; port = \"2:1\"; delay = \"3us\"; rate = \"20Gbps\";");
	assert_int_equal(seen.cause, NIC_DMA_PATH);
	assert_int_equal(seen.dma.rate_bps, 20000000000);
	assert_int_equal(seen.dma.delay_ps, 3 * PS_PER_US);
	end();
	assert_int_equal(seen.dma.delay_ps, 0);
	begin("kind = \"dma-detour\"; port = \"2:1\";");
	seen.faulty++;
	faults_apply(&list, &env, 3 * PS_PER_US);
	assert_non_null(fault_idle(&list.faults[0]));
	unload();
}

static void
refused(const char *fault, const char *why)
{
	assert_int_equal(load(fault), -EINVAL);
	assert_non_null(strstr(err.text, "s.cfg:2"));
	if (strstr(err.text, why) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", why, err.text);
	unload();
}

static void
what_cannot_be_is_refused(void **state)
{
	static const bool own_kernel[] = { false, false, true, false, false };
	const struct fault_work work = { .topo = &star.topo, .own_kernel = own_kernel };

	(void)state;
	refused("kind = \"rnic-down\"; port = \"4:1\";", "is a switch's");
	refused("kind = \"rnic-no-gid\"; port = \"2:2\";", "is no port of this topology");
	refused("kind = \"host-down\"; host = \"4\";", "is no host");
	refused("kind = \"pcie-downgrade\"; port = \"2:1\"; lanes = 3;", "1, 2, 4, 8 or 16 lanes");
	refused("kind = \"pcie-downgrade\"; port = \"2:1\"; generation = 7;", "7");
	refused("kind = \"dma-detour\"; port = \"2:1\"; buffer = 10;", "10");
	assert_int_equal(load("kind = \"rnic-no-routes\"; port = \"2:1\";"), 0);
	assert_int_equal(faults_check(&list, &work, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is a kernel host, whose RDMA device"));
	unload();
	assert_int_equal(load("kind = \"host-down\"; host = \"1\";"), 0);
	assert_int_equal(faults_check(&list, &work, &err), 0);
	unload();
}

UNIT_TEST(host_faults)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fails_as_specified),
		cmocka_unit_test(dma_is_as_slow_as_its_link),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
