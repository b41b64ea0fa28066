/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpswitch/edge/frame/pcapng.h"
#include "emulation/forward/forward_state.h"

#define REPEATED 64              /* frames in the file that is repeated */
#define SINK_MBUFS 511           /* it makes no frames */
#define PROBE_INTERVAL_NS 300000 /* no multiple of a window */

/* A flow's frame of the size wanted: RC SEND ONLY, as small as the headers allow or padded. */
static int
make_frame(struct forward *f, const struct flow *flow, struct err *err)
{
	const struct pkt_message message = { 0 };
	uint32_t size_bytes = f->options->frame_bytes;
	struct pkt p = {
		.type = PKT_DATA, .opcode = ROCE_RC_SEND_ONLY, .flags = PKT_LAST, .prio = flow->prio, .ttl = PKT_TTL_INIT
	};
	struct frame frame;

	p.payload_bytes = (uint16_t)((size_bytes - FORWARD_LEAST_BYTES) & ~3u);
	frame_from_pkt(&frame, &p, flow, &message, false);
	return frame_build(&frame, f->frame, sizeof(f->frame)) != 0 ? 0
								    : err_set(err, -EINVAL, "no frame of %u B", size_bytes);
}

static int
write_frames(const struct forward *f, const char *path, struct err *err)
{
	struct pcapng *file = pcapng_create(path, "rocelab", "what the source host sends, again and again");

	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	pcapng_interface(file, "source", "source", 0, 0);
	for (uint32_t i = 0; i < REPEATED; i++)
		pcapng_frame(file, 0, PCAPNG_OUTBOUND, i, f->frame, f->options->frame_bytes, f->options->frame_bytes);
	return pcapng_destroy(file) == 0 ? 0 : err_set(err, -EIO, "%s: cannot be written", path);
}

/* The first flow's file is frames.pcap: who compares forwards it too. */
static int
open_files(struct forward *f, uint32_t pair, const struct port_config ends[2], struct err *err)
{
	char pcap[PATH_MAX - 64], devargs[PATH_MAX], number[16] = "";
	int ret;

	if (pair != 0)
		snprintf(number, sizeof(number), "%u", pair);
	snprintf(pcap, sizeof(pcap), "%s/frames%s.pcap", f->options->dir, number);
	ret = write_frames(f, pcap, err);
	if (ret < 0)
		return ret;
	snprintf(devargs, sizeof(devargs), "net_pcap%u,rx_pcap=%s,infinite_rx=1", pair, pcap);
	f->ports[2 * pair] = port_ethdev_create(&ends[0], devargs, err);
	snprintf(devargs, sizeof(devargs), "net_null%u,no-rx=1", pair);
	f->ports[2 * pair + 1] = port_ethdev_create(&ends[1], devargs, err);
	return 0;
}

static int
open_probes(struct forward *f, const struct port_config ends[2], struct err *err)
{
	f->probe = calloc(1, sizeof(*f->probe));
	if (f->probe == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	f->probe->frame = f->frame;
	f->probe->frame_bytes = f->options->frame_bytes;
	/* Behind the headers, or in the padding of the smallest frames' ICRC: nobody looks here. */
	f->probe->stamp_at = f->options->frame_bytes - sizeof(uint64_t);
	f->probe->interval_ns = PROBE_INTERVAL_NS;
	f->ports[0] = port_probe_create(&ends[0], f->probe, true, err);
	f->ports[1] = port_probe_create(&ends[1], f->probe, false, err);
	return 0;
}

int
forward_open_ports(struct forward *f, struct err *err)
{
	int ret = 0;

	f->ports = calloc(2 * (size_t)f->npairs, sizeof(*f->ports));
	if (f->ports == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	if (f->npairs != 1 && (f->options->goes_round || f->options->paced))
		return err_set(err, -EINVAL, "%s: one flow alone goes round, or one frame at a time", f->scenario->name);
	for (uint32_t i = f->npairs; ret == 0 && i-- > 0;) {
		char source[PORT_MAX_NAME], sink[PORT_MAX_NAME];
		const struct port_config ends[2] = { { .name = source }, { .name = sink, .mbufs = SINK_MBUFS } };

		snprintf(source, sizeof(source), "source%u", i);
		snprintf(sink, sizeof(sink), "sink%u", i);
		ret = make_frame(f, &f->scenario->plan->flows.flows[i], err);
		if (ret == 0 && f->options->paced)
			ret = open_probes(f, ends, err);
		else if (ret == 0 && f->options->goes_round)
			ret = port_round_init(&f->round, f->options->round, ends, f->options->dir, f->frame,
					      f->options->frame_bytes, err);
		else if (ret == 0)
			ret = open_files(f, i, ends, err);
		if (ret == 0 && f->options->goes_round)
			memcpy(f->ports, f->round.ports, sizeof(f->round.ports));
		if (ret == 0 && (f->ports[2 * i] == NULL || f->ports[2 * i + 1] == NULL))
			ret = -EIO;
	}
	return ret;
}

void
forward_close_ports(struct forward *f)
{
	if (f->options->goes_round)
		port_round_fini(&f->round);
	for (uint32_t i = 0; f->ports != NULL && !f->options->goes_round && i < 2 * f->npairs; i++)
		port_close(f->ports[i]);
	free(f->ports);
}
