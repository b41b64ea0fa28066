/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpswitch/edge/frame/pcapng.h"
#include "emulation/forward/forward_state.h"

#define REPEATED 64              /* frames in the file that is repeated */
#define PROBE_INTERVAL_NS 300000 /* no multiple of a window */

/* The flow's frame of the size wanted: RC SEND ONLY, as small as the headers allow or padded. */
int
forward_make_frame(struct forward *f, struct err *err)
{
	const struct pkt_message message = { 0 };
	uint32_t bytes = f->options->frame_bytes;
	struct pkt p = { .type = PKT_DATA,
			 .opcode = ROCE_RC_SEND_ONLY,
			 .flags = PKT_LAST,
			 .prio = f->scenario->plan->flows.flows[0].prio,
			 .ttl = PKT_TTL_INIT };
	struct frame frame;

	p.payload_bytes = (uint16_t)((bytes - FORWARD_LEAST_BYTES) & ~3u);
	frame_from_pkt(&frame, &p, &f->scenario->plan->flows.flows[0], &message, false);
	return frame_build(&frame, f->frame, sizeof(f->frame)) != 0 ? 0 : err_set(err, -EINVAL, "no frame of %u B", bytes);
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

int
forward_open_ports(struct forward *f, struct err *err)
{
	const struct port_config in = { .name = "source" }, out = { .name = "sink", .mbufs = 511 };
	char pcap[PATH_MAX - 64], devargs[PATH_MAX];
	int ret;

	if (f->options->paced) {
		f->probe = calloc(1, sizeof(*f->probe));
		if (f->probe == NULL)
			return err_set(err, -ENOMEM, "out of memory");
		f->probe->frame = f->frame;
		f->probe->frame_bytes = f->options->frame_bytes;
		/* Behind the headers, or in the padding of the smallest frames' ICRC: nobody looks here. */
		f->probe->stamp_at = f->options->frame_bytes - sizeof(uint64_t);
		f->probe->interval_ns = PROBE_INTERVAL_NS;
		f->ports[0] = port_probe_create(&in, f->probe, true, err);
		f->ports[1] = port_probe_create(&out, f->probe, false, err);
	} else {
		snprintf(pcap, sizeof(pcap), "%s/frames.pcap", f->options->dir);
		ret = write_frames(f, pcap, err);
		if (ret < 0)
			return ret;
		snprintf(devargs, sizeof(devargs), "net_pcap0,rx_pcap=%s,infinite_rx=1", pcap);
		f->ports[0] = port_ethdev_create(&in, devargs, err);
		f->ports[1] = port_ethdev_create(&out, "net_null0,no-rx=1", err);
	}
	return f->ports[0] != NULL && f->ports[1] != NULL ? 0 : -EIO;
}
