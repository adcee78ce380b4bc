import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { ACCESS_DENIED, UbusError, type UbusAnswer } from '../ubus/client/rpc.ts';
import { SILENT } from './fw4-reload.ts';
import { reloadService, whyNotReload } from './services.ts';
import { answered, fakeSession, refusedBy } from '../ubus/client/testing.ts';

const signal = new AbortController().signal;
const firewall = (...types: string[]): UciPackage => ({
  name: 'firewall',
  sections: types.map((type, at) => namedSection(type, `s${at}`)),
});

describe('a firewall is not reloaded', () => {
  it.each<[string, UciPackage, boolean, boolean]>([
    ['without defaults, since everything would be dropped', firewall('zone'), true, true],
    ['without defaults, also when no zones are wanted', firewall('rule'), false, true],
    ['without zones where some are wanted', firewall('defaults', 'rule'), true, true],
    ['but it is without zones where none are wanted', firewall('defaults'), false, false],
    ['but it is with defaults and zones', firewall('zone', 'defaults'), true, false],
  ])('%s', (_what, content, expectZones, refused) => {
    expect(whyNotReload(content, expectZones) !== undefined).toBe(refused);
  });

  it('other packages need neither', () => {
    expect(whyNotReload({ name: 'mwan3', sections: [] }, true)).toBeUndefined();
  });
});

describe('a reload', () => {
  const reload = async (answers: Record<string, UbusAnswer>, name = 'firewall') => {
    const { session, calls } = fakeSession(
      ({ args }) => answers[String(args?.['command'])] ?? refusedBy('notFound'),
    );
    const result = await reloadService(session, { ...firewall(), name }, signal).catch(
      (error: unknown) => error,
    );
    return { result, commands: calls.map(({ args }) => args?.['command']) };
  };
  const done = answered({ code: 0 });

  it('is done by the first program that is there and may be run', async () => {
    const answers = { '/sbin/fw4': refusedBy('permissionDenied'), '/etc/init.d/firewall': done };
    const { result, commands } = await reload(answers);
    expect(result).toEqual(SILENT);
    expect(commands).toEqual(['/sbin/fw4', '/usr/sbin/fw4', '/etc/init.d/firewall']);
    expect((await reload({ '/sbin/fw4': done })).commands).toEqual(['/sbin/fw4']);
  });

  it.each(['firewall', 'mwan3', 'ipsec'])(
    'fails for %s when no program can do it',
    async (name) => {
      const { result } = await reload({}, name);
      expect(result).toMatchObject({ message: expect.stringContaining('may run none of') });
    },
  );

  it('names the remotes of IPsec that were not loaded, with the messages of the service', async () => {
    const stderr = [
      "plugin 'ldap': failed to load - ldap_plugin_create not found and no plugin file available",
      "loading connection 's1' failed: invalid value for: proposals, config discarded",
      'loaded 1 of 2 connections, 1 failed to load, 0 unloaded',
    ].join('\n');
    const swanctl = answered({ code: 22, stderr });
    const { result } = await reload({ '/etc/init.d/swanctl': swanctl }, 'ipsec');
    const words = "loading connection 's1' failed: invalid value for: proposals, config discarded";
    expect(result).toEqual({ ...SILENT, warnings: new Map([['s1', words]]) });
  });

  it('fails in a session that has ended, so that it is repeated in a new one', async () => {
    const ended = { code: ACCESS_DENIED, data: undefined };
    const { result } = await reload({ '/sbin/fw4': ended, '/usr/sbin/fw4': done });
    expect(result).toBeInstanceOf(UbusError);
  });

  it('fails for a firewall that cannot read the networks from ubus, though it exits with 0', async () => {
    const stderr = 'Unable to connect to ubus: Connection failed\n';
    const { result } = await reload({ '/sbin/fw4': answered({ code: 0, stderr }) });
    expect(result).toMatchObject({ message: expect.stringContaining('Unable to connect to ubus') });
  });

  it('fails with an exit code for the firewall only, whose other output is known', async () => {
    const failed = answered({ code: 1, stderr: 'Killed\n' });
    const { result } = await reload({ '/sbin/fw4': failed });
    expect(result).toMatchObject({ message: expect.stringContaining('ended with code 1: Killed') });
    const other = await reload({ '/etc/init.d/mwan3': failed }, 'mwan3');
    expect(other.result).toMatchObject({ refusal: undefined });
    const refused = answered({ code: 1, stderr: 'x: Error: no such thing\n' });
    expect((await reload({ '/sbin/fw4': refused })).result).toMatchObject({
      refusal: { message: 'Error: no such thing' },
    });
  });
});
