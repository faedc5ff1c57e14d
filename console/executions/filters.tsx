import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';

import { textIn } from '../look/forms.js';
import { PhaseSign } from '../look/phase-badge.js';
import { phaseText, toneOf } from '../look/phases.js';
import { labelsOf, toggled, valuesOf, withCondition, withContained, withLabels } from './filter-text.js';

const PHASES = ['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT'];

/** Fields of executions that are searched by a part of their text, each with its label. */
const CONTAINED: readonly (readonly [string, string])[] = [
  ['name', 'Name'],
  ['workflow.name', 'Workflow'],
  ['launch_plan.name', 'Launch plan'],
  ['user', 'Principal'],
  ['error_code', 'Error code'],
  ['error_message', 'Error text'],
];

type FiltersProps = { readonly filters: string; readonly setFilters: (filters: string) => void };

const Phases = ({ filters, setFilters }: FiltersProps): ReactNode => {
  const chosen = valuesOf(filters, 'value_in', 'phase');
  return (
    <div className="chips" role="group" aria-label="Phases">
      {PHASES.map((phase) => (
        <button
          key={phase}
          type="button"
          className="chip"
          aria-pressed={chosen.includes(phase)}
          onClick={() =>
            setFilters(withCondition(filters, { operator: 'value_in', field: 'phase', values: toggled(chosen, phase) }))
          }
        >
          <PhaseSign tone={toneOf(phase)} />
          {phaseText(phase)}
        </button>
      ))}
    </div>
  );
};

type SearchedProps = {
  readonly current: string;
  readonly placeholder: string;
  readonly label: string;
  readonly search: (text: string) => void;
};

/** A field whose text is searched for when Enter is pressed. */
const Searched = ({ current, placeholder, label, search }: SearchedProps): ReactNode => {
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    search(textIn(new FormData(event.currentTarget), 'text'));
  };
  return (
    <form onSubmit={submit}>
      <input
        key={current}
        name="text"
        className="field"
        defaultValue={current}
        placeholder={placeholder}
        aria-label={label}
      />
    </form>
  );
};

type ContainedProps = FiltersProps & { readonly field: string; readonly label: string };

const Contained = ({ filters, setFilters, field, label }: ContainedProps): ReactNode => {
  const search = (text: string): void => setFilters(withContained(filters, field, text));
  const current = valuesOf(filters, 'contains', field)[0] ?? '';
  return <Searched current={current} placeholder={label} label={`${label} contains`} search={search} />;
};

const Labels = ({ filters, setFilters }: FiltersProps): ReactNode => (
  <Searched
    current={labelsOf(filters)}
    placeholder="Labels: team=growth"
    label="Labels"
    search={(labels) => setFilters(withLabels(filters, labels))}
  />
);

const AsText = ({ filters, setFilters }: FiltersProps): ReactNode => {
  const [text, setText] = useState(filters);
  useEffect(() => setText(filters), [filters]);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setFilters(text.trim());
  };
  return (
    <form className="filter-text" onSubmit={submit}>
      <input
        className="field mono"
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder="eq(phase,FAILED)+contains(workflow.name,churn)"
        aria-label="Filters as text"
        spellCheck={false}
      />
      <button type="submit" className="button">
        Apply
      </button>
      {filters !== '' && (
        <button type="button" className="button" onClick={() => setFilters('')}>
          Clear
        </button>
      )}
    </form>
  );
};

/** The filters of a list: buttons and fields, and below them the same filters as text, to type or paste. */
export const Filters = (props: FiltersProps): ReactNode => (
  <section className="filters" aria-label="Filters">
    <Phases {...props} />
    <div className="contained">
      {CONTAINED.map(([field, label]) => (
        <Contained key={field} {...props} field={field} label={label} />
      ))}
      <Labels {...props} />
    </div>
    <AsText {...props} />
  </section>
);
