import type { EngineData } from '../../services/kernel/ports/engine-data.js';

/** Of a control plane without stores of engines. */
export const noEngineData: EngineData = {
  read: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};
