/**
 * Updates by a real registry: what a tag stands for, and when that changes what the Deployment is
 * to have, by a clock that the test moves.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import {
  cnfDeploymentResource,
  type CnfDeployment,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { lookAtUpdates } from '../../coordinator/controllers/fleet/updates/look.ts';
import { createLookUps } from '../../coordinator/controllers/fleet/updates/look-ups.ts';
import { imagesIn } from '../../coordinator/controllers/fleet/updates/image.ts';
import {
  createRegistry,
  type RegistryOptions,
} from '../../coordinator/controllers/fleet/updates/registry.ts';
import { eventually } from '../integration/support/eventually.ts';
import { startRegistry, type Registry } from './registry.ts';

const BUILD_MS = 600_000;
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

let registry: Registry;
beforeAll(async () => {
  registry = await startRegistry();
}, BUILD_MS);
afterAll(() => registry.stop());

const digestBy = (options: Partial<RegistryOptions>, image: string): Promise<string> => {
  const { caFile, configFile, host } = registry;
  const all = { hosts: [host], configFile, caFile, networks: LOOPBACK, ...options };
  return createRegistry(all)(`${host}/${image}`, {
    namespace: 'edge',
    signal: new AbortController().signal,
  });
};

describe('a tag in a real registry', () => {
  it('stands for the digest that it was pushed with, and for another when it is moved', async () => {
    const [first, second] = [await registry.push('cnf', '1'), await registry.push('cnf', '2')];
    expect(await digestBy({}, 'cnf:1')).toBe(first);
    expect(await digestBy({}, 'cnf:2')).toBe(second);
    const moved = await registry.push('cnf', '1');
    expect(moved).not.toBe(first);
    expect(await digestBy({}, 'cnf:1')).toBe(moved);
  });

  it.each<[string, Partial<RegistryOptions>, string, string]>([
    ['that is not there', {}, 'cnf:none', 'answers with status 404'],
    ['without a login', { configFile: undefined }, 'cnf:1', 'asks for a login that there is not'],
    ['without its CA', { caFile: undefined }, 'cnf:1', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ['of a network that is not named', { networks: [] }, 'cnf:1', 'not of the Internet'],
    ['whose login cannot be read', { configFile: '/none' }, 'cnf:1', 'cannot read its logins'],
  ])('is not known %s', async (_, options, image, message) => {
    await expect(digestBy(options, image)).rejects.toThrow(message);
  });
});

describe('an update by a real registry', () => {
  const NIGHT = Date.parse('2026-11-29T02:00:00Z');
  const HOUR_MS = 3_600_000;
  /** What the Deployment is to have at that time, once the registry has answered. */
  const createNight = (image: string, host = registry.host) => {
    const clock = createManualClock();
    let marks = 0;
    const { caFile, configFile } = registry;
    const lookUps = createLookUps({
      clock,
      holdsMs: 300_000,
      digestOf: createRegistry({ hosts: [host], configFile, caFile, networks: LOOPBACK }),
      log: silentLogger,
    });
    const labels = { sdewanPurpose: 'cnf-1' };
    let cnf: CnfDeployment = cnfDeploymentResource.schema.parse({
      apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
      kind: 'CNFDeployment',
      metadata: {
        name: 'cnf-1',
        namespace: 'edge',
        uid: 'u',
        generation: 1,
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'openwrt', image }] } },
        updates: { schedule: '0 2 * * *', duration: '1h', timeZone: 'UTC' },
      },
      status: { observedGeneration: 1, stage: 'Current' },
    });
    const look = () => {
      const nothing = { present: undefined, sets: [], live: [], finished: [] };
      const deps = { clock: { ...clock, now: () => NIGHT - HOUR_MS + clock.monotonic() }, lookUps };
      const signal = new AbortController().signal;
      return lookAtUpdates(cnf, nothing, { ...deps, mark: () => (marks += 1), signal });
    };
    return {
      clock,
      spec: () => JSON.stringify(cnf.spec),
      look: () => {
        const step = look();
        cnf = { ...cnf, status: { ...cnf.status, ...step.kept } };
        return imagesIn(step.template)[0];
      },
      answered: (times: number) => eventually(() => marks).toBe(times),
      told: () => look().told,
    };
  };

  it('begins in the window, when the tag has been moved', async () => {
    const image = `${registry.host}/night:1`;
    const first = await registry.push('night', '1');
    const night = createNight(image);
    const spec = night.spec();
    expect(night.look()).toBe(image);
    night.clock.advance(HOUR_MS);
    expect(night.look()).toBe(image);
    await night.answered(1);
    expect(night.look()).toBe(`${image}@${first}`);

    night.clock.advance(HOUR_MS);
    const second = await registry.push('night', '1');
    expect(night.look()).toBe(`${image}@${first}`);
    night.clock.advance(23 * HOUR_MS);
    expect(night.look()).toBe(`${image}@${first}`);
    await night.answered(2);
    expect(night.look()).toBe(`${image}@${second}`);
    expect(night.spec()).toBe(spec);
  });

  it('is none while the registry is down', async () => {
    const other = await startRegistry();
    const image = `${other.host}/night:1`;
    await other.push('night', '1');
    const night = createNight(image, other.host);
    await other.stop();
    night.clock.advance(HOUR_MS);
    night.look();
    await night.answered(1);
    expect(night.look()).toBe(image);
    expect(night.told()).toEqual({
      status: 'False',
      reason: 'RegistryUnreachable',
      message: `${image}: ${other.host}: ECONNREFUSED`,
    });
  });
});
