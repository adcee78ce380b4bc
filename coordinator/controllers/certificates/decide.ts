/**
 * What has to be done with the certificates next, one step at a time, so that each step is one
 * fenced write that replicas can race for. Invariant: what is served is signed by a CA that clients
 * have trusted for at least the overlap.
 */
import type { Material } from './material.ts';
import { inspect, isSignedBy, isValidFor, type CertificateFacts, type Pair } from './x509.ts';

export type CertificatePolicy = {
  /** DNS names and IP addresses under which agents and the API server reach the coordinator. */
  names: readonly string[];
  caLifetimeMs: number;
  servingLifetimeMs: number;
  /** From the publication of a CA to its first use, and from its last use to its end. */
  overlapMs: number;
};

export type Step =
  /** Nothing usable is there: a CA and a serving certificate at once. */
  | { step: 'bootstrap' }
  | { step: 'announce-ca' }
  /** The announced CA signs from now on; the old one stays trusted. */
  | { step: 'switch-ca' }
  | { step: 'drop-old-ca' }
  | { step: 'renew-serving' }
  /** The Secret is of a version that had none. */
  | { step: 'make-token' }
  /** Look again at that time, milliseconds since 1970. */
  | { step: 'wait'; until: number };

/** `at`: when it is due, milliseconds since 1970. */
type DatedStep = { step: Exclude<Step['step'], 'wait' | 'bootstrap' | 'make-token'>; at: number };

/** Renewal begins after this part of a certificate's life: the rest is for problems to be fixed. */
const RENEW_AFTER = 2 / 3;
/** As a part of a serving certificate's life. */
const LAST_HOURS = 1 / 10;

export const nextStep = (
  material: Material | undefined,
  policy: CertificatePolicy,
  now: number,
): Step => {
  if (material?.signing === undefined) return { step: 'bootstrap' };
  const { signing, next } = material;
  // A CA in its last hours would sign ever shorter lives.
  if (now >= inspect(signing.cert).expiresAt - policy.servingLifetimeMs * LAST_HOURS)
    return { step: next === undefined ? 'bootstrap' : 'switch-ca' };
  if (material.tokens.length === 0) return { step: 'make-token' };
  const steps = [renewServing(material, signing, policy), ...changeCa(material, signing, policy)];
  const due = steps.find(({ at }) => now >= at);
  return due ?? { step: 'wait', until: Math.min(...steps.map(({ at }) => at)) };
};

const renewServing = (
  { serving }: Material,
  signing: Pair,
  { names }: CertificatePolicy,
): DatedStep => {
  const fits =
    isSignedBy(serving.cert, signing.cert) && names.every((name) => isValidFor(serving.cert, name));
  return { step: 'renew-serving', at: fits ? renewAt(inspect(serving.cert)) : -Infinity };
};

const changeCa = (
  { next, trusted, serving }: Material,
  signing: Pair,
  { overlapMs, servingLifetimeMs }: CertificatePolicy,
): DatedStep[] => {
  if (next !== undefined)
    return [{ step: 'switch-ca', at: inspect(next.cert).issuedAt + overlapMs }];
  const announce: DatedStep = { step: 'announce-ca', at: renewAt(inspect(signing.cert)) };
  if (trusted.length === 1) return [announce];
  // The serving certificate was made at the switch, so its age is the time since the old CA's last
  // use; half a life, because a renewal begins its age anew.
  const sinceSwitchMs = Math.min(overlapMs, servingLifetimeMs / 2);
  return [announce, { step: 'drop-old-ca', at: inspect(serving.cert).issuedAt + sinceSwitchMs }];
};

const renewAt = ({ issuedAt, expiresAt }: CertificateFacts): number =>
  issuedAt + (expiresAt - issuedAt) * RENEW_AFTER;
