/** How IPsec tunnels are, in the words of the service that the OpenWRT has. A tunnel is reported as `<remote>-<connection>` with either. */
import * as z from 'zod';
import type { IpsecDialect } from '#shared/resources/capabilities.ts';
import type { Information } from '#shared/protocol/information.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { UbusAnswer } from './client/rpc.ts';

/** The one command of each service that the rights name, and where images have it. */
export const TUNNEL_STATUS: Readonly<Record<IpsecDialect, { command: string; params: string[] }>> =
  {
    classic: { command: '/usr/sbin/ipsec', params: ['status'] },
    swanctl: { command: '/usr/sbin/swanctl', params: ['--list-sas'] },
  };

/** Where each service's init script reads a remote's connections. */
const CONNECTION_LISTS: Readonly<Record<IpsecDialect, readonly string[]>> = {
  classic: ['tunnel', 'transport'],
  swanctl: ['tunnel', 'transport', 'child'],
};

type Configured = { remote: string; connection: string; starts: boolean };
type Seen = { name: string; state: string };

const execSchema = z.object({ stdout: z.string().default('') });

/** States in which packets pass; a CHILD_SA that is renewed carries them until its successor does. */
const UP = new Set(['ESTABLISHED', 'INSTALLED', 'REKEYING']);

/**
 * `answer`: what TUNNEL_STATUS printed. Tunnels that are configured and that it does not mention are
 * `DOWN`; without an answer that says nothing of those that this side brings up.
 */
export const tunnelsOf = (
  dialect: IpsecDialect,
  ipsec: readonly UciSection[],
  answer: UbusAnswer | undefined,
): Information['tunnels'] => {
  const configured = configuredIn(dialect, ipsec);
  const states = new Map(configured.map((tunnel) => [nameOf(tunnel), 'DOWN']));
  const told = execSchema.safeParse(answer?.data).data;
  const lines = (told?.stdout ?? '').split('\n');
  const starting = new Set(told && configured.filter(({ starts }) => starts).map(nameOf));
  const seen = dialect === 'swanctl' ? seenBySwanctl(lines, configured) : seenByIpsec(lines);
  for (const { name, state } of seen) if (!UP.has(states.get(name) ?? '')) states.set(name, state);
  return [...states]
    .map(([name, state]) => ({
      name: name.slice(0, 128),
      up: UP.has(state),
      state: state.slice(0, 32),
      ...(starting.has(name) && { starts: true }),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** `  site1-conn1[1]: ESTABLISHED 5 minutes ago, …`: the IKE connection, of which there can be several while it is renewed. */
const IPSEC_LINE = /^\s*(\S+)\[\d+\]:\s+([A-Z_]+)/;

/** ICN's init script and OpenWRT's make an IKE connection of each tunnel, and name it alike. */
const seenByIpsec = (lines: readonly string[]): Seen[] =>
  lines.flatMap((line) => {
    const [, name, state] = IPSEC_LINE.exec(line) ?? [];
    return name === undefined || state === undefined ? [] : [{ name, state }];
  });

/** `site1: #1, ESTABLISHED, IKEv2, …`, and indented below it `  conn1: #2, reqid 1, INSTALLED, TUNNEL, …`. */
const IKE_LINE = /^(\S+): #\d+, ([A-Z_]+), IKEv/;
const CHILD_LINE = /^\s+(\S+): #\d+, reqid \d+, ([A-Z_]+),/;

/** The swanctl script makes an IKE connection of each remote and a child of each tunnel; children come after their remote is up. */
const seenBySwanctl = (lines: readonly string[], configured: readonly Configured[]): Seen[] => {
  let remote = '';
  return lines.flatMap((line) => {
    const [, ike, ikeState] = IKE_LINE.exec(line) ?? [];
    if (ike !== undefined && ikeState !== undefined) {
      remote = ike;
      if (UP.has(ikeState)) return [];
      return configured
        .filter((tunnel) => tunnel.remote === ike)
        .map((tunnel) => ({ name: nameOf(tunnel), state: ikeState }));
    }
    const [, connection, state] = CHILD_LINE.exec(line) ?? [];
    if (connection === undefined || state === undefined) return [];
    return [{ name: nameOf({ remote, connection }), state }];
  });
};

const nameOf = ({ remote, connection }: Omit<Configured, 'starts'>): string =>
  `${remote}-${connection}`;

const configuredIn = (dialect: IpsecDialect, ipsec: readonly UciSection[]): Configured[] => {
  const starting = new Set(
    ipsec
      .filter(({ options: { startaction, mode } }) =>
        ['start', 'route'].includes(String(startaction ?? mode)),
      )
      .map(({ name }) => name),
  );
  return ipsec
    .filter(({ type, options }) => type === 'remote' && options['enabled'] !== '0')
    .flatMap((remote) =>
      connectionsOf(dialect, remote).map((connection) => ({
        remote: remote.name,
        connection,
        starts: starting.has(connection),
      })),
    );
};

export const connectionsOf = (
  dialect: IpsecDialect,
  { options }: UciSection,
): readonly string[] => [
  ...new Set(CONNECTION_LISTS[dialect].flatMap((list) => options[list] ?? [])),
];
