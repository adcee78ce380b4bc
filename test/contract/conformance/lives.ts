/**
 * The life of a rule of each kind on a device: what it refers to is there; then it is created,
 * changed and deleted, and each time looked at.
 */
import { referencesOf } from '#shared/compile/check.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { RuleReport } from '#shared/protocol/report.ts';
import { differenceOf, type Difference } from '../../openwrt/checks/kernel.ts';
import { childrenOf } from '../../golden/cases.ts';
import { allSamples, samplesOf } from '../../samples/all.ts';
import type { Spec } from '../../samples/uci-table.ts';
import { cr, deleted } from '../agent/support/pass.ts';
import type { Stage } from './stage.ts';

export const OPERATIONS = ['created', 'changed', 'deleted'] as const;
export type Operation = (typeof OPERATIONS)[number];

export type Look = {
  /** What the agent reports of the rule, and of those that the coordinator makes of it. */
  states: string[];
  /** Against before the rule was created. */
  files: Difference;
  kernel: Difference;
};
export type Looks = Record<Operation, Look>;

/**
 * Where a login cannot read the kernel the report says so of every rule; tests that use this look
 * into the kernel without it.
 */
const wordsOf = ({ kind, name, state, reason, message }: RuleReport): string =>
  `${kind} ${name}: ${state} ${reason === 'AppliedInFiles' ? '' : message}`.trim();

/** A rule as the API server would have it, with what the coordinator makes of it behind it. */
export const lifeRules = (kind: string, operation: Operation): RuleObject[] => {
  const { life, kernel } = samplesOf(kind);
  const isChanged = operation !== 'created';
  const spec: Spec = isChanged ? (kernel.changed ?? life.changed) : (kernel.spec ?? life.spec);
  const addresses = isChanged ? '10.244.1.6' : '10.244.1.5';
  const rule = cr(kind, life.name, spec, {
    annotations: { 'sdewan.akraino.org/pod-addresses': addresses },
    ...(operation === 'deleted' && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
  });
  return [rule, ...childrenOf([rule])];
};

const lifeOf = (kind: string, name: string): string[] =>
  allSamples.filter((one) => one.kind === kind && one.life.name === name).map((one) => one.kind);

/** The kinds of what it refers to, and what these refer to, that first. */
export const referredBy = (kind: string): string[] => {
  const direct = lifeRules(kind, 'created')
    .flatMap((rule) => referencesOf(rule))
    .flatMap((reference) => lifeOf(reference.kind, reference.name));
  return [...new Set(direct.flatMap((one) => [...referredBy(one), one]))];
};

/**
 * `isThere`: whether the kernel shows what it must; a device that goes on by itself is given time
 * for it.
 */
export type IsThere = (operation: Operation, kernel: Difference) => boolean;

const LOOKS = 25;
const BETWEEN_LOOKS_MS = 300;
const NOTHING: Difference = { added: [], gone: [] };

export const live = async (stage: Stage, kind: string, isThere: IsThere): Promise<Looks> => {
  const { pass, files, kernel = () => [] } = stage;
  const referred = referredBy(kind).flatMap((one) => lifeRules(one, 'created'));
  const { shownBy } = samplesOf(kind).kernel;
  await pass.run(referred);
  const before = { files: files(), kernel: stage.kernel ? await resting(kernel) : [] };
  const looks: Partial<Looks> = {};
  for (const operation of OPERATIONS) {
    const rules = lifeRules(kind, operation);
    const shows = shownBy === undefined ? [] : lifeRules(shownBy, 'created');
    const others = [...referred, ...(operation === 'deleted' ? shows.map(deleted) : shows)];
    await pass.run([...others, ...rules]);
    const names = new Set(rules.map(({ metadata }) => metadata.name));
    looks[operation] = {
      states: pass
        .reports()
        .filter(({ name }) => names.has(name))
        .map(wordsOf),
      files: differenceOf(before.files, files()),
      kernel: stage.kernel ? await shown(before.kernel, kernel, operation, isThere) : NOTHING,
    };
  }
  await pass.run(referred.map(deleted));
  const { created, changed, deleted: gone } = looks;
  if (!created || !changed || !gone) throw new Error('no look');
  return { created, changed, deleted: gone };
};

const pause = () => new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));

const ALIKE = 6;

/** Several looks that are alike: netifd and mwan3 go on for a while after they were asked. */
const resting = async (kernel: () => string[]): Promise<string[]> => {
  let last = kernel();
  for (let look = 0, alike = 0; look < LOOKS && alike < ALIKE; look += 1) {
    await pause();
    const now = kernel();
    const { added, gone } = differenceOf(last, now);
    alike = added.length + gone.length === 0 ? alike + 1 : 0;
    last = now;
  }
  return last;
};

const shown = async (
  before: readonly string[],
  kernel: () => string[],
  operation: Operation,
  isThere: IsThere,
): Promise<Difference> => {
  for (let look = 0; ; look += 1) {
    const found = differenceOf(before, kernel());
    if (isThere(operation, found) || look > LOOKS) return found;
    await pause();
  }
};
