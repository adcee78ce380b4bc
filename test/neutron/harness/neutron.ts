/**
 * A real Neutron for tests: its API with its own checks of rights, its database, and OVN, to which
 * its own driver writes. Tokens come from `gate.ts`. Each has a folder of its own, which goes with
 * it.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isRunning } from 'kind-test-harness';
import { forward, startGate, type Gate, type Identity } from './gate.ts';
import { installNeutron, type Installed } from './install.ts';
import { startMariadb } from './mariadb.ts';
import { startOvn, type Ovn } from './ovn.ts';

const run = promisify(execFile);

export type NeutronOptions = {
  /** SQLite takes one call at a time. */
  database: 'sqlite' | 'mariadb';
  /** The quota of the project; absent: Neutron's own. */
  quota?: { groups: number; rules: number };
  tokenSeconds?: number;
};

export type RunningNeutron = {
  gate: Gate;
  ovn: Ovn;
  project: string;
  /** A `clouds.yaml` of the project's member. */
  cloudFile: string;
  /**
   * As a user of the project, past the gate; `roles` default: member.
   * @throws when it is no success
   */
  call: <T>(method: string, path: string, body?: object, roles?: string) => Promise<T>;
  setQuota: (quota: { groups: number; rules: number }) => Promise<void>;
  /** SIGKILL, in the middle of whatever it does. */
  kill: () => Promise<void>;
  start: () => Promise<void>;
  stop: () => Promise<void>;
};

const PROJECT = 'edge-project';
const MEMBER: Identity = {
  user: 'sdewan',
  password: 'a secret of the tests',
  project: PROJECT,
  roles: ['member', 'reader'],
};
const READY_MS = 180_000;
const AGAIN_MS = 200;
const THREADS = { sqlite: 1, mariadb: 8 };

export const startNeutron = async (options: NeutronOptions): Promise<RunningNeutron> => {
  const installed = await installNeutron();
  const folder = await mkdtemp(join(tmpdir(), 'neutron-'));
  const ovn = await startOvn(folder, installed);
  const mariadb =
    options.database === 'mariadb' ? await startMariadb(folder, installed) : undefined;
  const database = mariadb?.url ?? `sqlite:///${folder}/neutron.db?timeout=60`;
  const port = await freePort();
  await writeConfiguration(folder, { installed, database, ovn });
  const program = (name: string): string => join(import.meta.dirname, 'programs', name);
  const env = { ...process.env, PATH: `${installed.bin}:${process.env['PATH']}` };
  await run(installed.python, [program('initdb.py'), join(folder, 'neutron.conf')], {
    env,
    maxBuffer: 2 ** 26,
  });

  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const log = createWriteStream(join(folder, 'neutron.log'), { flags: 'a' });
    const threads = String(THREADS[options.database]);
    const args = [program('serve.py'), join(folder, 'neutron.conf'), String(port), threads];
    child = spawn(installed.python, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    const until = Date.now() + READY_MS;
    while ((await forward(port, { method: 'GET', path: '/' }, {})) === undefined) {
      if (!isRunning(child) || Date.now() > until)
        throw new Error(
          `Neutron has not started:\n${(await readFile(join(folder, 'neutron.log'), 'utf8')).slice(-4_000)}`,
        );
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  };
  const kill = async (): Promise<void> => {
    if (child === undefined || !isRunning(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  const gate = await startGate({
    port,
    identities: [MEMBER],
    ...(options.tokenSeconds !== undefined && { tokenSeconds: options.tokenSeconds }),
  });

  const call: RunningNeutron['call'] = async (method, path, body, roles = 'member,reader') => {
    const done = await forward(
      port,
      { method, path: `/v2.0/${path}`, ...(body && { body: JSON.stringify(body) }) },
      {
        'content-type': 'application/json',
        'x-project-id': PROJECT,
        'x-user-id': 'tester',
        'x-roles': roles,
      },
    );
    if (done === undefined || done.status >= 300)
      throw new Error(`${method} ${path}: ${done?.status} ${done?.body}`);
    return done.body === '' ? undefined : JSON.parse(done.body);
  };
  const setQuota: RunningNeutron['setQuota'] = async ({ groups, rules }) => {
    const quota = { security_group: groups, security_group_rule: rules };
    await call('PUT', `quotas/${PROJECT}`, { quota }, 'admin');
  };
  if (options.quota) await setQuota(options.quota);
  const cloudFile = join(folder, 'clouds.yaml');
  await writeFile(cloudFile, cloudOf(gate.authUrl));

  return {
    gate,
    ovn,
    project: PROJECT,
    cloudFile,
    call,
    setQuota,
    kill,
    start,
    stop: async () => {
      await gate.close();
      await kill();
      await mariadb?.stop();
      ovn.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const cloudOf = (authUrl: string): string =>
  JSON.stringify({
    clouds: {
      edge: {
        auth: {
          auth_url: authUrl,
          username: MEMBER.user,
          password: MEMBER.password,
          project_id: PROJECT,
          user_domain_name: 'Default',
        },
        region_name: 'one',
      },
    },
  });

const writeConfiguration = async (
  folder: string,
  { installed, database, ovn }: { installed: Installed; database: string; ovn: Ovn },
): Promise<void> => {
  const paste = await readFile(join(installed.etc, 'api-paste.ini'), 'utf8');
  await writeFile(join(folder, 'api-paste.ini'), paste.replaceAll(' authtoken ', ' '));
  await writeFile(
    join(folder, 'neutron.conf'),
    `[DEFAULT]
auth_strategy = keystone
core_plugin = ml2
service_plugins = trunk,tag,revisions,timestamp
api_paste_config = ${folder}/api-paste.ini
state_path = ${folder}
transport_url = fake:/
rpc_response_timeout = 3
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
[database]
connection = ${database}
[oslo_concurrency]
lock_path = ${folder}/lock
[quotas]
quota_port = 500
quota_security_group = -1
quota_security_group_rule = -1
[ml2]
type_drivers = local,geneve
project_network_types = local
mechanism_drivers = ovn
extension_drivers = port_security,tag_ports_during_bulk_creation
[ml2_type_geneve]
vni_ranges = 1:1000
max_header_size = 38
[ovn]
ovn_nb_connection = ${ovn.nb}
ovn_sb_connection = ${ovn.sb}
[securitygroup]
enable_security_group = true
`,
  );
};

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port }: AddressInfo = Object(server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
};
