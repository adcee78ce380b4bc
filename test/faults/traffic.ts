/**
 * A steady stream of changes, as impatient operators make them: rules are created, changed and
 * deleted at random, whatever the API server answers.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import type { Random } from '../run/random.ts';
import { vocabulary, type Word } from './vocabulary.ts';

const EVERY_MS = 150;
const TIMEOUT_MS = 3_000;
const GROUP = 'batch.sdewan.akraino.org';
const PURPOSE_LABEL = 'sdewanPurpose';

export type Traffic = {
  start: () => void;
  /** Resolves when nothing is under way any more. */
  stop: () => Promise<void>;
  /** So many were accepted since the fixture began. */
  accepted: () => number;
};

export const resourceOf = ({ plural, kind }: Pick<Word, 'plural' | 'kind'>): ResourceType => ({
  group: GROUP,
  version: 'v1alpha1',
  plural,
  kind,
  schema: objectSchema,
});

export const newRule = (
  { kind, name }: Word,
  { namespace, purpose, spec }: { namespace: string; purpose: string; spec: object },
) => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind,
  metadata: { namespace, name, labels: { [PURPOSE_LABEL]: purpose } },
  spec,
});

type Options = {
  client: KubeClient;
  namespace: string;
  purposes: readonly string[];
  random: Random;
};

export const createTraffic = ({ client, namespace, purposes, random }: Options): Traffic => {
  const underWay = new Map<Word, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let accepted = 0;

  const change = async (word: Word): Promise<void> => {
    const resource = resourceOf(word);
    const key = { namespace, name: word.name };
    const { spec } = random.pick(word.variants);
    const options = { timeoutMs: TIMEOUT_MS };
    const [purpose, action] = [random.pick(purposes), random.int(5)];
    const body = [{ op: 'replace', path: '/spec', value: spec }];
    // Which of them fits is found out by trying.
    if (action === 0) await client.delete(resource, key, options);
    else if (action < 3)
      await client.patch(resource, key, { patch: { type: 'json', body }, ...options });
    else await client.create(resource, newRule(word, { namespace, purpose, spec }), options);
    accepted += 1;
  };

  return {
    start: () => {
      timer ??= setInterval(() => {
        const word = random.pick(vocabulary);
        if (underWay.has(word)) return;
        const done = change(word)
          .catch(() => undefined)
          .finally(() => underWay.delete(word));
        underWay.set(word, done);
      }, EVERY_MS);
    },
    stop: async () => {
      clearInterval(timer);
      timer = undefined;
      await Promise.all(underWay.values());
    },
    accepted: () => accepted,
  };
};
