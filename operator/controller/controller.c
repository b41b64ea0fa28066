/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/controller/controller.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"

struct controller {
	const struct topo *topo;
	struct rnic_map map;
	struct pinglists lists;
	struct registry *registry;
	uint8_t *reply; /* [sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REPLY] */
};

/* A request that is being dealt with, and the body of its reply as it grows. */
struct request {
	struct controller *controller;
	const uint8_t *body;
	size_t size;
	uint64_t now_ps;
	uint8_t *reply;
	size_t used;
	struct err *err;
};

void
controller_gid_of_ip(uint32_t ip, uint8_t gid[16])
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	for (int i = 0; i < 4; i++)
		gid[12 + i] = (uint8_t)(ip >> (24 - 8 * i));
}

/* ---- replies ---- */

static void
append(struct request *r, const void *data, size_t size)
{
	assert(r->used + size <= PINGMESH_MAX_REPLY);
	memcpy(r->reply + r->used, data, size);
	r->used += size;
}

/* "10.0.0.5" */
static const char *
ip_text(uint32_t ip, char text[16])
{
	snprintf(text, 16, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
	return text;
}

static const char *
node_name(const struct controller *c, uint32_t node)
{
	return node < c->topo->nnodes ? c->topo->nodes[node].name : "no node";
}

/* ---- REGISTER ---- */

/* Does the network have this RNIC at the place that its agent reports? */
static int
check_rnic(const struct request *r, uint32_t host, const struct pingmesh_rnic *rnic)
{
	const struct controller *c = r->controller;
	uint32_t known = rnic_map_find(&c->map, rnic->ip);
	uint8_t gid[16];
	char ip[16];

	ip_text(rnic->ip, ip);
	if (known == TOPO_NONE || c->map.rnics[known].host != host || c->map.rnics[known].nic != rnic->nic)
		return err_set(r->err, -EINVAL, "%s is not the address of NIC %u of %s", ip, rnic->nic + 1u,
			       node_name(c, host));
	if (c->map.rnics[known].tor != rnic->tor)
		return err_set(r->err, -EINVAL, "%s is connected to %s, not to %s: mend the cable, or the scenario", ip,
			       node_name(c, c->map.rnics[known].tor), node_name(c, rnic->tor));
	if (rnic->qpn == 0 || rnic->qpn > 0xffffff)
		return err_set(r->err, -EINVAL, "QPN %u of %s: QPNs of UD QPs are from 1 to 16777215", rnic->qpn, ip);
	controller_gid_of_ip(rnic->ip, gid);
	if (memcmp(gid, rnic->gid, sizeof(gid)) != 0 || rnic->reserved != 0)
		return err_set(r->err, -EINVAL, "the GID of %s is not ::ffff:%s", ip, ip);
	return 0;
}

static int
do_register(struct request *r)
{
	const struct pingmesh_host *head = (const void *)r->body;
	const struct pingmesh_rnic *rnics = (const void *)(r->body + sizeof(*head));

	if (head->count == 0 || head->count > PINGMESH_MAX_RNICS || r->size != sizeof(*head) + head->count * sizeof(*rnics))
		return err_set(r->err, -EINVAL, "a registration of %u RNICs in %zu B; from 1 to %u, %zu B each",
			       head->count, r->size, PINGMESH_MAX_RNICS, sizeof(*rnics));
	for (uint32_t i = 0; i < head->count; i++)
		if (check_rnic(r, head->host, &rnics[i]) != 0)
			return -EINVAL;
	return registry_put(r->controller->registry, head->host, rnics, head->count, r->err);
}

/* ---- PINGLISTS ---- */

/* Leaves out RNICs that are not registered yet: there is no QP to probe. @return 0; -EIO or -E2BIG with err */
static int
append_rnic(struct request *r, uint32_t index, struct pingmesh_entries *head)
{
	struct controller *c = r->controller;
	uint32_t entries = pinglist_count(&c->lists, index);

	for (uint32_t i = 0; i < entries; i++) {
		struct pinglist_entry entry = pinglist_at(&c->lists, index, i, r->now_ps);
		struct pingmesh_entry out = { .kind = entry.kind,
					      .nic = c->map.rnics[index].nic,
					      .sport = entry.sport,
					      .interval_ps = entry.interval_ps };
		struct pingmesh_rnic target;

		if (entry.target == TOPO_NONE)
			continue;
		if (registry_find(c->registry, c->map.rnics[entry.target].ip, &target, r->err) != 0)
			return -EIO;
		if (target.qpn == 0) {
			head->left_out++;
			continue;
		}
		if (r->used + sizeof(out) > PINGMESH_MAX_REPLY)
			return err_set(r->err, -E2BIG, "the pinglists of %s have more than %zu entries",
				       node_name(c, c->map.rnics[index].host), PINGMESH_MAX_REPLY / sizeof(out));
		memcpy(out.gid, target.gid, sizeof(out.gid));
		out.ip = target.ip;
		out.qpn = target.qpn;
		append(r, &out, sizeof(out));
		head->count++;
	}
	return 0;
}

static int
do_pinglists(struct request *r)
{
	const struct pingmesh_host *head = (const void *)r->body;
	const struct controller *c = r->controller;
	struct pingmesh_entries entries = { .service_ps = c->lists.times.service_ps,
					    .timeout_ps = c->lists.times.timeout_ps,
					    .upload_ps = c->lists.times.upload_ps,
					    .pinglist_ps = c->lists.times.pinglist_ps };

	if (head->host >= c->topo->nnodes || c->topo->nodes[head->host].kind != TOPO_HOST || head->count != 0)
		return err_set(r->err, -EINVAL, "pinglists are of hosts; node %u is none of this network", head->host);
	append(r, &entries, sizeof(entries));
	for (uint16_t nic = 0; nic < c->topo->nodes[head->host].nports; nic++) {
		uint32_t index = rnic_map_find(&c->map, topo_nic_ip(head->host, nic));
		int rc = index != TOPO_NONE ? append_rnic(r, index, &entries) : 0;

		if (rc != 0)
			return rc;
	}
	memcpy(r->reply, &entries, sizeof(entries));
	return 0;
}

/* ---- RESOLVE ---- */

static int
do_resolve(struct request *r)
{
	const struct pingmesh_list *head = (const void *)r->body;
	const uint32_t *ips = (const void *)(r->body + sizeof(*head));

	if (head->count > PINGMESH_MAX_RESOLVED || r->size != sizeof(*head) + head->count * sizeof(*ips) ||
	    head->reserved != 0)
		return err_set(r->err, -EINVAL, "%u addresses in %zu B; up to %u, 4 B each", head->count, r->size,
			       PINGMESH_MAX_RESOLVED);
	append(r, head, sizeof(*head));
	for (uint32_t i = 0; i < head->count; i++) {
		struct pingmesh_rnic rnic;

		if (registry_find(r->controller->registry, ips[i], &rnic, r->err) != 0)
			return -EIO;
		append(r, &rnic, sizeof(rnic));
	}
	return 0;
}

/* ---- requests ---- */

static const struct {
	int (*handle)(struct request *r);
	size_t least; /* bytes of its body */
	uint16_t reply;
} requests[] = {
	[PINGMESH_REGISTER] = { do_register, sizeof(struct pingmesh_host), PINGMESH_REGISTERED },
	[PINGMESH_PINGLISTS] = { do_pinglists, sizeof(struct pingmesh_host), PINGMESH_ENTRIES },
	[PINGMESH_RESOLVE] = { do_resolve, sizeof(struct pingmesh_list), PINGMESH_RESOLVED },
};

/* @return type of the reply, or negative errno with r->err */
static int
dispatch(struct request *r, const struct pingmesh_hdr *hdr, size_t size)
{
	int rc;

	if (size < sizeof(*hdr) || hdr->magic != PINGMESH_MAGIC || hdr->size != size - sizeof(*hdr) || hdr->reserved != 0)
		return err_set(r->err, -EPROTO, "not a message to a controller");
	if (hdr->version != PINGMESH_MANAGE_VERSION)
		return err_set(r->err, -EPROTO, "a message of version %u; this controller speaks %u", hdr->version,
			       PINGMESH_MANAGE_VERSION);
	if (hdr->type >= ARRAY_LEN(requests) || requests[hdr->type].handle == NULL ||
	    hdr->size < requests[hdr->type].least || hdr->size > PINGMESH_MAX_REQUEST)
		return err_set(r->err, -EPROTO, "a request of type %u with %u B: there is none such", hdr->type, hdr->size);
	r->body = (const uint8_t *)(hdr + 1);
	r->size = hdr->size;
	rc = requests[hdr->type].handle(r);
	return rc == 0 ? requests[hdr->type].reply : rc;
}

struct controller_reply
controller_handle(struct controller *c, const void *request, size_t size, uint64_t now_ps)
{
	struct err err = { 0 };
	struct request r = {
		.controller = c, .now_ps = now_ps, .reply = c->reply + sizeof(struct pingmesh_hdr), .err = &err
	};
	int type = dispatch(&r, request, size);
	struct pingmesh_hdr hdr = { .magic = PINGMESH_MAGIC, .version = PINGMESH_MANAGE_VERSION };

	if (type < 0) {
		struct pingmesh_refused refused = { 0 };

		type = PINGMESH_REFUSED;
		r.used = 0;
		snprintf(refused.text, sizeof(refused.text), "%.*s", PINGMESH_TEXT - 1, err.text);
		append(&r, &refused, sizeof(refused));
	}
	hdr.type = (uint16_t)type;
	hdr.size = (uint32_t)r.used;
	memcpy(c->reply, &hdr, sizeof(hdr));
	return (struct controller_reply){ .bytes = c->reply, .size = sizeof(hdr) + r.used };
}

int
controller_create(const struct controller_config *config, struct controller **out, struct err *err)
{
	struct controller *c = calloc(1, sizeof(*c));
	int rc = c != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		c->topo = config->topo;
		c->reply = malloc(sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REPLY);
		rc = c->reply != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = rnic_map_init(&c->map, config->topo, config->table, PINGLIST_COVERED, err);
	if (rc == 0)
		rc = registry_open(config->store, &c->registry, err);
	if (rc != 0) {
		controller_destroy(c);
		return err_set(err, rc, "out of memory for the controller");
	}
	c->lists = (struct pinglists){
		.map = &c->map, .times = config->times, .seed = config->seed, .rxe = config->rxe, .rails = config->rails
	};
	*out = c;
	return 0;
}

void
controller_destroy(struct controller *controller)
{
	if (controller == NULL)
		return;
	registry_close(controller->registry);
	rnic_map_fini(&controller->map);
	free(controller->reply);
	free(controller);
}

struct registry {
	sqlite3 *db;
	bool in_memory;
	sqlite3_stmt *put, *find;
};

#define WAIT_LIMIT_MS 2000       /* for a controller that ends while the next one starts */
#define APPLICATION "1380994640" /* "RPMP" as a number: file owner (sqlite.org/pragma.html#pragma_application_id) */

/* Held alone, as long as it is open; its journal is a file's, its writes wait for the disk. */
static const char lock[] = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;";
static const char schema[] =
	"PRAGMA application_id = " APPLICATION ";"
	"CREATE TABLE IF NOT EXISTS rnics (ip INTEGER PRIMARY KEY, host INTEGER NOT NULL, nic INTEGER NOT NULL,"
	" tor INTEGER NOT NULL, gid BLOB NOT NULL, qpn INTEGER NOT NULL);"
	"COMMIT;";
static const char put_rnic[] = "INSERT OR REPLACE INTO rnics (ip, host, nic, tor, gid, qpn) VALUES (?, ?, ?, ?, ?, ?)";
static const char find_rnic[] = "SELECT nic, tor, gid, qpn FROM rnics WHERE ip = ?";

static int
failed(struct registry *registry, struct err *err)
{
	const char *name = registry->in_memory ? "the registry" : sqlite3_db_filename(registry->db, "main");
	bool is_full = sqlite3_errcode(registry->db) == SQLITE_FULL;

	return err_set(err, -EIO, "%s: %s%s", name, sqlite3_errmsg(registry->db),
		       is_full ? "; make room: who was refused asks again" : "");
}

/* ---- opening ---- */

/* A new file has none. */
static int64_t
application(struct registry *registry)
{
	sqlite3_stmt *stmt = NULL;
	int64_t id = -1;

	if (sqlite3_prepare_v2(registry->db,
			       "SELECT a.application_id, (SELECT COUNT(*) FROM sqlite_master) FROM pragma_application_id a",
			       -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		id = sqlite3_column_int64(stmt, 0);
		if (id == 0 && sqlite3_column_int64(stmt, 1) != 0)
			id = -1; /* registered without a name */
	}
	sqlite3_finalize(stmt);
	return id;
}

/* Without this check, a truncated or corrupt page would show only when an agent requests its contents. */
static bool
is_whole(struct registry *registry)
{
	sqlite3_stmt *stmt = NULL;
	bool whole = sqlite3_prepare_v2(registry->db, "PRAGMA quick_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
		     sqlite3_step(stmt) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0;

	sqlite3_finalize(stmt);
	return whole;
}

static int
set_up(struct registry *registry, const char *path, struct err *err)
{
	int64_t id;
	int rc;

	sqlite3_busy_timeout(registry->db, WAIT_LIMIT_MS);
	rc = sqlite3_exec(registry->db, lock, NULL, NULL, NULL);
	if (rc == SQLITE_BUSY)
		return err_set(err, -EIO, "%s: another program has it open; give each controller a separate store", path);
	if (rc == SQLITE_NOTADB)
		return err_set(err, -EIO, "%s: no registry, but another file; give a path of which there is nothing yet",
			       path);
	if (rc == SQLITE_CORRUPT || (rc == SQLITE_OK && !is_whole(registry)))
		return err_set(err, -EIO, "%s: damaged; remove it, and RNICs are known again as their agents start", path);
	if (rc != SQLITE_OK)
		return failed(registry, err);
	id = application(registry);
	if (id != 0 && id != atoll(APPLICATION))
		return err_set(err, -EIO, "%s: a database, but no registry; give a path of which there is nothing yet",
			       path);
	if (sqlite3_exec(registry->db, schema, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(registry->db, put_rnic, -1, &registry->put, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(registry->db, find_rnic, -1, &registry->find, NULL) != SQLITE_OK)
		return failed(registry, err);
	return 0;
}

int
registry_open(const char *path, struct registry **out, struct err *err)
{
	struct registry *registry = calloc(1, sizeof(*registry));
	int rc;

	if (registry == NULL)
		return err_set(err, -ENOMEM, "out of memory for the registry");
	registry->in_memory = strcmp(path, REGISTRY_IN_MEMORY) == 0;
	if (sqlite3_open(path, &registry->db) == SQLITE_OK)
		rc = set_up(registry, path, err);
	else
		rc = err_set(err, -EIO, "%s: %s", path, sqlite3_errmsg(registry->db));
	if (rc != 0) {
		registry_close(registry);
		return rc;
	}
	*out = registry;
	return 0;
}

void
registry_close(struct registry *registry)
{
	if (registry == NULL)
		return;
	sqlite3_finalize(registry->put);
	sqlite3_finalize(registry->find);
	sqlite3_close(registry->db);
	free(registry);
}

/* ---- entries ---- */

static bool
put_one(struct registry *registry, uint32_t host, const struct pingmesh_rnic *rnic)
{
	bool done;

	sqlite3_bind_int64(registry->put, 1, rnic->ip);
	sqlite3_bind_int64(registry->put, 2, host);
	sqlite3_bind_int64(registry->put, 3, rnic->nic);
	sqlite3_bind_int64(registry->put, 4, rnic->tor);
	sqlite3_bind_blob(registry->put, 5, rnic->gid, sizeof(rnic->gid), SQLITE_STATIC);
	sqlite3_bind_int64(registry->put, 6, rnic->qpn);
	done = sqlite3_step(registry->put) == SQLITE_DONE;
	sqlite3_reset(registry->put);
	sqlite3_clear_bindings(registry->put);
	return done;
}

int
registry_put(struct registry *registry, uint32_t host, const struct pingmesh_rnic *rnics, uint32_t count, struct err *err)
{
	bool good = sqlite3_exec(registry->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;

	for (uint32_t i = 0; i < count && good; i++)
		good = put_one(registry, host, &rnics[i]);
	if (good && sqlite3_exec(registry->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	failed(registry, err);
	sqlite3_exec(registry->db, "ROLLBACK", NULL, NULL, NULL);
	return -EIO;
}

int
registry_find(struct registry *registry, uint32_t ip, struct pingmesh_rnic *rnic, struct err *err)
{
	int rc;

	*rnic = (struct pingmesh_rnic){ .ip = ip };
	sqlite3_bind_int64(registry->find, 1, ip);
	rc = sqlite3_step(registry->find);
	if (rc == SQLITE_ROW) {
		const void *gid = sqlite3_column_blob(registry->find, 2);

		rnic->nic = (uint16_t)sqlite3_column_int64(registry->find, 0);
		rnic->tor = (uint32_t)sqlite3_column_int64(registry->find, 1);
		rnic->qpn = (uint32_t)sqlite3_column_int64(registry->find, 3);
		if (gid != NULL && sqlite3_column_bytes(registry->find, 2) == sizeof(rnic->gid))
			memcpy(rnic->gid, gid, sizeof(rnic->gid));
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		failed(registry, err);
	sqlite3_reset(registry->find);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -EIO;
}

#define MAX_MESSAGE (sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REQUEST)
#define WAIT_MS 200 /* between checks for peers that take too long */

struct peer {
	int fd;            /* -1: none */
	uint64_t since_ns; /* it last moved on: a whole request, a whole reply */
	uint32_t used;
	_Alignas(8) uint8_t in[MAX_MESSAGE];
	uint8_t *out; /* unsent rest of a reply, NULL: nothing */
	size_t out_at, out_size;
};

struct server {
	const struct serve_config *config;
	struct serve_counts *counts;
	struct peer *peers; /* [SERVE_MAX_PEERS] */
	bool is_short;      /* out of descriptors: pending connections wait until the next check */
};

static void
drop(struct peer *peer)
{
	close(peer->fd);
	free(peer->out);
	peer->fd = -1;
	peer->out = NULL;
	peer->used = 0;
}

/* ---- replies ---- */

static void
send_rest(struct server *s, struct peer *peer)
{
	ssize_t sent = send(peer->fd, peer->out + peer->out_at, peer->out_size - peer->out_at, MSG_NOSIGNAL);

	if (sent < 0) {
		if (errno != EAGAIN) {
			s->counts->gave_up++;
			drop(peer);
		}
		return;
	}
	peer->out_at += (size_t)sent;
	if (peer->out_at < peer->out_size)
		return;
	free(peer->out);
	peer->out = NULL;
	peer->since_ns = clock_now_ns();
}

/* @return whether the peer is still there */
static bool
reply(struct server *s, struct peer *peer, size_t size)
{
	struct controller_reply made = controller_handle(s->config->controller, peer->in, size, s->config->now_ps());
	const struct pingmesh_hdr *hdr = made.bytes;

	s->counts->requests++;
	s->counts->refused += hdr->type == PINGMESH_REFUSED;
	peer->used -= (uint32_t)size;
	memmove(peer->in, peer->in + size, peer->used);
	peer->out = malloc(made.size);
	if (peer->out == NULL) {
		s->counts->gave_up++;
		drop(peer);
		return false;
	}
	memcpy(peer->out, made.bytes, made.size);
	peer->out_at = 0;
	peer->out_size = made.size;
	send_rest(s, peer);
	return peer->fd >= 0;
}

/* ---- requests ---- */

/* Whole requests, as long as replies are taken. */
static void
take_requests(struct server *s, struct peer *peer)
{
	while (peer->out == NULL && peer->used >= sizeof(struct pingmesh_hdr)) {
		const struct pingmesh_hdr *hdr = (const void *)peer->in;

		if (hdr->magic != PINGMESH_MAGIC || hdr->size > PINGMESH_MAX_REQUEST) {
			s->counts->malformed++; /* the start of the next one is unknown */
			drop(peer);
			return;
		}
		if (peer->used < sizeof(*hdr) + hdr->size || !reply(s, peer, sizeof(*hdr) + hdr->size))
			return;
	}
}

static void
receive(struct server *s, struct peer *peer)
{
	ssize_t got = recv(peer->fd, peer->in + peer->used, sizeof(peer->in) - peer->used, 0);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		s->counts->gave_up += peer->used != 0;
		drop(peer);
		return;
	}
	peer->used += (uint32_t)got;
	take_requests(s, peer);
}

/* The polled events need not be looked at: receive() and send_rest() find an end or an error themselves. */
static void
serve_peer(struct server *s, struct peer *peer)
{
	if (peer->out == NULL) {
		receive(s, peer);
		return;
	}
	send_rest(s, peer);
	if (peer->fd >= 0)
		take_requests(s, peer);
}

/* ---- peers ---- */

static void
accept_peers(struct server *s)
{
	for (uint32_t i = 0; i < SERVE_MAX_PEERS; i++) {
		int fd = accept4(s->config->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct peer *peer = s->peers;

		s->is_short = fd < 0 && errno != EAGAIN;
		if (fd < 0)
			return;
		while (peer < s->peers + SERVE_MAX_PEERS && peer->fd >= 0)
			peer++;
		if (peer == s->peers + SERVE_MAX_PEERS) {
			s->counts->turned_away++;
			close(fd);
			continue;
		}
		s->counts->peers++;
		peer->fd = fd;
		peer->since_ns = clock_now_ns();
	}
}

static void
drop_slow(struct server *s)
{
	uint64_t now_ns = clock_now_ns();

	for (uint32_t i = 0; i < SERVE_MAX_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->fd < 0 || now_ns - peer->since_ns <= s->config->idle_limit_ms * UINT64_C(1000000))
			continue;
		s->counts->gave_up += peer->used != 0 || peer->out != NULL;
		drop(peer);
	}
}

/* The listening socket and all peers; no more than there are descriptors, which is as many as poll(2) takes. */
static uint32_t
list_fds(const struct server *s, struct pollfd fds[1 + SERVE_MAX_PEERS], struct peer *of[1 + SERVE_MAX_PEERS])
{
	uint32_t count = 1;

	fds[0] = (struct pollfd){ .fd = s->config->listener, .events = s->is_short ? 0 : POLLIN };
	for (uint32_t i = 0; i < SERVE_MAX_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->fd < 0)
			continue;
		of[count] = peer;
		fds[count++] = (struct pollfd){ .fd = peer->fd, .events = peer->out != NULL ? POLLOUT : POLLIN };
	}
	return count;
}

static int
wait_and_serve(struct server *s, struct err *err)
{
	const struct timespec timeout = { .tv_nsec = WAIT_MS * 1000000L };
	struct pollfd fds[1 + SERVE_MAX_PEERS];
	struct peer *of[1 + SERVE_MAX_PEERS];
	uint32_t count = list_fds(s, fds, of);

	if (ppoll(fds, count, &timeout, s->config->waiting) < 0)
		return errno == EINTR ? 0 : err_set(err, -errno, "poll: %s", strerror(errno));
	s->is_short = false;
	if ((fds[0].revents & (POLLERR | POLLNVAL)) != 0)
		return err_set(err, -EIO, "the controller's socket is closed");
	for (uint32_t i = 1; i < count; i++)
		if (fds[i].revents != 0)
			serve_peer(s, of[i]);
	if (fds[0].revents != 0)
		accept_peers(s);
	drop_slow(s);
	return 0;
}

int
serve(const struct serve_config *config, struct serve_counts *counts, struct err *err)
{
	struct server s = { .config = config, .counts = counts, .peers = calloc(SERVE_MAX_PEERS, sizeof(*s.peers)) };
	int rc = s.peers != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for %u peers", SERVE_MAX_PEERS);

	*counts = (struct serve_counts){ 0 };
	for (uint32_t i = 0; i < SERVE_MAX_PEERS && rc == 0; i++)
		s.peers[i].fd = -1;
	if (rc == 0 && fcntl(config->listener, F_SETFL, fcntl(config->listener, F_GETFL) | O_NONBLOCK) < 0)
		rc = err_set(err, -errno, "fcntl: %s", strerror(errno));
	while (rc == 0 && !config->is_over())
		rc = wait_and_serve(&s, err);
	for (uint32_t i = 0; s.peers != NULL && i < SERVE_MAX_PEERS; i++)
		if (s.peers[i].fd >= 0)
			drop(&s.peers[i]);
	free(s.peers);
	return rc;
}
