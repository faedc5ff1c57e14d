import type { ReactNode } from 'react';

import type { VariableMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import { Card } from '../look/page.js';
import { typeInWords } from '../../interface/values/type-text.js';
import type { Version } from './versions.js';

type VariablesProps = { readonly title: string; readonly variables: VariableMap['variables'] };

const Variables = ({ title, variables }: VariablesProps): ReactNode => {
  const entries = Object.entries(variables);
  return (
    <Card title={title}>
      {entries.length === 0 ? (
        <p className="card-body quiet">None.</p>
      ) : (
        <dl className="literals">
          {entries.map(([name, { type, description }]) => (
            <div key={name}>
              <dt>
                {name} <span className="type">{type && typeInWords(type)}</span>
              </dt>
              <dd className="quiet">{description === name ? '' : description}</dd>
            </div>
          ))}
        </dl>
      )}
    </Card>
  );
};

/** The inputs and outputs of a definition. */
export const Interface = ({ inputs, outputs }: Pick<Version, 'inputs' | 'outputs'>): ReactNode => (
  <div className="two">
    <Variables title="Inputs" variables={inputs} />
    <Variables title="Outputs" variables={outputs} />
  </div>
);
