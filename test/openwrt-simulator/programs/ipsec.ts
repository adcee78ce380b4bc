/** `ipsec status`, as strongSwan prints it (recorded): every connection that the package configures is established. */
import type { UciStore } from '../uci/store.ts';
import { complained, printed, type Program } from './runner.ts';

export const createIpsec =
  (store: UciStore): Program =>
  ({ params }) => {
    if (params.join(' ') !== 'status') return complained(2, 'ipsec: unknown command\n');
    const names =
      store.text('ipsec') === undefined
        ? []
        : store
            .load('ipsec')
            .package.sections.flatMap(({ type, name, options }) =>
              type === 'remote'
                ? [options.get('tunnel') ?? [], options.get('transport') ?? []]
                    .flat()
                    .map((connection) => `${name}-${connection}`)
                : [],
            );
    const lines = names.map(
      (name, at) =>
        `  ${name}[${at + 1}]: ESTABLISHED 5 minutes ago, 10.10.70.39[a]...10.10.70.40[b]\n` +
        `  ${name}{${at + 1}}:  INSTALLED, TUNNEL, reqid ${at + 1}, ESP SPIs: c1234567_i c7654321_o\n`,
    );
    const head = `Security Associations (${names.length} up, 0 connecting):\n`;
    return printed(head + (lines.length === 0 ? '  none\n' : lines.join('')));
  };
