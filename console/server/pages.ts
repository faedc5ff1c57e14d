import { type Message } from '@bufbuild/protobuf';

/** A page of a list. */
type ListPage = Message & { readonly token: string };

/** Reads all pages of a list, one after the other. */
export const allPages = async <Page extends ListPage, Element>(
  read: (token: string) => Promise<Page>,
  elements: (page: Page) => readonly Element[],
): Promise<readonly Element[]> => {
  const all: Element[] = [];
  let token = '';
  do {
    const page = await read(token);
    all.push(...elements(page));
    ({ token } = page);
  } while (token !== '');
  return all;
};
