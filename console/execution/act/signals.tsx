import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';

import { Sort_Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import type { Signal } from '../../../proto/gen/platformidl/admin/signal_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import type { Entry } from '../../launch/fields/entry.js';
import { Field } from '../../launch/fields/field.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';
import { rpcQuery } from '../../server/queries.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import { Confirm } from '../../look/confirm.js';

const MAX_SIGNALS = 100;

type ValueProps = {
  readonly name: string;
  readonly type: LiteralType;
  readonly problem: string | undefined;
  readonly change: (entry: Entry) => void;
};

/** The field for the value of a signal. It is empty when the dialog opens: what was typed before does not count. */
const Value = ({ name, type, problem, change }: ValueProps): ReactNode => {
  useEffect(() => change({}), [change]);
  return (
    <>
      <label htmlFor={`signal-${name}`}>Value: {typeInWords(type)}</label>
      <Field id={`signal-${name}`} label={`Value of ${name}`} type={type} initial={undefined} change={change} />
      {problem !== undefined && <p className="problem">{problem}</p>}
    </>
  );
};

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
      <Value name={name} type={signal.type} problem={entry.problem} change={setEntry} />
    </Confirm>
  );
};

type SignalsProps = { readonly id: Named };

/** The signals that gates still wait for, among the newest 100 of an execution, in the order of their creation. */
export const Signals = ({ id }: SignalsProps): ReactNode => {
  const { data } = useQuery(
    rpcQuery(SignalService.method.listSignals, {
      workflowExecutionId: id,
      limit: MAX_SIGNALS,
      sortBy: { key: 'created_at', direction: Sort_Direction.DESCENDING },
    }),
  );
  return data?.signals
    .toReversed()
    .filter(({ value }) => value === undefined)
    .map((signal) => <SetSignal key={signal.id?.signalId} execution={id} signal={signal} />);
};
