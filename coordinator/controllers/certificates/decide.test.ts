import { describe, expect, it } from 'vitest';
import { carryOut } from './steps.ts';
import { bundleOf, isProvided, readMaterial, writeMaterial, type Material } from './material.ts';
import { nextStep, type CertificatePolicy } from './decide.ts';
import { isSignedBy } from './x509.ts';

const HOUR = 3_600_000;
const policy: CertificatePolicy = {
  names: ['coordinator.svc'],
  caLifetimeMs: 1_000 * HOUR,
  servingLifetimeMs: 120 * HOUR,
  overlapMs: 24 * HOUR,
};
const start = Date.UTC(2026, 0, 1);

/** Simulates `hours`, taking each step when it is due; returns the steps with the hour of each. */
const live = async (hours: number, from?: Material) => {
  let material = from;
  let now = start;
  const steps: { step: string; hour: number; material: Material }[] = [];
  while (now <= start + hours * HOUR) {
    const plan = nextStep(material, policy, now);
    if (plan.step === 'wait') {
      expect(plan.until).toBeGreaterThan(now);
      now = plan.until;
    } else {
      material = await carryOut(plan.step, material, policy, now);
      steps.push({ step: plan.step, hour: Math.round((now - start) / HOUR), material });
    }
  }
  return steps;
};

/** The length of one life, which costs many keys: the steps of its first hours. */
const LONGEST = 3_000;
const longest = live(LONGEST);
const liveFor = async (hours: number) => (await longest).filter(({ hour }) => hour <= hours);

describe('the plan for certificates', () => {
  it('begins with a CA and ends the overlap of a new one by dropping the old', async () => {
    const steps = await liveFor(800);
    expect(
      steps.filter(({ step }) => step !== 'renew-serving').map(({ step, hour }) => [step, hour]),
    ).toEqual([
      ['bootstrap', 0],
      ['announce-ca', 667],
      ['switch-ca', 691],
      ['drop-old-ca', 715],
    ]);
  });

  it('serves nothing that clients have not trusted for the whole overlap', async () => {
    const trustedSince = new Map<string, number>();
    const tooEarly: string[] = [];
    for (const { step, hour, material } of await liveFor(2_500)) {
      for (const ca of material.trusted) if (!trustedSince.has(ca)) trustedSince.set(ca, hour);
      const signer = material.trusted.find((ca) => isSignedBy(material.serving.cert, ca)) ?? '';
      const since = trustedSince.get(signer) ?? hour;
      if (step !== 'bootstrap' && since !== 0 && hour - since < 24)
        tooEarly.push(`${step} ${hour}`);
    }
    expect(trustedSince.size).toBeGreaterThan(2);
    expect(tooEarly).toEqual([]);
  });

  it('keeps a CA that replicas may still serve with until the overlap is over', async () => {
    const steps = await liveFor(2_500);
    const switches = steps.flatMap(({ step, material }, index) => {
      const before = steps[index - 1]?.material.serving.cert;
      return step === 'switch-ca' && before ? [{ trusted: material.trusted, before }] : [];
    });
    expect(switches.length).toBeGreaterThan(1);
    for (const { trusted, before } of switches)
      expect(trusted.some((ca) => isSignedBy(before, ca))).toBe(true);
  });

  it('takes few steps, even in the last hours of a CA', async () => {
    expect((await liveFor(LONGEST)).length).toBeLessThan(60);
  });

  it('renews at once when a name is missing', async () => {
    const [first] = await liveFor(0);
    const wider = { ...policy, names: ['coordinator.svc', '10.0.0.1'] };
    expect(nextStep(first?.material, wider, start).step).toBe('renew-serving');
  });

  it('switches to the announced CA when the present one expired while no coordinator ran', async () => {
    const steps = await liveFor(670);
    const announced = steps.find(({ step }) => step === 'announce-ca')?.material;
    const plan = nextStep(announced, policy, start + 1_200 * HOUR);
    expect(plan.step).toBe('switch-ca');
    const material = await carryOut('switch-ca', announced, policy, start + 1_200 * HOUR);
    expect(material.signing).toEqual(announced?.next);
  });

  it('starts anew with an empty or broken Secret', async () => {
    expect(nextStep(undefined, policy, start).step).toBe('bootstrap');
    expect(
      readMaterial({ 'tls.crt': 'bm8=', 'tls.key': 'bm8=', 'ca.crt': 'bm8=' }),
    ).toBeUndefined();
  });
});

describe('the certificate Secret', () => {
  it('reads back what was written, at every stage', async () => {
    for (const { material } of await liveFor(800)) {
      const written = Object.entries(writeMaterial(material));
      const data = Object.fromEntries(written.filter(([, value]) => value !== null)) as Record<
        string,
        string
      >;
      expect(readMaterial(data)).toEqual(material);
    }
  });

  it('serves without a CA key when others made it', async () => {
    const [first] = await liveFor(0);
    if (!first) throw new Error('no first step');
    const { signing: _, ...rest } = first.material;
    const data = Object.fromEntries(
      Object.entries(writeMaterial({ ...rest, signing: undefined })).filter(([, v]) => v !== null),
    ) as Record<string, string>;
    expect(readMaterial(data)).toEqual({ ...first.material, signing: undefined });
    expect(isProvided(data)).toBe(true);
    expect(isProvided(undefined)).toBe(false);
    expect(bundleOf(first.material)).toContain('BEGIN CERTIFICATE');
  });
});
