import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import {
  type Notification,
  NotificationService,
  NotificationStatus,
} from '../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { Confirm } from '../look/confirm.js';
import { enumText } from '../look/enum-text.js';
import { DataTable } from '../look/data-table.js';
import { QueryResult } from '../look/query-result.js';
import { Ago } from '../look/moments.js';
import { Empty } from '../look/notes.js';
import { Card } from '../look/page.js';
import { executionPhase, phaseText } from '../look/phases.js';
import { msOf } from '../look/times.js';
import { useAct } from '../server/act.js';
import type { Named } from '../server/ids.js';
import { useMay } from '../server/permissions.js';
import { rpcQuery } from '../server/queries.js';
import type { ExecutionAsOf } from './moment.js';

const statusText = (status: NotificationStatus): string => enumText(NotificationStatus[status]);

type MessageRowProps = { readonly id: Named; readonly message: Notification };

/** A button that sends a message once more. */
const SendAgain = ({ id, message }: MessageRowProps): ReactNode => {
  const act = useAct(id);
  return (
    <div className="row-actions">
      <Confirm
        subject={message}
        question={({ recipient, channel, status }) => ({
          action: 'Send again',
          title: `Send the message to ${recipient || channel} again`,
          consequence: `It is sent once more, though its status is “${statusText(status)}”. This cannot be undone.`,
        })}
        act={({ id: messageId }) => act(NotificationService.method.resendNotification, { id, messageId })}
      />
    </div>
  );
};

const MessageRow = ({ id, message }: MessageRowProps): ReactNode => {
  const mayResend = useMay('execute', id);
  return (
    <tr>
      <td>{phaseText(executionPhase(message.phase))}</td>
      <td>{message.recipient || message.channel}</td>
      <td>{statusText(message.status)}</td>
      <td>{message.reason || message.answer}</td>
      <td>
        <Ago at={msOf(message.since)} />
      </td>
      <td>{mayResend && <SendAgain id={id} message={message} />}</td>
    </tr>
  );
};

/** The messages about an execution, each with its status. */
export const Messages = ({ id }: ExecutionAsOf): ReactNode => {
  const messages = useQuery(rpcQuery(NotificationService.method.listNotifications, { id }));
  return (
    <QueryResult query={messages}>
      {({ notifications }) =>
        notifications.length === 0 ? (
          <Empty>There is no message about this execution yet.</Empty>
        ) : (
          <Card>
            <DataTable label="Messages" columns={['Phase', 'To', 'Status', 'Answer or reason', 'Since', '']}>
              {notifications.map((message) => (
                <MessageRow key={message.id} id={id} message={message} />
              ))}
            </DataTable>
          </Card>
        )
      }
    </QueryResult>
  );
};
