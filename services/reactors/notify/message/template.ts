import { WorkflowExecution_Phase as Phase } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import type { Identifier } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import type { MessageContent } from '../message-content.js';

/** The values of the placeholders. */
export type TemplateValues = ReadonlyMap<string, string>;

const PLACEHOLDER = /\{\{ ?([a-z_.]+) ?\}\}/gu;

/**
 * Replaces the placeholders `{{ key }}` and `{{key}}` with values. Placeholders with an unknown key stay unchanged.
 * Values pass through `escape`; placeholders inside a value are not replaced.
 */
export const fillTemplate = (
  template: string,
  values: TemplateValues,
  escape: (value: string) => string = String,
): string =>
  template.replace(PLACEHOLDER, (placeholder, key: string) => {
    const value = values.get(key);
    return value === undefined ? placeholder : escape(value);
  });

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML, in elements and in quoted attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/gu, (char) => ENTITIES[char] ?? char);

/** Escapes text for Slack, whose links, mentions and commands all begin with `<`. */
export const escapeSlack = (text: string): string => text.replace(/[&<>]/gu, (char) => ENTITIES[char] ?? char);

/**
 * Keeps letters, digits, `.`, `_` and `-`, and puts one space for each run of other characters: for values in the name
 * and address of a sender, where those could end the name or the address.
 */
export const wordsOnly = (text: string): string => text.replace(/[^\p{L}\p{N}._-]+/gu, ' ').trim();

/** Text on one line, without control characters: for headers. */
export const onOneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/**
 * Truncates a text to `maxLength` code units without splitting a surrogate pair: half of one is refused by some JSON
 * parsers.
 */
export const beginningOf = (text: string, maxLength: number): string =>
  text.slice(0, maxLength).replace(/\p{Cs}$/u, '');

const ERROR_LINES = 10;
const ERROR_CHARACTERS = 2_000;

/** The first lines of an error, with `…` at the end when it is truncated. */
export const firstLines = (error: string): string => {
  const head = beginningOf(error.split('\n').slice(0, ERROR_LINES).join('\n'), ERROR_CHARACTERS).trimEnd();
  return head.length < error.trimEnd().length ? `${head} …` : head;
};

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** A duration with its two largest units that are not 0, such as `1h 30m` or `1d 5m`; `0s` below a second. */
export const durationText = (ms: number): string => {
  let left = Math.max(0, Math.floor(ms / 1_000));
  const parts = UNITS.flatMap(([unit, seconds]) => {
    const count = Math.floor(left / seconds);
    left %= seconds;
    return count > 0 ? [`${count}${unit}`] : [];
  });
  return parts.slice(0, 2).join(' ') || '0s';
};

const identifierValues = (prefix: string, id: Identifier | undefined): readonly (readonly [string, string])[] => [
  [`${prefix}.project`, id?.project ?? ''],
  [`${prefix}.domain`, id?.domain ?? ''],
  [`${prefix}.name`, id?.name ?? ''],
  [`${prefix}.version`, id?.version ?? ''],
];

/** The value of `phase` for a long-running execution, which follows the word "has" in sentences. */
const LONG_RUNNING = 'been running for long';

/**
 * The placeholders that templates can use. `error` and `failing_node` are sentences with a space before, or empty, so
 * that they can follow another sentence.
 *
 * @param linkTemplate the address of an execution in a console, with placeholders; its values are encoded for URLs.
 */
export const valuesOf = (content: MessageContent, linkTemplate: string): TemplateValues => {
  const { execution, phase, error, failingNode, createdAtMs, occurredAtMs, runningLongerThanMs } = content;
  const values = new Map<string, string>([
    ...Object.entries(execution),
    ['phase', runningLongerThanMs === undefined ? Phase[phase].toLowerCase() : LONG_RUNNING],
    ['error', error === '' ? '' : ` The execution failed with error: [${firstLines(error)}].`],
    ['failing_node', failingNode === '' ? '' : ` The node that failed is ${failingNode}.`],
    ['duration', durationText(occurredAtMs - createdAtMs)],
    ...identifierValues('workflow', content.workflow),
    ...identifierValues('launch_plan', content.launchPlan),
  ]);
  return values.set('link', fillTemplate(linkTemplate, values, encodeURIComponent));
};
