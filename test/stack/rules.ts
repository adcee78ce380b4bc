/** Builders of rule CRs for tests and benchmarks; plain objects, applied with kubectl. */
import { isDeepStrictEqual } from 'node:util';

export type Rule = {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: Readonly<Record<string, unknown>>;
};

export const rule = (
  kind: string,
  name: string,
  spec: Readonly<Record<string, unknown>>,
  purpose = 'cnf-1',
): Rule => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, labels: { sdewanPurpose: purpose } },
  spec,
});

export const zone = (name: string, network: string, purpose?: string): Rule =>
  rule('FirewallZone', name, { network: [network], input: 'ACCEPT' }, purpose);

/** A rule that rejects one source address; `index` makes name and address its own (0 to 65,535). */
export const rejectRule = (index: number, src: string, purpose?: string): Rule =>
  rule(
    'FirewallRule',
    `reject-${index}`,
    {
      src,
      src_ip: `10.1.${Math.floor(index / 256)}.${index % 256}`,
      proto: 'tcp',
      dest_port: '80',
      target: 'REJECT',
    },
    purpose,
  );

export const inNamespace = (each: Rule, namespace: string) => ({
  ...each,
  metadata: { ...each.metadata, namespace },
});

/** In any order: admission only warns about references that are not there (yet), or still there. */
export const inAnyOrder = (each: Rule): Rule => ({
  ...each,
  metadata: {
    ...each.metadata,
    annotations: { ...each.metadata.annotations, 'sdewan.akraino.org/references': 'warn' },
  },
});

export const idOf = ({ kind, metadata }: Rule): string => `${kind}/${metadata.name}`;

/** The API server gives it to each new rule. */
export const FIRST_STATUS = { observedGeneration: -1 };

/** Whether the coordinator has written it. */
export const isStatusWritten = ({ status }: { status?: unknown }): boolean =>
  !isDeepStrictEqual(status ?? FIRST_STATUS, FIRST_STATUS);
