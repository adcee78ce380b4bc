/** `sdewan dashboard`. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption } from '../options.ts';

export const dashboardCommand: CommandFile = {
  name: 'dashboard',
  summary: 'open the dashboard in a browser, signed in',
  description:
    'Forwards a port of this machine to a coordinator until Ctrl-C, and trades a token for a code that works once. The token is that of the kubeconfig. Where there is none, or with --viewer, it is one of service account sdewan-dashboard-viewer, which is good for the dashboard alone. Needs the rights to list pods and to get and create pods/portforward in the namespace of the coordinator; for a token of that account also to create serviceaccounts/token.',
  options: [
    new Option('--viewer', "sign in as the viewer's account, whatever the kubeconfig has"),
    new Option('--no-browser', 'print the URL, and open nothing'),
    new Option('--port <number>', 'port of this machine; 0: a free one').default('0'),
    new Option('-n, --namespace <name>', 'that of the coordinator').default('sdewan-system'),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    ['', 'in the browser of this machine'],
    ['--no-browser --port 8444', 'print the URL'],
  ],
  run: async (...given) => (await import('./run.ts')).runDashboard(...given),
};
