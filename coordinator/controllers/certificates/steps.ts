/** Carries out a step of the plan on the material. Makes keys, writes nothing. */
import type { Material } from './material.ts';
import { withNewToken } from './path-tokens.ts';
import type { CertificatePolicy, Step } from './decide.ts';
import { createCa, issueServing, type Pair } from './x509.ts';

const CA_NAME = 'sdewan-coordinator-ca';

export const carryOut = async (
  step: Exclude<Step['step'], 'wait'>,
  material: Material | undefined,
  policy: CertificatePolicy,
  now: number,
): Promise<Material> => {
  const newCa = (): Promise<Pair> =>
    createCa(CA_NAME, { issuedAt: now, lifetimeMs: policy.caLifetimeMs });
  const newServing = (ca: Pair): Promise<Pair> =>
    issueServing(ca, policy.names, { issuedAt: now, lifetimeMs: policy.servingLifetimeMs });
  const tokens = withNewToken(material?.tokens ?? [], now);

  if (step === 'bootstrap' || material?.signing === undefined) {
    const ca = await newCa();
    const serving = await newServing(ca);
    return { signing: ca, next: undefined, trusted: [ca.cert], serving, tokens };
  }
  const { signing, next = signing } = material;
  if (step === 'announce-ca') {
    const announced = await newCa();
    return { ...material, next: announced, trusted: [announced.cert, signing.cert] };
  }
  if (step === 'switch-ca')
    return {
      signing: next,
      next: undefined,
      trusted: [...new Set([next.cert, signing.cert])],
      serving: await newServing(next),
      tokens,
    };
  if (step === 'drop-old-ca') return { ...material, trusted: [signing.cert] };
  if (step === 'make-token') return { ...material, tokens };
  return { ...material, serving: await newServing(signing), tokens };
};
