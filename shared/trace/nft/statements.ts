/** What a rule of the kernel does, as firewall4 writes it. Pure. */
import { familyOf } from '../../util/addresses.ts';
import type { Action, Family, PortRange, Range } from '../types.ts';
import { markIn, portsIn, rangeIn } from './matches.ts';
import * as names from './names.ts';
import { NotUnderstood, understood, type Reader } from './reader.ts';

const ALL_BITS = 0xffff_ffff;
const ON: Action = { do: 'continue' };

/** Undefined: something else comes next. @throws NotUnderstood */
export const statementIn = (words: Reader): Action | undefined => {
  const plain = words.takesOneOf('accept', 'drop', 'return', 'notrack', 'continue');
  if (plain) return { do: plain };
  if (words.takes('jump')) return { do: 'jump', chain: words.next().text };
  if (words.takes('reject')) return rejection(words);
  if (words.takes('counter')) return counted(words);
  if (words.takes('log')) return logged(words);
  if (words.takes('masquerade')) return translation(words, 'snat', { ofDevice: true });
  if (words.takes('redirect')) return translation(words, 'dnat', { ofDevice: true });
  const kind = words.takesOneOf('dnat', 'snat');
  if (kind) return translation(words, kind, { ofDevice: false });
  // Neither makes a difference for the first packet of a connection.
  if (words.takes('flow', 'add') || words.takes('ct', 'helper', 'set')) {
    words.next();
    return ON;
  }
  return words.takes('tcp', 'option', 'maxseg', 'size', 'set', 'rt', 'mtu') ? ON : undefined;
};

/** Behind `meta mark set`. @throws NotUnderstood */
export const markSet = (words: Reader): Action => {
  if (!words.takes('meta', 'mark') && !words.takes('mark'))
    return { do: 'mark', mask: ALL_BITS, value: markIn(words.next().text) };
  const kept = words.takes('&') || words.takes('and') ? markIn(words.next().text) : ALL_BITS;
  const set = words.takes('|') || words.takes('or') ? markIn(words.next().text) : 0;
  const turned = words.takes('^') || words.takes('xor') ? markIn(words.next().text) : 0;
  if (set !== 0 && turned !== 0) throw new NotUnderstood('meta mark set');
  return { do: 'mark', mask: (~kept | set) >>> 0, value: set === 0 ? turned : set };
};

/** Behind `ip dscp set`. @throws NotUnderstood */
export const dscpSet = (words: Reader): Action => ({
  do: 'dscp',
  value: understood(names.dscp(words.next().text), 'dscp'),
});

const rejection = (words: Reader): Action => {
  if (words.takes('with')) {
    words.next();
    words.takes('type');
    words.next();
  }
  return { do: 'reject' };
};

const counted = (words: Reader): Action => {
  if (words.takes('packets')) words.next();
  if (words.takes('bytes')) words.next();
  return ON;
};

const LOGGED = ['prefix', 'level', 'group', 'flags', 'snaplen', 'queue-threshold'] as const;
const logged = (words: Reader): Action => {
  while (words.takesOneOf(...LOGGED) !== undefined) words.next();
  return ON;
};

/** An address, in brackets before ports where it is of IPv6. */
const TARGET = /^(?:\[([^\]]+)\]|([\d.-]+))(?::([\d-]+))?$/;

const translation = (
  words: Reader,
  kind: 'dnat' | 'snat',
  { ofDevice }: { ofDevice: boolean },
): Action => {
  const ip = words.takesOneOf('ip', 'ip6');
  if (!words.takes('to')) {
    if (!ofDevice) throw new NotUnderstood(kind);
    return { do: kind, to: undefined, ports: undefined, ofDevice };
  }
  const { text } = words.next();
  const target = targetIn(text, ip === 'ip6' ? 6 : 4);
  return { do: kind, ...target, ofDevice };
};

const targetIn = (
  text: string,
  family: Family,
): { to: Range | undefined; ports: PortRange | undefined } => {
  if (/^:[\d-]+$/.test(text)) return { to: undefined, ports: portsIn(text.slice(1)) };
  if (family === 6 && !text.startsWith('[')) return { to: rangeIn(text, 6), ports: undefined };
  const [, six, four, ports] = TARGET.exec(text) ?? [];
  const address = six ?? four ?? '';
  const [first = ''] = address.split('-');
  if (familyOf(first) !== family) throw new NotUnderstood(`address ${text}`);
  return {
    to: rangeIn(address, family),
    ports: ports === undefined ? undefined : portsIn(ports),
  };
};
