/**
 * What strongSwan's commands print of their tunnels: every connection that the package configures
 * is established.
 */
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

/**
 * charon, whose other sides bring up all that is configured. What is up stays up, also when its
 * connection is gone, until it is ended (seen on a device).
 */
export class Charon {
  readonly #store: UciStore;
  /** `remote`, or `remote/connection` -> its number. */
  #up = new Map<string, number>();
  #last = { ike: 0, child: 0 };

  constructor(store: UciStore) {
    this.#store = store;
  }

  boot(): void {
    this.#up = new Map();
  }

  /** By the words in which the agent's program is told. */
  end(kind: string, id: number): void {
    const isChild = (name: string): boolean => name.includes('/');
    const ended = [...this.#up].find(
      ([name, number]) => number === id && isChild(name) === (kind === 'child'),
    )?.[0];
    for (const name of this.#up.keys())
      if (ended !== undefined && (name === ended || name.startsWith(`${ended}/`)))
        this.#up.delete(name);
  }

  /** `swanctl --list-sas`, as strongSwan documents it. */
  readonly program: Program = ({ params }) =>
    params.join(' ') === '--list-sas'
      ? printed(this.#associations())
      : complained(22, 'swanctl: invalid operation\n');

  /** Beside that what is loaded, which is all that is configured. */
  listed(): string {
    const loaded = remotesIn(this.#store).map(
      (remote) =>
        `${remote.name}: IKEv2, no reauthentication, rekeying every 14400s\n` +
        listOf(remote, 'child')
          .map((child) => `  ${child}: TUNNEL, rekeying every 3600s\n`)
          .join(''),
    );
    return this.#associations() + loaded.join('');
  }

  #associations(): string {
    for (const remote of remotesIn(this.#store)) {
      this.#bringUp(remote.name, 'ike');
      for (const child of listOf(remote, 'child'))
        this.#bringUp(`${remote.name}/${child}`, 'child');
    }
    const blocks = [...this.#up].map(([name, id]) => {
      const [remote = '', child] = name.split('/');
      if (child !== undefined) return '';
      const children = [...this.#up].flatMap(([other, number]) =>
        other.startsWith(`${remote}/`)
          ? [
              `  ${other.slice(remote.length + 1)}: #${number}, reqid ${number}, INSTALLED, TUNNEL, ESP:AES_GCM_16-256\n`,
            ]
          : [],
      );
      return (
        `${remote}: #${id}, ESTABLISHED, IKEv2, aabbccdd11223344_i* 8899aabb00112233_r\n` +
        `  local  'a' @ 10.10.70.39[500]\n  remote 'b' @ 10.10.70.40[500]\n${children.join('')}`
      );
    });
    return blocks.join('');
  }

  #bringUp(name: string, kind: 'ike' | 'child'): void {
    if (!this.#up.has(name)) this.#up.set(name, (this.#last[kind] += 1));
  }
}

const remotesIn = (store: UciStore): UciSection[] =>
  store.text('ipsec') === undefined
    ? []
    : store.load('ipsec').package.sections.filter(({ type }) => type === 'remote');

const listOf = ({ options }: UciSection, name: string): readonly string[] =>
  [options.get(name) ?? []].flat();
