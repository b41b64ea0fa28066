/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's controller: what it replies, and what it still knows when it starts again. */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "common/wire/probe.h"
#include "operator/controller/controller.h"
#include "tests/integration/controller_rig.h"
#include "tests/unit/alloc.h"
#include "tests/unit/sql_refusals.h"
#include "tests/unit/unit.h"

static void
pinglists_hold_those_registered(void **state)
{
	struct rig *rig = *state;
	const struct pingmesh_entries *entries;
	const struct pingmesh_entry *entry;
	uint32_t mesh = 0, inter = 0, all;
	struct message m;

	entries = ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_ENTRIES);
	assert_int_equal(entries->count, 0);
	all = entries->left_out;
	assert_true(all > 1);
	ask(rig, &m, make_register(rig, &m, 1, 5), PINGMESH_REGISTERED);
	entries = ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_ENTRIES);
	assert_int_equal(entries->count, 1);
	assert_int_equal(entries->left_out, all - 1);
	register_all(rig);
	entries = ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_ENTRIES);
	assert_int_equal(entries->count, all);
	assert_int_equal(entries->left_out, 0);
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
		{ offsetof(struct message, hdr.reserved), 7, "not a message to a controller" },
		{ offsetof(struct message, hdr.version), PINGMESH_REGISTER << 16 | 9,
		  "a message of version 9; this controller speaks 1" },
		{ offsetof(struct message, hdr.version), 4 << 16 | 1, "a request of type 4 with 40 B: there is none such" },
		{ offsetof(struct message, hdr.version), 0 << 16 | 1, "a request of type 0 with 40 B: there is none such" },
		{ offsetof(struct message, hdr.version), 99 << 16 | 1,
		  "a request of type 99 with 40 B: there is none such" },
		{ offsetof(struct message, host.head.count), 2, "a registration of 2 RNICs in 40 B" },
		{ offsetof(struct message, host.rnics[0].reserved), 1, "the GID of 10.0.0.1 is not" },
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
refuse(struct rig *rig, const struct message *m, size_t size, const char *text)
{
	const struct pingmesh_refused *refused = ask(rig, m, size, PINGMESH_REFUSED);

	if (strncmp(refused->text, text, strlen(text)) != 0)
		fail_msg("\"%s\", not \"%s\"", refused->text, text);
}

static void
lists_of_no_host_and_odd_addresses_are_refused(void **state)
{
	struct rig *rig = *state;
	struct message m;
	size_t size = make_pinglists(rig, &m, 0);

	m.host.head.host = rig->topo->nnodes;
	refuse(rig, &m, size, "pinglists are of hosts; node ");
	m.host.head.host = topo_find(rig->topo, "l0");
	refuse(rig, &m, size, "pinglists are of hosts; node ");
	make_pinglists(rig, &m, 0);
	m.host.head.count = 1;
	refuse(rig, &m, size, "pinglists are of hosts; node ");
	size = make_resolve(rig, &m);
	m.list.head.count = 2;
	refuse(rig, &m, size, "2 addresses in 20 B; up to 4000, 4 B each");
	m.list.head.count = PINGMESH_MAX_RESOLVED + 1;
	refuse(rig, &m, size, "4001 addresses in 20 B");
	m.list.head.count = 3;
	m.list.head.reserved = 1;
	refuse(rig, &m, size, "3 addresses in 20 B");
	m.hdr.size = sizeof(m.list.head) - 1;
	refuse(rig, &m, sizeof(m.hdr) + m.hdr.size, "a request of type 3 with 7 B");
}

static void
requests_longer_than_any_are_refused(void **state)
{
	static union {
		struct message m;
		uint8_t bytes[sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REQUEST + 1];
	} request;
	struct rig *rig = *state;

	make_resolve(rig, &request.m);
	request.m.hdr.size = PINGMESH_MAX_REQUEST + 1;
	refuse(rig, &request.m, sizeof(request.bytes), "a request of type 3 with 16385 B: there is none such");
}

static void
a_controller_without_memory_is_refused(void **state)
{
	struct rig *rig = *state, other = *rig;
	uint32_t refused = 0;

	controller_destroy(rig->controller);
	FOR_EACH_REFUSED(nth)
	{
		struct err err = { "" };
		int ret = open_controller(&other, rig->store, &err);
		bool was = alloc_was_refused();

		if (ret != (was ? -ENOMEM : 0) || (was && strstr(err.text, "out of memory") == NULL))
			fail_msg("allocation %u: %d, \"%s\"", (unsigned)nth, ret, err.text);
		if (!was)
			break;
		refused++;
	}
	assert_true(refused >= 4);
	rig->controller = other.controller;
}

static void
execute(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* @param words  in the message */
static void
expect_no_registry(struct rig *rig, const char *words)
{
	struct err err = { "" };

	assert_int_equal(open_controller(rig, rig->store, &err), -EIO);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

/* Another program's tables, with its number or without one; pages that are no longer what they were. */
static void
other_and_damaged_databases_are_named(void **state)
{
	struct rig *rig = *state;
	FILE *file;

	register_all(rig);
	controller_destroy(rig->controller);
	file = fopen(rig->store, "r+");
	assert_int_equal(fseek(file, 4096, SEEK_SET), 0); /* the table's own page */
	for (int i = 0; i < 4096; i++)
		fputc(0xa5, file);
	fclose(file);
	expect_no_registry(rig, "damaged; remove it, and RNICs are known again as their agents start");
	unlink(rig->store);
	execute(rig->store, "CREATE TABLE somebodys (a)");
	expect_no_registry(rig, "a database, but no registry");
	execute(rig->store, "PRAGMA application_id = 7");
	expect_no_registry(rig, "a database, but no registry");
	unlink(rig->store);
	execute(rig->store, "PRAGMA application_id = 1380994640; CREATE TABLE rnics (ip)"); /* of another layout */
	expect_no_registry(rig, rig->store);
}

/* A registry that cannot be read refuses what is asked of it, with the reason. */
static void
a_registry_that_cannot_be_read_is_reported(void **state)
{
	struct rig *rig = *state;
	struct message m;
	int64_t limit = sqlite3_hard_heap_limit64(-1);

	register_all(rig);
	sqlite3_hard_heap_limit64(1);
	sqlite3_release_memory(1 << 30);
	ask(rig, &m, make_register(rig, &m, 0, 77), PINGMESH_REFUSED);
	sqlite3_hard_heap_limit64(limit);
	ask(rig, &m, make_register(rig, &m, 0, 77), PINGMESH_REGISTERED);
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

static void
open_and_close(void)
{
	struct registry *registry;
	struct err err = { "" };
	int ret = registry_open(REGISTRY_IN_MEMORY, &registry, &err);

	if (ret != (sql_refused.was ? -EIO : 0) || (sql_refused.was && err.text[0] == '\0'))
		fail_msg("%d \"%s\"", ret, err.text);
	if (ret == 0)
		registry_close(registry);
}

static void
each_statement_that_fails_is_reported(void **state)
{
	struct rig *rig = *state;
	struct message m;

	assert_int_equal(sql_watch(), SQLITE_OK);
	assert_true(sql_refuse_each(&sql_refused.deny, open_and_close) > 10);
	assert_true(sql_refuse_each(&sql_refused.stop, open_and_close) > 10);

	controller_destroy(rig->controller);
	unlink(rig->store);
	sql_refused.is_full = true;
	expect_no_registry(rig, "disk is full; make room");
	sql_refused.is_full = false;
	assert_int_equal(open_controller(rig, rig->store, &(struct err){ "" }), 0);
	register_all(rig);
	for (uint32_t nth = 1; nth <= 2; nth++) { /* BEGIN, COMMIT */
		sql_refused.deny = nth;
		ask(rig, &m, make_register(rig, &m, 0, 77), PINGMESH_REFUSED);
	}
	sql_refused.stop = 1;
	ask(rig, &m, make_resolve(rig, &m), PINGMESH_REFUSED);
	sql_refused.stop = 1;
	ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_REFUSED);
	ask(rig, &m, make_pinglists(rig, &m, 0), PINGMESH_ENTRIES);
	sqlite3_reset_auto_extension();
}

/* A row whose GID has another length has none; a file that was cut is damaged. */
static void
odd_rows_and_a_cut_file_are_survived(void **state)
{
	static const uint8_t none[16];
	const struct pingmesh_rnic *known;
	struct rig *rig = *state;
	struct message m;

	register_all(rig);
	controller_destroy(rig->controller);
	execute(rig->store, "UPDATE rnics SET gid = x'' WHERE qpn = 100");
	execute(rig->store, "UPDATE rnics SET gid = x'0102' WHERE qpn = 101");
	assert_int_equal(open_controller(rig, rig->store, &(struct err){ "" }), 0);
	known = (const void *)((const struct pingmesh_list *)ask(rig, &m, make_resolve(rig, &m), PINGMESH_RESOLVED) + 1);
	for (int i = 0; i < 3; i += 2) {
		assert_int_equal(known[i].qpn, 101 - i / 2);
		assert_memory_equal(known[i].gid, none, sizeof(none));
	}
	controller_destroy(rig->controller);
	assert_int_equal(truncate(rig->store, 4096), 0);
	expect_no_registry(rig, "damaged; remove it");
}

/* A host's NIC that leads to another host has no list; one whose peers beyond its ToR are its own has none of them. */
static void
a_nic_without_peers_has_no_entries(void **state)
{
	static const char network[] =
		"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\", \"t\" ]; links = ( \"a s "
		"1Gbps 1us\", \"a t 1Gbps 1us\", \"s t 1Gbps 1us\", \"a b 1Gbps 1us\" ); };\n";
	struct rig *rig = *state, other = *rig;
	const struct pingmesh_entries *entries;
	struct err err = { "" };
	struct message m;

	other.topo = make_topo(network, &other.cfg);
	other.table = route_table_create(other.topo, ROUTE_SHORTEST);
	if (open_controller(&other, REGISTRY_IN_MEMORY, &err) != 0)
		fail_msg("%s", err.text);
	ask(&other, &m, make_register(&other, &m, 0, 5), PINGMESH_REGISTERED);
	entries = ask(&other, &m, make_pinglists(&other, &m, 0), PINGMESH_ENTRIES);
	assert_int_equal(entries->count, 0);
	entries = ask(&other, &m, make_pinglists(&other, &m, 1), PINGMESH_ENTRIES);
	assert_int_equal(entries->count, 0);
	controller_destroy(other.controller);
	route_table_destroy(other.table);
	topo_destroy(other.topo);
	cfg_destroy(other.cfg);
}

UNIT_TEST(controller)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pinglists_hold_those_registered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_wrong_is_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_of_no_host_and_odd_addresses_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(requests_longer_than_any_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_controller_without_memory_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_and_damaged_databases_are_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_registry_that_cannot_be_read_is_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_restart_keeps_the_registry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_files_are_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_statement_that_fails_is_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(odd_rows_and_a_cut_file_are_survived, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_nic_without_peers_has_no_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_is_outlived, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
