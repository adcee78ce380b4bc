/**
 * All commands, in the order in which `--help` lists them, with all that help needs. What a command
 * does is in a folder of its name, which its run loads.
 */
import { Argument, Option } from 'commander';
import { own } from '#shared/util/own.ts';
import { EXIT, type CommandFile } from './command.ts';
import { scripts } from './completion/scripts.ts';
import {
  clusterOptions,
  collected,
  connectionOptions,
  filenameOption,
  formatOption,
  namespaceOption,
  scopeOptions,
} from './options.ts';
import { ACTIONS } from './rollout/actions.ts';

/** Options of commands that write rules. */
const writing: readonly Option[] = [
  filenameOption(),
  new Option('--timeout <seconds>', 'how long to wait in all').default('60'),
  namespaceOption(),
  ...connectionOptions(),
];

/** Options of a packet through the firewall of a CNF. */
const FIREWALL_ONLY = ['src', 'dst', 'in', 'out', 'live', 'filename', 'firewall', 'networks'];

export const commands: readonly CommandFile[] = [
  {
    name: 'status',
    summary: 'show CNFs, and every rule that is not in sync: why, since when, and what to do',
    description:
      'Exits 0 when all rules are in sync, 1 when one is not, 3 when not all can be seen.',
    args: [new Argument('[cnf]', 'only this one')],
    options: clusterOptions(),
    examples: [
      ['', 'the CNFs of the namespace of the context'],
      ['-A', 'those of all namespaces'],
      ['cnf-1 -n edge -o json', 'one CNF, for a program'],
    ],
    run: async (...given) => (await import('./status/run.ts')).runStatus(...given),
  },
  {
    name: 'rules',
    summary:
      "list the rules of a CNF in the order of OpenWRT's configuration, with the state on each pod",
    description: 'Exits 0 when all are in sync, 1 when one is not, 3 when not all can be seen.',
    args: [new Argument('<cnf>', 'the value of label sdewanPurpose')],
    options: clusterOptions(),
    examples: [
      ['cnf-1', 'the rules, and the pods that do not have them'],
      ['cnf-1 -o wide', 'with a column for each pod'],
    ],
    run: async (...given) => (await import('./rules/run.ts')).runRules(...given),
  },
  {
    name: 'explain',
    summary:
      'show all of one rule: the UCI that it becomes, where it is in force, what it refers to',
    description:
      'Of a NetworkPolicy or MultiNetworkPolicy: at which CNFs it is enforced, for which pods, and for which not and why. Exits 0 when it is in sync, wherever it is enforced, else 1.',
    args: [new Argument('<kind/name>', 'such as FirewallRule/reject-80, or networkpolicy/web')],
    options: clusterOptions(),
    examples: [
      ['FirewallRule/reject-80', 'a rule in the namespace of the context'],
      ['firewallzone/lan1 -n edge -o yaml', 'for a program'],
      ['networkpolicy/web -n shop', 'a policy that CNFs enforce'],
    ],
    run: async (...given) => (await import('./explain/run.ts')).runExplain(...given),
  },
  {
    name: 'ports',
    summary:
      'show which pod has which address of a managed network, and which pods wait for one and why',
    description:
      'With the state of the pod of each NetworkPort, addresses in use without one, and conflicts. Networks and NetworkPorts belong to the whole cluster: it takes the right to list them there. Exits 0, 1 when a pod waits or a network gives nothing, 3 when not all can be seen.',
    args: [new Argument('[network]', 'only this ManagedNetwork')],
    options: clusterOptions(),
    examples: [
      ['-A', 'all networks, and pods of all namespaces'],
      ['edge -n shop -o json', 'one network, and pods of one namespace, for a program'],
    ],
    run: async (...given) => (await import('./ports/run.ts')).runPorts(...given),
  },
  {
    name: 'docs',
    summary: 'show the part of the documentation that an answer names',
    description: 'It needs no cluster. Without a topic it lists those that there are.',
    args: [new Argument('[topic]', 'as the answer names it')],
    examples: [
      ['', 'all topics'],
      ['security#rights', 'one of them'],
    ],
    run: async (...given) => (await import('./docs/run.ts')).runDocs(...given),
  },
  {
    name: 'resync',
    summary:
      'let the agent of a pod look at everything now, and repair what is not as it should be',
    description: `Takes a port-forward to the pod: ClusterRole sdewan-debug. Agents look by themselves, too; each takes three such requests at once, then
one in ten seconds. Of a CNF: all its pods, one after the other.`,
    args: [new Argument('<cnf|pod>', 'a pod, or the value of label sdewanPurpose')],
    options: [namespaceOption(), ...connectionOptions()],
    examples: [['cnf-1-7fbdd9fcd6-729vd', 'after its OpenWRT was changed by hand']],
    run: async (...given) => (await import('./resync/run.ts')).runResync(...given),
  },
  {
    name: 'rollout',
    summary: 'show what a roll-out of a CNFDeployment waits for, and steer it',
    description: [
      'status    which set of pods serves, which one is staged, and what it waits for; exits 1 while there is a roll-out, or the last one has failed',
      'history   the sets of pods that are kept, with the state of each',
      'undo      back to the template of before, or to that of --to-revision',
      'pause     nothing new is rolled out or handed over',
      'resume    the same, undone',
      'restart   a new set of pods of the same template',
      'promote   the staged set gets the traffic now, with rules that it does not have; it still has to run',
      'adopt     the Deployment of its name becomes its own, and no pod changes',
    ].join('\n'),
    args: [
      new Argument('<action>', 'what to do').choices(ACTIONS),
      new Argument('<cnfdeployment>', 'its name'),
    ],
    options: [
      namespaceOption(),
      new Option('--timeout <seconds>', 'status: wait that long for its end').default('0'),
      new Option('--to-revision <number>', 'undo: one of those that history shows'),
      ...connectionOptions(),
    ],
    examples: [
      ['status cnf-1 --timeout 600', 'waits, and says for what'],
      ['undo cnf-1 --to-revision 3', 'the template of a revision that history shows'],
    ],
    run: async (...given) => (await import('./rollout/run.ts')).runRollout(...given),
  },
  {
    name: 'render',
    summary: 'print the UCI configuration that rules in files come to, without a cluster',
    description:
      'Takes an OpenWRT with firewall4 that has the interfaces that rules name. What is wrong is said with file, line and column; exits 1 then.',
    options: [
      filenameOption(),
      new Option(
        '--networks <name=interface>',
        'networks of the CNF, separated by commas; default: those of the CNF manifests in the input',
      ).argParser(collected),
      formatOption(),
    ],
    examples: [
      ['-f rules.yaml --networks ovn-net1=net1', 'the configuration of rules'],
      ['-f cnf.yaml -f rules.yaml', 'with the networks of the CNF'],
      ['-f - < rules.yaml', 'in a pipe'],
    ],
    run: async (...given) => (await import('./render/run.ts')).runRender(...given),
  },
  {
    name: 'diff',
    summary:
      'show what of OpenWRT is not as it should be, or what applying rules in files would change',
    description: `With the name of a CNF or of a pod: asks each agent what OpenWRT has and what it should have, as UCI. That takes a port-forward to
the pods: ClusterRole sdewan-debug. With -f: rule by rule, before an apply. Changes nothing.
Exits 0 when nothing differs, 1 when something does, above that when it cannot tell.`,
    args: [new Argument('[cnf|pod]', 'the value of label sdewanPurpose, or one of its pods')],
    options: [filenameOption(), ...clusterOptions()],
    examples: [
      ['cnf-1', 'whether all its pods have what they should have'],
      ['cnf-1-7fbdd9fcd6-729vd', 'of one pod'],
      ['-f rules.yaml', 'before sdewan apply -f rules.yaml'],
    ],
    run: async (...given) => (await import('./diff/run.ts')).runDiff(...given),
  },
  {
    name: 'apply',
    summary: 'apply rules in files, each after those that it refers to',
    description:
      'Takes rules and CNFDeployments; kubectl applies all else. A rule that is refused because another one is missing is tried again until time is up.',
    options: writing,
    examples: [['-f rules.yaml', 'rules in any order']],
    run: async (...given) => (await import('./apply/run.ts')).runApply(...given),
  },
  {
    name: 'delete',
    summary: 'delete the rules in files, each before those that it refers to',
    description:
      'A rule that others refer to is refused until they are gone, so it waits for them. Exits 1 with what blocks them when rules are still there in the end.',
    options: writing,
    examples: [['-f rules.yaml', 'what sdewan apply -f has made of this file']],
    run: async (...given) => (await import('./apply/run.ts')).runDelete(...given),
  },
  {
    name: 'trace',
    summary: 'tell which rule decides for a packet, stage by stage, and what becomes of the packet',
    description:
      'It is about the first packet of a connection, on an OpenWRT with firewall4. With a CNF and files: before and after the change. With files alone: without a cluster. With --live: each pod by the firewall that its OpenWRT has and by the rules of its kernel, as its agent reads them. With --from and --to: at each CNF that enforces NetworkPolicies, which of them decides. Exits 0 when the packet is accepted, 1 when not, 3 when it cannot be told.',
    args: [
      new Argument(
        '[cnf]',
        'name of a CNF, with --live also of a pod; without it the files of -f are all',
      ),
    ],
    options: [
      new Option(
        '--live',
        'ask the agents of the pods; needs the right to forward ports to them',
      ).conflicts(['filename', 'firewall', 'networks']),
      new Option(
        '--in <network>',
        'network or interface by which it comes; default: from the CNF itself',
      ),
      new Option('--out <network>', 'by which it leaves; default: as the routes say'),
      new Option('--src <address>', 'its source address'),
      new Option('--dst <address>', 'its destination address'),
      new Option(
        '--from <pod|address>',
        'with --to: what NetworkPolicies at CNFs say of it',
      ).conflicts(FIREWALL_ONLY),
      new Option('--to <pod|address>', 'the pod or address that --from sends it to').conflicts(
        FIREWALL_ONLY,
      ),
      new Option('--proto <protocol>', 'name or number').default('tcp'),
      new Option('--sport <port>', 'source port of tcp and udp'),
      new Option('--dport <port>', 'destination port of tcp and udp'),
      new Option('--icmp-type <type>', 'name, type, or type/code').default('echo-request'),
      new Option('--mac <address>', 'hardware address of the sender'),
      new Option('--mark <mark>', 'mark that it has when it comes'),
      new Option('--dscp <number>', 'from 0 to 63').default('0'),
      filenameOption(),
      new Option(
        '--firewall <file>',
        '/etc/config/firewall of the CNF, for sections of administrators',
      ),
      new Option(
        '--networks <name=interface>',
        'networks of the CNF, separated by commas; default: those of the CNF',
      ).argParser(collected),
      ...clusterOptions(),
    ],
    examples: [
      ['cnf-1 --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --dport 80', 'a packet through a CNF'],
      [
        'cnf-1 --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --dport 80 -f change.yaml',
        'before and after a change',
      ],
      ['--from shop/web-1 --to 10.1.2.3 --dport 5432', 'what NetworkPolicies say'],
      [
        'cnf-1 --live --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --dport 80',
        'in the pods as they are',
      ],
      [
        '-f cnf.yaml -f rules.yaml --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --out ovn-net2 --dport 80',
        'without a cluster',
      ],
    ],
    run: async (...given) => (await import('./trace/run.ts')).runTrace(...given),
  },
  {
    name: 'inject',
    summary: 'inject the agent into the CNFs of a manifest, as the webhook does',
    description:
      'Prints the manifest. Other defaults of the agent: variables SDEWAN_AGENT_... as for the coordinator; for one CNF, its annotations.',
    options: [
      filenameOption(),
      new Option('--agent-image <image>', 'default: SDEWAN_AGENT_IMAGE, or sdewan-agent:dev'),
      new Option('--system-namespace <name>', 'where the coordinator runs').default(
        'sdewan-system',
      ),
      new Option(
        '--default-reads-keys',
        "service account default of the CNF's namespace may read IPsec kinds",
      ),
      new Option(
        '--without-webhook',
        'the pods start without the coordinator; adds the RoleBindings that their agents need',
      ),
      new Option('-n, --namespace <name>', 'for these RoleBindings, where a CNF names none'),
    ],
    examples: [
      ['-f cnf.yaml | kubectl apply -f -', 'deploy a CNF with the agent in its manifest'],
      ['-f cnf.yaml --without-webhook -n edge', 'let its pods start while no coordinator runs'],
    ],
    run: async (...given) => (await import('./inject-run.ts')).runInject(...given),
  },
  {
    name: 'uninject',
    summary: 'remove the agent from the CNFs of a manifest again',
    options: [filenameOption()],
    examples: [['-f cnf.yaml', 'print the manifest as it was before inject']],
    run: async (...given) => (await import('./inject-run.ts')).runUninject(...given),
  },
  {
    name: 'dashboard',
    summary: 'open the dashboard in a browser, signed in',
    description:
      'Forwards a port of this machine to a coordinator until Ctrl-C, and trades a token for a code that works once. The token is that of the kubeconfig. Where there is none, or with --viewer, it is one of service account sdewan-dashboard-viewer, which is good for the dashboard alone. Needs the rights to list pods and to get and create pods/portforward in the namespace of the coordinator; for a token of that account also to create serviceaccounts/token.',
    options: [
      new Option('--viewer', "sign in as the viewer's account, whatever the kubeconfig has"),
      new Option('--no-browser', 'print the URL, and open nothing'),
      new Option('--port <number>', 'port of this machine; 0: a free one').default('0'),
      new Option('-n, --namespace <name>', 'that of the coordinator').default('sdewan-system'),
      ...connectionOptions(),
    ],
    examples: [
      ['', 'in the browser of this machine'],
      ['--no-browser --port 8444', 'print the URL'],
    ],
    run: async (...given) => (await import('./dashboard/run.ts')).runDashboard(...given),
  },
  {
    name: 'check',
    summary: 'check the installation, a cluster before it, or the image of a CNF',
    description: 'Changes nothing. Exits 1 when something is wrong, 3 when not all can be told.',
    options: [
      new Option('--pre', 'before an installation'),
      new Option(
        '--image <files>',
        'whether an OpenWRT has what the agent needs: a folder, a tar, or - for a tar on standard input',
      ).conflicts('pre'),
      formatOption(),
      ...connectionOptions(),
    ],
    examples: [
      ['', 'the installation, CNFs and agents, and Services that get no ports'],
      ['--pre', 'whether the cluster and your rights suffice'],
      ['--image openwrt-x86-64-rootfs.tar.gz', 'what an image lacks, and what to install'],
    ],
    run: async (...given) => (await import('./check/run.ts')).runCheck(...given),
  },
  {
    name: 'support-bundle',
    summary: 'write a folder of files, without secrets, for a person who helps you',
    description: `Rules, statuses, Events, pods, what agents answer, logs, versions, metrics. What you may not see is named, and the rest is written.
Secrets are removed; contents.txt lists each file. Read it before you give it to anybody.
Exits 0 when all of it is there, 3 when something could not be had.`,
    options: [
      new Option('--output-directory <folder>', 'must not exist yet; default: sdewan-support'),
      new Option('--tail <lines>', 'how many lines of each log').default('2000'),
      ...scopeOptions(),
      ...connectionOptions(),
    ],
    examples: [
      ['-A', 'of all CNFs'],
      ['-n edge --output-directory edge-1', 'of one namespace'],
    ],
    run: async (...given) => (await import('./support-bundle/run.ts')).runSupportBundle(...given),
  },
  {
    name: 'install',
    summary: 'print what an installation consists of, or apply it',
    description:
      'The same as kubectl apply -k deploy and as the chart with its defaults. Run again, it upgrades. What Helm has installed, Helm upgrades.',
    options: [
      new Option('--apply', 'apply it to the cluster, and wait until the coordinator serves'),
      new Option('--image <reference>', 'image of the coordinator'),
      new Option('--agent-image <reference>', 'image of the agents'),
      new Option('--timeout <seconds>', 'for the coordinator to serve').default('120'),
      ...connectionOptions(),
    ],
    examples: [
      ['| less', 'read what it would be'],
      [
        '--apply --image registry.example/sdewan-coordinator:1.0 --agent-image registry.example/sdewan-agent:1.0',
        'install',
      ],
    ],
    run: async (...given) => (await import('./install/run.ts')).runInstall(...given),
  },
  {
    name: 'uninstall',
    summary: 'remove rules, CRDs, webhooks, rights and the coordinator from a cluster',
    options: [
      new Option('--yes', 'confirm'),
      new Option(
        '--force',
        'also remove rules that CNFs do not confirm in time; they stay on OpenWRT until the pod is re-created',
      ),
      new Option(
        '--keep-rules',
        'rules, CRDs and what is configured on CNFs stay; only those rules go that are being deleted',
      ),
      new Option(
        '--keep-namespace <name>',
        'the namespace of the coordinator stays, without what is in it of the product; Helm keeps its release there',
      ),
      new Option('--unless-rules', 'change nothing where there are rules'),
      new Option('--timeout <seconds>', 'for each step').default('120'),
      ...connectionOptions(),
    ],
    examples: [
      ['', 'say what would go, and from where'],
      ['--yes', 'remove everything'],
      ['--yes --keep-rules', 'go back to the controller of ICN'],
    ],
    run: async (...given) => (await import('./uninstall/run.ts')).runUninstall(...given),
  },
  {
    name: 'version',
    summary:
      'show the versions of this program, the coordinator and the agents, and whether they fit',
    description: 'Exits 1 when they do not fit, 3 when it cannot be told.',
    options: [new Option('--client', 'of this program only'), ...clusterOptions()],
    examples: [
      ['', 'all sides'],
      ['--client', 'without a cluster'],
    ],
    run: async (...given) => (await import('./version/run.ts')).runVersion(...given),
  },
  {
    name: 'completion',
    summary: 'print what a shell needs to complete commands, options and names of CNFs',
    description:
      'kubectl completes `kubectl sdewan` by itself where kubectl_complete-sdewan is in the PATH.',
    args: [new Argument('<shell>', 'which').choices(Object.keys(scripts))],
    examples: [
      ['bash > /etc/bash_completion.d/sdewan', 'for all users'],
      ['zsh > "${fpath[1]}/_sdewan"', 'for zsh'],
      ['fish | source', 'for this session'],
    ],
    run: async ({ args: [shell = ''] }, { out }) => {
      out(own<string>(scripts, shell) ?? '');
      return EXIT.done;
    },
  },
];
