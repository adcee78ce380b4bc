/** Types of prom-client's inner modules, which it does not declare. */
declare module 'prom-client/lib/counter.js' {
  export { Counter as default } from 'prom-client';
}
declare module 'prom-client/lib/gauge.js' {
  export { Gauge as default } from 'prom-client';
}
declare module 'prom-client/lib/histogram.js' {
  export { Histogram as default } from 'prom-client';
}
declare module 'prom-client/lib/registry.js' {
  export { Registry as default } from 'prom-client';
}
declare module 'prom-client/lib/metrics/gc.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
declare module 'prom-client/lib/metrics/heapSizeAndUsed.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
declare module 'prom-client/lib/metrics/osMemoryHeap.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
declare module 'prom-client/lib/metrics/processMaxFileDescriptors.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
declare module 'prom-client/lib/metrics/processOpenFileDescriptors.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
declare module 'prom-client/lib/metrics/processResources.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
declare module 'prom-client/lib/metrics/processStartTime.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
declare module 'prom-client/lib/metrics/version.js' {
  import type { Registry } from 'prom-client';
  export default function add(registry: Registry): void;
}
