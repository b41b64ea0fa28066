/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/corpus.h"

#include <stdint.h>
#include <string.h>

#include "common/wire/pingmesh_manage.h"

#define NODES 10 /* of the target's network; the address of a host ends in its number + 1 */

/* A request behind its length. @return bytes */
static size_t
put_request(uint8_t *to, uint16_t type, const void *body, size_t size)
{
	struct pingmesh_hdr hdr = { PINGMESH_MAGIC, PINGMESH_MANAGE_VERSION, type, (uint32_t)size, 0 };

	to[0] = (uint8_t)(sizeof(hdr) + size);
	to[1] = (uint8_t)((sizeof(hdr) + size) >> 8);
	memcpy(to + 2, &hdr, sizeof(hdr));
	memcpy(to + 2 + sizeof(hdr), body, size);
	return 2 + sizeof(hdr) + size;
}

/* Every node at every other one: those of a host at its ToR are taken, the others refused. */
bool
controller_seeds(const char *folder)
{
	uint8_t bytes[8192];
	size_t used = 0;

	for (uint32_t host = 0; host < NODES; host++) {
		for (uint32_t tor = 0; tor < NODES; tor++) {
			struct {
				struct pingmesh_host head;
				struct pingmesh_rnic rnic;
			} body = { { host, 1 }, { .ip = 0x0a000001u + host, .qpn = 17 + host, .tor = tor } };

			memcpy(body.rnic.gid + 10, (const uint8_t[]){ 0xff, 0xff, 10, 0, 0, (uint8_t)(host + 1) }, 6);
			used += put_request(bytes + used, PINGMESH_REGISTER, &body, sizeof(body));
		}
	}
	for (uint32_t host = 0; host < NODES; host++)
		used += put_request(bytes + used, PINGMESH_PINGLISTS, &(struct pingmesh_host){ host, 0 },
				    sizeof(struct pingmesh_host));
	used += put_request(bytes + used, PINGMESH_RESOLVE, (const uint32_t[]){ 3, 0, 0x0a000001, 0x0a000005, 1 }, 20);
	return write_seed(folder, "all", bytes, used);
}
