import { WorkflowExecution_Phase as Phase } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import type { Message } from '../message/message.js';
import { beginningOf, firstLines } from '../message/template.js';
import type { Channel } from './channel.js';
import { outcomeOf, post } from './post.js';
import type { WebhookTarget } from './webhook.js';

export type PagerDutyOptions = WebhookTarget & { readonly routingKey: string };

const SEVERITIES: Readonly<Partial<Record<Phase, string>>> = {
  [Phase.FAILED]: 'error',
  [Phase.TIMED_OUT]: 'error',
  [Phase.ABORTED]: 'warning',
  [Phase.ABORTING]: 'warning',
};

/** The longest summary that PagerDuty takes. */
const MAX_SUMMARY = 1_024;

/**
 * An event of the Events API v2. All events of an execution have one key, so that its success resolves what an earlier
 * event has triggered.
 *
 * @see {@link https://developer.pagerduty.com/docs/send-alert-event}
 */
const eventOf = ({ key, content, subject, text, link }: Message, routingKey: string) => {
  const { project, domain, name } = key.execution;
  const source = `${project}/${domain}/${name}`;
  const isResolved = content.phase === Phase.SUCCEEDED;
  const head = { routing_key: routingKey, dedup_key: `flightlog/${source}` };
  if (isResolved) return { ...head, event_action: 'resolve' };
  return {
    ...head,
    event_action: 'trigger',
    payload: {
      summary: beginningOf(subject, MAX_SUMMARY),
      source,
      severity: SEVERITIES[content.phase] ?? 'info',
      timestamp: new Date(content.occurredAtMs).toISOString(),
      custom_details: { text, error: firstLines(content.error), failing_node: content.failingNode, message_id: key.id },
    },
    ...(link !== '' && { links: [{ href: link, text: 'Execution' }] }),
  };
};

/** Messages as events of PagerDuty. */
export const pagerDutyChannel = ({ routingKey, now, ...target }: PagerDutyOptions): Channel => ({
  isMail: false,
  send: async (message, signal) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(eventOf(message, routingKey));
    return outcomeOf(await post({ ...target, headers, body }, signal), now());
  },
  close: () => undefined,
});
