/** What ICN's `GET v1/status` would answer: for readers of `sdewan-system/cnf-status`. */
import { withoutLength } from '#shared/policy/address-blocks.ts';
import type { Information } from '#shared/protocol/information.ts';

export const icnModules = ({ interfaces, routes, tunnels, wans }: Information): object[] => {
  const down = tunnels.filter(({ up }) => !up);
  return [
    {
      name: 'interface',
      status: interfaces.map(({ name, device, addresses, up }) => ({
        name: device ?? name,
        ip_address: addresses.filter((address) => !address.includes(':')).map(withoutLength),
        ip6_address: addresses.filter((address) => address.includes(':')),
        status: up ? 'UP' : 'DOWN',
      })),
    },
    {
      name: 'ipsec',
      status: {
        InitConnection: down.length === 0 ? 'success' : 'fail',
        details: tunnels.map(({ name, up }) => ({
          connection: name,
          up: up ? '1' : '0',
          connecting: '0',
        })),
      },
    },
    {
      name: 'route',
      status: {
        main: {
          item: routes.map(({ target, gateway, interface: device, metric }) => ({
            destination: target,
            device,
            ...(gateway === undefined ? {} : { gateway }),
            ...(metric === undefined ? {} : { metric: String(metric) }),
          })),
        },
      },
    },
    {
      name: 'wan',
      status: {
        interfaces: Object.fromEntries(
          wans.map(({ interface: name, status, up }) => [name, { status, up }]),
        ),
      },
    },
  ];
};
