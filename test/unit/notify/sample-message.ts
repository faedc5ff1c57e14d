import { create } from '@bufbuild/protobuf';

import { NotificationSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { IdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { MessageContent } from '../../../services/reactors/notify/message-content.js';
import { composeMessage, type Message, type Templates } from '../../../services/reactors/notify/message/message.js';

/** The time at which the execution of the samples was created, in milliseconds since 1970. */
export const START_MS = Date.UTC(2026, 0, 1);
/** The time that the execution ran. */
const RUN_MS = (90 * 60 + 30) * 1_000;

const definition = (name: string) =>
  create(IdentifierSchema, { project: 'shop', domain: 'production', name, version: 'v7' });

/** An execution that has failed, with an e-mail entry for failures. */
export const failure: MessageContent = {
  execution: { project: 'shop', domain: 'production', name: 'a1b2' },
  eventId: '0a0b',
  revision: 7n,
  phase: Phase.FAILED,
  createdAtMs: START_MS,
  occurredAtMs: START_MS + RUN_MS,
  recordedAtMs: START_MS + RUN_MS + 500,
  error: 'no such file',
  failingNode: 'n1',
  workflow: definition('orders.daily'),
  launchPlan: definition('orders.nightly'),
  labels: { team: 'sales' },
  entries: [
    create(NotificationSchema, {
      phases: [Phase.FAILED],
      type: { case: 'email', value: { recipientsEmail: ['ann@example.com', 'bob@example.com'] } },
    }),
  ],
  isDisabled: false,
};

export const templates: Templates = {
  sender: 'flightlog {{ project }} <flightlog@example.com>',
  subject: '{{ project }}/{{ domain }}: {{name}} has {{ phase }}',
  body: '{{ workflow.name }} has {{ phase }}.{{ failing_node }}{{ error }}',
  html: '',
  link: 'https://console.example.com/{{ project }}/{{ name }}',
};

/** The message to a recipient; with `isRepeat` it says that it is sent once more. */
export const messageTo = (recipient: string, content: MessageContent = failure, isRepeat = false): Message => {
  const { execution, revision, phase } = content;
  const key = { id: `m-${recipient}`, execution, revision, phase, channel: 'mail', recipient };
  return composeMessage(templates, key, content, { isRepeat, digest: [] });
};
