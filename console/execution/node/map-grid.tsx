import type { ReactNode } from 'react';

import type { ExternalResourceInfo } from '../../../proto/gen/platformidl/event/event_pb.js';
import { phaseText, taskPhase, toneOf } from '../../look/phases.js';

/** More cells make the page slow to render. */
const MAX_CELLS = 2_000;

const textOf = ({ index, retryAttempt, phase }: ExternalResourceInfo): string =>
  `Element ${index}: ${phaseText(taskPhase(phase))}${retryAttempt > 0 ? `, attempt ${retryAttempt + 1}` : ''}`;

type MapGridProps = { readonly elements: readonly ExternalResourceInfo[] };

/** A grid with a cell for each element of a map task. */
export const MapGrid = ({ elements }: MapGridProps): ReactNode => (
  <>
    <ul className="map-grid" aria-label={`${elements.length} elements`}>
      {elements.slice(0, MAX_CELLS).map((element) => (
        <li
          key={`${element.index} ${element.retryAttempt} ${element.externalId}`}
          className={`tone-${toneOf(taskPhase(element.phase))}`}
          title={textOf(element)}
        >
          <span className="visually-hidden">{textOf(element)}</span>
        </li>
      ))}
    </ul>
    {elements.length > MAX_CELLS && <p className="quiet">and {elements.length - MAX_CELLS} more</p>}
  </>
);
