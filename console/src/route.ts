import { signal } from '@preact/signals';

/** What the address names: `#/activity/ID?verdict=refused`. A fragment never reaches a server, or its log. */
type Route = {
  readonly page: string;
  readonly id: string | undefined;
  readonly query: Readonly<Record<string, string>>;
};

export const route = signal(parse(location.hash));
addEventListener('hashchange', () => (route.value = parse(location.hash)));

function parse(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page = '', id] = path.split('/');
  return { page, id: id || undefined, query: Object.fromEntries(new URLSearchParams(search)) };
}

export function pageHref(
  page: string,
  query: Readonly<Record<string, string | undefined>> = {},
  id?: string,
): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const search = new URLSearchParams(given).toString();
  return `#/${page}${id === undefined ? '' : `/${id}`}${search === '' ? '' : `?${search}`}`;
}

/** Changes the query of this page without a step in the history. */
export function choose(query: Readonly<Record<string, string | undefined>>): void {
  const { page, id, query: present } = route.value;
  history.replaceState(null, '', pageHref(page, { ...present, ...query }, id));
  route.value = parse(location.hash);
}

/** Changes the query of this page as a step, which “back” takes back. */
export function step(query: Readonly<Record<string, string | undefined>>): void {
  const { page, id, query: present } = route.value;
  location.hash = pageHref(page, { ...present, ...query }, id);
  // The browser's event comes later, and the next step may come before it.
  route.value = parse(location.hash);
}

/** Takes the one-time code out of the address, so that it is in no bookmark. */
export function takeCode(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) {
    history.replaceState(null, '', '#/overview');
    route.value = parse(location.hash);
  }
  return code;
}
