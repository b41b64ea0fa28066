/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/pcap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/units.h"

#define PCAP_MAGIC_NS 0xa1b23c4dU
#define PCAP_SNAP_BYTES 65535
#define PCAP_LINK_ETHERNET 1

struct pcap {
	FILE *file;
};

/* In the writer's byte order, which the magic tells the reader. */
struct pcap_file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone_s, accuracy;
	uint32_t snap_bytes;
	uint32_t link_type;
};

struct pcap_record_header {
	uint32_t time_s, time_ns;
	uint32_t captured_bytes, frame_bytes;
};

_Static_assert(sizeof(struct pcap_file_header) == 24, "layout");
_Static_assert(sizeof(struct pcap_record_header) == 16, "layout");

struct pcap *
pcap_create(const char *path)
{
	struct pcap_file_header header = {
		.magic = PCAP_MAGIC_NS,
		.major = 2,
		.minor = 4,
		.snap_bytes = PCAP_SNAP_BYTES,
		.link_type = PCAP_LINK_ETHERNET,
	};
	struct pcap *pcap = malloc(sizeof(*pcap));

	if (pcap == NULL)
		return NULL;
	pcap->file = fopen(path, "wb");
	if (pcap->file == NULL)
		goto no_file;
	if (fwrite(&header, sizeof(header), 1, pcap->file) != 1)
		goto no_header;
	return pcap;

no_header:
	fclose(pcap->file);
	errno = EIO;
no_file:
	free(pcap);
	return NULL;
}

int
pcap_write(struct pcap *pcap, uint64_t time_ps, const uint8_t *bytes, size_t size_bytes)
{
	struct pcap_record_header header = {
		.time_s = (uint32_t)(time_ps / PS_PER_S),
		.time_ns = (uint32_t)(time_ps % PS_PER_S / PS_PER_NS),
		.captured_bytes = (uint32_t)size_bytes,
		.frame_bytes = (uint32_t)size_bytes,
	};

	if (size_bytes > PCAP_SNAP_BYTES)
		return -EINVAL;
	if (fwrite(&header, sizeof(header), 1, pcap->file) != 1 ||
	    (size_bytes != 0 && fwrite(bytes, size_bytes, 1, pcap->file) != 1))
		return -EIO;
	return 0;
}

int
pcap_destroy(struct pcap *pcap)
{
	int bad = ferror(pcap->file);

	if (fclose(pcap->file) != 0)
		bad = 1;
	free(pcap);
	return bad ? -EIO : 0;
}
