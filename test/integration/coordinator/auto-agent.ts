/**
 * An agent that works by itself on an imaginary OpenWRT: watches the rules of its purpose, holds
 * what should be held after a while, and reports. Can be killed at any moment; what its OpenWRT
 * holds survives that, as on a real pod.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { RuleState } from '#shared/protocol/report.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createAgent } from './agent.ts';
import { setPodState } from './pods.ts';
import { firewallRules } from './rules.ts';
import type { Fixture } from './fixture.ts';

export type AutoAgent = {
  pod: KubeObject;
  /** Uids of the rules on its OpenWRT. */
  holds: ReadonlySet<string>;
  /** As kill -9 of the agent; OpenWRT goes on. */
  kill: () => Promise<void>;
  start: () => Promise<void>;
};

const PASS_MS = 60;
const HEARTBEAT_MS = 500;

export const createAutoAgent = async (
  fixture: Fixture,
  pod: KubeObject,
  purpose: string,
): Promise<AutoAgent> => {
  const holds = new Set<string>();
  let restarts = -1;
  let life: { controller: AbortController; done: Promise<void> } | undefined;

  const live = async (signal: AbortSignal): Promise<void> => {
    const agent = await createAgent(fixture, pod, { purpose });
    const reflector = new Reflector<RuleObject>({
      client: fixture.client,
      resource: firewallRules,
      selection: { namespace: fixture.namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}` },
      log: silentLogger,
    });
    const watching = reflector.run(signal);
    let said = '';
    let saidAt = 0;
    while (!signal.aborted) {
      await sleep(PASS_MS * (0.5 + Math.random()));
      if (!reflector.hasSynced() || signal.aborted) continue;
      const rules = reflector.store.list();
      const report = pass(rules, holds);
      const text = JSON.stringify(report.map(([{ metadata }, state]) => [metadata.uid, state]));
      if (text === said && Date.now() - saidAt < HEARTBEAT_MS) continue;
      const answer = await (text === said ? agent.beats() : agent.says(...report)).catch(
        () => undefined,
      );
      said = answer?.status === 200 && !answer.body.wantsFull ? text : '';
      saidAt = Date.now();
    }
    await watching;
    await agent.close();
  };

  const auto: AutoAgent = {
    pod,
    holds,
    kill: async () => {
      life?.controller.abort();
      await life?.done;
      life = undefined;
    },
    start: async () => {
      restarts += 1;
      await setPodState(fixture, pod, { restarts });
      const controller = new AbortController();
      life = { controller, done: live(controller.signal) };
    },
  };
  await auto.start();
  return auto;
};

/** What a pass of an agent does: first it changes OpenWRT, then it reports. */
const pass = (rules: readonly RuleObject[], holds: Set<string>): [RuleObject, RuleState][] => {
  const known = new Set(rules.map(({ metadata }) => metadata.uid));
  for (const uid of holds) if (!known.has(uid)) holds.delete(uid);
  return rules.map((rule) => {
    const { uid, deletionTimestamp } = rule.metadata;
    if (deletionTimestamp === undefined) holds.add(uid);
    else holds.delete(uid);
    return [rule, deletionTimestamp === undefined ? 'Applied' : 'Removed'];
  });
};
