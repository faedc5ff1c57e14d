import { createContext, useContext } from 'react';

import { type NodeLevels, nodeLevels } from './node-levels.js';
import { readLevel } from './read-level.js';

/** The nodes that were read of the execution that the page shows. */
const ShownLevels = createContext<NodeLevels>(nodeLevels(readLevel));

export const ShownLevelsProvider = ShownLevels.Provider;

export const useShownLevels = (): NodeLevels => useContext(ShownLevels);
