import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import type { Signal } from '../../../proto/gen/platformidl/admin/signal_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import type { Entry } from '../../launch/fields/entry.js';
import { Field } from '../../launch/fields/field.js';
import { useAct } from '../../server/act.js';
import type { Named } from '../../server/ids.js';
import { call } from '../../server/call.js';
import { queriesOf } from '../../server/queries.js';
import { typeInWords } from '../../../interface/values/type-text.js';
import { Confirm } from '../../look/confirm.js';

const { listSignals } = SignalService.method;

const PAGE = 100;

type ValueProps = {
  readonly subject: Signal;
  readonly value: Entry | undefined;
  readonly change: (entry: Entry) => void;
};

const nameOf = ({ id }: Signal): string => id?.signalId ?? '';

/** The field for the value of a signal. */
const Value = ({ subject, value: { problem } = {}, change }: ValueProps): ReactNode => {
  const { type } = subject;
  const name = nameOf(subject);
  if (!type) return null;
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
  if (!signal.type) return null;
  return (
    <Confirm<Signal, Entry>
      subject={signal}
      question={(pending) => ({
        action: `Signal ${nameOf(pending)}`,
        title: `Signal ${nameOf(pending)}`,
        consequence: 'The gate that waits for it gets this value. A value cannot be taken back.',
      })}
      Fields={Value}
      isReady={(entry) => entry?.literal !== undefined}
      act={({ id }, { literal } = {}) =>
        act(SignalService.method.setSignal, { ...(id && { id }), ...(literal && { value: literal }) })
      }
    />
  );
};

type SignalsProps = { readonly id: Named };

const readSignals = async (workflowExecutionId: Named, signal: AbortSignal): Promise<readonly Signal[]> => {
  const signals: Signal[] = [];
  let token = '';
  do {
    const page = await call(listSignals, { workflowExecutionId, limit: PAGE, token }, signal);
    signals.push(...page.signals);
    ({ token } = page);
  } while (token !== '');
  return signals;
};

/** The signals that gates still wait for, in the order of their creation. */
export const Signals = ({ id }: SignalsProps): ReactNode => {
  const { data } = useQuery({
    queryKey: [...queriesOf(listSignals), id],
    queryFn: ({ signal }) => readSignals(id, signal),
  });
  return data
    ?.filter(({ value }) => value === undefined)
    .map((signal) => <SetSignal key={signal.id?.signalId} execution={id} signal={signal} />);
};
