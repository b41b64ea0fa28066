/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/control.h"

#include <endian.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/eth.h"
#include "common/wire/poll.h"

static void
write_poll(uint8_t *contents, const struct control *control)
{
	const struct wire_poll poll = {
		.magic = htobe32(POLL_MAGIC),
		.version = POLL_VERSION,
		.flags = (uint8_t)control->arg,
		.protocol = IPV4_PROTOCOL_UDP,
		.event = htobe32(control->id),
		.src_ip = htobe32(control->src_ip),
		.dst_ip = htobe32(control->dst_ip),
		.sport = htobe16(control->sport),
		.dport = htobe16(control->dport),
	};

	memcpy(contents, &poll, sizeof(poll));
}

static bool
read_poll(const uint8_t *contents, struct control *control)
{
	struct wire_poll poll;

	memcpy(&poll, contents, sizeof(poll));
	*control = (struct control){
		.id = be32toh(poll.event),
		.arg = poll.flags,
		.src_ip = be32toh(poll.src_ip),
		.dst_ip = be32toh(poll.dst_ip),
		.sport = be16toh(poll.sport),
		.dport = be16toh(poll.dport),
	};
	return be32toh(poll.magic) == POLL_MAGIC && poll.version == POLL_VERSION && poll.protocol == IPV4_PROTOCOL_UDP &&
	       (poll.flags & POLL_BOTH) != 0 && poll.flags <= POLL_FLAGS && poll.reserved == 0;
}

static void
write_notify(uint8_t *contents, const struct control *control)
{
	const struct wire_notify notify = {
		.magic = htobe32(NOTIFY_MAGIC),
		.version = NOTIFY_VERSION,
		.step = htobe32(control->id),
		.detections = htobe32(control->arg),
	};

	memcpy(contents, &notify, sizeof(notify));
}

static bool
read_notify(const uint8_t *contents, struct control *control)
{
	static const uint8_t zero[3];
	struct wire_notify notify;

	memcpy(&notify, contents, sizeof(notify));
	*control = (struct control){ .id = be32toh(notify.step), .arg = be32toh(notify.detections) };
	return be32toh(notify.magic) == NOTIFY_MAGIC && notify.version == NOTIFY_VERSION &&
	       memcmp(notify.reserved, zero, sizeof(zero)) == 0;
}

_Static_assert(sizeof(struct wire_poll) <= CONTROL_MAX_BYTES && sizeof(struct wire_notify) <= CONTROL_MAX_BYTES, "room");

static const struct control_kind kinds[] = {
	{ .type = PKT_POLL,
	  .names_flow = true,
	  .udp_port = POLL_UDP_PORT,
	  .bytes = sizeof(struct wire_poll),
	  .write = write_poll,
	  .read = read_poll },
	{ .type = PKT_NOTIFY,
	  .udp_port = NOTIFY_UDP_PORT,
	  .bytes = sizeof(struct wire_notify),
	  .write = write_notify,
	  .read = read_notify },
};

const struct control_kind *
control_of_type(uint8_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

const struct control_kind *
control_of_port(uint16_t udp_port)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].udp_port == udp_port)
			return &kinds[i];
	return NULL;
}

uint32_t
control_wire_bytes(const struct control_kind *kind)
{
	return eth_wire_bytes(sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp) + kind->bytes);
}
