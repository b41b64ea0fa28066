/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/stamps.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/flow.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/eth.h"
#include "common/wire/roce.h"

#define IP_AT sizeof(struct wire_eth)
#define UDP_AT (IP_AT + sizeof(struct wire_ipv4))
#define BTH_AT (UDP_AT + sizeof(struct wire_udp))
#define IMM_AT (BTH_AT + sizeof(struct wire_bth) + sizeof(struct wire_deth))
#define CONTENTS_AT (IMM_AT + sizeof(struct wire_immdt))

bool
stamp_key_of_frame(struct stamp_key *key, const uint8_t *frame, size_t bytes, bool out)
{
	struct wire_eth eth;
	struct wire_ipv4 ip;
	struct wire_udp udp;
	struct wire_bth bth;
	struct wire_immdt imm;
	size_t around = CONTENTS_AT - IP_AT + ICRC_BYTES, total, pad;

	if (bytes < CONTENTS_AT)
		return false;
	memcpy(&eth, frame, sizeof(eth));
	memcpy(&ip, frame + IP_AT, sizeof(ip));
	memcpy(&udp, frame + UDP_AT, sizeof(udp));
	memcpy(&bth, frame + BTH_AT, sizeof(bth));
	memcpy(&imm, frame + IMM_AT, sizeof(imm));
	total = be16toh(ip.total_bytes);
	pad = (bth.flags & BTH_PAD_MASK) >> BTH_PAD_SHIFT;
	if (be16toh(eth.type) != ETH_TYPE_IPV4 || ip.version_ihl != IPV4_VERSION_IHL || ip.protocol != IPV4_PROTOCOL_UDP ||
	    be16toh(udp.dport) != ROCEV2_UDP_PORT || bth.opcode != ROCE_UD_SEND_ONLY_IMM || total < around + pad ||
	    total - around - pad > DEVICE_UD_BYTES || bytes < CONTENTS_AT + (total - around - pad))
		return false;
	*key = stamp_key_of(be32toh(imm.imm), frame + CONTENTS_AT, (uint16_t)(total - around - pad), out);
	return true;
}

struct stamp_key
stamp_key_of(uint32_t imm, const void *contents, uint16_t bytes, bool out)
{
	struct stamp_key key = { .imm = imm, .bytes = bytes, .out = out };

	memcpy(key.contents, contents, bytes);
	return key;
}

static bool
same(const struct stamp_key *a, const struct stamp_key *b)
{
	return a->imm == b->imm && a->bytes == b->bytes && a->out == b->out &&
	       memcmp(a->contents, b->contents, a->bytes) == 0;
}

void
stamps_put(struct stamps *stamps, const struct stamp_key *key, uint64_t time_ns)
{
	uint32_t at = stamps->tail++ % STAMPS_KEPT;

	if (stamps->tail - stamps->head > STAMPS_KEPT) {
		stamps->unused += !stamps->kept[at].used;
		stamps->head++;
	}
	stamps->kept[at].key = *key;
	stamps->kept[at].time_ns = time_ns;
	stamps->kept[at].used = false;
}

uint64_t
stamps_take(struct stamps *stamps, const struct stamp_key *key)
{
	for (uint32_t i = stamps->head; i != stamps->tail; i++) {
		uint32_t at = i % STAMPS_KEPT;

		if (stamps->kept[at].used || !same(&stamps->kept[at].key, key))
			continue;
		stamps->kept[at].used = true;
		while (stamps->head != stamps->tail && stamps->kept[stamps->head % STAMPS_KEPT].used)
			stamps->head++;
		return stamps->kept[at].time_ns;
	}
	return 0;
}

/* The socket from which the stamps are read. */

#define TAP_BURST 16
#define CLOCK_READS 16 /* at first */
#define NS_PER_S 1000000000ULL
#define RECEIVE_BYTES (512 * 1024)

/* UD SEND ONLY WITH IMMEDIATE to RoCEv2's port, by IPv4 without options: its first bytes. */
static int
filter(int fd)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_TYPE_IPV4, 0, 9),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPV4_VERSION_IHL, 0, 7),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPV4_PROTOCOL_UDP, 0, 5),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCEV2_UDP_PORT, 0, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 42),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_UD_SEND_ONLY_IMM, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, STAMPS_FRAME_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

/* The filter is set before bind(): the socket never receives other frames. */
static int
prepare(int fd, const char *netdev)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
				       .sll_protocol = htons(ETH_P_ALL), /* sent frames, too */
				       .sll_ifindex = (int)if_nametoindex(netdev) };
	const int on = 1, bytes = RECEIVE_BYTES;
	int rc = filter(fd);

	if (rc != 0)
		return rc;
	if (address.sll_ifindex == 0 || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return 0;
}

/* The thread may be preempted between two clocks: only a reading that took hardly longer than the best one counts. */
static void
read_clocks(struct tap *tap)
{
	uint64_t before_ns = clock_now_ns(), since_1970_ns = clock_since_1970_ns(), gap_ns = clock_now_ns() - before_ns;

	if (tap->gap_ns != 0 && gap_ns > 2 * tap->gap_ns)
		return;
	if (tap->gap_ns == 0 || gap_ns < tap->gap_ns)
		tap->gap_ns = gap_ns;
	tap->to_now_ns = before_ns + gap_ns / 2 - since_1970_ns;
}

int
tap_open(struct tap *tap, const char *netdev)
{
	int rc;

	*tap = (struct tap){ .fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) };
	rc = tap->fd < 0 ? -errno : prepare(tap->fd, netdev);
	if (rc == 0)
		tap->stamps = calloc(1, sizeof(*tap->stamps));
	for (uint32_t i = 0; rc == 0 && i < CLOCK_READS; i++)
		read_clocks(tap);
	if (rc == 0 && tap->stamps != NULL)
		return 0;
	tap_close(tap);
	return rc != 0 ? rc : -ENOMEM;
}

void
tap_close(struct tap *tap)
{
	if (tap->fd >= 0)
		close(tap->fd);
	free(tap->stamps);
	*tap = (struct tap){ .fd = -1 };
}

struct tap_frame {
	uint8_t bytes[STAMPS_FRAME_BYTES];
	struct sockaddr_ll from;
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(struct timespec))];
	} control;
};

static void
take(struct tap *tap, struct msghdr *msg, const struct tap_frame *frame, size_t bytes)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	struct stamp_key key;
	struct timespec at;

	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS ||
	    !stamp_key_of_frame(&key, frame->bytes, bytes, frame->from.sll_pkttype == PACKET_OUTGOING))
		return;
	memcpy(&at, CMSG_DATA(c), sizeof(at));
	stamps_put(tap->stamps, &key, (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec + tap->to_now_ns);
}

void
tap_drain(struct tap *tap)
{
	struct tap_frame frames[TAP_BURST];
	struct mmsghdr msgs[TAP_BURST];
	struct iovec iovs[TAP_BURST];
	int count = TAP_BURST;

	while (tap->fd >= 0 && count == TAP_BURST) {
		for (uint32_t i = 0; i < TAP_BURST; i++) {
			iovs[i] = (struct iovec){ frames[i].bytes, sizeof(frames[i].bytes) };
			msgs[i].msg_hdr = (struct msghdr){ .msg_name = &frames[i].from,
							   .msg_namelen = sizeof(frames[i].from),
							   .msg_iov = &iovs[i],
							   .msg_iovlen = 1,
							   .msg_control = &frames[i].control,
							   .msg_controllen = sizeof(frames[i].control) };
		}
		count = recvmmsg(tap->fd, msgs, TAP_BURST, MSG_DONTWAIT, NULL);
		read_clocks(tap);
		for (int i = 0; i < count; i++)
			take(tap, &msgs[i].msg_hdr, &frames[i], msgs[i].msg_len);
	}
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return ORDER(x, y);
}

void
rtt_idle(struct rtt_filter *filter, uint64_t *samples_ps, uint32_t count)
{
	assert(count >= 1 && count <= RTT_MAX_PROBES);
	qsort(samples_ps, count, sizeof(*samples_ps), compare);
	filter->base_ps = samples_ps[count / 2];
	filter->noise_ps = samples_ps[count * RTT_NOISE_PERCENTILE / 100] - filter->base_ps;
}

uint64_t
rtt_window_bytes(const struct rtt_filter *filter, uint64_t rate_bps)
{
	uint64_t rtt_ps = filter->base_ps + filter->noise_ps / 2;

	return (uint64_t)((unsigned __int128)rtt_ps * rate_bps * 2 / 8 / PS_PER_S);
}

void
rtt_forget(struct rtt_filter *filter)
{
	filter->last_ps = filter->previous_ps = 0;
}

uint64_t
rtt_sample(struct rtt_filter *filter, uint64_t now_ns)
{
	assert(filter->in_flight);
	filter->in_flight = false;
	filter->previous_ps = filter->last_ps;
	filter->last_ps = (now_ns > filter->sent_ns ? now_ns - filter->sent_ns : 1) * PS_PER_NS;
	if (filter->previous_ps != 0)
		rtt_sum_add(&filter->confirmed, rtt_confirmed_ps(filter));
	return rtt_confirmed_ps(filter);
}

uint64_t
rtt_confirmed_ps(const struct rtt_filter *filter)
{
	return filter->last_ps < filter->previous_ps ? filter->last_ps : filter->previous_ps;
}

uint64_t
rtt_age_ps(const struct rtt_filter *filter, uint64_t now_ns)
{
	uint64_t age_ps, confirmed_ps;

	if (!filter->in_flight || now_ns <= filter->sent_ns)
		return 0;
	age_ps = (now_ns - filter->sent_ns) * PS_PER_NS;
	confirmed_ps = age_ps < filter->last_ps ? age_ps : filter->last_ps;
	return confirmed_ps > age_ps / 2 ? confirmed_ps : age_ps / 2;
}
