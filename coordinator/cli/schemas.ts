/** The shapes of JSON output, by the name of their file in docs/schemas. */
import type * as z from 'zod';
import { checkViewSchema } from './check/view.ts';
import { podDiffViewSchema } from './diff/device.ts';
import { diffViewSchema } from './diff/view.ts';
import { policyExplanationSchema } from './explain/policy.ts';
import { explanationSchema } from '../views/explanation.ts';
import { portsViewSchema } from './ports/view.ts';
import { renderingSchema } from './render/render.ts';
import { rulesViewSchema } from '../views/rules.ts';
import { statusViewSchema } from '../views/status.ts';
import { liveTraceViewSchema } from './trace/live.ts';
import { policyTraceViewSchema } from './trace/policies.ts';
import { traceViewSchema } from '../views/trace.ts';
import { versionViewSchema } from './version/view.ts';

export const schemas: Readonly<Record<string, z.ZodType>> = {
  check: checkViewSchema,
  diff: diffViewSchema,
  'pod-diff': podDiffViewSchema,
  explanation: explanationSchema,
  'policy-explanation': policyExplanationSchema,
  'policy-trace': policyTraceViewSchema,
  'live-trace': liveTraceViewSchema,
  ports: portsViewSchema,
  rendering: renderingSchema,
  rules: rulesViewSchema,
  status: statusViewSchema,
  trace: traceViewSchema,
  version: versionViewSchema,
};
