/** The heading of the page that is shown, or else all of its content. */
const ofPage = (): HTMLElement | null =>
  document.querySelector<HTMLElement>('main h1') ?? document.querySelector('main');

const sameButton = (row: Element | null, button: Element): HTMLElement | undefined =>
  [...(row?.querySelectorAll('button') ?? [])].find(({ textContent }) => textContent === button.textContent);

/**
 * Lists where the focus can go when a button that has it goes away, the best first: to the same button of the next row,
 * or of the row before, to the heading of the section. The list is made while the button is still in the page.
 */
export const neighboursOf = (button: Element): readonly HTMLElement[] => {
  const row = button.closest('tr');
  const heading = button.closest('section')?.querySelector<HTMLElement>('h2');
  return [
    ...(row ? [sameButton(row.nextElementSibling, button), sameButton(row.previousElementSibling, button)] : []),
    heading,
  ].filter((each) => each !== undefined && each !== null);
};

/**
 * Moves the focus to the first of some elements that is still in the page, or to the heading of the page. Without it,
 * the next Tab would begin at the top of the page again.
 */
export const moveFocus = (candidates: readonly HTMLElement[]): void => {
  const target = candidates.find(({ isConnected }) => isConnected) ?? ofPage();
  if (!target) return;
  if (target.tabIndex < 0) target.tabIndex = -1; // a heading can have the focus, and is not in the order of Tab
  target.focus({ preventScroll: true });
  if (target.matches(':focus-visible')) target.scrollIntoView({ block: 'nearest' }); // after the use of a keyboard, not of a mouse
};
