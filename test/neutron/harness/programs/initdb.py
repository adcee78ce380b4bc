"""Makes the schema of Neutron's database from its models: the migrations need ALTER, which SQLite lacks. Usage: initdb.py CONF..."""

import sys

import sqlalchemy as sa
from neutron.common import config
from oslo_config import cfg
from oslo_db import options
from oslo_utils import uuidutils

config.register_common_config_options()
options.set_defaults(cfg.CONF)
config.init(["--config-file", sys.argv[1]])

from neutron.db.migration.models import head  # noqa: E402

engine, metadata = sa.create_engine(cfg.CONF.database.connection), head.get_metadata()
metadata.create_all(engine)
attributes = metadata.tables["standardattributes"]
defaults = metadata.tables["securitygroupdefaultrules"]

# The rules that a migration would have written: what a new group and a project's default group begin with.
with engine.begin() as connection:

    def add(**values):
        made = connection.execute(
            attributes.insert().values(
                resource_type="default_security_group_rules", revision_number=0, description=""
            )
        )
        connection.execute(
            defaults.insert().values(
                id=uuidutils.generate_uuid(),
                standard_attr_id=made.inserted_primary_key[0],
                used_in_default_sg=True,
                **values,
            )
        )

    for family in ("IPv4", "IPv6"):
        add(ethertype=family, direction="ingress", remote_group_id="PARENT", used_in_non_default_sg=False)
        add(ethertype=family, direction="egress", used_in_non_default_sg=True)
