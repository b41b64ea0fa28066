/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device may read and write: the client's region, landings for what peers send, scratch. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/array.h"
#include "rxe-hosts/device/verbs/host.h"

#define ALIGN 4096ull
#define SLOTS_BYTES (DEVICE_MAX_POSTED * sizeof(struct verbs_header))

static uint64_t
aligned(uint64_t bytes)
{
	return (bytes + ALIGN - 1) & ~(ALIGN - 1);
}

static void *
get_memory(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

/* Without real payload everybody's pieces land on each other; else each flow has room for what it sends. */
static void
measure(struct verbs_host *host)
{
	host->landings_bytes = VERBS_MAX_PIECE_BYTES;
	for (uint32_t i = 0; i < host->nins; i++) {
		struct verbs_in *in = &host->ins[i];

		in->landing_from = 0;
		in->landing_end = VERBS_MAX_PIECE_BYTES;
		if (in->mirrored)
			host->client.extent(host->client.ctx, in->data.flow, &in->landing_from, &in->landing_end);
		host->landings_bytes +=
			aligned(SLOTS_BYTES) + (in->mirrored ? aligned(in->landing_end - in->landing_from) : 0);
	}
}

static void
lay_out(struct verbs_host *host)
{
	uint64_t at = VERBS_MAX_PIECE_BYTES;

	for (uint32_t i = 0; i < host->nins; i++) {
		struct verbs_in *in = &host->ins[i];

		in->headers = (const struct verbs_header *)(host->landings + at);
		at += aligned(SLOTS_BYTES);
		in->landing = in->mirrored ? host->landings + at : host->landings;
		at += in->mirrored ? aligned(in->landing_end - in->landing_from) : 0;
	}
}

static struct ibv_mr *
give(struct verbs_host *host, void *base, uint64_t bytes, int access, struct err *err)
{
	struct ibv_mr *mr = base != NULL ? ibv_reg_mr(host->pd, base, bytes, access) : NULL;

	if (mr == NULL)
		err_set(err, -errno,
			"%s: cannot register %llu bytes of memory: %s; raise the limit of locked memory (ulimit -l)"
			" or make the collectives smaller",
			verbs_host_name(host), (unsigned long long)bytes, strerror(errno));
	return mr;
}

int
verbs_memory_init(struct verbs_host *host, struct err *err)
{
	measure(host);
	host->landings = get_memory(host->landings_bytes);
	host->scratch = get_memory(VERBS_MAX_PIECE_BYTES);
	errno = ENOMEM;
	host->landing_mr =
		give(host, host->landings, host->landings_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, err);
	host->scratch_mr = give(host, host->scratch, VERBS_MAX_PIECE_BYTES, 0, err);
	if (host->landing_mr == NULL || host->scratch_mr == NULL)
		return -ENOMEM;
	lay_out(host);
	if (host->region == NULL)
		return 0;
	host->region_mr = give(host, host->region, host->region_bytes, 0, err);
	return host->region_mr != NULL ? 0 : -ENOMEM;
}

void
verbs_memory_fini(struct verbs_host *host)
{
	struct ibv_mr *mrs[] = { host->region_mr, host->landing_mr, host->scratch_mr };

	for (size_t i = 0; i < ARRAY_LEN(mrs); i++)
		if (mrs[i] != NULL)
			ibv_dereg_mr(mrs[i]);
	if (host->landings != NULL)
		munmap(host->landings, host->landings_bytes);
	if (host->scratch != NULL)
		munmap(host->scratch, VERBS_MAX_PIECE_BYTES);
}
