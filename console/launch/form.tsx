import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, type SubmitEvent, useState } from 'react';

import type { Literal } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { sendByEnter } from '../look/forms.js';
import { FailureNote } from '../look/notes.js';
import { Card } from '../look/page.js';
import { useSending } from '../look/use-sending.js';
import { useAct } from '../server/act.js';
import type { Scope } from '../server/ids.js';
import { typeInWords } from '../../interface/values/type-text.js';
import type { AskedInput, Launchable } from './asked-inputs.js';
import type { Entry } from './fields/entry.js';
import { Field } from './fields/field.js';

type Entries = Readonly<Record<string, Entry>>;

const entriesOf = (inputs: readonly AskedInput[]): Entries =>
  Object.fromEntries(inputs.map(({ name, initial }) => [name, initial ? { literal: initial } : {}]));

/** The problem of a field in words; empty when there is none. */
const problemOf = ({ isRequired }: AskedInput, { literal, problem }: Entry = {}): string =>
  problem ?? (isRequired && !literal ? 'a value is needed' : '');

const literalsOf = (entries: Entries): Record<string, Literal> =>
  Object.fromEntries(Object.entries(entries).flatMap(([name, { literal }]) => (literal ? [[name, literal]] : [])));

type InputRowProps = {
  readonly input: AskedInput;
  readonly problem: string;
  readonly change: (entry: Entry) => void;
};

const InputRow = ({ input, problem, change }: InputRowProps): ReactNode => {
  const { name, type, description, isRequired, initial } = input;
  return (
    <div className="input-row">
      <label htmlFor={`input-${name}`}>
        {name} <span className="type">{typeInWords(type)}</span> {isRequired && <span className="type">needed</span>}
      </label>
      {description !== '' && description !== name && <p className="quiet">{description}</p>}
      <Field id={`input-${name}`} label={name} type={type} initial={initial} change={change} />
      {problem !== '' && (
        <p className="problem" role="alert">
          {name}: {problem}
        </p>
      )}
    </div>
  );
};

/** Selects the elements in the row of an input that can have the focus. */
const FIELDS = 'input, textarea, select, button';

type FormProps = { readonly scope: Scope; readonly launchable: Launchable };

/** The inputs of a launch, checked by their types before it is sent. */
export const Form = ({ scope, launchable: { target, inputs, fixed, spec } }: FormProps): ReactNode => {
  const act = useAct(scope);
  const navigate = useNavigate();
  const [entries, setEntries] = useState(() => entriesOf(inputs));
  const [name, setName] = useState('');
  const [isChecked, setChecked] = useState(false);
  const launch = useSending(
    () =>
      act(AdminService.method.createExecution, {
        ...scope,
        name,
        spec: { ...spec, launchPlan: target },
        inputs: { literals: literalsOf(entries) },
      }),
    ({ id }) =>
      navigate({
        to: '/projects/$project/domains/$domain/executions/$name',
        params: { ...scope, name: id?.name ?? '' },
      }),
  );
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setChecked(true);
    const wrong = inputs.findIndex((input) => problemOf(input, entries[input.name]) !== '');
    if (wrong === -1) launch.send();
    else event.currentTarget.querySelectorAll('.input-row')[wrong]?.querySelector<HTMLElement>(FIELDS)?.focus();
  };
  return (
    <Card>
      <form className="launch" onSubmit={submit} onKeyDown={sendByEnter} noValidate>
        {inputs.map((input) => (
          <InputRow
            key={input.name}
            input={input}
            problem={
              isChecked || entries[input.name]?.problem !== undefined ? problemOf(input, entries[input.name]) : ''
            }
            change={(entry) => setEntries((before) => ({ ...before, [input.name]: entry }))}
          />
        ))}
        {inputs.length === 0 && <p className="quiet">It takes no inputs.</p>}
        {fixed.length > 0 && <p className="quiet">Fixed by the launch plan: {fixed.join(', ')}.</p>}
        <div className="input-row">
          <label htmlFor="execution-name">
            Name of the execution <span className="type">generated when empty</span>
          </label>
          <input id="execution-name" className="field" value={name} onChange={(event) => setName(event.target.value)} />
        </div>
        {launch.error !== null && <FailureNote error={launch.error} />}
        <button type="submit" className="button main" disabled={launch.isPending}>
          Launch
        </button>
        <p className="quiet">
          Enter launches, too; in a field with several lines Ctrl+Enter or ⌘ Enter. Shift+Enter begins a new line.
        </p>
      </form>
    </Card>
  );
};
