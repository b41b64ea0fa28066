/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/integration/kernel_host_pair.h"

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dpswitch/edge/frame/checksum.h"

#define HOPS 2

static const char chain[] =
	"topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"20us\"; switches = [ \"S1\", \"S2\" ]; "
	"hosts = [ \"a\", \"b\", \"c\" ]; links = ( \"S1 S2\", \"S1 a\", \"S2 b\", \"S2 c\" ); };";

static const char *const hosts[] = { "a", "b" };

void
kernel_pair_start(struct xrig *x, const char *faults, uint32_t spares)
{
	char scenario[sizeof(chain) + 2048];

	assert_true(snprintf(scenario, sizeof(scenario), "%s%s", chain, faults) < (int)sizeof(scenario));
	frig_init(&x->f, scenario);
	prng_init(&x->prng, 1, 0);
	assert_int_equal(frig_flow(&x->f, "a", "b", 3), PAIR_A);
	assert_int_equal(frig_flow(&x->f, "b", "a", 3), PAIR_B);
	assert_int_equal(frig_flow(&x->f, "a", "b", 0), PAIR_CONTROL);
	x->f.flows[PAIR_CONTROL].kind = FLOW_CONTROL;
	xrig_start(x, hosts, 2, spares);
}

struct kernel_host_counters
kernel_pair_counters(const struct xrig *x, enum pair_host host)
{
	struct kernel_host_counters sum;

	kernel_host_sum(x->nodes[host], &sum);
	return sum;
}

uint32_t
kernel_pair_ip(const struct xrig *x, const char *host)
{
	return topo_nic_ip(topo_find(x->f.topo, host), 0);
}

/* An RC data frame with random payload. @return its size */
static size_t
data_frame(struct xrig *x, enum pair_host from, uint32_t psn, uint32_t payload_bytes, uint8_t bytes[XRIG_FRAME_BYTES])
{
	uint8_t payload[XRIG_FRAME_BYTES];
	const struct pkt_message message = { .payload = payload };
	const struct pkt p = {
		.psn = psn,
		.payload_bytes = (uint16_t)payload_bytes,
		.opcode = ROCE_RC_SEND_ONLY,
		.flags = PKT_LAST,
		.type = PKT_DATA,
		.prio = x->f.flows[from].prio,
		.ttl = PKT_TTL_INIT,
	};
	struct frame f;

	for (uint32_t i = 0; i < payload_bytes; i++)
		payload[i] = (uint8_t)prng_next(&x->prng);
	frame_from_pkt(&f, &p, &x->f.flows[from], &message, false);
	return frame_build(&f, bytes, XRIG_FRAME_BYTES);
}

void
kernel_pair_send(struct xrig *x, enum pair_host from, uint32_t frames, uint32_t payload_bytes)
{
	uint8_t bytes[XRIG_FRAME_BYTES];

	for (uint32_t i = 0; i < frames; i++) {
		uint32_t size = payload_bytes != 0 ? payload_bytes : 1 + (uint32_t)prng_below(&x->prng, 1000);

		port_rig_send(x->ports[from], bytes, (uint32_t)data_frame(x, from, i, size, bytes));
	}
}

size_t
kernel_pair_ipv4(const struct xrig *x, enum pair_host src, enum pair_host dst, uint8_t protocol, uint16_t sport,
		 uint16_t dport, uint32_t bytes, uint8_t frame[XRIG_FRAME_BYTES])
{
	struct wire_eth eth = { .type = htobe16(ETH_TYPE_IPV4) };
	struct wire_ipv4 ip = {
		.version_ihl = IPV4_VERSION_IHL,
		.total_bytes = htobe16((uint16_t)(sizeof(ip) + bytes)),
		.ttl = 64,
		.protocol = protocol,
		.src = htobe32(kernel_pair_ip(x, hosts[src])),
		.dst = htobe32(kernel_pair_ip(x, hosts[dst])),
	};
	uint16_t ports[2] = { htobe16(sport), htobe16(dport) };

	topo_nic_mac(topo_find(x->f.topo, hosts[src]), 0, eth.src);
	topo_nic_mac(topo_find(x->f.topo, hosts[dst]), 0, eth.dst);
	ip.checksum = htobe16(checksum_fold(checksum_add(0, &ip, sizeof(ip))));
	memset(frame, 0x5a, sizeof(eth) + sizeof(ip) + bytes);
	memcpy(frame, &eth, sizeof(eth));
	memcpy(frame + sizeof(eth), &ip, sizeof(ip));
	memcpy(frame + sizeof(eth) + sizeof(ip), ports, sizeof(ports));
	return sizeof(eth) + sizeof(ip) + bytes;
}

void
kernel_pair_address(uint8_t *frame, uint32_t src_ip, uint32_t dst_ip)
{
	uint8_t *ip = frame + sizeof(struct wire_eth);
	uint32_t addresses[2] = { htobe32(src_ip), htobe32(dst_ip) };
	uint16_t sum;

	memcpy(ip + offsetof(struct wire_ipv4, src), addresses, sizeof(addresses));
	memset(ip + offsetof(struct wire_ipv4, checksum), 0, sizeof(sum));
	sum = htobe16(checksum_fold(checksum_add(0, ip, sizeof(struct wire_ipv4))));
	memcpy(ip + offsetof(struct wire_ipv4, checksum), &sum, sizeof(sum));
}

void
kernel_pair_expect_frame(const struct xrig *x, enum pair_host from, uint32_t i)
{
	const struct port_rig_frame *in = &x->ports[from]->in[i], *out = &x->ports[!from]->out[i];
	uint8_t *copy = malloc(in->size), *ip = copy + sizeof(struct wire_eth);
	uint16_t sum;

	assert_non_null(copy);
	assert_int_equal(out->size, in->size);
	memcpy(copy, in->data, in->size);
	ip[8] -= HOPS;
	ip[10] = ip[11] = 0;
	sum = checksum_fold(checksum_add(0, ip, (ip[0] & 0xf) * 4u));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	assert_memory_equal(out->data, copy, in->size);
	free(copy);
}

void
kernel_pair_expect_all(const struct xrig *x, enum pair_host from, uint32_t frames)
{
	assert_int_equal(x->ports[from]->nin, frames);
	assert_int_equal(x->ports[!from]->nout, frames);
	for (uint32_t i = 0; i < frames; i++)
		kernel_pair_expect_frame(x, from, i);
}
