/** `npm run test:people`: what kubectl, `sdewan` and browsers show, on the running product, the chart with the real Helm, the commands of the documentation, and what promtool says of metrics and alarms. It waits for minutes, and nothing else of the product depends on it. */
import { installCommand, installPackages, mayInstall } from 'kind-test-harness';
import { CHROMIUM, hasChromium } from '../people/browser/chromium.ts';
import { runStages } from './stages.ts';

/** Undefined: it is there. In CI, as root, it is installed. */
const whyNoBrowser = async (): Promise<string | undefined> => {
  if (await hasChromium()) return undefined;
  if (!mayInstall(process.env)) return `it needs a browser: ${installCommand([CHROMIUM])}`;
  return installPackages([CHROMIUM], { env: process.env, say: console.warn }).then(
    () => undefined,
    (error: unknown) => `its browser cannot be had: ${String(error)}`,
  );
};

const because = await whyNoBrowser();
const running = [{ name: 'people' }, { name: 'dashboard' }];
process.exitCode = await runStages([
  { projects: [{ name: 'prometheus' }] },
  ...(because === undefined
    ? [{ projects: [...running, { name: 'browser' }] }]
    : [{ projects: running }, { cannotRun: 'the tests in a browser', because }]),
  { projects: [{ name: 'chart' }, { name: 'docs' }] },
]);
