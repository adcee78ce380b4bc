/**
 * How IPsec tunnels are, in the words of the service that the OpenWRT has. A tunnel is reported as
 * `<remote>-<connection>` with either.
 */
import * as z from 'zod';
import type { IpsecDialect } from '#shared/resources/capabilities.ts';
import type { Information } from '#shared/protocol/information.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
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

/** States in which packets pass; a CHILD_SA carries them until its successor does. */
const UP = new Set(['ESTABLISHED', 'INSTALLED', 'REKEYING']);

/**
 * `answer`: what TUNNEL_STATUS printed. Tunnels that are configured and that it does not mention
 * are `DOWN`; without an answer that says nothing of those that this side brings up.
 */
export const tunnelsOf = (
  dialect: IpsecDialect,
  ipsec: readonly UciSection[],
  answer: UbusAnswer | undefined,
): Information['tunnels'] => {
  const configured = configuredIn(dialect, ipsec);
  const states = new Map(configured.map((tunnel) => [nameOf(tunnel), 'DOWN']));
  const told = parseUntrusted(execSchema, answer?.data).data;
  const { stdout } = told ?? { stdout: '' };
  const starting = new Set(told && configured.filter(({ starts }) => starts).map(nameOf));
  const seen = dialect === 'swanctl' ? seenBySwanctl(stdout, configured) : seenByIpsec(stdout);
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

/**
 * ` site1-conn1[1]: ESTABLISHED 5 minutes ago, …`: the IKE connection, of which there can be
 * several while it is renewed.
 */
const IPSEC_LINE = /^\s*(\S+)\[\d+\]:\s+([A-Z_]+)/;

/** ICN's init script and OpenWRT's make an IKE connection of each tunnel, and name it alike. */
const seenByIpsec = (stdout: string): Seen[] =>
  stdout.split('\n').flatMap((line) => {
    const [, name, state] = IPSEC_LINE.exec(line) ?? [];
    return name === undefined || state === undefined ? [] : [{ name, state }];
  });

/**
 * One security association of charon's, whose `id` no other has ever had; what catches packets for
 * a connection; or a connection that is loaded. `name`: `remote`, or `remote/connection`.
 */
export type Association = {
  kind: 'ike' | 'child' | 'trap' | 'loaded';
  id: string;
  name: string;
  state: string;
};

/**
 * `site1: #1, ESTABLISHED, IKEv2, …`, and indented below it ` conn1: #2, reqid 1, INSTALLED,
 * TUNNEL, …`; what is loaded likewise.
 */
const LINE = /^( *)([^\s:]+): (?:#(\d+), (?:reqid \d+, )?([A-Z_]+)|IKEv|T)/;
const TRAP = /^([^\s/,]+\/[^\s/,]+), T/;

/** What `swanctl --list-sas`, `--list-pols` and `--list-conns` print. */
export const associationsIn = (stdout: string): readonly Association[] => {
  let remote = '';
  return stdout.split('\n').flatMap((line): Association[] => {
    const [, trap] = TRAP.exec(line) ?? [];
    if (trap !== undefined) return [{ kind: 'trap', id: '', name: trap, state: '' }];
    const [, indent, own, id, state = ''] = LINE.exec(line) ?? [];
    if (own === undefined) return [];
    if (indent === '') remote = own;
    const name = indent === '' ? own : `${remote}/${own}`;
    if (id === undefined) return [{ kind: 'loaded', id: '', name, state }];
    return [{ kind: indent === '' ? 'ike' : 'child', id, name, state }];
  });
};

/**
 * The swanctl script makes an IKE connection of each remote and a child of each tunnel; children
 * come after their remote is up.
 */
const seenBySwanctl = (stdout: string, configured: readonly Configured[]): Seen[] =>
  associationsIn(stdout).flatMap(({ kind, name, state }) => {
    if (kind === 'child') return [{ name: name.replace('/', '-'), state }];
    if (UP.has(state)) return [];
    return configured
      .filter((tunnel) => tunnel.remote === name)
      .map((tunnel) => ({ name: nameOf(tunnel), state }));
  });

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
