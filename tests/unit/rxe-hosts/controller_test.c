/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's controller: what it replies, over a socket too, and what it still knows when it starts again. */
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/unix_socket.h"
#include "common/wire/probe.h"
#include "rxe-hosts/controller/registry.h"
#include "rxe-hosts/controller/serve.h"
#include "tests/unit/topo/topo_rig.h"

#define NETWORK                                                                                                            \
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 3; rate = \"100Gbps\"; delay = "     \
	"\"1us\"; };\n"

struct rig {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *table;
	struct controller *controller;
	char dir[64], store[96], socket[96];
};

static int
open_controller(struct rig *rig, const char *store, struct err *err)
{
	const struct controller_config config = {
		.topo = rig->topo, .table = rig->table, .store = store, .times = pingmesh_times(PINGMESH_PPM), .seed = 3
	};

	rig->controller = NULL;
	return controller_create(&config, &rig->controller, err);
}

static int
set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct err err = { "" };

	strcpy(rig->dir, "/tmp/controller_test.XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	snprintf(rig->store, sizeof(rig->store), "%s/store", rig->dir);
	snprintf(rig->socket, sizeof(rig->socket), "%s/socket", rig->dir);
	rig->topo = make_topo(NETWORK, &rig->cfg);
	rig->table = route_table_create(rig->topo);
	if (open_controller(rig, rig->store, &err) != 0)
		fail_msg("%s", err.text);
	*state = rig;
	return 0;
}

static int
tear_down(void **state)
{
	struct rig *rig = *state;

	controller_destroy(rig->controller);
	route_table_destroy(rig->table);
	topo_destroy(rig->topo);
	cfg_destroy(rig->cfg);
	unlink(rig->store);
	unlink(rig->socket);
	rmdir(rig->dir);
	free(rig);
	return 0;
}

struct message {
	struct pingmesh_hdr hdr;
	union {
		struct {
			struct pingmesh_host head;
			struct pingmesh_rnic rnics[2];
		} host;
		struct {
			struct pingmesh_list head;
			uint32_t ips[3];
		} list;
	};
};

static uint32_t
ip_of(const struct rig *rig, uint32_t i)
{
	return topo_nic_ip(rig->topo->hosts[i], 0);
}

/* The i-th host's only RNIC. @return bytes */
static size_t
make_register(const struct rig *rig, struct message *m, uint32_t i, uint32_t qpn)
{
	uint32_t host = rig->topo->hosts[i];

	*m = (struct message){ .hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_REGISTER,
					sizeof(m->host.head) + sizeof(m->host.rnics[0]), 0 } };
	m->host.head = (struct pingmesh_host){ .host = host, .count = 1 };
	m->host.rnics[0] = (struct pingmesh_rnic){ .ip = ip_of(rig, i),
						   .qpn = qpn,
						   .tor = rig->topo->ports[rig->topo->nodes[host].first_port].peer };
	controller_gid_of_ip(ip_of(rig, i), m->host.rnics[0].gid);
	return sizeof(m->hdr) + m->hdr.size;
}

static size_t
make_pinglists(const struct rig *rig, struct message *m, uint32_t i)
{
	*m = (struct message){ .hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_PINGLISTS, sizeof(m->host.head),
					0 } };
	m->host.head.host = rig->topo->hosts[i];
	return sizeof(m->hdr) + m->hdr.size;
}

static size_t
make_resolve(const struct rig *rig, struct message *m)
{
	*m = (struct message){ .hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, PINGMESH_RESOLVE, sizeof(m->list), 0 } };
	m->list.head.count = 3;
	m->list.ips[0] = ip_of(rig, 1);
	m->list.ips[1] = 1;
	m->list.ips[2] = ip_of(rig, 0);
	return sizeof(m->hdr) + m->hdr.size;
}

/* @return the reply's body, after its header was checked */
static const void *
ask(struct rig *rig, const struct message *m, size_t size, uint16_t type)
{
	struct controller_reply reply = controller_handle(rig->controller, m, size, 0);
	const struct pingmesh_hdr *hdr = reply.bytes;

	assert_int_equal(hdr->magic, PINGMESH_MAGIC);
	assert_int_equal(hdr->version, PINGMESH_MANAGE_VERSION);
	assert_int_equal(hdr->size + sizeof(*hdr), reply.size);
	if (hdr->type != type)
		fail_msg("reply %u: %s", hdr->type, hdr->type == PINGMESH_REFUSED ? (const char *)(hdr + 1) : "");
	return hdr + 1;
}

static void
register_all(struct rig *rig)
{
	struct message m;

	for (uint32_t i = 0; i < rig->topo->nhosts; i++)
		ask(rig, &m, make_register(rig, &m, i, 100 + i), PINGMESH_REGISTERED);
}

static void
pinglists_hold_whoever_registered(void **state)
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
what_is_wrong_is_said(void **state)
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

static volatile int over;

static int
is_over(void)
{
	return over;
}

static uint64_t
at_begin(void)
{
	return 0;
}

struct served {
	struct serve_config config;
	struct serve_counts counts;
	struct err err;
	int rc;
};

static void *
serve_thread(void *arg)
{
	struct served *served = arg;

	served->rc = serve(&served->config, &served->counts, &served->err);
	return NULL;
}

static void
read_all(int fd, void *to, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t got = read(fd, (uint8_t *)to + at, size - at);

		assert_true(got > 0);
		at += (size_t)got;
	}
}

static uint16_t
read_reply(int fd)
{
	struct pingmesh_hdr hdr;
	uint8_t body[4096];

	read_all(fd, &hdr, sizeof(hdr));
	assert_int_equal(hdr.magic, PINGMESH_MAGIC);
	assert_true(hdr.size <= sizeof(body));
	read_all(fd, body, hdr.size);
	return hdr.type;
}

static void
agents_are_served_over_a_socket(void **state)
{
	struct rig *rig = *state;
	struct served served = {
		.config = { .controller = rig->controller, .now_ps = at_begin, .patience_ms = 300, .is_over = is_over }
	};
	struct err err = { "" };
	struct message m, both[2];
	int fd, slow, garbage;
	pthread_t thread;
	size_t size;
	char byte;

	over = 0;
	served.config.listener = unix_listen(rig->socket, &err);
	assert_true(served.config.listener >= 0);
	assert_int_equal(pthread_create(&thread, NULL, serve_thread, &served), 0);
	fd = unix_connect(rig->socket, "controller", &err);
	slow = unix_connect(rig->socket, "controller", &err);
	garbage = unix_connect(rig->socket, "controller", &err);
	size = make_register(rig, &m, 0, 77);
	assert_int_equal(write(slow, &m, size - 1), size - 1);
	assert_int_equal(write(garbage, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	assert_int_equal(read(garbage, &byte, 1), 0); /* closed */
	for (size_t i = 0; i < size; i++)             /* in portions of a byte */
		assert_int_equal(write(fd, (uint8_t *)&m + i, 1), 1);
	assert_int_equal(read_reply(fd), PINGMESH_REGISTERED);
	size = make_pinglists(rig, &both[0], 1); /* two at once */
	memcpy((uint8_t *)both + size, both, size);
	assert_int_equal(write(fd, both, 2 * size), 2 * size);
	assert_int_equal(read_reply(fd), PINGMESH_ENTRIES);
	assert_int_equal(read_reply(fd), PINGMESH_ENTRIES);
	both[0].hdr.version = 2;
	assert_int_equal(write(fd, both, size), size);
	assert_int_equal(read_reply(fd), PINGMESH_REFUSED);
	assert_int_equal(read(slow, &byte, 1), 0); /* half a request is not waited for */
	over = 1;
	pthread_join(thread, NULL);
	assert_int_equal(served.rc, 0);
	assert_int_equal(served.counts.peers, 3);
	assert_int_equal(served.counts.requests, 4);
	assert_int_equal(served.counts.refused, 1);
	assert_int_equal(served.counts.malformed, 1);
	assert_int_equal(served.counts.gave_up, 1);
	close(fd);
	close(slow);
	close(garbage);
	close(served.config.listener);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pinglists_hold_whoever_registered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_wrong_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_restart_keeps_the_registry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_files_are_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(agents_are_served_over_a_socket, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
