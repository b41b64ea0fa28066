#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rocelab import sonic: the config_db.json of three switches is a fabric that runs, with SONiC's pools, profiles, maps, ECN and
watchdog at each port; buffers, qos and pg_profile_lookup.ini may be files of their own; what is wrong is refused with its place."""
import json

from harness import ROCELAB, check, command, rocelab, scratch

FOLDER = scratch()
PROFILES = {
    "pg_lossless_100000_40m_profile": {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "size": "1248", "xon": "2288", "xoff": "60000",
                                       "dynamic_th": "-1", "xon_offset": "2288"},
    "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
    "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "33004032"},
    "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"},
}
BUFFERS = {
    "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10875072", "xoff": "4194112"},
                    "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "33004032"},
                    "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "9243812"}},
    "BUFFER_PROFILE": PROFILES,
}
QOS = {
    "DSCP_TO_TC_MAP": {"AZURE": {"8": "0", "26": "3", "48": "6"}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(i): str(i) for i in range(8)}},
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {str(i): "3" if i == 3 else "0" for i in range(8)}},
    "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "STRICT"}},
    "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "250000", "green_max_threshold": "2097152",
                                        "green_drop_probability": "5"}},
}


def switch(name, neighbors, **more):
    """A config_db.json. neighbors: port to (name, port)."""
    ports = list(neighbors)
    config = {
        "DEVICE_METADATA": {"localhost": {"hostname": name, "type": "LeafRouter"}},
        "PORT": {port: {"lanes": "1", "speed": "100000", "mtu": "9100", "admin_status": "up"} for port in ports},
        "DEVICE_NEIGHBOR": {port: {"name": peer, "port": end} for port, (peer, end) in neighbors.items()},
        "CABLE_LENGTH": {"AZURE": {port: "40m" for port in ports}},
        "BUFFER_PG": {f"{port}|3": {"profile": "[BUFFER_PROFILE|pg_lossless_100000_40m_profile]"} for port in ports},
        "BUFFER_QUEUE": {",".join(ports) + "|3": {"profile": "egress_lossless_profile"},
                         ",".join(ports) + "|0-2": {"profile": "egress_lossy_profile"}},
        "QUEUE": {f"{port}|{queue}": fields for port in ports
                  for queue, fields in (("3", {"scheduler": "scheduler.0", "wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"}),
                                        ("6", {"scheduler": "scheduler.1"}))},
        "PORT_QOS_MAP": {port: {"pfc_enable": "3", "dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]", "tc_to_queue_map": "AZURE",
                                "tc_to_pg_map": "AZURE"} for port in ports},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, **{port: {"action": "drop", "detection_time": "200", "restoration_time": "400"}
                                                       for port in ports}},
        **more,
    }
    return {table: rows for table, rows in config.items() if rows is not None}


def fabric(**of_leaf1):
    """Two leaves of two hosts each, and a spine."""
    leaf0 = {"Ethernet0": ("server0", "eth0"), "Ethernet4": ("server1", "eth0"), "Ethernet16": ("spine", "Ethernet0")}
    leaf1 = {"Ethernet0": ("server2", "eth0"), "Ethernet4": ("server3", "eth0"), "Ethernet16": ("spine", "Ethernet4")}
    spine = {"Ethernet0": ("leaf0", "Ethernet16"), "Ethernet4": ("leaf1", "Ethernet16")}
    return {"leaf0": switch("leaf0", leaf0), "leaf1": switch("leaf1", leaf1, **of_leaf1), "spine": switch("spine", spine)}


def write(name, content):
    path = FOLDER / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def files(configs, *more):
    return [write(f"{name}.json", config) for name, config in configs.items()] + list(more)


def imported(*args):
    out = FOLDER / "fabric.cfg"
    done = command(ROCELAB, "import", "sonic", *args, "--out", str(out))
    return out.read_text(), done.stderr


def refused(what, *args):
    done = command(ROCELAB, "import", "sonic", *args, expect=2)
    check(what in done.stderr, f"refused: {what[:60]}", done.stderr)


def runs(text, *sets):
    path = FOLDER / "fabric.cfg"
    path.write_text(text)
    run = rocelab(str(path), *(word for setting in sets for word in ("--set", setting)))
    check(all(i["holds"] for i in run.run["invariants"]), "it runs, and loses nothing unaccounted for", run.run["invariants"])
    return run


BASE = [write("buffers.json", BUFFERS), write("qos.json", QOS)]
text, _ = imported(*files(fabric(), *BASE))
for part in ('"leaf0 server0 100000Mbps 200000ps"', '"leaf0 spine 100000Mbps 200000ps"', 'names = [ "spine" ]',
             'name = "ingress_lossless_pool"; type = "ingress"; mode = "dynamic"; size = 10875072L; xoff = 4194112L;',
             'size = 1248L; xon = 2288L; xon_offset = 2288L; xoff = 60000L; dynamic_th = -1;',
             'buffer_pg = ( "3 pg_lossless_100000_40m_profile" );', '"1 egress_lossy_profile", "2 egress_lossy_profile"',
             "{ class = 3; kmin = 250000L; kmax = 2097152L; pmax = 0.05; }", 'class_map = [ "24:3" ];', 'weights = [ "3:14" ];',
             'strict = [ "6" ]', 'detection_time = "200ms"; restoration_time = "400ms"; action = "drop";', "mtu = 9100;"):
    check(part in text, f"the scenario has {part[:50]}", text)
check("server3" in text and text.count("Mbps") == 6, "four hosts, six cables", text)
plain = runs(text)
check(not any(plain.run["drops"].values()), "the fabric is lossless", plain.run["drops"])

# A leaf whose map leads RoCE data into best effort, and one port with other buffers.
wrong = fabric(DSCP_TO_TC_MAP={"AZURE": {"26": "0"}})
wrong["spine"]["BUFFER_PG"]["Ethernet4|3"] = {"profile": "ingress_lossy_profile"}
text, _ = imported(*files(wrong, *BASE))
check('class_map = [ "24:1" ];' in text and text.count('class_map = [ "24:3" ];') == 3, "one leaf has another map", text)
check('names = [ "spine:2" ];' in text and 'buffer_pg = ( "3 ingress_lossy_profile" );' in text, "one port has another profile", text)
path = write("wrong.cfg", text)
found = command(ROCELAB, "topo", "check", path).stdout
check("class-map-lossy" in found and "headroom-short" in found, "topo check warns of both", found)

# A DSCP whose queue has no PFC, where another's has.
_, warned = imported(*files(fabric(DSCP_TO_TC_MAP={"AZURE": {"26": "1", "3": "3"}}), *BASE))
check("leaf1.json: PORT_QOS_MAP.Ethernet0: DSCP 26, of RoCE data, is in queue 1, which has no PFC" in warned and "--dscp 3" in warned,
      "a DSCP in a queue without PFC causes a warning", warned)
_, warned = imported(*files(fabric(), *BASE))
check("--dscp" not in warned, "and one with PFC none", warned)
left = [line for line in warned.splitlines() if "is left out" in line]
check(len(warned.splitlines()) == len(left) == 1 and "leaf0.json: BUFFER_QUEUE.Ethernet0,Ethernet4,Ethernet16|0-2.profile = "
      "egress_lossy_profile is left out: queue and group 0 carry control here" in left[0] and left[0].endswith("at 2 more places"),
      "rows of queue 0 are left out, a line for all switches", warned)

# What a scenario has no place for is named with its file, key, value and meaning, once a kind; so are cables of one file alone.
more = fabric(BUFFER_PORT_EGRESS_PROFILE_LIST={"Ethernet0": {"profile_list": "egress_lossy_profile"}})
more["spine"]["BUFFER_QUEUE"]["Ethernet0,Ethernet4|9-12"] = {"profile": "egress_lossy_profile"}
more["leaf1"]["SCHEDULER"] = {**QOS["SCHEDULER"], "slow": {"type": "DWRR", "weight": "1", "pir": "1250000"}}
more["leaf1"]["QUEUE"]["Ethernet0,Ethernet4|8-9"] = {"scheduler": "slow"}
del more["spine"]["DEVICE_NEIGHBOR"]["Ethernet4"]
_, warned = imported(*files(more, *BASE))
for part in ("spine.json: BUFFER_QUEUE.Ethernet0,Ethernet4|9-12.profile = egress_lossy_profile is left out: queues are 0 to 7 here",
             "leaf1.json: QUEUE.Ethernet0,Ethernet4|8-9.scheduler = slow is left out: queues are 0 to 7 here",
             "leaf1.json: SCHEDULER.slow.pir = 1250000 is left out: a queue has no highest rate here",
             "leaf1.json: BUFFER_PORT_EGRESS_PROFILE_LIST.Ethernet0 is left out: a port has no limit in a pool here",
             "leaf1.json: DEVICE_NEIGHBOR.Ethernet16: its other end, Ethernet4 of spine, has none in"):
    check(part in warned, f"a warning names {part[:50]}", warned)

# All switches have the strict queues of the first port: one line names how many ports differ.
strict = fabric()
for port in ("Ethernet0", "Ethernet4"):
    del strict["spine"]["QUEUE"][f"{port}|6"]
_, warned = imported(*files(strict, *BASE))
check(warned.count("strict queues") == 1 and "spine.json: Ethernet0, the first of 2 ports, has other strict queues than the first of all ports, Ethernet0 of " in warned,
      "ports with other strict queues cause one warning", warned)

# A switch whose file is missing is a host with several NICs, unless a file says what it is; then the leaves are apart.
orphans = fabric()
del orphans["spine"]
text, warned = imported(*files(orphans, *BASE))
check("spine, neighbor of 2 ports, has no file and no type in DEVICE_NEIGHBOR_METADATA: it is a host with that number of NICs" in warned,
      "a neighbor of two switches without a file causes a warning", warned)
for leaf in orphans.values():
    leaf["DEVICE_NEIGHBOR_METADATA"] = {"spine": {"type": "SpineRouter"}}
refused("leaf1.json: no cable or switch connects leaf0 and leaf1: the files of the switches between them", *files(orphans, *BASE))
alone = fabric()
for port in alone["spine"]["PORT"].values():
    port["admin_status"] = "down"
alone["leaf1"]["DEVICE_NEIGHBOR"]["Ethernet4"] = {"name": "server1", "port": "eth1"}
text, warned = imported(*files(alone, *BASE))
check("spine.json: no port of spine has a cable: the switch is left out" in warned and '"leaf0", "leaf1"\n' in text,
      "a switch without a cable is left out, and a host connects the leaves", warned)

# Headroom by pg_profile_lookup.ini, where BUFFER_PG has none.
ini = write("pg_profile_lookup.ini", "# speed cable size xon xoff threshold xon_offset\n100000 5m 1248 2288 35000 -3 2288\n"
            "100000 40m 1248 2288 61000 -3 2288\n")
bare = {"leaf0": switch("leaf0", {"Ethernet0": ("a", ""), "Ethernet4": ("b", "")}, BUFFER_PG=None)}
text, _ = imported(*files(bare, *BASE, ini))
check('name = "pg_lossless_100000_40m_profile"' in text and "xoff = 60000L" in text, "a profile of its own name stays", text)
more = json.loads(json.dumps(BUFFERS))
del more["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]
text, _ = imported(*files(bare, write("fewer.json", more), BASE[1], ini))
check("xoff = 61000L; dynamic_th = -3;" in text, "else it is made of the row", text)
runs(text)
again, _ = imported(*files(bare, write("fewer.json", more), BASE[1], write("windows.ini", "\ufeff# a comment\r\n\r\n"
                    " 100000\t5m 1248 2288 35000 -3 2288 # behind a row\r\n100000 40m 1248 2288 61000 -3 2288# and without a blank\r\n")))
check(again == text.replace("pg_profile_lookup.ini", "windows.ini"), "comments anywhere and Windows' line ends change nothing", again)
text, warned = imported(*files({"leaf0": switch("leaf0", {"Ethernet0": ("a", ""), "Ethernet4": ("b", "")}, BUFFER_PG=None, BUFFER_QUEUE=None,
                                                DEVICE_NEIGHBOR=None)}, BASE[1], ini))
check('"100000Mbps 5m 35000"' in text and "leaf0-Ethernet4" in text and "a separate host" in warned,
      "without pools rows are headrooms; without neighbors each port has a host", (text, warned))
runs(text)

# A device of several ASICs, as sonic-buildimage's sample of one: a file for each ASIC and one of the host's namespace, all with one
# hostname. Ports within the device are named as the ASICs call them; a leaf outside names the device and a port's alias.


def asic(number, ports):
    """ports: name to (alias, asic_port_name, neighbor, its port)."""
    config = switch("chassis", {port: (peer, end) for port, (_, _, peer, end) in ports.items()})
    config["DEVICE_METADATA"]["localhost"].update(asic_name=f"asic{number}", sub_role="FrontEnd" if number == 0 else "BackEnd")
    for port, (alias, own, _, _) in ports.items():
        config["PORT"][port].update(alias=alias, asic_port_name=own, role="Int" if "BP" in port else "Ext")
    return config


def chassis():
    return {"config_db0": asic(0, {"Ethernet0": ("Ethernet1/1", "Eth0-ASIC0", "leaf0", "Ethernet16"),
                                   "Ethernet-BP0": ("Eth4-ASIC0", "Eth4-ASIC0", "ASIC1", "Eth0-ASIC1"),
                                   "Ethernet-BP4": ("Eth5-ASIC0", "Eth5-ASIC0", "ASIC2", "Eth0-ASIC2")}),
            "config_db1": asic(1, {"Ethernet4": ("Ethernet1/2", "Eth1-ASIC1", "server9", "eth0"),
                                   "Ethernet-BP128": ("Eth0-ASIC1", "Eth0-ASIC1", "ASIC0", "Eth4-ASIC0")}),
            "leaf0": switch("leaf0", {"Ethernet0": ("server0", "eth0"), "Ethernet16": ("chassis", "Ethernet1/1")})}


text, warned = imported(*files(chassis(), *BASE))
links = [line.split('"')[1].rsplit(" ", 2)[0] for line in text.splitlines() if "Mbps 200000ps" in line]
check(sorted(links) == ["chassis-asic0 chassis-asic1", "chassis-asic0 leaf0", "chassis-asic1 server9", "leaf0 server0"],
      "each ASIC is a switch, and cables within the device lead between them", links)
check("config_db0.json: DEVICE_NEIGHBOR.Ethernet-BP4: no file is of switch ASIC2: the cable is left out" in warned,
      "an ASIC without a file is no host", warned)
runs(text)
metadata = {"DEVICE_METADATA": {"localhost": {"hostname": "chassis"}}}
again, warned = imported(*files(chassis(), *BASE), write("config_db.json", metadata))
check(again == text and "config_db.json: DEVICE_METADATA.localhost has no asic_name, and another file of chassis has" in warned,
      "the host's namespace is no switch", warned)
alone, _ = imported(*files({name: config for name, config in chassis().items() if name != "config_db1"}, *BASE))
check('"chassis leaf0 ' in alone and "asic" not in alone.split("switches = (")[0], "one ASIC alone has the device's name", alone)

_, warned = imported(*files(fabric(DEVICE_NEIGHBOR=None), *BASE))
check("leaf1.json: no file names neighbors of 2 ports that are up: they have no cable" in warned, "hosts of a file without neighbors",
      warned)

# The same in one file: `config save FILE`, or `show runningconfiguration all`, whose namespaces have FRR's text, too.
spaces = {"localhost": {**metadata, "FEATURE": {}, "bgpraw": "!\n"}, "asic1": chassis()["config_db1"], "asic0": chassis()["config_db0"]}
for space in ("asic0", "asic1"):
    del spaces[space]["DEVICE_METADATA"]["localhost"]["hostname"]
    spaces[space]["bgpraw"] = "!\n"



def bare(scenario):
    return [line.split(" //")[0] for line in scenario.splitlines()]


leaf = files({"leaf0": chassis()["leaf0"]}, *BASE)
again, warned = imported(write("all.json", spaces), *leaf)
check(bare(again) == bare(text) and "all.json: asic0: DEVICE_NEIGHBOR.Ethernet-BP4: no file is of switch ASIC2" in warned
      and "asic_name" not in warned, "one file of all namespaces", warned)
del spaces["asic0"]["DEVICE_METADATA"], spaces["asic1"]["DEVICE_METADATA"]
again, _ = imported(*leaf, write("all.json", spaces))
check(bare(again) == bare(text), "a namespace is its ASIC's without asic_name", again)
single, _ = imported(write("one.json", {"localhost": chassis()["leaf0"]}), *BASE)
check(bare(single) == bare(imported(*leaf)[0]), "the only namespace of a device of one ASIC", single)
spaces["asic1"]["PORT"]["Ethernet4"]["speed"] = "fast"
refused('all.json: asic1: PORT.Ethernet4.speed: found "fast"', write("all.json", spaces), *leaf)

twice = chassis()
twice["config_db1"]["DEVICE_METADATA"]["localhost"]["asic_name"] = "asic0"
refused('"chassis-asic0" is also that of', *files(twice, *BASE))
for config in twice.values():
    config["DEVICE_METADATA"]["localhost"].pop("asic_name", None)
refused("another name, or of several ASICs of one device an asic_name for each, would be right", *files(twice, *BASE))
long = chassis()
for name in ("config_db0", "config_db1"):
    long[name]["DEVICE_METADATA"]["localhost"]["hostname"] = "c" * 27
refused("hostname, '-' and asic_name together: 1 to 31 letters", *files(long, *BASE))
broken = chassis()
broken["config_db1"]["DEVICE_NEIGHBOR"]["Ethernet-BP128"]["port"] = "Eth5-ASIC0"
refused("the same cable in both would be right", *files(broken, *BASE))

# What cannot be.
broken = fabric()
broken["leaf0"]["PORT"]["Ethernet0"]["speed"] = "fast"
refused('leaf0.json: PORT.Ethernet0.speed: found "fast"; 0 to 10000000 would be right', *files(broken, *BASE))
broken = json.loads(json.dumps(BUFFERS))
broken["BUFFER_PROFILE"]["egress_lossy_profile"]["pool"] = "none"
refused('broken.json: BUFFER_PROFILE.egress_lossy_profile.pool: found "none"', *files(fabric(), write("broken.json", broken), BASE[1]))
broken = fabric()
broken["leaf1"]["BUFFER_PG"]["Ethernet0|3"] = {"profile": "none"}
refused('leaf1.json: BUFFER_PG.Ethernet0|3.profile: found "none"; the name of a BUFFER_PROFILE would be right', *files(broken, *BASE))
broken = fabric()
broken["spine"]["PORT"]["Ethernet4"]["speed"] = "400000"
refused("leaf1.json: PORT.Ethernet16.speed: found 100000; 400000, as its other end has", *files(broken, *BASE))
broken = fabric()
broken["leaf1"]["DEVICE_NEIGHBOR"]["Ethernet16"]["port"] = "Ethernet0"
refused("the port of spine leads to leaf0", *files(broken, *BASE))
refused("a config_db.json for each switch would be right", BASE[0])
refused("pg_profile_lookup.ini:1: \"speed cable size xon xoff threshold [xon_offset]\"", write("pg_profile_lookup.ini", "100000 5 1 2 3 4\n"))
ini = write("twice.ini", "100000 5m 1 2 3 4\n100000 5m 1 2 5 4\n")
refused("twice.ini:2: 100000 Mbps and 5 m have a row already, of xoff 3; one row would be right", *files(fabric(), *BASE), ini)
_, warned = imported(*files(fabric(), *BASE), write("empty.ini", "# none\n"))
check("empty.ini:2: no row" in warned, "a file without a row, as some devices have, is named", warned)
fast = {"leaf0": switch("leaf0", {"Ethernet0": ("a", ""), "Ethernet4": ("b", "")}, BUFFER_PG=None)}
fast["leaf0"]["PORT"]["Ethernet4"]["speed"] = "10000"
text, warned = imported(*files(fast, *BASE, write("pg_profile_lookup.ini", "100000 40m 1248 2288 61000 -3 2288\n")))
check('leaf0.json: PORT.Ethernet4: class 3 (row "10000 40m") has PFC and no BUFFER_PG profile' in warned and
      '"leaf0:2" ];' in text and "pfc = { enabled = false;" in text, "a port without a row has no PFC", (text, warned))
runs(text)
wrong = fabric()
wrong["leaf0"]["BUFFER_PG"]["Ethernet0|1"] = {"profile": "egress_lossy_profile"}
text, warned = imported(*files(wrong, *BASE))
check("BUFFER_PG.Ethernet0|1.profile = egress_lossy_profile is left out: a pool's profiles are of its side" in warned and
      '"1 egress_lossy_profile"' not in text.split("buffer_queue")[0], "a group has no profile of an egress pool", (text, warned))
runs(text)
_, warned = imported(*files(fabric(), *BASE), write("again.json", {"BUFFER_POOL": {}}))
check(f"again.json: BUFFER_POOL is left out: {BASE[0]}, which is of no single switch either, has this table, too" in warned,
      "a table of two files for all switches causes a warning", warned)
refused("half.json:1: ", write("half.json", '{"PORT": '))
refused("bad.json:1: duplicate object key", write("bad.json", '{"PORT": {}, "PORT": {}}'))
refused("--dscp 99: 0 to 63 would be right", "--dscp", "99", BASE[0])
