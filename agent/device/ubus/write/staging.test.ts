import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OpenwrtBlockedError, OpenwrtError } from '../../driver.ts';
import { ACCESS_DENIED, UbusError, type UbusAnswer, type UbusCall } from '../client/rpc.ts';
import { applyStaged, importPackage, splitForJson, stageDelta, unstage } from './staging.ts';
import { answered, fakeSession, refusedBy } from '../client/testing.ts';

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

describe('splitForJson', () => {
  it('loses nothing, and keeps every part below the limit as JSON', () => {
    const anyText = fc.string({ unit: 'grapheme', maxLength: 600 });
    fc.assert(
      fc.property(fc.array(anyText), fc.integer({ min: 64, max: 400 }), (lines, limit) => {
        const text = lines.join('\n');
        const parts = splitForJson(text, limit);
        expect(parts.join('')).toBe(text);
        for (const part of parts) expect(jsonBytes(part)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it('gives one part for an empty text, so that a file is made', () => {
    expect(splitForJson('', 100)).toEqual(['']);
  });

  it('never cuts a character, which would become two broken ones', () => {
    const parts = splitForJson('😀'.repeat(500), 100);
    expect(parts.every((part) => part.isWellFormed())).toBe(true);
  });
});

const signal = new AbortController().signal;

const VERSION = '0'.repeat(32);

/** OpenWRT's file, and what `uci import` makes of it. */
const importOn = async (change: (call: UbusCall) => UbusAnswer | undefined = () => undefined) => {
  let file = '';
  const { session, calls } = fakeSession((call) => {
    const changed = change(call);
    if (changed) return changed;
    const { args = {} } = call;
    if (call.method === 'write')
      file = `${args['append'] === true ? file : ''}${String(args['data'])}`;
    if (call.method === 'md5' && args['path'] === '/etc/config/ipsec')
      return answered({ md5: VERSION });
    if (call.method === 'md5')
      return answered({ md5: createHash('md5').update(file).digest('hex') });
    return answered({ code: 0 });
  });
  const options = { pre_shared_key: "it's a key", list: ['a', 'b'] };
  const sections = Array.from({ length: 2_000 }, (_, at) => ({
    name: `site_${at}`,
    anonymous: false,
    type: 'remote',
    options,
  }));
  const result = await importPackage(
    session,
    { version: VERSION, content: { name: 'ipsec', sections } },
    signal,
  ).catch((error: unknown) => error);
  const made = (method: string) => calls.filter((call) => call.method === method);
  return { result, file, made };
};

describe('the import of a package', () => {
  it('writes a file that only its owner may read, since it may hold keys, checks it, and imports it', async () => {
    const { result, file, made } = await importOn();
    expect(result).toBe('done');
    expect(made('write').length).toBeGreaterThan(1);
    for (const { args } of made('write')) expect(args?.['mode']).toBe(0o600);
    expect(file).toContain("option pre_shared_key 'it'\\''s a key'");
    const [{ args } = {}] = made('exec');
    const params = ['-f', '/tmp/sdewan-ipsec', 'import', 'ipsec'];
    expect(args).toEqual({ command: '/sbin/uci', params });
  });

  it.each<[string, (call: UbusCall) => UbusAnswer | undefined]>([
    ['is empty', ({ method }) => (method === 'write' ? answered() : undefined)],
    [
      'is cut',
      ({ method, args }) =>
        method === 'write' && args?.['append'] === true ? answered() : undefined,
    ],
  ])('imports no file that %s, since that would wipe the package', async (_what, change) => {
    const { result, made } = await importOn(change);
    expect(result).toBeInstanceOf(OpenwrtError);
    expect(made('exec')).toEqual([]);
  });

  it.each(['write', 'md5', 'exec'])('is not done where the login may not %s', async (method) => {
    const { result } = await importOn((call) =>
      call.method === method ? refusedBy('permissionDenied') : undefined,
    );
    expect(result).toBe('refused');
  });

  it('does not overwrite what somebody else has written meanwhile', async () => {
    const { result, made } = await importOn(({ method, args }) =>
      method === 'md5' && args?.['path'] === '/etc/config/ipsec'
        ? answered({ md5: '1'.repeat(32) })
        : undefined,
    );
    expect(result).toBe('changed');
    expect(made('exec')).toEqual([]);
  });

  it('that uci refuses is an error, and so is a session that has ended', async () => {
    const failed = await importOn(({ method }) =>
      method === 'exec' ? answered({ code: 1, stderr: 'Parse error\n' }) : undefined,
    );
    expect(failed.result).toMatchObject({ message: 'import ipsec: Parse error' });
    const ended = await importOn(({ method }) =>
      method === 'exec' ? { code: ACCESS_DENIED, data: undefined } : undefined,
    );
    expect(ended.result).toBeInstanceOf(UbusError);
  });
});

describe("while another session's apply waits for its confirmation", () => {
  const pending = (): UbusAnswer => refusedBy('permissionDenied');

  it('nothing is applied', async () => {
    const { session } = fakeSession(pending);
    const timeouts = { rollbackSeconds: 30, callMs: 1_000 };
    await expect(applyStaged(session, timeouts, signal)).rejects.toBeInstanceOf(
      OpenwrtBlockedError,
    );
  });

  it('staged changes are kept, and the caller learns of that', async () => {
    const packages = ['firewall', 'mwan3'];
    expect(await unstage(fakeSession(pending).session, packages, signal)).toBe(false);
    const { session, calls } = fakeSession(() => answered());
    expect(await unstage(session, packages, signal)).toBe(true);
    expect(calls.map(({ method, args }) => [method, args?.['config'] ?? args?.['path']])).toEqual([
      ['revert', 'firewall'],
      ['revert', 'mwan3'],
      ['remove', '/tmp/sdewan-firewall'],
      ['remove', '/tmp/sdewan-mwan3'],
    ]);
  });
});

it('names what may be full when rpcd cannot write a file as a whole', async () => {
  const { session } = fakeSession(({ method }) =>
    method === 'write' ? refusedBy('unknownError') : answered(),
  );
  const delta = { package: 'firewall', remove: [], set: [], append: [] };
  await expect(stageDelta(session, delta, signal)).rejects.toThrow(
    'there may be no space left in /tmp of OpenWRT',
  );
});
