/**
 * What ICN's REST changes in the kernel by commands: iptables, policy rules, routes. Neither the
 * files of the packages nor REST's answers show it, so tests look here. Commands that the kernel
 * refuses leave no trace, as on the device.
 */
import { formatAddress } from './addresses.ts';
import { IpRoutes, type Address } from './ip-routes.ts';
import { IpRules } from './ip-rules.ts';
import { Iptables } from './iptables.ts';

export type KernelOptions = {
  /** Read on every use. Loopback is not among them. */
  addresses: () => readonly Address[];
  links: () => readonly string[];
  /**
   * `iptables` commands of /etc/sdewan.user, without the first word. ICN's: masquerading on eth0.
   */
  userRules?: readonly string[];
  /** Set at boot. */
  defaultRoute: () => { via: string; device: string } | undefined;
};

const USER_RULES = ['-t nat -A POSTROUTING -o eth0 -j MASQUERADE'];

export class Kernel {
  readonly #options: KernelOptions;
  #iptables!: Iptables;
  #rules!: IpRules;
  #routes!: IpRoutes;
  #commands: string[] = [];

  constructor(options: KernelOptions) {
    this.#options = options;
    this.boot();
  }

  boot(): void {
    const { addresses, userRules = USER_RULES, defaultRoute } = this.#options;
    const route = defaultRoute();
    this.#iptables = new Iptables(userRules);
    this.#rules = new IpRules();
    this.#routes = new IpRoutes(addresses);
    this.#commands = [];
    if (route) this.#routes.run(['add', 'default', 'via', route.via, 'dev', route.device]);
  }

  /** Every command so far, those refused too. */
  get commands(): readonly string[] {
    return this.#commands;
  }

  get ipRules(): IpRules {
    return this.#rules;
  }

  get routes(): IpRoutes {
    return this.#routes;
  }

  run(command: string): void {
    this.#commands.push(command);
    const [program, ...words] = command.split(/ +/);
    if (program === 'iptables') this.#iptables.run(words);
    else if (words[0] === 'rule') this.#rules.run(words.slice(1));
    else this.#routes.run(words.slice(1));
  }

  /** Rules of a table that are not the firewall's own. */
  iptables(table: string): string[] {
    return this.#iptables.rules(table);
  }

  /** An action of /etc/init.d/firewall on an image with firewall3. */
  firewall(action: string): void {
    if (action === 'reload') this.#iptables.reload();
    else {
      this.#iptables.stop();
      if (action !== 'stop') this.#iptables.start();
    }
  }

  addresses(): readonly Address[] {
    return this.#options.addresses();
  }

  /** REST looks for a folder of that name among the devices, so a path to one passes. */
  hasDevice(name: string): boolean {
    const device = name.replace(/^(?:\.\.\/net\/)+/, '');
    return device === 'lo' || this.#options.links().includes(device);
  }

  deviceOf(ip: string): string | undefined {
    return this.addresses().find(({ prefix }) => formatAddress(prefix.address) === ip)?.device;
  }

  /** `#default`, `#<ip>` or a device. */
  resolve(value: string): string | undefined {
    if (value === '#default') return this.routes.defaultDevice();
    if (value.startsWith('#')) return this.deviceOf(value.slice(1));
    return this.hasDevice(value) ? value : undefined;
  }
}
