import { createHmac } from 'node:crypto';

import { WorkflowExecution_Phase as Phase } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import type { Identifier } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import type { Message } from '../message/message.js';
import { firstLines } from '../message/template.js';
import type { Resolve } from './address.js';
import type { Channel } from './channel.js';
import { outcomeOf, post } from './post.js';

/** A webhook and where it may lead. */
export type WebhookTarget = {
  readonly url: string;
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

export type WebhookOptions = WebhookTarget & {
  /** `whsec_` and the key in base64; messages are not signed where it is empty. */
  readonly secret: string;
  /** The id of the log: the source of the CloudEvents. */
  readonly logId: string;
};

const idOf = (id: Identifier | undefined) =>
  id && { project: id.project, domain: id.domain, name: id.name, version: id.version };

/** The message as a CloudEvent 1.0 in structured JSON. */
const cloudEventOf = ({ key, content, isRepeat, subject, link }: Message, logId: string) => ({
  specversion: '1.0',
  id: key.id,
  source: `urn:flightlog:${logId}`,
  type: 'flightlog.notification.v1',
  subject: `${key.execution.project}/${key.execution.domain}/${key.execution.name}`,
  time: new Date(content.occurredAtMs).toISOString(),
  datacontenttype: 'application/json',
  data: {
    execution: key.execution,
    phase: Phase[content.phase],
    running_longer_than_ms: content.runningLongerThanMs,
    event_id: content.eventId,
    summary: subject,
    error: firstLines(content.error),
    failing_node: content.failingNode,
    duration_ms: Math.max(0, content.occurredAtMs - content.createdAtMs),
    workflow: idOf(content.workflow),
    launch_plan: idOf(content.launchPlan),
    labels: content.labels,
    link,
    is_repeat: isRepeat,
  },
});

/**
 * The headers of Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`.
 *
 * @see {@link https://www.standardwebhooks.com}
 */
const signatureHeaders = (id: string, nowMs: number, body: string, secret: string): Record<string, string> => {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === '') return headers;
  const key = Buffer.from(secret.replace(/^whsec_/u, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
};

/** Messages as CloudEvents to a URL, signed where there is a secret. */
export const webhookChannel = ({ secret, logId, now, ...target }: WebhookOptions): Channel => ({
  isMail: false,
  send: async (message, signal) => {
    const body = JSON.stringify(cloudEventOf(message, logId));
    const headers = {
      'content-type': 'application/cloudevents+json; charset=utf-8',
      ...signatureHeaders(message.key.id, now(), body, secret),
    };
    return outcomeOf(await post({ ...target, headers, body }, signal), now());
  },
  close: () => undefined,
});
