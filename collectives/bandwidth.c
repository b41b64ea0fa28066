/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/bandwidth.h"

#include <inttypes.h>
#include <stdio.h>

#include "collectives/op/op.h"
#include "common/units.h"

double
coll_algbw_gbps(const struct coll_result *result)
{
	uint64_t size_bytes = result->count_elems * coll_elem_bytes(result->type);

	return result->time_ps == 0 ? 0 : (double)size_bytes / ((double)result->time_ps / PS_PER_NS);
}

double
coll_busbw_gbps(const struct coll_result *result)
{
	return coll_algbw_gbps(result) * coll_busbw_factor(result->op, result->ranks);
}

const char *
coll_result_type(const struct coll_result *result)
{
	return result->type == COLL_BYTES ? "uint8" : result->type == COLL_FLOAT32 ? "float" : "int32";
}

const char *
coll_result_redop(const struct coll_result *result)
{
	return coll_op_ops(result->op)->sums ? "sum" : "none";
}

int
coll_result_root(const struct coll_result *result)
{
	return coll_op_ops(result->op)->rooted ? (int)result->root : -1;
}

uint64_t
coll_result_count(const struct coll_result *result)
{
	return coll_op_ops(result->op)->by_block ? result->count_elems / result->ranks : result->count_elems;
}

char *
coll_bandwidth_header(char *buf, size_t cap)
{
	snprintf(buf, cap,
		 "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %-12s  %-14s  %s\n"
		 "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s\n",
		 "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "job", "collective",
		 "iteration", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)");
	return buf;
}

int
coll_bw_decimals(double gbps)
{
	return gbps < 0.1 ? 4 : 2;
}

char *
coll_bandwidth_row(const struct coll_result *result, char *buf, size_t cap)
{
	double time_us = (double)result->time_ps / PS_PER_US;
	int decimals = time_us >= 10000.0 ? 0 : time_us >= 100.0 ? 1 : 2;
	double algbw = coll_algbw_gbps(result), busbw = coll_busbw_gbps(result);
	char wrong[24] = "N/A", size[24] = "-", count[24] = "-", rates[2][24] = { "-", "-" };

	if (result->wrong != COLL_WRONG_UNCHECKED)
		snprintf(wrong, sizeof(wrong), "%" PRIu64, result->wrong);
	if (result->count_elems != 0) {
		snprintf(size, sizeof(size), "%" PRIu64, result->count_elems * coll_elem_bytes(result->type));
		snprintf(count, sizeof(count), "%" PRIu64, coll_result_count(result));
		snprintf(rates[0], sizeof(rates[0]), "%.*f", coll_bw_decimals(algbw), algbw);
		snprintf(rates[1], sizeof(rates[1]), "%.*f", coll_bw_decimals(busbw), busbw);
	}
	snprintf(buf, cap, "%12s  %12s  %8s  %6s  %6d  %7.*f  %6s  %6s %6s  %-12.32s  %-14.32s  %u\n", size, count,
		 coll_result_type(result), coll_result_redop(result), coll_result_root(result), decimals, time_us, rates[0],
		 rates[1], wrong, result->job, result->collective, result->iteration);
	return buf;
}
