import type { JsonObject } from '@bufbuild/protobuf';

import {
  Resources_ResourceName as ResourceName,
  type TaskTemplate,
} from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { identifierText } from '../identifier-key.js';
import { isObject, podContainers } from './pod.js';
import { isWhole, parseQuantity, type Quantity, roundedUp } from './quantity.js';

/**
 * The most resources that a task may request, as Kubernetes quantities; an absent, empty or zero value means no limit.
 * The shape of `admin.TaskResourceSpec`.
 */
export type PlatformLimits = {
  readonly cpu?: string;
  readonly gpu?: string;
  readonly memory?: string;
  readonly ephemeralStorage?: string;
};

type Entry = { readonly name: ResourceName; readonly value: string };
type Amount = { readonly text: string; readonly quantity: Quantity };
type Amounts = ReadonlyMap<ResourceName, Amount>;

/** The resources of one container and the name of its owner. */
type Claim = { readonly owner: string; readonly requests: readonly Entry[]; readonly limits: readonly Entry[] };

const nameOf = (name: ResourceName): string =>
  ((ResourceName[name] as string | undefined) ?? `resource ${name}`).toLowerCase().replaceAll('_', ' ');

type Parsed = { readonly amounts: Amounts } | { readonly problem: string };

const parsed = (owner: string, kind: 'request' | 'limit', entries: readonly Entry[]): Parsed => {
  const amounts = new Map<ResourceName, Amount>();
  for (const { name, value } of entries) {
    const quantity = parseQuantity(value);
    if (amounts.has(name))
      return { problem: `can't specify ${nameOf(name)} ${kind} for task [${owner}] multiple times` };
    if (quantity === undefined)
      return { problem: `Parsing of ${nameOf(name)} ${kind} failed for value ${value} of [${owner}]` };
    if (name === ResourceName.GPU && !isWhole(quantity))
      return { problem: `gpu for [${owner}] must be a whole number, got: ${value} as the ${kind}` };
    amounts.set(name, { text: value, quantity });
  }
  return { amounts };
};

const isAbove = (a: Amount, b: Amount): boolean => roundedUp(a.quantity) > roundedUp(b.quantity);

/** The request for a resource and its limits. */
type Bounds = {
  readonly name: string;
  readonly owner: string;
  readonly request: Amount;
  readonly limit: Amount | undefined;
  readonly platform: Amount | undefined;
};

const abovePlatform = (
  { name, owner, platform }: Bounds,
  kind: string,
  amount: Amount | undefined,
): string | undefined =>
  platform && amount && isAbove(amount, platform)
    ? `Requested ${name} ${kind} [${amount.text}] for [${owner}] is greater than current limit set in the platform ` +
      `configuration [${platform.text}]`
    : undefined;

const divisibleProblem = (bounds: Bounds): string | undefined => {
  const { name, owner, request, limit } = bounds;
  if (limit && isAbove(request, limit))
    return `Requested ${name} default [${request.text}] for [${owner}] is greater than the limit [${limit.text}]`;
  return abovePlatform(bounds, 'limit', limit) ?? abovePlatform(bounds, 'default', request);
};

/** Devices are not shared, so a request other than the limit makes no sense. */
const deviceProblem = (bounds: Bounds): string | undefined => {
  const { name, owner, request, limit } = bounds;
  if (limit && roundedUp(request.quantity) !== roundedUp(limit.quantity))
    return `For extended resource '${name}' the default value must equal the limit value for task [${owner}]`;
  return abovePlatform(bounds, 'default', request);
};

const RULES = [
  { name: ResourceName.CPU, platform: 'cpu', rule: divisibleProblem },
  { name: ResourceName.MEMORY, platform: 'memory', rule: divisibleProblem },
  { name: ResourceName.EPHEMERAL_STORAGE, platform: 'ephemeralStorage', rule: divisibleProblem },
  { name: ResourceName.GPU, platform: 'gpu', rule: deviceProblem },
] as const;

const platformAmount = (text = ''): Amount | undefined => {
  const quantity = parseQuantity(text);
  // The platform's settings use zero for "no limit".
  return quantity === undefined || roundedUp(quantity) === 0n ? undefined : { text, quantity };
};

const claimProblem = ({ owner, requests, limits }: Claim, platform: PlatformLimits): string | undefined => {
  const requested = parsed(owner, 'request', requests);
  const limited = parsed(owner, 'limit', limits);
  if ('problem' in requested) return requested.problem;
  if ('problem' in limited) return limited.problem;
  for (const { name, platform: key, rule } of RULES) {
    const request = requested.amounts.get(name);
    const limit = limited.amounts.get(name);
    const bounds = { name: nameOf(name), owner, limit, platform: platformAmount(platform[key]) };
    const found = request && rule({ ...bounds, request });
    if (found !== undefined) return found;
  }
  return undefined;
};

/**
 * The resources that Kubernetes spells as the interface does, in any case. As in FlyteAdmin, others are not compared
 * with limits: `ephemeral-storage`, and the names of vendors (`nvidia.com/gpu`).
 */
const POD_NAMES: Readonly<Record<string, ResourceName>> = {
  cpu: ResourceName.CPU,
  memory: ResourceName.MEMORY,
  gpu: ResourceName.GPU,
  storage: ResourceName.STORAGE,
};

type PodAmount = { readonly key: string; readonly value: string };

/** The amounts of a pod's container by resource; Kubernetes reads null as zero. */
const podAmounts = (resources: JsonObject, kind: string): readonly PodAmount[] => {
  const given = resources[kind];
  return Object.entries(isObject(given) ? given : {}).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? value : JSON.stringify(value ?? 0),
  }));
};

const podEntries = (amounts: readonly PodAmount[]): readonly Entry[] =>
  amounts.flatMap(({ key, value }) => {
    const name = Object.hasOwn(POD_NAMES, key.toLowerCase()) ? POD_NAMES[key.toLowerCase()] : undefined;
    return name === undefined ? [] : [{ name, value }];
  });

/** Every amount must be a quantity, also of a resource without a limit here: Kubernetes cannot read another. */
const unreadable = (owner: string, kind: 'request' | 'limit', amounts: readonly PodAmount[]): string | undefined => {
  const wrong = amounts.find(({ value }) => parseQuantity(value) === undefined);
  return wrong && `Parsing of ${wrong.key} ${kind} failed for value ${wrong.value} of [${owner}]`;
};

const podProblem = (task: string, podSpec: JsonObject | undefined, platform: PlatformLimits): string | undefined => {
  if (podSpec === undefined)
    return 'invalid TaskSpecification, pod tasks should specify their target as a K8sPod with a defined pod spec';
  const containers = podContainers(podSpec);
  if (containers === undefined) return `invalid TaskSpecification, pod_spec of [${task}] is not a pod specification`;
  for (const { name, resources } of containers) {
    const given = isObject(resources) ? resources : {};
    const owner = typeof name === 'string' ? `${task}, container ${name}` : task;
    const [requests, limits] = [podAmounts(given, 'requests'), podAmounts(given, 'limits')];
    const claim = { owner, requests: podEntries(requests), limits: podEntries(limits) };
    const found =
      unreadable(owner, 'request', requests) ?? unreadable(owner, 'limit', limits) ?? claimProblem(claim, platform);
    if (found !== undefined) return found;
  }
  return undefined;
};

/**
 * Checks the resources of a task. Only requested resources are compared with limits.
 *
 * @returns the problem; `undefined` when there is none.
 */
export const taskResourcesProblem = ({ id, target }: TaskTemplate, platform: PlatformLimits): string | undefined => {
  const task = id === undefined ? '' : identifierText(id);
  if (target.case === 'k8sPod') return podProblem(task, target.value.podSpec, platform);
  if (target.case !== 'container') return undefined;
  const { requests = [], limits = [] } = target.value.resources ?? {};
  return claimProblem({ owner: task, requests, limits }, platform);
};
