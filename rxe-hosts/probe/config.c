/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/config.h"

#include <stddef.h>

#include "common/array.h"
#include "common/wire/record_probes.h"
#include "rxe-hosts/probe/inside.h"

static const struct cfg_choice tracings[] = {
	{ .name = "traceroute", .value = PINGMESH_TRACEROUTE, .doc = "by packets with small TTLs, which switches answer" },
	{ .name = "int",
	  .value = PINGMESH_INT,
	  .doc = "switches write into probes and ACKs themselves (7.4); embedded hosts alone" },
	{ 0 },
};

static const struct cfg_choice algorithms[] = {
	{ .name = "likelihood",
	  .value = REC_PINGMESH_LIKELIHOOD,
	  .doc = "the link or switch that makes all probes, good and bad, likeliest, if that is sure" },
	{ .name = "paper",
	  .value = REC_PINGMESH_PAPER,
	  .doc = "the link that most of the period's lost probes cross (R-Pingmesh, Algorithm 1), as a baseline" },
	{ 0 },
};

#define AT(field) offsetof(struct pingmesh_params, field)
static const struct cfg_field fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, AT(enabled), .def = "false",
		  .doc = "Every host has an agent that probes by one UD QP an RNIC, and a controller tells it whom "
			 "(R-Pingmesh 4)"),
	CFG_FIELD("time_factor", CFG_FLOAT, AT(time_factor), .def = "1", .min = 0.00001, .max = 100,
		  .doc = "All of the protocol's times are multiplied by it: 100 ms between ToR-mesh probes of an RNIC, 500 "
			 "ms timeout, 5 s between uploads, 20 s of analysis (R-Pingmesh 5). Packets and CPUs take as long "
			 "as ever"),
	CFG_FIELD("duration", CFG_TIME, AT(duration_ps), .def = "0s", .max = 1e17,
		  .doc = "Agents probe for so long, also when all jobs are over"),
	CFG_FIELD("management_delay", CFG_TIME, AT(management_ps), .def = "1ms", .min = 1e9, .max = 1e13,
		  .doc = "One way between an agent and its controller, by the network of management"),
	CFG_FIELD("cpu_delay", CFG_TIME, AT(cpu_ps), .def = "10us", .max = (double)PROBE_CPU_MAX_PS,
		  .doc = "Median time until a host's agent handles what its RNIC completed; half of it always, the rest "
			 "exponential"),
	CFG_FIELD("service", CFG_BOOL, AT(service), .def = "true",
		  .doc = "Agents trace the connections of jobs, too, and probe by their 5-tuples (R-Pingmesh 4.2.2)"),
	CFG_FIELD("rails", CFG_BOOL, AT(rails), .def = "false",
		  .doc = "RNICs of a host, which are at different ToRs, probe each other one way instead of other hosts "
			 "beyond their ToR (R-Pingmesh 7.4)"),
	CFG_FIELD("clock_offset", CFG_TIME, AT(clock_ps), .def = "1ms", .max = 1e12,
		  .doc = "Clocks of RNICs are apart by up to so much, always the same: it shows where a probe leaves by "
			 "one and comes to another, with rails"),
	CFG_FIELD("tracing", CFG_ENUM, AT(tracing), .def = "traceroute", .choices = tracings,
		  .doc = "How the ways of probes and their ACKs are known."),
	CFG_FIELD("algorithm", CFG_ENUM, AT(algorithm), .def = "likelihood", .choices = algorithms,
		  .doc = "How the analyzer places losses and high RTTs that it puts down to switches."),
	CFG_FIELD("trace_rate", CFG_INT, AT(trace_rate), .def = "100", .max = 1000000,
		  .doc = "So many traceroute packets a switch answers in a second of the protocol's time, 16 of them at "
			 "once; others it drops. 0: none"),
};
#undef AT

const struct cfg_table pingmesh_cfg = {
	.path = "pingmesh",
	.doc = "Agents of R-Pingmesh: on all hosts, embedded ones or with kernels of their own.",
	.size = sizeof(struct pingmesh_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

uint32_t
pingmesh_factor_ppm(const struct pingmesh_params *params)
{
	return (uint32_t)(params->time_factor * 1e6 + 0.5);
}
