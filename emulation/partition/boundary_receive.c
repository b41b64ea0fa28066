/* SPDX-License-Identifier: BSD-3-Clause */
/* What another part says of a cut cable is checked here, once: it may be anybody's. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/grow.h"
#include "common/minmax.h"
#include "emulation/partition/partition_state.h"

#define LATEST_PS (1ULL << 62)

/* @return the way that it came by; NULL with err set: it is none of theirs, or the time cannot be */
static struct boundary_crossing *
crossing_of(struct partitions *partitions, uint32_t from, bool pause, uint32_t port, uint64_t time_ps, struct err *err)
{
	const struct topo *topo = partitions->scenario->topo;
	uint32_t at = port < topo->nports ? partitions->boundary.crossing_of[port] : TOPO_NONE;
	struct boundary_crossing *crossing = at != TOPO_NONE ? &partitions->boundary.crossings[at] : NULL;
	const char *what = pause ? "PAUSE" : "FRAME";
	uint64_t least_ps;

	if (crossing == NULL || crossing->from != from) {
		err_set(err, -EPROTO, "%s: port = %u is not at a cable between its part and this one", what, port);
		return NULL;
	}
	least_ps = max_u64(partitions->peers[from].leaves_ps + partitions->emulation->fabric->links[port].delay_ps,
			   pause ? crossing->last_pause_ps : crossing->last_ps);
	if (time_ps >= least_ps && time_ps < LATEST_PS)
		return crossing;
	err_set(err, -EPROTO, "%s: time_ps = %" PRIu64 "; right would be %" PRIu64 " at least", what, time_ps, least_ps);
	return NULL;
}

/* What the rest of the program takes for granted of a descriptor. @return NULL, or the field that is wrong */
static const char *
invalid_field(const struct partitions *partitions, const struct partition_frame *f)
{
	const struct scenario *sc = partitions->scenario;

	if (f->flow >= sc->plan->flows.count)
		return "flow";
	if (f->type >= PKT_TYPES || f->type == PKT_UNKNOWN || f->type == PKT_UD || f->type == PKT_EXPIRED)
		return "type";
	if ((f->flags & PKT_BYTES) || ((f->flags & PKT_INT) && sc->roce.cc.rates == NULL))
		return "flags";
	if (f->prio >= SWITCH_CLASSES)
		return "prio";
	if (f->wire_bytes < sc->min_frame_bytes || f->wire_bytes > sc->largest_frame_bytes)
		return "wire_bytes";
	if (f->payload_bytes > sc->roce.mtu_bytes || f->payload_bytes > f->wire_bytes)
		return "payload_bytes";
	if (f->type == PKT_POLL && f->arg > POLL_FLAGS)
		return "arg";
	return f->ttl == 0 || f->ttl > PKT_TTL_INIT ? "ttl" : NULL;
}

/* @return bytes of the header of telemetry; negative errno with err set */
static int
take_header(struct boundary_frame *frame, const uint8_t *more, size_t size, struct err *err)
{
	struct partition_int ints;

	if (!(frame->p.flags & PKT_INT))
		return 0;
	if (size < sizeof(ints))
		return err_set(err, -EPROTO, "FRAME: %zu B behind it; right would be a header of telemetry", size);
	memcpy(&ints, more, sizeof(ints));
	if (ints.count > INT_MAX_HOPS)
		return err_set(err, -EPROTO, "FRAME: count = %u hops; right would be %d at most", ints.count, INT_MAX_HOPS);
	memcpy(frame->header.hops, ints.hops, sizeof(ints.hops));
	frame->header.path = ints.path;
	frame->header.count = ints.count;
	return sizeof(ints);
}

static int
take_contents(struct partitions *partitions, struct pkt *p, const uint8_t *more, size_t size, struct err *err)
{
	struct partition_contents contents;
	struct pkt_message message;

	if (!partitions->scenario->roce.real_payload || p->type != PKT_DATA || size != sizeof(contents) + p->payload_bytes)
		return err_set(err, -EPROTO, "FRAME: %zu B of contents for %u B of payload", size, p->payload_bytes);
	memcpy(&contents, more, sizeof(contents));
	message = (struct pkt_message){
		.va = contents.va,
		.dma_bytes = contents.dma_bytes,
		.payload = more + sizeof(contents),
	};
	segments_put(&partitions->segments, p, &message, &partitions->scenario->plan->flows.flows[p->flow]);
	return 0;
}

static int
keep_frame(struct partitions *partitions, struct boundary_crossing *crossing, const struct boundary_frame *frame,
	   struct err *err)
{
	const struct fabric *fabric = partitions->emulation->fabric;
	const struct link *link = &fabric->links[crossing->port];
	size_t most = link->lane_cap * (2 * link->delay_ps / fabric->window_ps + 4);

	if (crossing->frames_used - crossing->frames_head >= most)
		return err_set(err, -EPROTO, "FRAME: %zu are on their way over one cable, which holds less", most);
	if (crossing->frames_head > crossing->frames_used / 2) {
		memmove(crossing->frames, crossing->frames + crossing->frames_head,
			(crossing->frames_used - crossing->frames_head) * sizeof(*crossing->frames));
		crossing->frames_used -= crossing->frames_head;
		crossing->frames_head = 0;
	}
	crossing->frames = grow(crossing->frames, &crossing->frames_cap, crossing->frames_used + 1,
				sizeof(*crossing->frames), "frames of other parts");
	crossing->frames[crossing->frames_used++] = *frame;
	crossing->last_ps = frame->p.time_ps;
	return 0;
}

/* What came in from outside, and is judged by its own bytes. @return 0; 1: it ends here; -EPROTO with err set */
static int
adopt(struct partitions *partitions, struct pkt *p, const struct partition_frame *f, const uint8_t *bytes, size_t size,
      struct err *err)
{
	const struct scenario *sc = partitions->scenario;
	const struct host_driver *kernel_driver = &partitions->emulation->drivers.rows[1];
	struct err why = { 0 };
	int ret;

	if (sc->nexternal == 0 || f->has_contents || f->wire_bytes < sc->min_frame_bytes || f->ttl == 0)
		return err_set(err, -EPROTO, "FRAME: with bytes, ttl = %u, %u B on the wire cannot be", f->ttl,
			       f->wire_bytes);
	ret = kernel_driver->ops->adopt(kernel_driver->ctx, p, bytes, size, &why);
	if (ret == -EPROTO)
		return err_set(err, ret, "FRAME: %s", why.text);
	if (ret == -ENOBUFS)
		return err_set(err, -EPROTO, "FRAME: its hosts have more frames under way here than there is room for");
	if (ret < 0) {
		partitions->boundary.crossed.ended_packets++;
		return 1;
	}
	if (p->wire_bytes <= sc->largest_frame_bytes)
		return 0;
	return err_set(err, -EPROTO, "FRAME: %u B on the wire; right would be %u at most", p->wire_bytes,
		       sc->largest_frame_bytes);
}

/* What a descriptor says all of, but for its telemetry and contents. @return 0; -EPROTO with err set */
static int
take_over(struct partitions *partitions, struct boundary_frame *frame, const struct partition_frame *f, const uint8_t *more,
	  size_t size, struct err *err)
{
	const char *flaw = invalid_field(partitions, f);
	int of;

	if (flaw != NULL)
		return err_set(err, -EPROTO, "FRAME: %s cannot be", flaw);
	of = take_header(frame, more, size, err);
	if (of < 0)
		return of;
	if (f->has_contents)
		return take_contents(partitions, &frame->p, more + of, size - (size_t)of, err);
	return size == (size_t)of ? 0
				  : err_set(err, -EPROTO, "FRAME: %zu B behind it that nobody knows", size - (size_t)of);
}

int
boundary_on_frame(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	const uint8_t *more = message->body + sizeof(struct partition_frame);
	size_t size = message->size - sizeof(struct partition_frame);
	struct partition_frame f;
	struct boundary_frame frame = { 0 };
	struct boundary_crossing *crossing;
	int ret;

	memcpy(&f, message->body, sizeof(f));
	crossing = crossing_of(partitions, from, false, f.port, f.time_ps, err);
	if (crossing == NULL)
		return -EPROTO;
	frame.p = (struct pkt){
		.time_ps = f.time_ps,
		.flow = f.flow,
		.id = f.psn,
		.arg = f.arg,
		.wire_bytes = f.wire_bytes,
		.payload_bytes = f.payload_bytes,
		.opcode = f.opcode,
		.syndrome = f.syndrome,
		.type = f.type,
		.prio = f.prio,
		.flags = f.flags & (uint8_t)~PKT_BYTES,
		.ttl = f.ttl,
	};
	ret = f.has_bytes ? adopt(partitions, &frame.p, &f, more, size, err)
			  : take_over(partitions, &frame, &f, more, size, err);
	if (ret == 0)
		ret = keep_frame(partitions, crossing, &frame, err);
	if (ret < 0)
		body_release(partitions->emulation->fabric->config.bodies, &frame.p);
	return ret < 0 ? ret : 0;
}

int
boundary_on_pause(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err)
{
	struct partition_pause pause;
	struct boundary_crossing *crossing;

	memcpy(&pause, message->body, sizeof(pause));
	crossing = crossing_of(partitions, from, true, pause.port, pause.time_ps, err);
	if (crossing == NULL)
		return -EPROTO;
	if (crossing->pauses_used - crossing->pauses_head >=
	    4 * partitions->emulation->fabric->links[pause.port].pauses_cap)
		return err_set(err, -EPROTO, "PAUSE: more are on their way over one cable than it holds");
	if (crossing->pauses_head > crossing->pauses_used / 2) {
		memmove(crossing->pauses, crossing->pauses + crossing->pauses_head,
			(crossing->pauses_used - crossing->pauses_head) * sizeof(*crossing->pauses));
		crossing->pauses_used -= crossing->pauses_head;
		crossing->pauses_head = 0;
	}
	crossing->pauses = grow(crossing->pauses, &crossing->pauses_cap, crossing->pauses_used + 1,
				sizeof(*crossing->pauses), "pauses of other parts");
	crossing->pauses[crossing->pauses_used++] =
		(struct pause_frame){ .time_ps = pause.time_ps, .prio_mask = pause.prio_mask, .xoff = pause.xoff != 0 };
	crossing->last_pause_ps = pause.time_ps;
	return 0;
}
