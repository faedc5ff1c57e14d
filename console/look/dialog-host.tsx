import { useLocation } from '@tanstack/react-router';
import { createContext, type ReactNode, useCallback, useContext, useLayoutEffect, useState } from 'react';

/** Shows the dialog that a function makes, which gets the function that closes it. */
type ShowDialog = (dialog: (close: () => void) => ReactNode) => void;

const ShowDialogContext = createContext<ShowDialog>(() => undefined);

/** Gives the function that opens a dialog. */
export const useShowDialog = (): ShowDialog => useContext(ShowDialogContext);

type Shown = { readonly dialog: ReactNode };

/**
 * The open dialog of a page. It is not inside the part of the page that has opened it, which may go away when the page
 * reads its data again. It goes away when its page is left.
 */
export const DialogHost = ({ children }: { readonly children: ReactNode }): ReactNode => {
  const [shown, setShown] = useState<Shown | undefined>();
  const { pathname } = useLocation();
  useLayoutEffect(() => setShown(undefined), [pathname]);
  const show: ShowDialog = useCallback((dialog) => {
    const next: Shown = { dialog: dialog(() => setShown((now) => (now === next ? undefined : now))) };
    setShown(next);
  }, []);
  return (
    <ShowDialogContext value={show}>
      {children}
      {shown?.dialog}
    </ShowDialogContext>
  );
};
