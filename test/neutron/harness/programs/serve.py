"""Neutron's API on a port of loopback. Usage: serve.py CONF PORT THREADS"""

import os
import sys

conf, port, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.argv = ["neutron-api", "--config-file", conf]
os.environ["OS_NEUTRON_CONFIG_FILES"] = conf
# Neutron asks its server how many processes there are, and fails at each event of OVN's where it does not know.
os.environ["ASGI_WORKERS"] = "1"

from neutron import server  # noqa: E402
from neutron.server import api  # noqa: E402
from waitress import serve  # noqa: E402

serve(
    server.boot_server(api.api_server, prog="neutron-api"),
    host="127.0.0.1",
    port=port,
    threads=threads,
)
