/**
 * Values of the Secrets that rules refer to. One watch per Secret, by its name, so that the agent
 * needs rights on exactly those (`resourceNames`), and none while no rule asks. Values go into
 * sections and nowhere else: not into logs, not onto disk.
 */
import type * as z from 'zod';
import { checkSpec } from '#shared/compile/check.ts';
import { secretKey, type LastGood, type UnreadSecrets } from '#shared/compile/types.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { dataObjectSchema, identityOf, resourceV1, type RuleObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { Logger } from '#shared/runtime/log.ts';

export type SecretSourceDeps = {
  client: KubeClient;
  kinds: readonly KindDefinition[];
  namespace: string;
  /** Whose Secrets are watched: the rules, and what stands in for them. */
  users: () => { rules: readonly RuleObject[]; lastGood: LastGood };
  /** Called when a value, or what is known of a Secret, has changed. Must return at once. */
  onChange: () => void;
  log: Logger;
};

export type SecretSource = {
  /** By `secretKey(name, key)`. What was read once stays while the Secret cannot be read. */
  values: () => ReadonlyMap<string, string>;
  /** Why Secrets that rules name give nothing. */
  unread: () => UnreadSecrets;
  /** Secrets of which it is not yet known whether they are there, nor that they may not be read. */
  unknown: () => string[];
  /** Watches what `users` refer to now. Goes over all of them: for each pass, not each event. */
  follow: () => void;
  /** Watches until the signal aborts. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** Its labels and annotations can be larger than what is looked at. */
const secretSchema = dataObjectSchema.transform(({ data = {}, ...object }) => ({
  ...identityOf(object),
  data,
}));
type Secret = z.infer<typeof secretSchema>;

const SECRETS = resourceV1('', 'secrets', 'Secret', secretSchema);

type Followed = { reflector: Reflector<Secret>; leave: AbortController };

export const createSecretSource = (deps: SecretSourceDeps): SecretSource => {
  const { client, kinds, namespace, users, onChange, log } = deps;
  const followed = new Map<string, Followed>();
  const watches = new Set<Promise<void>>();
  /** Until then nothing is asked of the API server; afterwards it is `run`'s signal. */
  let running: AbortSignal | undefined;

  const watch = ({ reflector, leave }: Followed): void => {
    if (running === undefined) return;
    const ended = reflector
      .run(AbortSignal.any([running, leave.signal]))
      .finally(() => watches.delete(ended));
    watches.add(ended);
  };

  const begin = (name: string): void => {
    const reflector = new Reflector<Secret>({
      client,
      resource: SECRETS,
      selection: { namespace, fieldSelector: `metadata.name=${name}` },
      onEvent: onChange,
      onState: onChange,
      log,
    });
    const entry = { reflector, leave: new AbortController() };
    followed.set(name, entry);
    watch(entry);
  };

  return {
    values: () =>
      new Map(
        [...followed.values()]
          .flatMap(({ reflector }) => reflector.store.list())
          .flatMap(({ metadata, data }) =>
            Object.entries(data).map(([key, value]): [string, string] => [
              secretKey(metadata.name, key),
              Buffer.from(value, 'base64').toString('utf8'),
            ]),
          ),
      ),
    unread: () =>
      new Map(
        [...followed].flatMap(([name, { reflector }]): [string, 'absent' | 'forbidden'][] => {
          if (reflector.state.phase === 'Forbidden') return [[name, 'forbidden']];
          return reflector.store.size === 0 ? [[name, 'absent']] : [];
        }),
      ),
    unknown: () =>
      [...followed]
        .filter(([, { reflector }]) => !reflector.state.listed)
        .filter(([, { reflector }]) => reflector.state.phase !== 'Forbidden')
        .map(([name]) => name),
    follow: () => {
      const { rules, lastGood } = users();
      const wanted = secretsOf(rules, lastGood, kinds);
      for (const [name, { leave }] of followed) {
        if (wanted.has(name)) continue;
        leave.abort();
        followed.delete(name);
      }
      for (const name of wanted) if (!followed.has(name)) begin(name);
    },
    run: async (signal) => {
      running = signal;
      for (const entry of followed.values()) watch(entry);
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await Promise.all(watches);
    },
  };
};

/** Names of the Secrets that specs refer to, as far as they can be read. */
const secretsOf = (
  rules: readonly RuleObject[],
  lastGood: LastGood,
  kinds: readonly KindDefinition[],
): ReadonlySet<string> => {
  const asking = new Map(kinds.filter(({ secrets }) => secrets).map((kind) => [kind.kind, kind]));
  const names = new Set<string>();
  for (const { kind: kindName, metadata, spec } of rules) {
    const kind = asking.get(kindName);
    if (kind === undefined) continue;
    for (const version of [spec, lastGood.get(metadata.uid)?.spec]) {
      const checked = checkSpec(kind, version);
      if (!('spec' in checked)) continue;
      for (const { name } of kind.secrets?.(checked.spec) ?? []) names.add(name);
    }
  }
  return names;
};
