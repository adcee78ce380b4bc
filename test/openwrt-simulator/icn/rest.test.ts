import { afterEach, describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../simulator.ts';

let simulator: Simulator;
afterEach(() => simulator.stop());

const start = async (): Promise<void> => {
  simulator = await startSimulator({ apis: ['icn'], factory: { rootPassword: 'pw' } });
};

const rest = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown }> => {
  const answer = await fetch(`${simulator.url}/cgi-bin/luci/sdewan/${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
};

const writes = (): { package: string; call: string; user: string | undefined }[] =>
  simulator
    .journal()
    .flatMap((entry) =>
      entry.event === 'write' && entry.by.call !== 'factory'
        ? [{ package: entry.package, call: entry.by.call, user: entry.by.user }]
        : [],
    );

describe('the journal', () => {
  test('names the request and the user of each write, and PUT writes twice', async () => {
    await start();
    const login = await fetch(`${simulator.url}/cgi-bin/luci/`, {
      method: 'POST',
      body: new URLSearchParams({ luci_username: 'root', luci_password: 'pw' }),
      redirect: 'manual',
    });
    const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
    const rule = { name: 'r', src: 'lan', target: 'DROP' };
    await rest('POST', 'firewall/v1/rules', rule, { cookie });
    await rest('PUT', 'firewall/v1/rules/r', { ...rule, src: 'wan' });
    expect(writes()).toEqual([
      { package: 'firewall', call: 'POST /firewall/v1/rules', user: 'root' },
      { package: 'firewall', call: 'PUT /firewall/v1/rules/r', user: undefined },
      { package: 'firewall', call: 'PUT /firewall/v1/rules/r', user: undefined },
    ]);
  });

  test('counts service actions, which load the firewall', async () => {
    await start();
    await rest('POST', 'firewall/v1/rules', { name: 'r', src: 'lan', target: 'DROP' });
    const before = simulator.firewall().sections.length;
    await rest('PUT', 'v1/service/firewall', { action: 'reload' });
    await rest('PUT', 'v1/service/mwan3', { action: 'reload' });
    expect(simulator.reloads()).toEqual({ firewall: 1, mwan3: 1 });
    expect(simulator.firewall().sections).toHaveLength(before + 1);
    expect(simulator.journal().at(-1)).toMatchObject({ service: 'mwan3', action: 'restart' });
  });
});

describe('the kernel', () => {
  const rule = { name: 'n', src: 'net1', target: 'DROP' };

  test('loses REST rules at a firewall restart, not at a reload, while REST still lists them', async () => {
    await start();
    await rest('POST', 'networkfirewall/v1/rules', rule);
    await rest('PUT', 'v1/service/firewall', { action: 'reload' });
    expect(simulator.kernel.iptables('filter')).toEqual(['-A INPUT -i net1 -j DROP']);
    await rest('PUT', 'v1/service/firewall', { action: 'restart' });
    expect(simulator.kernel.iptables('filter')).toEqual([]);
    expect(await rest('GET', 'networkfirewall/v1/rules')).toMatchObject({
      body: { rules: [rule] },
    });
  });

  test('starts anew with the container, and so do the packages', async () => {
    await start();
    const dropped = await rest('POST', 'route/v1/routes', {
      name: 't',
      dst: '10.9.0.0/16',
      dev: '#default',
      table: 'cnf',
    });
    expect(dropped.body).toMatchObject({ dev_val: 'net1' });
    expect(simulator.kernel.routes.lines('40')).toEqual(['10.9.0.0/16 dev net1 scope link']);
    simulator.restart();
    expect(simulator.kernel.routes.lines('40')).toEqual([]);
    expect(await rest('GET', 'route/v1/routes')).toEqual({ status: 200, body: { routes: [] } });
  });
});

test('status shows every module', async () => {
  await start();
  const { body } = await rest('GET', 'v1/status');
  expect(body).toMatchObject(
    ['conntrack', 'interface', 'ipsec', 'route', 'rule', 'wan'].map((name) => ({ name })),
  );
});
