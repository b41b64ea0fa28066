/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes frames as a pcapng file (draft-ietf-opsawg-pcapng) whose times are of a clock of the caller's, truncated to
 * 100 ps. DPDK's rte_pcapng stamps packets with the TSC and writes mbufs: it knows neither virtual time nor
 * descriptors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest frame that is written: the largest wire_bytes of a packet. */
#define PCAPNG_MAX_BYTES 65535

/* epb_flags, bits 0 and 1. */
enum pcapng_direction { PCAPNG_INBOUND = 1, PCAPNG_OUTBOUND = 2 };

struct pcapng;

/*
 * Makes a new file and writes the section header.
 * @param application  the program that wrote it
 * @param comment      for readers of the file
 * @return NULL with errno
 */
struct pcapng *pcapng_create(const char *path, const char *application, const char *comment);

/*
 * The file has a buffer that a thread empties (common/spool.h). Where the disk does not keep up the caller waits,
 * unless:
 * @param real_time  the caller cannot wait: frames are refused instead
 * @param hurried    NULL, or polled while the disk is waited for: once it is true, the wait ends sooner
 */
void pcapng_set_clock(struct pcapng *file, bool real_time, bool (*hurried)(void));

/*
 * Describes an interface of link type Ethernet without FCS. The first is number 0; all precede the first frame.
 * @param snap_bytes  frames are truncated to this; 0: never
 */
void pcapng_interface(struct pcapng *file, const char *name, const char *description, uint64_t rate_bps,
		      uint32_t snap_bytes);

/*
 * Writes a frame.
 * @param time_ps         since the clock's zero
 * @param captured_bytes  how many of its bytes are here, at most frame_bytes
 * @return false: the disk does not keep up, or takes no more; the frame is not in the file
 */
bool pcapng_frame(struct pcapng *file, uint32_t interface, enum pcapng_direction direction, uint64_t time_ps,
		  const uint8_t *bytes, uint32_t captured_bytes, uint32_t frame_bytes);

/* Writes the statistics of an interface, from 0 to end_ps. @param missing  frames seen that are not in the file */
void pcapng_statistics(struct pcapng *file, uint32_t interface, uint64_t end_ps, uint64_t seen, uint64_t missing);

/* Size of the file up to now, and what pcapng_frame() and pcapng_statistics() add to it. */
uint64_t pcapng_bytes(const struct pcapng *file);
uint32_t pcapng_frame_bytes(uint32_t captured_bytes);
uint32_t pcapng_statistics_bytes(void);

/* Closes the file. @return 0, or the negative errno of the first write that failed: the file is truncated there */
int pcapng_destroy(struct pcapng *file);
