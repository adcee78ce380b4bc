import { describe, expect, it } from 'vitest';
import { EXIT } from '../command.ts';
import { VERSION } from '#shared/own-version.ts';
import { runCli } from '../testing.ts';
import { versionText, versionViewOf, versionViewSchema } from './view.ts';

const sides = (coordinator: string, ...agents: string[]) =>
  versionViewOf({ cli: '1.4.2', coordinators: [coordinator], agents, absent: [] });

describe('versions', () => {
  it.each([
    ['the same', 'r.example:5000/sdewan-coordinator:1.4.2', 'Yes', 0],
    ['a patch apart', 'c:1.4.9', 'Yes', 1],
    ['one older', 'c:v1.3.0', 'Yes', 1],
    ['one newer, by digest', `c:1.5.0@sha256:${'a'.repeat(64)}`, 'Yes', 1],
    ['two older', 'c:1.2.9', 'No', 1],
    ['another major', 'c:2.4.2', 'No', 1],
    ['no version', 'sdewan-coordinator:dev', 'Unknown', 1],
    ['a port and no tag', 'r.example:5000/coordinator', 'Unknown', 1],
  ])('have %s', (_, image, fit, remarks) => {
    const view = sides(image);
    expect([view.fit, view.remarks.length]).toEqual([fit, remarks]);
    expect(versionViewSchema.parse(JSON.parse(JSON.stringify(view)))).toEqual(view);
  });

  it('names both sides in each remark', () => {
    const { remarks, fit } = sides('c:1.4.2', 'a:1.2.0', 'a:1.2.0', 'a:1.5.1');
    expect(fit).toBe('No');
    expect(remarks).toEqual([
      expect.stringMatching(/an agent has version 1\.2\.0, and this program has 1\.4\.2: only/),
      expect.stringMatching(/an agent has version 1\.5\.1, and this program has 1\.4\.2: what/),
    ]);
  });

  it('cannot be judged without a coordinator, and kinds that are absent are named', () => {
    const view = versionViewOf({ cli: '1.4.2', coordinators: [], agents: [], absent: ['CNFNAT'] });
    expect(view).toMatchObject({ fit: 'Unknown', remarks: [expect.stringContaining('CNFNAT')] });
  });

  it('are a table', () => {
    expect(versionText(sides('c:1.4.2', 'a:dev'))).toBe(
      'SIDE           VERSION   IMAGE\nthis program   1.4.2     -\ncoordinator    1.4.2     c:1.4.2\nagents         -         a:dev\n',
    );
  });
});

describe('sdewan version', () => {
  it('needs no cluster for this program', async () => {
    const { code, out } = await runCli(['version', '--client', '-o', 'json']);
    expect([code, JSON.parse(out)]).toEqual([EXIT.done, expect.objectContaining({ cli: VERSION })]);
  });

  it('says what it knows without a cluster, and cannot tell', async () => {
    const { code, out, said } = await runCli(['version', '--kubeconfig', '/nonexistent']);
    expect(code).toBe(EXIT.unknown);
    expect(out).toContain(VERSION);
    expect(said.at(-1)).toContain('no cluster');
  });
});
