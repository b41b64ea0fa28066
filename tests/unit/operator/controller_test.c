/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's controller: what it replies, and what it still knows when it starts again. */
#include <signal.h>
#include <sys/resource.h>

#include "common/wire/probe.h"
#include "operator/controller/controller.h"
#include "tests/unit/operator/controller_rig.h"
#include "tests/unit/unit.h"

static void
pinglists_hold_those_registered(void **state)
{
	struct rig *rig = *state;
	const struct pingmesh_entries *entries;
	const struct pingmesh_entry *entry;
	uint32_t mesh = 0, inter = 0;
	struct message m;

	entries = ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_ENTRIES);
	assert_int_equal(entries->count, 0);
	ask(rig, &m, make_register(rig, &m, 1, 5), PINGMESH_REGISTERED);
	entries = ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_ENTRIES);
	assert_int_equal(entries->count, 1);
	register_all(rig);
	entries = ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_ENTRIES);
	entry = (const void *)(entries + 1);
	assert_int_equal(entries->timeout_ps, 500 * PS_PER_MS);
	assert_int_equal(entries->service_ps, 10 * PS_PER_MS);
	assert_int_equal(entries->upload_ps, 5000 * PS_PER_MS);
	assert_int_equal(entries->pinglist_ps, 300 * PS_PER_S);
	for (uint32_t i = 0; i < entries->count; i++, entry++) {
		uint8_t gid[16];

		controller_gid_of_ip(entry->ip, gid);
		assert_memory_equal(gid, entry->gid, 16);
		assert_int_equal(entry->nic, 0);
		mesh += entry->kind == REC_PROBE_TOR_MESH;
		inter += entry->kind == REC_PROBE_INTER_TOR;
		for (uint32_t h = 0; h < rig->topo->nhosts; h++)
			assert_true(entry->ip != ip_of(rig, h) || entry->qpn == 100 + h); /* the latest */
	}
	assert_int_equal(mesh, 2);
	assert_in_range(inter, 2, 3); /* 8 of Eq. 1 for 2 paths, dealt out to 3 */
}

static void
what_is_wrong_is_reported(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *text;
	} cases[] = {
		{ offsetof(struct message, hdr.magic), 7, "not a message to a controller" },
		{ offsetof(struct message, hdr.size), 7, "not a message to a controller" },
		{ offsetof(struct message, hdr.version), PINGMESH_REGISTER << 16 | 9,
		  "a message of version 9; this controller speaks 1" },
		{ offsetof(struct message, hdr.version), 4 << 16 | 1, "a request of type 4 with 40 B: there is none such" },
		{ offsetof(struct message, host.head.host), 1, "10.0.0.1 is not the address of NIC 1 of " },
		{ offsetof(struct message, host.head.host), 0xffffffff, "10.0.0.1 is not the address of NIC 1 of no node" },
		{ offsetof(struct message, host.head.count), 0,
		  "a registration of 0 RNICs in 40 B; from 1 to 128, 32 B each" },
		{ offsetof(struct message, host.head.count), 0x8000001, "a registration of 134217729 RNICs in 40 B" },
		{ offsetof(struct message, host.rnics[0].qpn), 0, "QPN 0 of 10.0.0.1" },
		{ offsetof(struct message, host.rnics[0].qpn), 1 << 24, "QPN 16777216 of 10.0.0.1" },
		{ offsetof(struct message, host.rnics[0].gid), 9, "the GID of 10.0.0.1 is not ::ffff:10.0.0.1" },
		{ offsetof(struct message, host.rnics[0].nic), 1, "10.0.0.1 is not the address of NIC 2 of " },
		{ offsetof(struct message, host.rnics[0].ip), 9, "0.0.0.9 is not the address of NIC 1 of " },
		{ offsetof(struct message, host.rnics[0].tor), 77, "10.0.0.1 is connected to " },
	};
	struct rig *rig = *state;
	const struct pingmesh_rnic *known;
	struct message m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t size = make_register(rig, &m, 0, 3);
		const struct pingmesh_refused *refused;

		memcpy((uint8_t *)&m + cases[i].at, &cases[i].value, 4);
		refused = ask(rig, &m, size, PINGMESH_REFUSED);
		if (strncmp(refused->text, cases[i].text, strlen(cases[i].text)) != 0)
			fail_msg("\"%s\", not \"%s\"", refused->text, cases[i].text);
	}
	ask(rig, &m, 3, PINGMESH_REFUSED);
	known = (const void *)((const struct pingmesh_list *)ask(rig, &m, make_resolve(rig, &m), PINGMESH_RESOLVED) + 1);
	assert_int_equal(known[2].qpn, 0); /* nothing of it was entered */
}

static void
a_restart_keeps_the_registry(void **state)
{
	const struct pingmesh_rnic *known;
	struct rig *rig = *state, other = *rig;
	struct err err = { "" };
	struct message m;

	register_all(rig);
	assert_int_equal(open_controller(&other, rig->store, &err), -EIO);
	assert_non_null(strstr(err.text, "another program has it open"));
	controller_destroy(rig->controller);
	err.text[0] = '\0';
	if (open_controller(rig, rig->store, &err) != 0)
		fail_msg("%s", err.text);
	known = (const void *)((const struct pingmesh_list *)ask(rig, &m, make_resolve(rig, &m), PINGMESH_RESOLVED) + 1);
	assert_int_equal(known[0].qpn, 101);
	assert_int_equal(known[0].ip, ip_of(rig, 1));
	assert_int_equal(known[0].tor, rig->topo->ports[rig->topo->nodes[rig->topo->hosts[1]].first_port].peer);
	assert_int_equal(known[0].gid[15], ip_of(rig, 1) & 255);
	assert_int_equal(known[1].qpn, 0);
	assert_int_equal(known[2].qpn, 100);
}

static void
other_files_are_left_alone(void **state)
{
	static const char text[] = "this is a text of somebody, and no database, however long it may be\n";
	struct rig *rig = *state, other = *rig;
	struct err err = { "" };
	char path[128], back[sizeof(text)];
	FILE *file;

	snprintf(path, sizeof(path), "%s/text", rig->dir);
	file = fopen(path, "w+");
	for (int i = 0; i < 100; i++)
		fputs(text, file);
	fflush(file);
	assert_int_equal(open_controller(&other, path, &err), -EIO);
	assert_non_null(strstr(err.text, "no registry, but another file"));
	rewind(file);
	assert_non_null(fgets(back, sizeof(back), file));
	assert_string_equal(back, text);
	fclose(file);
	unlink(path);
	err = (struct err){ "" };
	assert_int_equal(open_controller(&other, "/nowhere/store", &err), -EIO);
	assert_non_null(strstr(err.text, "/nowhere/store"));
}

/* A full disk refuses a registration with that reason; it succeeds when there is room again. */
static void
a_full_disk_is_outlived(void **state)
{
	const struct rlimit full = { 100, RLIM_INFINITY }, room = { RLIM_INFINITY, RLIM_INFINITY };
	struct rig *rig = *state;
	struct message m;

	register_all(rig);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	ask(rig, &m, make_register(rig, &m, 0, 77), PINGMESH_REFUSED);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
	ask(rig, &m, make_register(rig, &m, 0, 77), PINGMESH_REGISTERED);
}

UNIT_TEST(controller)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pinglists_hold_those_registered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_wrong_is_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_restart_keeps_the_registry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_files_are_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_is_outlived, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
