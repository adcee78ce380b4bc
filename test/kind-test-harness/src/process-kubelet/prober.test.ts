import { describe, expect, it } from 'vitest';

import type { Container } from '../kube/objects.ts';
import type { ProbeTarget } from './probe.ts';
import { runProbes, type ProbeKind } from './prober.ts';

const target: ProbeTarget = {
  podIP: '127.0.0.1',
  port: Number,
  env: { PATH: process.env['PATH'] ?? '' },
  workingDirectory: '/',
  localPath: (text) => text,
};
const probe = (command: string, failureThreshold = 1) => ({
  exec: { command: ['sh', '-c', command] },
  periodSeconds: 0.01,
  timeoutSeconds: 0.3,
  successThreshold: 1,
  failureThreshold,
});

/** What the prober says, in order, until a word of it is `until`. */
const record = async (container: Partial<Container>, until: string): Promise<string[]> => {
  const said: string[] = [];
  const stop = new AbortController();
  const say = (word: string) => {
    if (stop.signal.aborted) return;
    said.push(word);
    if (word === until) stop.abort();
  };
  const unhealthy = (kind: ProbeKind) => say(`${kind} unhealthy`);
  await runProbes(
    { name: 'c', image: 'i', ...container },
    {
      target,
      onStarted: () => say('started'),
      onReady: (ready) => say(ready ? 'ready' : 'unready'),
      onUnhealthy: unhealthy,
      onFailure: (kind, message) => say(`${kind} failed: ${message}`),
      signal: stop.signal,
    },
  );
  return said;
};

describe('probes', () => {
  it('of readiness and liveness wait for the one of startup', async () => {
    const container = { startupProbe: probe('true'), readinessProbe: probe('true') };
    expect(await record(container, 'ready')).toEqual(['started', 'ready']);
  });

  it('of startup make a container without readiness probe ready', async () => {
    expect(await record({ startupProbe: probe('true') }, 'ready')).toEqual(['started', 'ready']);
  });

  it('of startup give up after so many failures, with what the program said', async () => {
    expect(await record({ startupProbe: probe('echo no; false', 2) }, 'startup unhealthy')).toEqual(
      ['startup failed: no', 'startup failed: no', 'startup unhealthy'],
    );
  });

  it('fail when they take too long', async () => {
    const said = await record({ livenessProbe: probe('sleep 5') }, 'liveness unhealthy');
    expect(said).toEqual([expect.stringMatching(/^liveness failed: /), 'liveness unhealthy']);
  });

  it('say unready only after so many failures in a row', async () => {
    const said = await record({ readinessProbe: probe('false', 3) }, 'unready');
    expect(said.filter((word) => word === 'readiness failed: ')).toHaveLength(3);
  });
});
