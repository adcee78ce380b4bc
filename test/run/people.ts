/** `npm run test:people`: what kubectl and `sdewan` print, on the running product, the chart with the real Helm, and what promtool says of metrics and alarms. It waits for minutes, and nothing else of the product depends on it. */
import { runStages } from './stages.ts';

process.exitCode = await runStages([
  { projects: [{ name: 'prometheus' }] },
  { projects: [{ name: 'people' }] },
  { projects: [{ name: 'chart' }] },
]);
