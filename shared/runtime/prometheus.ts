/**
 * The parts of prom-client that we use. Its index also loads the modules for clusters, push gateways and event-loop monitors:
 * 15 MB of memory per agent (measured, Node 26) for nothing.
 */
import type * as PromClient from 'prom-client';
import counter from 'prom-client/lib/counter.js';
import gauge from 'prom-client/lib/gauge.js';
import histogram from 'prom-client/lib/histogram.js';
import registry from 'prom-client/lib/registry.js';

export const Counter: typeof PromClient.Counter = counter;
export type Counter<Label extends string = string> = PromClient.Counter<Label>;
export const Gauge: typeof PromClient.Gauge = gauge;
export type Gauge<Label extends string = string> = PromClient.Gauge<Label>;
export const Histogram: typeof PromClient.Histogram = histogram;
export type Histogram<Label extends string = string> = PromClient.Histogram<Label>;
export const Registry: typeof PromClient.Registry = registry;
export type Registry = PromClient.Registry;
