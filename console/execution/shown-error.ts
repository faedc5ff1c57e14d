import { createContext, useContext } from 'react';

import type { ExecutionError } from '../../proto/gen/platformidl/core/execution_pb.js';

/** The error of the execution, which the page shows above its views. */
const ShownError = createContext<ExecutionError | undefined>(undefined);

export const ShownErrorProvider = ShownError.Provider;

export const useShownError = (): ExecutionError | undefined => useContext(ShownError);
