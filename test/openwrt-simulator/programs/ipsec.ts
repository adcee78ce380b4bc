/** What strongSwan's commands print of their tunnels: every connection that the package configures is established. */
import type { UciSection } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';
import { complained, printed, type Program } from './runner.ts';

/** `ipsec status`, as recorded. */
export const createIpsec =
  (store: UciStore): Program =>
  ({ params }) => {
    if (params.join(' ') !== 'status') return complained(2, 'ipsec: unknown command\n');
    const names = remotesIn(store).flatMap((remote) =>
      [...listOf(remote, 'tunnel'), ...listOf(remote, 'transport')].map(
        (connection) => `${remote.name}-${connection}`,
      ),
    );
    const lines = names.map(
      (name, at) =>
        `  ${name}[${at + 1}]: ESTABLISHED 5 minutes ago, 10.10.70.39[a]...10.10.70.40[b]\n` +
        `  ${name}{${at + 1}}:  INSTALLED, TUNNEL, reqid ${at + 1}, ESP SPIs: c1234567_i c7654321_o\n`,
    );
    const head = `Security Associations (${names.length} up, 0 connecting):\n`;
    return printed(head + (lines.length === 0 ? '  none\n' : lines.join('')));
  };

/** `swanctl --list-sas`, as strongSwan documents it. */
export const createSwanctl =
  (store: UciStore): Program =>
  ({ params }) => {
    if (params.join(' ') !== '--list-sas') return complained(22, 'swanctl: invalid operation\n');
    let child = 0;
    const blocks = remotesIn(store).map((remote, at) => {
      const children = listOf(remote, 'child').map((name) => {
        child += 1;
        return `  ${name}: #${child}, reqid ${child}, INSTALLED, TUNNEL, ESP:AES_GCM_16-256\n`;
      });
      return (
        `${remote.name}: #${at + 1}, ESTABLISHED, IKEv2, aabbccdd11223344_i* 8899aabb00112233_r\n` +
        `  local  'a' @ 10.10.70.39[500]\n  remote 'b' @ 10.10.70.40[500]\n${children.join('')}`
      );
    });
    return printed(blocks.join(''));
  };

const remotesIn = (store: UciStore): UciSection[] =>
  store.text('ipsec') === undefined
    ? []
    : store.load('ipsec').package.sections.filter(({ type }) => type === 'remote');

const listOf = ({ options }: UciSection, name: string): readonly string[] =>
  [options.get(name) ?? []].flat();
