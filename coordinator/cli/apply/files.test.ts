import { expect, it } from 'vitest';
import { EXIT } from '../command.ts';
import { rulesInFiles } from './files.ts';

const policy = (metadata: string, member = '', spec = '', rest = ''): string => `
apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: Mwan3Policy
metadata: { name: a, ${metadata} }
spec: { members: [{ network: n, metric: 1, weight: 1, ${member} }], ${spec} }
${rest}
`;
const read = async (text: string) => {
  const said: string[] = [];
  const io = {
    env: {},
    readText: async () => text,
    out: () => {},
    say: (line: string) => said.push(line),
  };
  return [await rulesInFiles(['a.yaml'], io, 'edge'), said.join()];
};

it.each([
  ['metadata.lables', policy('lables: { b: c }')],
  ['spec.bogus', policy('', '', 'bogus: ')],
  ['spec.members[0].wieght', policy('', 'wieght: ~')],
  ['bogus', policy('', '', '', 'bogus:')],
])(
  'refuses a file with a field that is not known, also one without a value: %s',
  async (field, text) => {
    const [result, said] = await read(text);
    expect(result).toEqual({ code: EXIT.no });
    expect(said).toMatch(/^a\.yaml:\d:\d+: /);
    expect(said).toContain(`: ${field}: unknown to this version`);
  },
);

it('takes a field that is known without a value', async () => {
  const [result, said] = await read(policy('labels: , namespace: ~'));
  expect(result).toMatchObject({ rules: [{ metadata: { name: 'a', namespace: 'edge' } }] });
  expect(said).toBe('');
});

it.each([
  ['batch.sdewan.akraino.org/v1alpha1', 'FirewalRule', /; the nearest are FirewallRule, .*kubectl/],
  ['v1', 'Secret', /Secret is no kind of rule; `kubectl apply` and `kubectl delete` take it/],
])('says where what is no rule belongs: %s %s', async (apiVersion, kind, words) => {
  const [result, said] = await read(
    `{ apiVersion: ${apiVersion}, kind: ${kind}, metadata: { name: a } }`,
  );
  expect(result).toEqual({ code: EXIT.no });
  expect(said).toMatch(words);
});
