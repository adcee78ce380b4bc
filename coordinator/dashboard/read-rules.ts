/**
 * Specs of rules, which do not stay in the coordinator's memory: read when a page needs them, one
 * viewer after the other, and never more rules than the coordinator can compile between two
 * requests.
 */
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { createGate } from '#shared/http/gate.ts';
import type { Cnf } from './overview.ts';

/** @throws KubeError from each */
export type RuleReader = {
  /** Undefined: it is not there. */
  one: (kind: KindDefinition, namespace: string, name: string) => Promise<RuleObject | undefined>;
  allOf: (cnf: Cnf, wanted: readonly KindDefinition[]) => Promise<RuleObject[]>;
  /** `busy`: too many wait. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T | 'busy'>;
};

/** Rules that are compiled at a time: everything else that the coordinator does would wait. */
export const MAX_COMPILED = 500;
const MAX_WAITING = 10;
const MAX_WAIT_MS = 5_000;
const TIMEOUT_MS = 10_000;

export const createRuleReader = (client: Pick<KubeClient, 'get' | 'list'>): RuleReader => {
  const gate = createGate({ most: 1, waiting: MAX_WAITING, timeoutMs: MAX_WAIT_MS });
  return {
    one: async (kind, namespace, name) => {
      try {
        return await client.get(kind, { namespace, name }, { timeoutMs: TIMEOUT_MS });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    allOf: async ({ namespace, purpose }, wanted) => {
      const labelSelector = `${PURPOSE_LABEL}=${purpose}`;
      const bounds = { pageSize: PAGE_SIZE, timeoutMs: TIMEOUT_MS };
      const lists = [];
      for (const kind of wanted) {
        try {
          lists.push((await client.list(kind, { namespace, labelSelector, ...bounds })).items);
        } catch (error) {
          // This cluster does not have the kind.
          if (!isNotFound(error)) throw error;
        }
      }
      return lists.flat();
    },
    inTurn: async (work) => {
      const leave = await gate.enter(1);
      if (leave === undefined) return 'busy';
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
};
