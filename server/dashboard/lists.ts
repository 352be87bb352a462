import { eachObject, isLarge, choosePageSize } from '../../adapters/resources/pages.js';
import { turn } from '../../adapters/timers.js';
import { DomainError, invalidInput, quote } from '../../core/errors.js';
import { objectKey, type ObjectKey, type ObjectMeta } from '../../core/meta/meta.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import type { ListOptions, ResourceStore } from '../../core/resources/resource-store.js';
import { given } from '../../core/units/given.js';
import type { List } from './call.js';
import { decodeCursor, encodeCursor, integer, type Given, type Parameters } from './parameters.js';
import { byAge } from './views.js';

/** Objects of one kind, and what a list shows of each. */
type Section = {
  readonly kind: Kind;
  readonly options: ListOptions;
  readonly render: Render<Kind>;
  /** Of a list that is always read in pages: reads once what a page's objects need, and renders with it. Absent: nothing is. */
  readonly prepare?: (objects: readonly Resources[Kind][]) => Promise<Render<Kind>>;
};

type Render<K extends Kind> = (object: Resources[K]) => unknown;

/** Keeps `render` and `prepare` of a section tied to its kind. */
export function section<K extends Kind>(
  kind: K,
  options: ListOptions,
  render: Render<K>,
  prepare?: (objects: readonly Resources[K][]) => Promise<Render<K>>,
): Section {
  return { kind, options, render, ...given({ prepare }) } as Section;
}

/** A list without `limit` and `cursor` is not longer. */
const maxListBytes = 8_000_000;
/** A shorter list is read once, and a page ends when it has so much. A longer one is measured first and then read again. */
const keptBytes = 1_000_000;
const maxLimit = 1_000;

/** Of a list that can be read page by page. */
export const pageParameters = {
  limit: integer(
    `Records of a page, which may be shorter when they are large. Without limit and cursor: all of them, the oldest first, up to ${maxListBytes} bytes.`,
    1,
    maxLimit,
  ),
  cursor: {
    description: '`cursor` of the page before.',
    schema: { type: 'string' },
    expected: 'the cursor of an answer of this list',
    parse: (text: string) => text,
  },
} satisfies Parameters;
type PageQuery = Given<typeof pageParameters>;

type Store = Pick<ResourceStore, 'page' | 'get'>;

/**
 * Without `limit` and `cursor`: everything, each section the oldest first. Otherwise a page, each section in the order of its store.
 * Throws INVALID_INPUT for a list that is too long to be answered at once, and for a wrong cursor.
 */
export async function readList(store: Store, sections: readonly Section[], query: PageQuery): Promise<List> {
  const isPage = query.limit !== undefined || query.cursor !== undefined;
  return isPage ? readPage(store, sections, query) : readWhole(store, sections);
}

type Place = { readonly section: Section; readonly key: ObjectKey; readonly metadata: ObjectMeta };

async function readWhole(store: Store, sections: readonly Section[]): Promise<List> {
  const places: Place[][] = [];
  let texts: Map<Place, string> | undefined = new Map();
  let bytes = 0;
  for (const each of sections) {
    const own: Place[] = [];
    for await (const object of eachObject(store, each.kind, each.options)) {
      const text = JSON.stringify(await each.render(object));
      bytes += Buffer.byteLength(text) + 1;
      if (bytes > maxListBytes) throw tooLong();
      if (bytes > keptBytes) texts = undefined;
      const place = { section: each, key: objectKey(object), metadata: ageMetadata(object.metadata) };
      own.push(place);
      texts?.set(place, text);
      if (isLarge(each.kind)) await turn();
    }
    places.push([...byAge(own)]);
  }
  const inOrder = places.flat();
  const kept = texts;
  return { records: kept ? inOrder.map((place) => kept.get(place) ?? '') : readAgain(store, inOrder) };
}

/** What {@link byAge} compares. */
function ageMetadata({ name, uid, creationTimestamp, annotations, ...rest }: ObjectMeta): ObjectMeta {
  const { resourceVersion, generation } = rest;
  return { name, uid, resourceVersion, generation, creationTimestamp, ...given({ annotations }) };
}

async function* readAgain(store: Store, places: readonly Place[]): AsyncGenerator<string> {
  for (const { section: each, key } of places) {
    const object = await store.get(each.kind, key);
    if (object !== undefined) yield JSON.stringify(await each.render(object));
    await turn();
  }
}

/** Ends after `limit` records, or when it has enough bytes: a page may be shorter than its limit. */
async function readPage(
  store: Store,
  sections: readonly Section[],
  { limit = maxLimit, cursor }: PageQuery,
): Promise<List> {
  const begin = cursor === undefined ? {} : parseCursor(cursor, sections);
  const records: string[] = [];
  let bytes = 0;
  let index = Math.max(
    0,
    sections.findIndex(({ kind }) => kind === begin.kind),
  );
  let { after } = begin;
  for (let each = sections[index]; each !== undefined; each = sections[index]) {
    const left = limit - records.length;
    if (left === 0 || bytes > keptBytes)
      return { records, cursor: encodeCursor({ kind: each.kind, ...given({ after }) }) };
    const page = await store.page(each.kind, {
      ...each.options,
      limit: Math.min(left, choosePageSize(each.kind)),
      ...given({ after }),
    });
    const render = (await each.prepare?.(page.items)) ?? each.render;
    for (const object of page.items) {
      const text = JSON.stringify(await render(object));
      bytes += Buffer.byteLength(text);
      records.push(text);
      if (isLarge(each.kind)) await turn();
    }
    after = page.next;
    if (after === undefined) index += 1;
    await turn();
  }
  return { records, cursor: null };
}

type Position = { readonly kind?: string; readonly after?: string };

function parseCursor(text: string, sections: readonly Section[]): Position {
  const { kind, after } = decodeCursor(text);
  const isKnown = sections.some((each) => each.kind === kind);
  if (isKnown && typeof kind === 'string' && (after === undefined || typeof after === 'string'))
    return { kind, ...given({ after }) };
  throw invalidInput({
    field: 'cursor',
    expected: pageParameters.cursor.expected,
    value: quote(text),
  });
}

function tooLong(): DomainError {
  return new DomainError(
    'INVALID_INPUT',
    `The list is longer than ${maxListBytes} bytes: ask for pages with the parameters limit (1 to ${maxLimit}) and cursor (of the answer before)`,
  );
}
