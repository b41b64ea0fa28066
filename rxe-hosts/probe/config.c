/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/config.h"

#include <stddef.h>

#include "common/array.h"
#include "common/wire/record_probes.h"
#include "rxe-hosts/probe/prober.h"

static const struct cfg_choice tracings[] = {
	{ .name = "traceroute", .value = PINGMESH_TRACEROUTE, .doc = "packets with small TTLs, to which switches reply" },
	{ .name = "int",
	  .value = PINGMESH_INT,
	  .doc = "switches write the path into probes and ACKs (7.4); embedded hosts only" },
	{ 0 },
};

static const struct cfg_choice algorithms[] = {
	{ .name = "likelihood",
	  .value = REC_PINGMESH_LIKELIHOOD,
	  .doc = "the link or switch with the highest likelihood of all probes, good and bad, if it is significant" },
	{ .name = "paper",
	  .value = REC_PINGMESH_PAPER,
	  .doc = "the link that most of the period's lost probes cross (R-Pingmesh, Algorithm 1), as a baseline" },
	{ 0 },
};

#define AT(field) offsetof(struct pingmesh_params, field)
static const struct cfg_field fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, AT(enabled), .def = "false",
		  .doc = "Run an agent on every host, which probes by one UD QP per RNIC, and a controller, which sends it "
			 "pinglists (R-Pingmesh 4)"),
	CFG_FIELD("time_factor", CFG_FLOAT, AT(time_factor), .def = "1", .min = 0.00001, .max = 100,
		  .doc = "All of the protocol's times are multiplied by it: 100 ms between ToR-mesh probes of an RNIC, 500 "
			 "ms timeout, 5 s between uploads, 20 s of analysis (R-Pingmesh 5). Times of packets and CPUs do "
			 "not change"),
	CFG_FIELD("duration", CFG_TIME, AT(duration_ps), .def = "0s", .max = 1e17,
		  .doc = "Time for which agents probe, also after all jobs have ended"),
	CFG_FIELD("management_delay", CFG_TIME, AT(management_ps), .def = "1ms", .min = 1e9, .max = 1e13,
		  .doc = "One-way delay between an agent and its controller in the management network"),
	CFG_FIELD("cpu_delay", CFG_TIME, AT(cpu_ps), .def = "10us", .max = (double)PROBE_CPU_MAX_PS,
		  .doc = "Median time until a host's agent handles what its RNIC completed; half of it always, the rest "
			 "exponential"),
	CFG_FIELD("service", CFG_BOOL, AT(service), .def = "true",
		  .doc = "Agents trace the connections of jobs, too, and probe by their 5-tuples (R-Pingmesh 4.2.2)"),
	CFG_FIELD("rails", CFG_BOOL, AT(rails), .def = "false",
		  .doc = "RNICs of a host, which are at different ToRs, probe each other one-way instead of other hosts "
			 "beyond their ToR (R-Pingmesh 7.4)"),
	CFG_FIELD("clock_offset", CFG_TIME, AT(clock_ps), .def = "1ms", .max = 1e12,
		  .doc = "Largest constant offset between clocks of RNICs: it matters where a probe leaves by one RNIC and "
			 "arrives at another, with rails"),
	CFG_FIELD("tracing", CFG_ENUM, AT(tracing), .def = "traceroute", .choices = tracings,
		  .doc = "How the paths of probes and their ACKs are traced."),
	CFG_FIELD("algorithm", CFG_ENUM, AT(algorithm), .def = "likelihood", .choices = algorithms,
		  .doc = "How the analyzer locates losses and high RTTs that it attributes to switches."),
	CFG_FIELD("trace_rate", CFG_INT, AT(trace_rate), .def = "100", .max = 1000000,
		  .doc = "Traceroute packets to which a switch replies per second of the protocol's time, in bursts of 16; "
			 "it drops the others. 0: none"),
};
#undef AT

const struct cfg_table pingmesh_cfg = {
	.path = "pingmesh",
	.doc = "Agents of R-Pingmesh, on all hosts, embedded and kernel hosts.",
	.size = sizeof(struct pingmesh_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

uint32_t
pingmesh_factor_ppm(const struct pingmesh_params *params)
{
	return (uint32_t)(params->time_factor * 1e6 + 0.5);
}
