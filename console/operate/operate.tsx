import './operate.css';

import type { ReactNode } from 'react';

import { Page } from '../look/page.js';
import { useLive } from '../server/live.js';
import { Checks } from './checks.js';
import { Consumers } from './consumers.js';
import { Engines } from './engines.js';
import { ParkedStreams } from './parked-streams.js';
import { Reactors } from './reactors.js';
import { ViewLags } from './view-lags.js';

/** Health of the process that serves the page, and of the deployment: what has failed, is late, or waits. */
export const Operate = (): ReactNode => {
  useLive({});
  return (
    <Page title="Operate" above="Checks and views are those of the process that serves this page">
      <div className="cards">
        <Checks />
        <ParkedStreams />
        <Reactors />
        <Engines />
        <Consumers />
        <ViewLags />
      </div>
    </Page>
  );
};
