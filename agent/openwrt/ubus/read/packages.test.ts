import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { md5sOf, readPackages } from './packages.ts';
import {
  ACCESS_DENIED,
  type UBUS_STATUS,
  UbusError,
  type UbusAnswer,
  type UbusCall,
} from '../client/rpc.ts';
import { answered, fakeSession, refusedBy } from '../client/testing.ts';

const signal = new AbortController().signal;
const TEXT = "\nconfig rule 'a'\n\toption src 'lan'\n";
const TOO_LARGE: UbusAnswer = { code: 8, data: undefined };
const CHANGES = { state: 'unusable', why: 'it keeps changing while it is read', passes: true };
const md5 = (text: string): UbusAnswer =>
  answered({ md5: createHash('md5').update(text, 'latin1').digest('hex') });

/** An OpenWRT with one file; `change` answers in its place. */
const readFrom = async (text: string, change: (call: UbusCall) => UbusAnswer | undefined) => {
  const { session, calls } = fakeSession(
    (call) => change(call) ?? (call.method === 'md5' ? md5(text) : answered({ data: text })),
  );
  const result = await readPackages(session, ['firewall'], signal).catch((error: unknown) => error);
  return { result, calls };
};
const stateIn = (result: unknown) => (result instanceof Map ? result.get('firewall') : result);

describe('a package', () => {
  it('is read as it is', async () => {
    const { result } = await readFrom(TEXT, () => undefined);
    expect(stateIn(result)).toMatchObject({
      state: 'read',
      content: { name: 'firewall', sections: [{ name: 'a', options: { src: 'lan' } }] },
    });
  });

  it('is absent when OpenWRT has none, and only then', async () => {
    const { result } = await readFrom('', () => refusedBy('notFound'));
    expect(stateIn(result)).toEqual({ state: 'absent' });
  });

  it.each<[string, string, (call: UbusCall) => UbusAnswer | undefined, RegExp]>([
    ['may not be read', TEXT, () => refusedBy('permissionDenied'), /may not read \/etc\/config\//],
    ['does not parse', "config rule 'a\n", () => undefined, /does not parse/],
  ])('is unusable, not absent, when it %s', async (_what, text, change, why) => {
    const { result } = await readFrom(text, change);
    expect(stateIn(result)).toMatchObject({ state: 'unusable', why: expect.stringMatching(why) });
  });

  it.each<keyof typeof UBUS_STATUS>(['notFound', 'permissionDenied', 'unknownError'])(
    'has no sections as a file of 0 bytes, although rpcd answers %s for its md5',
    async (stale) => {
      const { result } = await readFrom('', ({ method }) =>
        refusedBy(method === 'read' ? 'noData' : stale),
      );
      expect(stateIn(result)).toMatchObject({ state: 'read', content: { sections: [] } });
    },
  );

  it('does not count as empty when it was emptied between two answers', async () => {
    const noData = ({ method }: UbusCall) => (method === 'read' ? refusedBy('noData') : undefined);
    expect(stateIn((await readFrom(TEXT, noData)).result)).toMatchObject(CHANGES);
  });

  it('is unusable when OpenWRT fails to read it, with the code, until the next look', async () => {
    const { result } = await readFrom(TEXT, () => refusedBy('unknownError'));
    expect(stateIn(result)).toMatchObject({
      state: 'unusable',
      why: 'OpenWRT answers code 9 when /etc/config/firewall is read',
      passes: true,
    });
  });

  it('is read again when OpenWRT fails to read it once', async () => {
    let failures = 1;
    const { result } = await readFrom(TEXT, ({ method }) =>
      method === 'read' && failures-- > 0 ? refusedBy('unknownError') : undefined,
    );
    expect(stateIn(result)).toMatchObject({ state: 'read' });
  });

  it('is not known when the session has ended', async () => {
    const ended = () => ({ code: ACCESS_DENIED, data: undefined });
    expect((await readFrom(TEXT, ended)).result).toBeInstanceOf(UbusError);
  });

  it('is read again when it was half written, as often as it changes, up to a limit', async () => {
    const half = answered({ data: TEXT.slice(0, TEXT.length / 2) });
    let halves = 2;
    const mended = await readFrom(TEXT, ({ method }) => {
      if (method !== 'read' || halves === 0) return undefined;
      halves -= 1;
      return half;
    });
    expect(stateIn(mended.result)).toMatchObject({ state: 'read', content: { sections: [{}] } });
    const always = await readFrom(TEXT, ({ method }) => (method === 'read' ? half : undefined));
    expect(stateIn(always.result)).toMatchObject(CHANGES);
  });
});

describe('a large package', () => {
  const large = `${TEXT}${"config rule 'b'\n\toption name 'Grüße'\n".repeat(10_000)}`;
  const bytes = Buffer.from(large).toString('latin1');
  const block = ({ args }: UbusCall, length = 131_072): UbusAnswer => {
    const from = Number(/skip=(\d+)/.exec(JSON.stringify(args))?.[1]) * 131_072;
    const stdout = bytes.slice(from, from + length);
    return answered(stdout === '' ? { code: 0 } : { code: 0, stdout });
  };
  const read = (exec: (call: UbusCall) => UbusAnswer) =>
    readFrom(bytes, (call) => {
      if (call.method === 'read') return TOO_LARGE;
      return call.method === 'exec' ? exec(call) : undefined;
    });

  it('is read in blocks, whole', async () => {
    const { result } = await read(block);
    const { content } = stateIn(result) as { content: { sections: unknown[] } };
    // `b` is one section, however often it stands there.
    expect(content.sections).toMatchObject([{ name: 'a' }, { options: { name: 'Grüße' } }]);
  });

  it('does not count as complete with a cut block', async () => {
    const { result } = await read((call) => block(call, 100_000));
    expect(stateIn(result)).toMatchObject(CHANGES);
  });

  it('is unusable when the login may not read it in blocks', async () => {
    const { result } = await read(() => refusedBy('permissionDenied'));
    expect(stateIn(result)).toMatchObject({ why: expect.stringContaining('may not run dd') });
    const ended = await read(() => ({ code: ACCESS_DENIED, data: undefined }));
    expect(ended.result).toBeInstanceOf(UbusError);
  });
});

it('versions distinguish absent, refused, empty and failing packages, whatever rpcd answers for the md5', async () => {
  const reads: Record<string, UbusAnswer> = {
    '/etc/config/mwan3': refusedBy('notFound'),
    '/etc/config/ipsec': refusedBy('permissionDenied'),
    '/etc/config/network': refusedBy('noData'),
    '/etc/config/system': refusedBy('unknownError'),
  };
  const { session } = fakeSession(({ method, args }) => {
    const path = String(args?.['path']);
    if (path === '/etc/config/firewall') return md5(TEXT);
    return method === 'md5' ? refusedBy('notFound') : (reads[path] ?? refusedBy('noData'));
  });
  const names = ['firewall', 'mwan3', 'ipsec', 'network', 'system'];
  const versions = await md5sOf(session, names, signal);
  const [text, empty] = [TEXT, ''].map((each) => createHash('md5').update(each).digest('hex'));
  expect([...versions.values()]).toEqual([text, 'absent', 'refused', empty, 'code 9']);
  const ended = fakeSession(() => ({ code: ACCESS_DENIED, data: undefined }));
  await expect(md5sOf(ended.session, names, signal)).rejects.toBeInstanceOf(UbusError);
});
