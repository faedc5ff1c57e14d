import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';

import type { Signal } from '../../../proto/gen/platformidl/admin/signal_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import type { Entry } from '../../launch/fields/entry.js';
import { Field } from '../../launch/fields/field.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';
import { rpcQuery } from '../../server/queries.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import { Confirm } from '../../look/confirm.js';

const MAX_SIGNALS = 100;

type SetSignalProps = { readonly execution: Named; readonly signal: Signal };

const SetSignal = ({ execution, signal }: SetSignalProps): ReactNode => {
  const act = useAct(execution);
  const [entry, setEntry] = useState<Entry>({});
  const name = signal.id?.signalId ?? '';
  if (!signal.type) return null;
  return (
    <Confirm
      subject={signal}
      question={() => ({
        action: `Signal ${name}`,
        title: `Signal ${name}`,
        consequence: 'The gate that waits for it opens with this value. A value cannot be taken back.',
      })}
      isReady={entry.literal !== undefined}
      act={({ id }) =>
        act(SignalService.method.setSignal, { ...(id && { id }), ...(entry.literal && { value: entry.literal }) })
      }
    >
      <label htmlFor={`signal-${name}`}>Value: {typeInWords(signal.type)}</label>
      <Field
        id={`signal-${name}`}
        label={`Value of ${name}`}
        type={signal.type}
        initial={undefined}
        change={setEntry}
      />
      {entry.problem !== undefined && <p className="problem">{entry.problem}</p>}
    </Confirm>
  );
};

type SignalsProps = { readonly id: Named };

/** The signals that gates still wait for, among the first 100 of an execution. */
export const Signals = ({ id }: SignalsProps): ReactNode => {
  const { data } = useQuery(
    rpcQuery(SignalService.method.listSignals, { workflowExecutionId: id, limit: MAX_SIGNALS }),
  );
  return data?.signals
    .filter(({ value }) => value === undefined)
    .map((signal) => <SetSignal key={signal.id?.signalId} execution={id} signal={signal} />);
};
