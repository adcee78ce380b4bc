/**
 * `sdewan dashboard`: the page of a coordinator of the cluster, through a port-forward, for who
 * holds the code.
 */
import { expect, it } from 'vitest';
import { e2eCluster } from '../../cluster.ts';
import { enterBy, withDashboard } from '../../../stack/dashboard.ts';
import { beginSdewan } from '../../../stack/sdewan.ts';

const cluster = await e2eCluster();
const dashboard = (...args: string[]) => beginSdewan(cluster, 'dashboard', '--no-browser', ...args);

it('opens the dashboard signed in, as the user of the kubeconfig or as the viewer, where it is on', async () => {
  const off = await dashboard();
  expect(await off.end()).toEqual({
    code: 1,
    said: expect.stringContaining('deploy/dashboard turns it on'),
  });
  await withDashboard(cluster, async () => {
    const { out, end } = await dashboard('--viewer');
    const entered = await enterBy(out.trim());
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await fetch(new URL('/', out.trim()), { headers: { cookie } });
    expect([page.status, await page.text()]).toEqual([
      200,
      expect.stringContaining('sdewan-dashboard-viewer'),
    ]);
    const again = await enterBy(out.trim());
    expect(again.status).toBe(401);
    const ended = await end();
    expect(ended).toEqual({ code: 0, said: expect.stringContaining('until Ctrl-C') });
    expect(ended.said).toContain('signed in as system:serviceaccount:sdewan-system:');
  });
});
