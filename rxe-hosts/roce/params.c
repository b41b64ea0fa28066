/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/params.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/roce.h"

#define FIELD(member) offsetof(struct roce_cfg, member)

static const struct cfg_field fields[] = {
	CFG_FIELD("ip_version", CFG_INT, FIELD(ip_version), .def = "4", .min = 4, .max = 6,
		  .doc = "IP version of all packets of hosts, 4 or 6. With 6, frames are 20 B longer and carry a flow "
			 "label, which load_balancing.fields can hash; embedded hosts only"),
	CFG_FIELD("mtu", CFG_BYTES, FIELD(mtu_bytes), .def = "1024", .min = 1, .max = ROCE_MAX_MTU,
		  .doc = "payload of a full packet; 256, 512, 1024, 2048 or 4096 (IBTA path MTU) unless data_overhead is "
			 "set"),
	CFG_FIELD("data_overhead", CFG_BYTES, FIELD(data_overhead_bytes), .def = "0", .max = 1000,
		  .doc = "bytes on the wire beyond a data packet's payload; 0: those of real RoCEv2, preamble and gap "
			 "included"),
	CFG_FIELD("ack_bytes", CFG_BYTES, FIELD(ack_bytes), .def = "0", .max = 1500,
		  .doc = "bytes an ACK, NAK or CNP occupies on the wire; 0: those of real RoCEv2 (86; CNP 98; over IPv6 20 "
			 "more)"),
	CFG_FIELD("control_bytes", CFG_BYTES, FIELD(control_bytes), .def = "90", .min = 20, .max = 1500,
		  .doc = "bytes a polling or notification packet occupies on the wire over IPv4; over IPv6 20 more"),
	CFG_FIELD("ack_every", CFG_INT, FIELD(ack_every), .def = "1", .min = 1, .max = 1024,
		  .doc = "send one ACK per N data packets, in addition to packets that request one (last of a message, "
			 "window full)"),
	CFG_FIELD("transport", CFG_ENUM, FIELD(transport), .def = "go-back-n", .choices = transport_choices,
		  .doc = "how losses are repaired"),
	CFG_FIELD("cc", CFG_ENUM, FIELD(cc), .def = "dcqcn", .choices = cc_choices,
		  .doc = "congestion control of the senders: its signal, and the group of its parameters"),
	CFG_FIELD("window", CFG_STRING, FIELD(window), .def = "bdp",
		  .doc = "payload bytes a QP may have in flight: \"bdp\" (largest bandwidth-delay product of the "
			 "topology), \"none\" or a size. Whatever it is, a QP has 16384 packets in flight at most"),
	CFG_FIELD("window_scales_with_rate", CFG_BOOL, FIELD(window_scales_with_rate), .def = "true",
		  .doc = "the window shrinks with the QP's rate"),
	CFG_FIELD("rate_at_once", CFG_BOOL, FIELD(rate_at_once), .def = "false",
		  .doc = "a new rate of a QP also applies to its wait behind the packet that it sent last, as with a rate "
			 "limiter whose credit grows at the present rate; otherwise from the next packet on"),
	CFG_FIELD("data_prio", CFG_INT, FIELD(data_prio), .def = "3", .min = 1, .max = 7,
		  .doc = "802.1p class of data packets"),
	CFG_FIELD("measured_prio", CFG_INT, FIELD(measured_prio), .def = "0", .max = 7,
		  .doc = "802.1p class of measured collectives' data packets; 0: data_prio. switch.strict serves it before "
			 "other data"),
	CFG_FIELD("timeout", CFG_TIME, FIELD(timeout_ps), .def = "4ms",
		  .doc = "time without progress after which unacknowledged packets are sent again; 0ps: never (IBTA "
			 "9.7.6.1.3)"),
	CFG_FIELD(
		"kernel_timeout", CFG_TIME, FIELD(kernel_timeout_ps), .def = "1s",
		.doc = "timeout of queue pairs of kernel hosts: rounded up to 4.096us * 2^n, at least 16.8ms; 0ps: never"),
	CFG_FIELD("timeout_doublings", CFG_INT, FIELD(timeout_doublings), .def = "3", .max = 16,
		  .doc = "how many times the timeout doubles in consecutive retries"),
	CFG_FIELD("retry_count", CFG_INT, FIELD(retry_count), .def = "7", .max = 255,
		  .doc = "timeouts in a row that a QP survives"),
	CFG_FIELD("rnr_delay", CFG_TIME, FIELD(rnr_delay_ps), .def = "20us",
		  .doc = "pause of a sender whose receiver had no posted receive"),
	CFG_FIELD("rnr_retry", CFG_INT, FIELD(rnr_retry), .def = "7", .max = ROCE_RNR_UNLIMITED,
		  .doc = "consecutive receiver-not-ready NAKs that a QP survives; 7: any number"),
	CFG_FIELD("nak", CFG_BOOL, FIELD(nak), .def = "true",
		  .doc = "receivers send a NAK at a gap; otherwise only the timeout repairs it"),
};

const struct cfg_table roce_table = {
	.path = "host",
	.doc = "Transport of the embedded hosts: RoCEv2 reliable connections.",
	.size = sizeof(struct roce_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

#define SEL_FIELD(member) offsetof(struct sel_cfg, member)

static const struct cfg_choice sel_timers[] = {
	{ "adaptive", SEL_ADAPTIVE,
	  "when a packet sent repeat_after later is acknowledged; without any, after the timeout since the last ACK" },
	{ "fixed", SEL_FIXED, "the timeout after it was sent, however long queues are" },
	{ 0 },
};

static const struct cfg_field sel_fields[] = {
	CFG_FIELD("repeat_after", CFG_TIME, SEL_FIELD(repeat_after_ps), .def = "5us", .min = 1,
		  .doc = "retransmission timeout, if the longest round trip without queues is at most half of it; else "
			 "this is added to that round trip"),
	CFG_FIELD("timer", CFG_ENUM, SEL_FIELD(timer), .def = "adaptive", .choices = sel_timers,
		  .doc = "when a packet is considered lost"),
	CFG_FIELD("windows", CFG_INT, SEL_FIELD(windows), .def = "4", .min = 1, .max = 64,
		  .doc = "how many times host.window lies between the oldest missing packet and the newest at most (16384 "
			 "packets at most)"),
};

const struct cfg_table sel_table = {
	.path = "host.selective",
	.doc = "Parameters of host.transport = \"selective\".",
	.size = sizeof(struct sel_cfg),
	.fields = sel_fields,
	.nfields = ARRAY_LEN(sel_fields),
};

static int check_mtu(const struct roce_cfg *cfg, struct err *err);
static int parse_window(struct roce_params *params, const struct roce_cfg *cfg, struct err *err);

int
roce_params_init(struct roce_params *params, const struct roce_cfg *cfg, const struct cc_params *cc, uint64_t quantum_ps,
		 struct err *err)
{
	int rc = check_mtu(cfg, err);
	uint16_t int_bytes = 0, ip_bytes = 0;

	if (rc != 0)
		return rc;
	if (cfg->ip_version == 5)
		return cfg_fail(&cfg->where, "ip_version", err, "5: hosts speak IPv4 or IPv6: use 4 or 6");
	if (cfg->ip_version == 6)
		ip_bytes = sizeof(struct wire_ipv6) - sizeof(struct wire_ipv4);
	if (cc != NULL && cc->ops->inband)
		int_bytes = INT_WIRE_BYTES;
	*params = (struct roce_params){
		.mtu_bytes = (uint32_t)cfg->mtu_bytes,
		.data_overhead_bytes = (uint32_t)cfg->data_overhead_bytes,
		.ack_bytes =
			(uint16_t)((cfg->ack_bytes != 0 ? cfg->ack_bytes : roce_wire_bytes(ROCE_RC_ACK, 0) + ip_bytes) +
				   int_bytes),
		.cnp_bytes = (uint16_t)(cfg->ack_bytes != 0 ? cfg->ack_bytes : roce_wire_bytes(ROCE_CNP, 0) + ip_bytes),
		.control_bytes = (uint16_t)(cfg->control_bytes + ip_bytes),
		.int_bytes = int_bytes,
		.ip_bytes = ip_bytes,
		.ack_every = (uint32_t)cfg->ack_every,
		.window_scales_with_rate = cfg->window_scales_with_rate,
		.rate_at_once = cfg->rate_at_once,
		.nak = cfg->nak,
		.any_order = transports[cfg->transport]->any_order,
		.transport = transports[cfg->transport],
		.selective = cfg->selective,
		.data_prio = (uint8_t)cfg->data_prio,
		.measured_prio = (uint8_t)(cfg->measured_prio == 0 ? cfg->data_prio : cfg->measured_prio),
		.timeout_doublings = (uint8_t)cfg->timeout_doublings,
		.retry_count = (uint8_t)cfg->retry_count,
		.rnr_retry = (uint8_t)cfg->rnr_retry,
		.timeout_ps = cfg->timeout_ps,
		.kernel_timeout_ps = cfg->kernel_timeout_ps,
		.rnr_delay_ps = cfg->rnr_delay_ps,
		.quantum_ps = quantum_ps,
	};
	params->middle_bytes = roce_data_bytes(params, params->mtu_bytes, false, false);
	params->cc = cc != NULL ? *cc : (struct cc_params){ .ops = &cc_none };
	params->cc.payload_bytes = params->mtu_bytes;
	params->cc.frame_bytes = params->middle_bytes;
	return parse_window(params, cfg, err);
}

/* An opcode with these headers; sizes do not depend on anything else of it. */
static uint8_t
data_opcode(bool reth, bool imm)
{
	if (reth)
		return imm ? ROCE_RC_WRITE_ONLY_IMM : ROCE_RC_WRITE_ONLY;
	return imm ? ROCE_RC_WRITE_LAST_IMM : ROCE_RC_WRITE_MIDDLE;
}

uint16_t
roce_data_bytes(const struct roce_params *params, uint32_t payload_bytes, bool reth, bool imm)
{
	if (params->data_overhead_bytes != 0)
		return (uint16_t)(payload_bytes + params->data_overhead_bytes + params->int_bytes);
	return (uint16_t)(roce_wire_bytes(data_opcode(reth || params->any_order, imm), payload_bytes) + params->ip_bytes +
			  params->int_bytes);
}

uint16_t
roce_ud_bytes(const struct roce_params *params, uint32_t payload_bytes)
{
	if (params->data_overhead_bytes != 0)
		return (uint16_t)(payload_bytes + params->data_overhead_bytes);
	return (uint16_t)(roce_wire_bytes(ROCE_UD_SEND_ONLY_IMM, payload_bytes) + params->ip_bytes);
}

uint16_t
roce_ud_contents_bytes(const struct roce_params *params, uint32_t payload_bytes)
{
	if (params->data_overhead_bytes != 0)
		return (uint16_t)(payload_bytes + params->data_overhead_bytes + params->inband_bytes);
	return (uint16_t)(roce_wire_bytes(ROCE_UD_SEND_ONLY, payload_bytes) + params->ip_bytes + params->inband_bytes);
}

static int
check_mtu(const struct roce_cfg *cfg, struct err *err)
{
	uint64_t mtu = cfg->mtu_bytes;

	if (mtu == 0 || mtu > ROCE_MAX_MTU)
		return cfg_fail(&cfg->where, "mtu", err, "%llu: must be 1..%d", (unsigned long long)mtu, ROCE_MAX_MTU);
	if (cfg->data_overhead_bytes != 0 || (mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0))
		return 0;
	return cfg_fail(&cfg->where, "mtu", err,
			"%llu is no path MTU: use 256, 512, 1024, 2048 or 4096, or set host.data_overhead to choose frame "
			"sizes freely",
			(unsigned long long)mtu);
}

static int
parse_window(struct roce_params *params, const struct roce_cfg *cfg, struct err *err)
{
	const char *text = cfg->window != NULL ? cfg->window : "none";

	if (strcmp(text, "bdp") == 0) {
		params->window_is_bdp = true;
		return 0;
	}
	if (strcmp(text, "none") == 0)
		return 0;
	if (units_parse_bytes(text, &params->window_bytes) != 0 || params->window_bytes == 0 ||
	    params->window_bytes > ROCE_MAX_WINDOW_BYTES)
		return cfg_fail(&cfg->where, "window", err, "\"%s\" must be \"bdp\", \"none\" or a size (1B..2GB)", text);
	return 0;
}

/* The transports. */

#define TRANSPORT_ROW(id, name, symbol, doc) [id] = &transport_##symbol,
const struct transport_ops *const transports[TRANSPORT_KINDS] = { TRANSPORTS(TRANSPORT_ROW) };

#define TRANSPORT_CHOICE(id, word, symbol, what) { .name = word, .value = id, .doc = what },
const struct cfg_choice transport_choices[] = { TRANSPORTS(TRANSPORT_CHOICE){ 0 } };
