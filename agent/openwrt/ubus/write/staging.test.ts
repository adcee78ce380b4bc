import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OpenwrtBlockedError } from '../../driver.ts';
import { ACCESS_DENIED, UbusError, type UbusAnswer } from '../client/rpc.ts';
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

/** How files get there, whole and for their owner alone: test/contract/import-file.test.ts. */
describe('the import of a package', () => {
  const importOn = (method: string, answer: UbusAnswer): Promise<unknown> => {
    let file = '';
    const { session } = fakeSession((call) => {
      if (call.method === method) return answer;
      if (call.method === 'write') file = String(call.args?.['data']);
      if (call.method !== 'md5') return answered({ code: 0 });
      if (call.args?.['path'] === '/etc/config/ipsec') return answered({ md5: VERSION });
      return answered({ md5: createHash('md5').update(file).digest('hex') });
    });
    const read = { version: VERSION, content: { name: 'ipsec', sections: [] } };
    return importPackage(session, read, signal).catch((error: unknown) => error);
  };

  it.each(['write', 'md5', 'exec'])('is not done where the login may not %s', async (method) => {
    expect(await importOn(method, refusedBy('permissionDenied'))).toBe('refused');
  });

  it('fails when uci refuses it, and when the session has ended', async () => {
    const failed = answered({ code: 1, stderr: 'Parse error\n' });
    expect(await importOn('exec', failed)).toMatchObject({ message: 'import ipsec: Parse error' });
    const ended = { code: ACCESS_DENIED, data: undefined };
    expect(await importOn('exec', ended)).toBeInstanceOf(UbusError);
  });
});

describe("while another session's apply waits for its confirmation", () => {
  const pending = (): UbusAnswer => refusedBy('permissionDenied');

  it('applies nothing', async () => {
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
