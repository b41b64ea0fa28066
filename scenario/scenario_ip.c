/* SPDX-License-Identifier: BSD-3-Clause */
/* Which IP hosts speak, and what of a scenario goes with it. */
#include "scenario/scenario_load.h"

int
scenario_resolve_ip(struct scenario *sc, struct err *err)
{
	struct route_hashing *hashing = &sc->balance.hashing;
	struct cfg_where balance = cfg_where_key(sc->cfg, "load_balancing");

	hashing->ipv6 = sc->host.ip_version == 6;
	if (sc->balance.names_label && !hashing->ipv6)
		return cfg_fail(&balance, "fields", err,
				"\"flow-label\": IPv4, which hosts speak here, has none: set host.ip_version to 6, or hash "
				"\"sport\"");
	if (sc->balance.names_label && hashing->vxlan)
		return cfg_fail(&balance, "fields", err,
				"\"flow-label\": what switches see with encapsulation = \"vxlan\" are IPv4 headers, which "
				"have none: "
				"hash \"sport\"");
	if (hashing->ipv6 && sc->pingmesh.enabled)
		return cfg_fail(&sc->host.where, "ip_version", err,
				"6: agents of pingmesh probe and trace over IPv4: leave it out, or pingmesh");
	return 0;
}
