/**
 * A look at OpenWRT and what the agent knows of itself, as people are told, without secrets. Pure,
 * but for the marks of secrets.
 */
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { Inspection } from '#shared/protocol/inspection.ts';
import { createRedaction, isSecretName, type Redaction } from '#shared/protocol/redaction.ts';
import { deviceFiles } from '#shared/resources/device-files.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import type { Snapshot } from '../report/status.ts';
import type { Look } from './look.ts';

export type AnswerInput = Pick<
  Inspection,
  'agent' | 'namespace' | 'pod' | 'purpose' | 'at' | 'paused' | 'watches' | 'waitsFor'
> & {
  lastPass: Inspection['lastPass'];
  /** Undefined while it is not known which rules there are. */
  look: Look | undefined;
  snapshot: Pick<Snapshot, 'openwrt' | 'rules'>;
  /** Values of the Secrets that rules refer to. */
  secrets: Iterable<string>;
};

export const answerOf = ({ look, snapshot, secrets, ...about }: AnswerInput): Inspection => {
  const redaction = createRedaction();
  redaction.add(secrets);
  const { held = NOTHING, wanted = NOTHING, unusable = new Map<string, string>() } = look ?? {};
  for (const packages of [held, wanted]) redaction.add(secretValuesIn(packages));
  const sectionsOf = (content: UciPackage | undefined) =>
    (content?.sections ?? []).map((section) => shown(section, content?.name ?? '', redaction));
  const names = [...new Set([...held.keys(), ...unusable.keys()])].sort();
  const sections = new Map(look?.verdicts.map((verdict) => [verdict.rule.metadata.uid, verdict]));
  const { openwrt } = snapshot;
  return {
    ...about,
    ...(about.lastPass && {
      lastPass: { ...about.lastPass, message: redaction.text(about.lastPass.message) },
    }),
    openwrt: { ...openwrt, message: redaction.text(openwrt.message) },
    packages: names.map((name) => {
      const why = unusable.get(name);
      return {
        name,
        wanted: sectionsOf(wanted.get(name)),
        held: sectionsOf(held.get(name)),
        ...(why !== undefined && { unusable: redaction.text(why) }),
      };
    }),
    rules: snapshot.rules.map(({ uid, revision: _revision, ...rule }) => ({
      ...rule,
      message: redaction.text(rule.message),
      sections: (sections.get(uid)?.sections ?? []).map((one) => ledgerKey(one.package, one.name)),
    })),
  };
};

const NOTHING: ReadonlyMap<string, UciPackage> = new Map();

const valuesOf = (section: UciSection, isShown: (option: string) => boolean): string[] =>
  Object.entries(section.options).flatMap(([option, value]) => (isShown(option) ? value : []));

/** Certificates and keys that stand in files of OpenWRT are sections of a part of its own. */
const secretValuesIn = (packages: ReadonlyMap<string, UciPackage>): string[] =>
  [...packages.values()].flatMap(({ name, sections }) =>
    sections.flatMap((section) =>
      valuesOf(section, (option) => name === deviceFiles.name || isSecretName(option)),
    ),
  );

const shown = (
  { name, anonymous, type, options }: UciSection,
  uciPackage: string,
  redaction: Redaction,
): Inspection['packages'][number]['held'][number] => ({
  name,
  anonymous,
  type,
  options: Object.fromEntries(
    Object.entries(options).map(([option, value]) => {
      const as = uciPackage === deviceFiles.name ? 'secret' : option;
      return [
        option,
        typeof value === 'string'
          ? redaction.value(as, value)
          : value.map((item) => redaction.value(as, item)),
      ];
    }),
  ),
});
