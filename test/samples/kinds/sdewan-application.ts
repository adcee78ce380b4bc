/** Samples of SdewanApplication. */
import { expect } from 'vitest';
import * as icn from '../icn-table.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'SdewanApplication',
  ofIcn: [
    {
      name: 'my-app',
      annotations: { 'sdewan.akraino.org/pod-addresses': '10.244.1.5' },
      spec: {
        appNamespace: 'default',
        podSelector: { matchLabels: { app: 'my-app' } },
        servicePort: '80',
        cnfPort: '8080',
      },
    },
  ],
  rendered: [
    {
      name: 'my-app-2',
      annotations: { 'sdewan.akraino.org/pod-addresses': '10.244.1.5,10.244.2.7,fd00:10:244::5' },
      spec: {
        podSelector: {
          matchLabels: { app: 'web' },
          matchExpressions: [
            { key: 'tier', operator: 'In', values: ['front', 'back'] },
            { key: 'example.org/canary', operator: 'DoesNotExist' },
          ],
        },
        appNamespace: 'shop',
        servicePort: '80',
        cnfPort: 8080,
      },
    },
    {
      name: 'my-app-3',
      annotations: { 'sdewan.akraino.org/pod-addresses': '10.244.1.5,10.244.2.7' },
      spec: { podSelector: { matchLabels: { app: 'web' } } },
    },
  ],
  accepted: {},
  refused: {
    'an application of all pods': {
      spec: { podSelector: { matchLabels: {} } },
      server: 'it would select all pods',
    },
    'a label that is none': {
      spec: { podSelector: { matchLabels: { 'a b': '1' } } },
      server: 'must be the key of a label',
    },
    'an expression without values': {
      spec: { podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] } },
      server: 'In and NotIn need values',
    },
  },
  fields: {
    section: (name) => `sdewan_app_${uci.mapped(name)}_10_244_1_5`,
    type: 'rule',
    always: () => ({ src: '10.244.1.5/32', lookup: '40' }),
    special: {
      podSelector: uci.nothing,
      appNamespace: uci.nothing,
      servicePort: uci.nothing,
      cnfPort: uci.nothing,
    },
  },
  icnFields: {
    file: 'app-cnf',
    type: 'rule',
    isNamed: true,
    always: () => ({ src: expect.stringMatching(/^10\.244\.1\.5\b/) }),
    special: {
      podSelector: icn.nothing,
      appNamespace: icn.nothing,
      servicePort: icn.nothing,
      cnfPort: icn.nothing,
    },
  },
  life: {
    // Its pods are the CNF's own; ADDRESS is that of the first.
    name: 'k-app',
    spec: { podSelector: { matchLabels: { sdewanPurpose: 'cnf-1' } } },
    changed: { podSelector: { matchLabels: { sdewanPurpose: 'nobody' } } },
    shows: ['network.sdewan_app_k_app_ADDRESS lookup', '40', undefined],
  },
  kernel: {
    spec: { podSelector: { matchLabels: { app: 'web' } } },
    changed: { podSelector: { matchLabels: { app: 'shop' } } },
    fw4: {
      created: [/^rule \d+: from 10\.244\.1\.5 lookup 40$/],
      changed: [/^rule \d+: from 10\.244\.1\.6 lookup 40$/],
    },
  },
  texts: {
    icn: String.raw`# SdewanApplication/my-app-2: UnsupportedByDriver: spec.podSelector: ICN's REST API takes IPv4 addresses only, and selected pods have others

package app-cnf
rule my_app { src: 10.244.1.5 }
rule my_app_3 { src: '10.244.1.5,10.244.2.7' }
`,
    uci: String.raw`package network
rule sdewan_app_my_app_10_244_1_5 { src: 10.244.1.5/32, priority: '900', lookup: '40' }
rule sdewan_app_my_app_2_10_244_1_5 { src: 10.244.1.5/32, priority: '900', lookup: '40' }
rule sdewan_app_my_app_2_10_244_2_7 { src: 10.244.2.7/32, priority: '900', lookup: '40' }
rule6 sdewan_app_my_app_2_fd00_10_244__5 { src: fd00:10:244::5/128, priority: '900', lookup: '40' }
rule sdewan_app_my_app_3_10_244_1_5 { src: 10.244.1.5/32, priority: '900', lookup: '40' }
rule sdewan_app_my_app_3_10_244_2_7 { src: 10.244.2.7/32, priority: '900', lookup: '40' }
`,
  },
};
