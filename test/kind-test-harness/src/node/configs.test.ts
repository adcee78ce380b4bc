import { describe, expect, it } from 'vitest';

import { cniConfig, containerdConfig, corefile, kubeletConfig } from './configs.ts';
import { nodeFiles } from './files.ts';
import { subnetsOf } from './subnets.ts';

const files = nodeFiles('/run dir');
const subnets = subnetsOf(0);

describe('configuration of the node', () => {
  it('quotes paths for TOML', () => {
    const config = containerdConfig(files, '/usr/sbin/runc', 'overlayfs');
    expect(config).toContain('root = "/run dir/containerd"');
    expect(config).toContain('snapshotter = "overlayfs"');
  });

  it('gives pods addresses of their subnet and hands annotations to the plugin for extra interfaces', () => {
    const { plugins } = JSON.parse(cniConfig(subnets));
    expect(plugins[0].ipam.ranges).toEqual([[{ subnet: '10.200.1.0/24', gateway: '10.200.1.1' }]]);
    expect(plugins[1].capabilities).toEqual({ 'io.kubernetes.cri.pod-annotations': true });
  });

  it('lets only clients with our certificate use the kubelet, which can run anything as root', () => {
    const { authentication } = JSON.parse(kubeletConfig(files, subnets, 'kth-1'));
    expect(authentication.anonymous.enabled).toBe(false);
    expect(authentication.x509.clientCAFile).toBe('/run dir/certificates/ca.crt');
  });

  it('keeps pods in the control group that the guard removes', () => {
    expect(JSON.parse(kubeletConfig(files, subnets, 'kth-1')).cgroupRoot).toBe('/kth-1');
  });

  it('gives pods the name server that CoreDNS is bound to', () => {
    const [server] = JSON.parse(kubeletConfig(files, subnets, 'x')).clusterDNS;
    expect(corefile(files, subnets)).toContain(`bind ${server}\n`);
  });
});
