import * as z from 'zod';
import { budgets, duration, flag, labels, texts, tier } from './setting-kinds.js';

/** The settings of the queueing of executions. */
export const qualityOfService = z.strictObject({
  queueing_budgets: budgets
    .prefault({ HIGH: '1m', MEDIUM: '10m', LOW: '1h' })
    .describe('longest time that an execution of each tier may wait in the queue'),
  default_tiers: z
    .record(z.string(), tier)
    .default({})
    .describe('tier of executions that name none, by domain; MEDIUM for domains that are not listed'),
});

/** The settings of executions that neither the request, the launch plan nor an attribute decides. */
export const execution = z.strictObject({
  labels: labels.default({}).describe('labels of an execution that has none'),
  annotations: texts.default({}).describe('annotations of an execution that has none'),
  envs: texts.default({}).describe('environment variables of an execution that has none'),
  k8s_service_account: z.string().default('').describe('service account of an execution that names no identity'),
  iam_role: z.string().default('').describe('IAM role of an execution that names no identity'),
  interruptible: flag.default(false).describe('make executions interruptible unless they say otherwise'),
  overwrite_cache: flag.default(false).describe('make every execution overwrite the cache'),
  raw_output_prefix: z
    .string()
    .default('')
    .describe('prefix of the addresses of raw outputs, for executions that name none'),
  cluster_label: z.string().default('').describe('cluster label of an execution that has none'),
  cluster_pools: texts
    .default({})
    .describe('cluster pool by domain, where no attribute assigns one; a launch that requests another pool is refused'),
  timeout: duration
    .refine((ms) => ms > 0, 'must be longer than 0')
    .optional()
    .describe(
      'longest duration of an execution, which is then aborted and recorded as TIMED_OUT; by default unlimited',
    ),
  namespace: z
    .string()
    .min(1)
    .default('{{ project }}-{{ domain }}')
    .describe(
      'template of the Kubernetes namespace that is recorded with an execution; `flightlog bridge` uses `bridge.namespace_template`',
    ),
});
