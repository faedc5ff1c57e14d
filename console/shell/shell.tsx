import { Link, Outlet } from '@tanstack/react-router';
import { type ReactNode, useCallback, useRef, useState } from 'react';

import { DialogHost } from '../look/dialog-host.js';
import { useConnection } from '../server/connection.js';
import { Help } from './help.js';
import { useKeys } from './keys.js';
import mark from './mark.svg';
import { Navigation } from './navigation.js';
import { RecordedNote } from './recorded-note.js';
import { useScope } from './scope.js';
import { ScopeMenu } from './scope-menu.js';
import { Search } from './search.js';
import { SignedIn } from './signed-in.js';
import { useTheme } from './theme.js';
import { UnknownScope } from './unknown-scope.js';

const CONNECTION_TEXTS = {
  connecting: 'Connecting …',
  live: 'Live',
  refused: 'Not live: you may not follow all that this page shows',
  invalid: 'Not live: the server cannot follow this',
  lost: 'The server does not answer; trying again …',
} as const;

const ConnectionNote = (): ReactNode => {
  const connection = useConnection();
  return (
    <span className={`connection ${connection}`} role="status">
      {CONNECTION_TEXTS[connection]}
    </span>
  );
};

/** The frame of each view. */
export const Shell = (): ReactNode => {
  const scope = useScope();
  const input = useRef<HTMLInputElement>(null);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [theme, toggleTheme] = useTheme();
  const search = useCallback(() => input.current?.focus(), []);
  const help = useCallback(() => setHelpOpen(true), []);
  useKeys(scope, { search, help });
  return (
    <div className="shell">
      <a className="skip" href="#content">
        To the content
      </a>
      <header className="top">
        <Link to="/" className="brand" aria-label="flightlog, home">
          <img src={mark} alt="" width="26" height="26" />
          <span>flightlog</span>
        </Link>
        <ScopeMenu scope={scope} />
        {scope && <Search scope={scope} input={input} />}
        <ConnectionNote />
        <SignedIn />
        <button
          type="button"
          className="button"
          onClick={toggleTheme}
          aria-label={`Use the ${theme === 'dark' ? 'light' : 'dark'} theme`}
        >
          {theme === 'dark' ? '☀' : '☾'}
        </button>
        <button type="button" className="button" onClick={help} aria-label="Keys">
          ?
        </button>
      </header>
      <Navigation scope={scope} />
      <main id="content" tabIndex={-1}>
        <UnknownScope />
        <DialogHost>
          <Outlet />
        </DialogHost>
        <RecordedNote />
      </main>
      <Help isOpen={isHelpOpen} setOpen={setHelpOpen} />
    </div>
  );
};
