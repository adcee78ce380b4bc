/** The sections that rules make, as people read them. Pure. */
import * as z from 'zod';
import type { NetworkTable } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { deviceFiles } from '#shared/resources/device-files.ts';
import { formatPackage } from '#shared/uci/format.ts';
import type { UciSection } from '#shared/uci/model.ts';

export const packageSchema = z.object({
  name: z.string(),
  sections: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      options: z.record(z.string(), z.union([z.string(), z.array(z.string()).readonly()])),
    }),
  ),
});

export type RenderedPackage = z.infer<typeof packageSchema>;

export type CnfRules = {
  /** Empty where the rules name none. */
  namespace: string;
  cnf: string;
  rules: readonly RuleObject[];
  networks: NetworkTable | undefined;
};

/** Only the paths of files: their contents are certificates and keys. */
export const packagesText = (packages: readonly RenderedPackage[]): string =>
  packages
    .map(({ name, sections }) => {
      if (name === deviceFiles.name)
        return sections.map((file) => `# with the file ${file.name}\n`).join('');
      const whole = sections.map((section) => ({ ...section, anonymous: false }));
      return `package ${name}\n${formatPackage({ name, sections: whole })}`;
    })
    .join('\n');

/** The sections of one rule, among all that there are. */
export const packagesOf = (
  sections: readonly { package: string; name: string }[],
  desired: ReadonlyMap<string, readonly UciSection[]>,
): RenderedPackage[] =>
  [...Map.groupBy(sections, (place) => place.package)].map(([name, own]) => {
    const names = new Set(own.map((section) => section.name));
    const held = (desired.get(name) ?? []).filter((section) => names.has(section.name));
    return { name, sections: held.map(renderedSection) };
  });

export const renderedSection = ({ name, type, options }: UciSection) => ({
  name,
  type,
  options: { ...options },
});
