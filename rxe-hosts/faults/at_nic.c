/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/faults/host_faults.h"

#include <errno.h>

const struct cfg_field fault_at_nic_fields[FAULT_AT_NIC_FIELDS] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_NIC_FIELD,
};

int
fault_at_nic_resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fault_at_port *fault = params;
	int rc = fault_at_port_resolve(params, topo, err);

	if (rc != 0 || topo->nodes[topo->ports[fault->port_id].node].kind == TOPO_HOST)
		return rc;
	return cfg_fail(&fault->common.where, "port", err, "\"%s\" is a switch's: name the host's end, \"host:port\"",
			fault->port);
}

int
fault_of_embedded(const struct fault_common *common, const struct fault_work *work, uint32_t node, const char *key,
		  const char *name, struct err *err)
{
	if (work->own_kernel == NULL || !work->own_kernel[node])
		return 0;
	return cfg_fail(&common->where, key, err,
			"\"%s\" is a kernel host, whose RDMA device cannot be made to fail: use a fault of its link, as "
			"link-down, or an embedded host",
			name);
}

int
fault_at_nic_check(const void *params, const struct fault_work *work, struct err *err)
{
	const struct fault_at_port *fault = params;

	return fault_of_embedded(&fault->common, work, work->topo->ports[fault->port_id].node, "port", fault->port, err);
}

uint64_t
fault_at_nic_affected(const void *params, const struct fault_env *env)
{
	const struct topo_port *port = &env->topo->ports[((const struct fault_at_port *)params)->port_id];
	const struct node *node = env->fabric->nodes[port->node];

	return node->ops->nic_faulty(node, port->index);
}

void
fault_at_nic_fail(const struct fault_at_port *fault, const struct fault_env *env, enum nic_failure failure, bool on)
{
	const struct topo_port *port = &env->topo->ports[fault->port_id];
	struct node *node = env->fabric->nodes[port->node];

	node->ops->fail_nic(node, port->index, (uint8_t)failure, on);
}

void
fault_at_nic_slow(const struct fault_at_port *fault, const struct fault_env *env, enum nic_dma_cause cause,
		  const struct nic_dma *dma)
{
	const struct topo_port *port = &env->topo->ports[fault->port_id];
	struct node *node = env->fabric->nodes[port->node];

	node->ops->slow_nic(node, port->index, cause, dma);
}
